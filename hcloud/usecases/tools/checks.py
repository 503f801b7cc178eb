"""One thing that was checked: how it stands, what was found and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hcloud.errors import HcloudError, InputError
from hcloud.model.checks import CheckResult, CheckStatus


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
