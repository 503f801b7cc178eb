"""A fake account that is empty in each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract.rigs.aws import AwsRig


@pytest.fixture(scope="module")
def opened() -> Iterator[AwsRig]:
    rig = AwsRig()
    rig.open()
    yield rig
    rig.close()


@pytest.fixture
def rig(opened: AwsRig) -> AwsRig:
    opened.reset()
    return opened


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any credentials."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
