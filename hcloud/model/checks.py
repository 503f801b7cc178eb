"""Checks: how each thing that was looked at stands, what was found, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hcloud.errors import HcloudError, InputError


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


def found(name: str, message: str, wrong: Sequence[str] = (), odd: Sequence[str] = (), hint: str = "") -> CheckResult:
    """The outcome of a check: an error where something is wrong, a warning where something is odd; the ``hint`` is what
    to do about either."""
    details = *wrong, *odd
    status = CheckStatus.ERROR if wrong else CheckStatus.WARNING if odd else CheckStatus.OK
    return CheckResult(name, status, message, details, hint if details else "")


def guarded(name: str, check: Callable[[], CheckResult]) -> CheckResult:
    """The check's outcome; an error it raises becomes its outcome, so that the checks after it still run."""
    try:
        return check()
    except (HcloudError, OSError, UnicodeDecodeError) as error:
        return from_error(name, error)


def from_error(name: str, error: Exception) -> CheckResult:
    """The outcome that an error stands for, with every problem it carries."""
    if isinstance(error, InputError):
        message = str(error.args[0]) if error.args else "cannot be used"
        return CheckResult(name, CheckStatus.ERROR, message, tuple(str(p) for p in error.problems), error.hint)
    if isinstance(error, HcloudError):
        return CheckResult(name, CheckStatus.ERROR, str(error), hint=error.hint)
    return CheckResult(name, CheckStatus.ERROR, f"cannot be read: {error}")


def failed(checks: Iterable[CheckResult]) -> bool:
    """Whether any check ended in an error."""
    return any(c.status is CheckStatus.ERROR for c in checks)
