"""L6. Canary secrets in the environment, a profile, answers and tags: none of them in anything that is produced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

import pytest
from staging import FLEET, Staging

from benchmarks.children import Child
from benchmarks.processes import CLOUDS, LAUNCH, TYPES, Front, Stage
from hcloud.fake.server import FakeCloud, HttpAnswer, Received

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
CANARY = "c4n4ry"
SECRETS = {
    "AWS_ACCESS_KEY_ID": f"AKIA{CANARY}00ID",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}-secret-key",
    "AWS_SESSION_TOKEN": f"{CANARY}-session-token",
    "AZURE_CLIENT_SECRET": f"{CANARY}-client-secret",
    "AZURE_TENANT_ID": "00000000-0000-4000-8000-0000000000aa",
    "AZURE_CLIENT_ID": "00000000-0000-4000-8000-0000000000bb",
    "AZURE_PASSWORD": f"{CANARY}-azure-password",
    "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=x;AccountKey={CANARY};EndpointSuffix=core.windows.net",
    "IDENTITY_HEADER": f"{CANARY}-identity",
    "GOOGLE_API_KEY": f"{CANARY}-api-key",
    "HCLOUD_TOKEN": f"{CANARY}-of-another-tool",
    "MY_PASSWORD": f"{CANARY}-password",
    **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), f"http://user:{CANARY}@127.0.0.1:9"),
    "NO_PROXY": "",
}
PROFILE = f"""[default]
aws_access_key_id = AKIA{CANARY}PROFILE
aws_secret_access_key = {CANARY}-profile-secret
"""


GOOGLE = {"type": "service_account", "private_key": f"{CANARY}-google-key", "client_email": f"{CANARY}@x"}
ENDPOINTS = [f"http://user:{CANARY}@127.0.0.1:9", f"https://user:{CANARY}@127.0.0.1:9", f"http://{CANARY}.example.org"]
OURS, AMAZONS = "HYC_LIVE__ENDPOINT", ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2")
FAILURES = ("denied", "expired-credentials", "nonsense", "server-error", "redirect", "quota")
DEBUG = ("--debug", "-v")
ANYWHERE = [
    ("aws", OURS, ENDPOINTS[0]),
    ("aws", AMAZONS[0], ENDPOINTS[1]),
    ("aws", AMAZONS[1], ENDPOINTS[2]),
    ("gcp", OURS, ENDPOINTS[1]),
    ("azure", OURS, ENDPOINTS[2]),
]


class Blabbing(Front):
    """A cloud whose errors repeat what it was sent, signature and all."""

    def __init__(self, cloud: FakeCloud, status: int) -> None:
        super().__init__(cloud)
        self.status = status
        self.silent = False

    def answer(self, received: Received) -> HttpAnswer:
        if self.silent:
            return super().answer(received)
        held = "; ".join(f"{k}: {v}" for k, v in received.headers.items())
        said = f"refused {held} token={CANARY}-echoed Bearer {CANARY}.bearer.token"
        return HttpAnswer(self.status, self._body(said).encode(), {"content-type": self._type()})

    def _type(self) -> str:
        return "text/xml" if self.name == "aws" else "application/json"

    def _body(self, said: str) -> str:
        plain = said.replace('"', "'").replace("<", "(").replace("&", "+")
        if self.name == "aws":
            error = f"<Error><Code>UnauthorizedOperation</Code><Message>{plain}</Message></Error>"
            return f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"
        return f'{{"error": {{"code": "{self.status}", "message": "{plain}", "status": "DENIED"}}}}'


def produced(stage: Stage) -> Mapping[str, bytes]:
    """Every byte that was written below the directory, but for what was put there."""
    given = {"hcloud.yaml", "credentials", "google.json", "boot.sh"}
    files = [p for p in stage.directory.rglob("*") if p.is_file() and p.name not in given]
    return {str(p.relative_to(stage.directory)): p.read_bytes() for p in files}


def hits(stage: Stage, children: list[Child]) -> list[str]:
    found = [f"{name}: {data[:400]!r}" for name, data in produced(stage).items() if CANARY.encode() in data]
    for child in children:
        found += [line for line in child.said.splitlines() if CANARY in line]
    return found


def with_secrets(stage: Stage) -> None:
    profile = Path(stage.directory) / "credentials"
    profile.write_text(PROFILE)
    google = Path(stage.directory) / "google.json"
    google.write_text(json.dumps(GOOGLE))
    files = {"AWS_SHARED_CREDENTIALS_FILE": str(profile), "GOOGLE_APPLICATION_CREDENTIALS": str(google)}
    stage.extra |= {**SECRETS, **files}


@every_cloud
def test_L6_no_secret_is_in_what_a_whole_life_says_and_writes(cloud: str, staged: Staging) -> None:
    stage = staged(cloud)
    with_secrets(stage)
    (stage.directory / "boot.sh").write_text(f"#!/bin/sh\nexport PASSWORD={CANARY}-user-data\n")
    stage.want(FLEET, user_data="boot.sh")
    children = [
        stage.run("-v", "plan", "--out", "plan.json"),
        stage.run("-v", "apply", "plan.json", "-y"),
        stage.run("status", "-v"),
        stage.run("drift", "--debug"),
        stage.run("doctor", "-v"),
        stage.run("state", "pull"),
        stage.run("plan", "--json"),
        stage.run("apply", "-y", HYC_CRASH_AT="run.state.saved"),
        stage.run("destroy", "-y", "--ends", "5", "--debug"),
    ]
    assert [c.code for c in children[:3]] == [0, 0, 0], [c.said for c in children]
    assert children[-1].code == 0, children[-1].said
    assert hits(stage, children) == []
    assert produced(stage), "there is something to look into"


@pytest.mark.parametrize(
    ("cloud", "answer"),
    list(zip(cycle(CLOUDS), FAILURES, strict=False)),
)
def test_L6_no_secret_is_in_what_failures_say(cloud: str, answer: str, staged: Staging) -> None:
    rule = {"on": LAUNCH[cloud], "answer": answer, "first": 1}
    stage = staged(cloud, {"web": 1}, rules=[rule])
    with_secrets(stage)
    children = [stage.run("--debug", "-v", "apply", "-y"), stage.run("--debug", "apply", "-y")]
    assert hits(stage, children) == []


@pytest.mark.parametrize(
    ("cloud", "status", "debug"),
    [*((cloud, 403, DEBUG) for cloud in CLOUDS), ("aws", 403, ()), ("gcp", 400, DEBUG), ("azure", 401, DEBUG)],
)
def test_L6_an_endpoint_that_repeats_the_signed_request_is_not_repeated(
    cloud: str, status: int, debug: tuple[str, ...], staged: Staging
) -> None:
    stage = staged(cloud, {"web": 1})
    with_secrets(stage)
    blabbing = Blabbing(stage.front.behind, status)
    stage.exchange(blabbing)
    child = stage.run(*debug, "apply", "-y")
    assert child.code not in (0, None)
    assert hits(stage, [child]) == []


def test_L6_no_secret_of_a_strangers_tag_is_told(staged: Staging) -> None:
    stage = staged("aws", {"web": 1})
    with_secrets(stage)
    stage.front.edit({"launch": TYPES["aws"], "tags": {"password": f"{CANARY}-tag"}})
    children = [stage.run("apply", "-y"), stage.run("drift"), stage.run("status", "-v"), stage.run("gc")]
    assert hits(stage, children) == []


@pytest.mark.parametrize(("cloud", "variable", "url"), ANYWHERE)
def test_L6_an_endpoint_with_a_password_or_elsewhere_in_the_clear_is_refused_and_nowhere_repeated(
    cloud: str, variable: str, url: str, staged: Staging
) -> None:
    stage = staged(cloud, {"web": 1})
    with_secrets(stage)
    if variable != OURS:
        stage.extra["HYC_LIVE__ENDPOINT"] = "null"
    stage.extra[variable] = url
    children = [stage.run("--debug", "-v", *verb) for verb in (["plan", "--json"], ["status"])]
    children += [stage.run(*verb) for verb in (["plan"], ["apply", "-y"])]
    assert 0 not in [c.code for c in children]
    children += [stage.run(verb, "-v") for verb in ("doctor", "validate")]
    assert hits(stage, children) == []
    assert [r for r in stage.ledger.requests if r.mutating] == []
