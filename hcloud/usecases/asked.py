"""What words of the command line, and keywords of the Python API, mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hcloud.errors import UsageError, did_you_mean
from hcloud.units import parse_duration

if TYPE_CHECKING:
    from hcloud.model.catalog import Provider


def moment(text: str | None) -> datetime:
    """The time to work at: what ``--now`` says (UTC where it names no zone), else the clock."""
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--now {text}: not an ISO 8601 time, for example 2026-11-20T12:00:00Z") from None
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def seconds_named(text: str, flag: str) -> int:
    """The seconds of ``28d``; UsageError for anything else, with the flag that it was given to."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None


def provider_named(name: str) -> Provider:
    """The provider of a name; UsageError with the one that may be meant."""
    from hcloud.model.catalog import Provider

    known = [p.value for p in Provider]
    if name not in known:
        raise UsageError(f"--provider {name}: must be one of {', '.join(known)}{did_you_mean(name, known)}")
    return Provider(name)


def refuse_unsimulated(strategy: str | None, asked: Mapping[str, object]) -> None:
    """UsageError where something is asked about strategies and none is to be simulated."""
    if strategy is not None:
        return
    for flag, value in asked.items():
        if value is not None:
            raise UsageError(
                f"--{flag} needs a simulated strategy, and none is given",
                hint="add --strategy auto, or operation.strategy in hcloud.yaml",
            )


def refuse_beside_bill(asked: Mapping[str, object]) -> None:
    """UsageError where something is asked that the plan of a whole bill cannot do."""
    for flag, value in asked.items():
        if value:
            raise UsageError(
                f"--{flag} is for the plan of one kind of machine, and a bill holds several",
                hint="name one of them with --set kind=NAME; 'hcloud plan BILL' lists the names",
            )
