"""What the options of several verbs mean: how a result is printed, and the time a verb works at."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from hcloud.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from hcloud.model.catalog import Provider
    from hcloud.views.console import Terminal


class Output(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def moment(text: str | None) -> datetime:
    """The time a verb works at: what ``--now`` says (UTC where it names no zone), else the clock."""
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--now {text}: not an ISO 8601 time, for example 2026-11-20T12:00:00Z") from None
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def provider_named(name: str) -> Provider:
    """The provider of a name on the command line; UsageError with the one that may be meant."""
    from hcloud.model.catalog import Provider

    known = [p.value for p in Provider]
    if name not in known:
        raise UsageError(f"--provider {name}: must be one of {', '.join(known)}{did_you_mean(name, known)}")
    return Provider(name)


def tell_first_use(terminal: Terminal, jobs: int | None = None) -> None:
    """Say beforehand that the simulator is about to be compiled, since it is slow until then; few ``jobs`` do not
    need that."""
    from hcloud.sim.kernels.compiled import ENGINE, PLAIN_JOBS, is_first_use

    if (jobs is None or jobs > PLAIN_JOBS) and is_first_use(ENGINE):
        terminal.note("the simulator is compiled in the background, once; until then it runs more slowly")
