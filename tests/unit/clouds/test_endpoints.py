"""One rule for every source of an endpoint: encrypted or on this machine, nothing secret in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from hcloud.errors import HcloudError, UsageError, without_secrets
from hcloud.model.endpoint import checked_endpoint
from hcloud.providers.aws.caller import Caller
from hcloud.providers.aws.settings import AwsSettings
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.wire import Wire
from hcloud.providers.http import Fetcher
from hcloud.store.buckets.azure import AzureObjects
from hcloud.store.buckets.gcs import GoogleObjects

CANARY = "c4n4ry"
BAD = [
    f"http://user:{CANARY}@127.0.0.1:1", f"https://user:{CANARY}@host", f"https://{CANARY}@host",
    f"https://host/?sig={CANARY}", f"https://host/#{CANARY}", f"http://{CANARY}.example.org", f"http://user:{CANARY}@[x",
    f"htp://{CANARY}", CANARY, f"https://us er:{CANARY}@host", f"https://host:{CANARY}",
    f"http://169.254.169.254/{CANARY}", f"http://127.0.0.1.{CANARY}.org",
]  # fmt: skip
GOOD = ["https://host", "https://host:1/prefix", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"]


@pytest.mark.parametrize("url", GOOD)
def test_an_endpoint_that_is_encrypted_or_here_is_taken(url: str) -> None:
    assert checked_endpoint(url, "it") == url


def of_aws() -> None:
    Caller(AwsSettings("eu-central-1", access_key=("a", "b"))).endpoint()


def through(variable: str) -> Callable[[str, pytest.MonkeyPatch, Path], object]:
    def ask(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        monkeypatch.setenv(variable, url)
        of_aws()

    return ask


def of_aws_configuration(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "config").write_text(f"[default]\nendpoint_url = {url}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    of_aws()


def of_google_credentials(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    _google_file(url, monkeypatch, folder)
    Wire(GoogleSettings("p", "europe-west3", endpoint="https://compute.invalid"), lambda _: None).client(
        "InstancesClient"
    )


def of_google_state(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    _google_file(url, monkeypatch, folder)
    GoogleObjects("bucket")


def _google_file(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    told = {"type": "service_account", "client_email": f"{CANARY}@x", "private_key_id": CANARY, "private_key": _key()}
    (folder / "google.json").write_text(json.dumps({**told, "token_uri": url}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "google.json"))


@lru_cache
def _key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return made.private_bytes(*form).decode()


def of_azure_authority(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", url)
    monkeypatch.setenv("AZURE_CLIENT_SECRET", CANARY)
    _ = Arm(AzureSettings("s", "westeurope"))._credential


def of_azure_state(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", url)
    monkeypatch.setenv("AZURE_CLIENT_SECRET", CANARY)
    AzureObjects("https://account.blob.core.windows.net", "container")


SOURCES: dict[str, Callable[[str, pytest.MonkeyPatch, Path], object]] = {
    "live.endpoint aws": lambda url, *_: AwsSettings("eu-central-1", endpoint=url),
    "live.endpoint gcp": lambda url, *_: GoogleSettings("p", "europe-west3", endpoint=url),
    "live.endpoint azure": lambda url, *_: AzureSettings("s", "westeurope", endpoint=url),
    "prices": lambda url, *_: Fetcher(url),
    "AWS_ENDPOINT_URL": through("AWS_ENDPOINT_URL"),
    "AWS_ENDPOINT_URL_EC2": through("AWS_ENDPOINT_URL_EC2"),
    "endpoint_url": of_aws_configuration,
    "token_uri": of_google_credentials,
    "AZURE_AUTHORITY_HOST": of_azure_authority,
    "token_uri of a state": of_google_state,
    "AZURE_AUTHORITY_HOST of a state": of_azure_state,
}


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_any_other_is_refused_and_not_repeated(source: str, tmp_path: Path) -> None:
    """All but a bare host for Azure's authority, which is one of https there."""
    for url in BAD:
        if "://" in url or "AUTHORITY_HOST" not in source:
            with pytest.MonkeyPatch.context() as patch, pytest.raises(UsageError) as found:
                SOURCES[source](url, patch, tmp_path)
            told = f"{found.value} {found.value.hint} {found.value.__cause__}"
            assert CANARY not in told.lower(), url


def test_what_is_plain_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://user:{CANARY}@proxy.invalid:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    here = "http://127.0.0.1:9"
    monkeypatch.setenv("AWS_ENDPOINT_URL", here)
    said = []
    for ask in (
        lambda: Caller(AwsSettings("eu-central-1", here, access_key=("a", "b"))).ask("ec2", "DescribeRegions", {}),
        lambda: Caller(AwsSettings("eu-central-1", access_key=("a", "b"))).ask("ec2", "DescribeRegions", {}),
        lambda: Wire(GoogleSettings("p", "europe-west3", endpoint=here), lambda _: None).read(
            "ProjectsClient", "get", {"project": "p"}, "get"
        ),
        lambda: Arm(AzureSettings("s", "westeurope", endpoint=here)).get("get", f"{here}/x"),
    ):
        with pytest.raises(HcloudError) as found:
            ask()
        said.append(str(found.value).lower())
    assert len(said) == 4
    assert all("proxy" not in told and CANARY not in told for told in said), said
    assert os.environ["HTTP_PROXY"]


def test_a_user_in_what_a_library_says_is_not_told() -> None:
    assert without_secrets(f"cannot reach http://user:{CANARY}@proxy:3128/x") == "cannot reach http://proxy:3128/x"
