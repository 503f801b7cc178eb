"""Waiting for Azure's long-running operations, over every way in which it says where to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from hcloud.control.ports import Clock
from hcloud.errors import NotFoundError, ThrottledError, UnavailableError
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, branch, text
from hcloud.providers.azure.errors import BY_CODE, Reply, lost, refusal
from hcloud.providers.azure.translate import FAILED

FIRST_PAUSE_SECONDS = 0.05  # ours; doubled each time up to
LONGEST_PAUSE_SECONDS = 10.0  # ours
PATIENCE_SECONDS = 900.0  # ours: making a large set takes minutes
LOST_ANSWERS = 5  # ours: so many in a row and the outcome is unknown
GONE = "gone"

State = Callable[[], str]
"""The provisioning state of the resource that an operation works on, in lower case; GONE where there is none."""

Wait = tuple[Reply, State]
"""The first answer to a request that began an operation, and how the resource it works on is asked about."""


class Way(StrEnum):
    """Where an operation is asked about."""

    STATUS = "azure-asyncoperation"  # tells how it goes, and the error it ended with
    RESULT = "location"  # answers 202 until the result is there
    RESOURCE = "resource"  # the resource itself: always there to ask, says only that something failed


@dataclass(frozen=True, slots=True)
class OperationResult:
    """How an operation came out: ``error`` is Azure's, empty after a success; one that was not ``over`` when patience
    ended may still come out either way."""

    over: bool = True
    error: Document = field(default_factory=dict)


class _Nothing(Exception):  # noqa: N818
    """An answer to a poll that says nothing about the operation."""


@dataclass(slots=True)
class OperationPoller:
    """Follows operations to their end."""

    arm: Arm
    clock: Clock

    def follow(self, accepted: Reply, state: State, patience: float = PATIENCE_SECONDS) -> OperationResult:
        """Wait for what ``accepted`` began, or for what is under way on a resource where it is the resource itself.

        Of two addresses that disagree the status is right: only it knows about failures. An address that is forgotten
        (404, after a while or a restart) or broken is given up for the resource itself.
        """
        way, url = self._begin(accepted)
        if not url and (ending := _at_once(accepted)):
            return ending
        pause = accepted.retry_after if accepted.retry_after is not None else FIRST_PAUSE_SECONDS
        until = self.clock.passed() + patience
        missed = 0
        while self.clock.passed() < until:
            self.clock.sleep(pause)
            pause = min(max(pause * 2, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            try:
                ending, wait = self._ask(way, url, state)
            except ThrottledError as error:
                pause = error.retry_after if error.retry_after is not None else LONGEST_PAUSE_SECONDS
                continue
            except (_Nothing, UnavailableError) as error:
                missed += 1
                if missed >= LOST_ANSWERS:
                    raise lost(self.arm.call("Operations_Get"), f"accepted, then {error}", mutating=True) from error
                way, url = Way.RESOURCE, ""
                continue
            missed = 0
            if ending is not None:
                return ending
            pause = max(wait, FIRST_PAUSE_SECONDS) if wait is not None else pause
        return OperationResult(over=False)

    def _begin(self, accepted: Reply) -> tuple[Way, str]:
        for way in (Way.STATUS, Way.RESULT):
            url = accepted.headers.get(way.value, "")
            if url and self.arm.is_own(url):
                return way, url
        return Way.RESOURCE, ""

    def _ask(self, way: Way, url: str, state: State) -> tuple[OperationResult | None, float | None]:
        """How it goes (None: it goes on), and how long to wait before asking again."""
        if way is Way.RESOURCE:
            return _by_state(state()), None
        reply = self.arm.get("Operations_Get", url)
        if reply.status in (401, 403, 429):
            raise refusal(self.arm.call("Operations_Get"), reply, mutating=False)
        return (_by_status if way is Way.STATUS else _by_result)(reply), reply.retry_after


def _by_status(reply: Reply) -> OperationResult | None:
    word = text(reply.document, "status").lower()
    if reply.status not in (200, 202) or not word:
        raise _Nothing(f"answered {reply.status}")
    if word == "succeeded":
        return OperationResult()
    if word in FAILED:
        return OperationResult(
            error=branch(reply.document, "error") or {"code": "", "message": f"the operation {word}"}
        )
    return None


def _by_result(reply: Reply) -> OperationResult | None:
    if reply.status == 202:
        return None
    if reply.status in (200, 201, 204) and reply.understood:
        # That the result is there says that it is over, whatever word its state has
        return _by_state(text(reply.document, "properties", "provisioningState").lower()) or OperationResult()
    error = branch(reply.document, "error")
    if text(error, "code") in BY_CODE and not issubclass(BY_CODE[text(error, "code")], NotFoundError):
        return OperationResult(error=error)
    raise _Nothing(f"answered {reply.status}")


def _at_once(accepted: Reply) -> OperationResult | None:
    word = text(accepted.document, "properties", "provisioningState").lower()
    return _by_state(word or ("succeeded" if accepted.status in (200, 204) else ""))


def _by_state(word: str) -> OperationResult | None:
    if word in ("succeeded", GONE):
        return OperationResult()
    if word in FAILED:
        return OperationResult(error={"code": "", "message": f"its state is {word}"})
    return None


class AzurePart:
    """A part of what is asked of Azure, over its clients, with whoever follows operations to their end."""

    def __init__(self, arm: Arm, clock: Clock) -> None:
        self._arm, self._follower = arm, OperationPoller(arm, clock)
