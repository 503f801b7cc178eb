"""Checks: how each thing that was looked at stands, what was found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """How a check ended; only an error makes the verb fail."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of one check in a line, with details below it."""

    name: str
    status: CheckStatus
    message: str
    details: tuple[str, ...] = ()
    hint: str = ""
