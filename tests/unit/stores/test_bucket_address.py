"""Addresses of states in buckets: what is one, where credentials come from, and that no secret is shown."""

from __future__ import annotations

import pytest

from hcloud.cli.main import run
from hcloud.errors import CredentialsError, HcloudError, UsageError
from hcloud.model.endpoint import checked_endpoint
from hcloud.store.buckets.address import bucket_store, parse_address
from hcloud.store.buckets.objects import Writing, shown

SECRET = "canary+5ecret"
VARIABLES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "STORAGE_EMULATOR_HOST", "AZURE_STORAGE_CONNECTION_STRING")
AZURE = "https://account1.blob.core.windows.net/states/team"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "canary-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.mark.parametrize(
    ("written", "scheme", "account", "bucket", "prefix"),
    [
        ("s3://states", "s3", "", "states", ""),
        ("s3://my.states/a/b/", "s3", "", "my.states", "a/b"),
        ("gs://my_states-1/a b".replace(" ", "-"), "gs", "", "my_states-1", "a-b"),
        (AZURE, "https", "https://account1.blob.core.windows.net", "states", "team"),
        ("https://a1b.z42.blob.storage.azure.net/c-1/", "https", "https://a1b.z42.blob.storage.azure.net", "c-1", ""),
        (
            "https://gov.blob.core.usgovcloudapi.net/abc/x",
            "https",
            "https://gov.blob.core.usgovcloudapi.net",
            "abc",
            "x",
        ),
    ],
)
def test_what_is_an_address(written: str, scheme: str, account: str, bucket: str, prefix: str) -> None:
    found = parse_address(written)
    assert (found.scheme, found.account, found.bucket, found.prefix) == (scheme, account, bucket, prefix)
    assert str(found) == written.rstrip("/")


@pytest.mark.parametrize(
    "written",
    [
        "s3://", "s3:///x", "s3://A_B/x", "s3://x", "http://x/y", "s3://ab c/d", "gs://", "gs://UPPER/x", "gs://a",
        "az://states/x", "file:///tmp", "https://example.com/states", "https://account1.blob.core.windows.net/",
        "https://account1.blob.core.windows.net/st--ates", "http://account1.blob.core.windows.net/states",
        "https://account1.blob.core.windows.net.example.com/states/x", "s3://states/a\nb", "s3://states/a#b",
        f"https://user:{SECRET}@account1.blob.core.windows.net/states/x", f"s3://user:{SECRET}@states/x",
        f"{AZURE}?sv=2026-01-01&sig={SECRET}", f"gs://states/x?token={SECRET}", f"https://{SECRET}@example.com/x",
    ],
)  # fmt: skip
def test_what_is_none_is_refused_and_no_secret_repeated(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"not a place in a bucket|no query") as told:
        bucket_store(written)
    assert run(["state", "list", "--state", written]) == 64
    shown_there = capsys.readouterr()
    assert SECRET not in f"{told.value} {told.value.hint} {shown_there.out} {shown_there.err}"


@pytest.mark.parametrize(
    ("where", "variable", "value"),
    [
        ("s3://states/x", "AWS_ENDPOINT_URL", "http://{user}127.0.0.1:9"),
        ("s3://states/x", "AWS_ENDPOINT_URL_S3", "http://minio.example.com:9000"),
        ("gs://states/x", "STORAGE_EMULATOR_HOST", "http://{user}127.0.0.1:9"),
        ("gs://states/x", "STORAGE_EMULATOR_HOST", "emulator.example.com:9000"),
        ("gs://states/x", "STORAGE_EMULATOR_HOST", "gopher://127.0.0.1"),
        (
            AZURE,
            "AZURE_STORAGE_CONNECTION_STRING",
            "AccountName=account1;AccountKey={key};BlobEndpoint=http://b.example.com",
        ),
        (AZURE, "AZURE_STORAGE_CONNECTION_STRING", "AccountKey={key}"),
        (AZURE, "AZURE_STORAGE_CONNECTION_STRING", "{key}"),
    ],
)
def test_an_endpoint_elsewhere_is_encrypted_and_holds_no_secret(
    where: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value.format(user=f"user:{SECRET}@", key=SECRET))
    with pytest.raises(UsageError) as told:
        bucket_store(where)
    assert SECRET not in f"{told.value} {told.value.hint}"
    assert told.value.hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "variable", "value"),
    [
        ("s3://states/x", "AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ("gs://states/x", "STORAGE_EMULATOR_HOST", "127.0.0.1:9"),
        (
            AZURE,
            "AZURE_STORAGE_CONNECTION_STRING",
            f"BlobEndpoint=http://127.0.0.1:9/account1;SharedAccessSignature=sv=2026-01-01&sig={SECRET};AccountName=account1",
        ),
    ],
)
def test_where_nobody_answers_that_is_said_without_what_signs(
    where: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    store = bucket_store(where)
    objects = store._place.objects  # type: ignore[attr-defined]
    for use in (lambda: objects.get("x"), lambda: objects.put(Writing("x", b"", "m")), lambda: list(objects.list(""))):
        with pytest.raises(HcloudError) as told:
            use()
        assert SECRET not in f"{told.value} {told.value.hint} {objects.where}"


def test_a_connection_string_of_another_account_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=another;AccountKey=Y2FuYXJ5")
    client = bucket_store(AZURE)._place.objects._client  # type: ignore[attr-defined]
    assert client.url == "https://account1.blob.core.windows.net/states"
    assert type(client.credential).__name__ == "DefaultAzureCredential"


def test_google_without_credentials_says_how_to_get_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    with pytest.raises(CredentialsError) as told:
        bucket_store("gs://states/x")
    assert "GOOGLE_APPLICATION_CREDENTIALS" in told.value.hint


def test_texts_of_sdks_are_shown_without_what_addresses_hold() -> None:
    text = f'cannot reach "http://user:{SECRET}@host:9/b/c?X-Amz-Signature={SECRET}&x=1" (sig={SECRET}): why?'
    assert SECRET not in shown(text)
    assert shown(text).startswith('cannot reach "http://host:9/b/c"')
    assert checked_endpoint("https://host:1/", "it") == "https://host:1"
