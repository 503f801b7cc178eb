"""What a proxy says in a cloud's place, and what was cut off on the way: one sentence, no answer of the cloud."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pytest

from contract.rig import LINEAGE, Rig, order
from hcloud.control.ports import Cloud
from hcloud.errors import CloudError, DeniedError, UnavailableError, UnknownOutcomeError
from hcloud.fake.server import HttpAnswer, Received

PAGE = b"<html><body><h1>Gateway</h1>BODY " + b"x" * 3000 + b"</body></html>"
REPLIES: Mapping[str, Callable[[HttpAnswer], HttpAnswer]] = {
    "500 page": lambda real: HttpAnswer(500, PAGE, {"content-type": "text/html"}),
    "500 page that says JSON": lambda real: HttpAnswer(500, PAGE, {"content-type": "application/json"}),
    "404 page": lambda real: HttpAnswer(404, PAGE, {"content-type": "text/html"}),
    "403 page": lambda real: HttpAnswer(403, PAGE, {"content-type": "application/json"}),
    "cut off": lambda real: replace(real, body=real.body[: len(real.body) // 2]),
    "deep": lambda real: replace(real, body=b"[" * 100_000, headers={"content-type": "application/json"}),
}
ASKED: Mapping[str, Callable[[Cloud, Rig, str], object]] = {
    "machines": lambda cloud, rig, known: cloud.machines(LINEAGE),
    "look": lambda cloud, rig, known: cloud.look([known]),
    "examine": lambda cloud, rig, known: cloud.examine([known]),
    "launch": lambda cloud, rig, known: cloud.launch(order(rig, "c3" * 16)),
    "terminate": lambda cloud, rig, known: cloud.terminate([known]),
}


@dataclass
class Proxy:
    """Stands before a fake and says something else in its place."""

    real: Any
    say: Callable[[HttpAnswer], HttpAnswer]

    def answer(self, received: Received) -> HttpAnswer:
        """What comes through."""
        return self.say(self.real.answer(received))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@pytest.fixture(scope="module", params=["aws", "gcp", "azure"])
def wired(request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:
    """A rig that listens, and a machine in its cloud."""
    rig = import_module(f"contract.rigs.{request.param}").RIG()
    rig.open()
    rig.reset()
    yield rig, rig.cloud().launch(order(rig, count=1)).machines[0].id
    rig.close()


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("reply", REPLIES)
def test_R5_a_broken_reply_is_one_sentence_and_no_answer(wired: tuple[Any, str], reply: str, asked: str) -> None:
    rig, known = wired
    cloud = rig.cloud()
    rig._running.exchange(Proxy(rig.fake, REPLIES[reply]))
    try:
        with pytest.raises(CloudError) as raised:
            ASKED[asked](cloud, rig, known)
    finally:
        rig._running.exchange(rig.fake)
    kinds = (
        (UnavailableError, UnknownOutcomeError, DeniedError)
        if "403" in reply
        else (UnavailableError, UnknownOutcomeError)
    )
    assert isinstance(raised.value, kinds)
    words = str(raised.value)
    assert "BODY" not in words
    assert "<" not in words
    assert len(words) < 250
    status = reply.split(maxsplit=1)[0]
    assert status in words or not status.isdecimal()


def test_what_azures_sdk_logs_is_not_printed_with_a_trace(wired: tuple[Any, str]) -> None:
    rig, _ = wired
    rig.cloud()
    assert rig.name != "azure" or logging.getLogger("azure").handlers
