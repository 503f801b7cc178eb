"""One thing that was checked: how it stands, what was found and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hcloud.errors import HcloudError, InputError
from hcloud.model.checks import Check, Status


def guarded(name: str, check: Callable[[], Check]) -> Check:
    """The check's outcome; an error it raises becomes its outcome, so that the checks after it still run."""
    try:
        return check()
    except (HcloudError, OSError, UnicodeDecodeError) as error:
        return from_error(name, error)


def from_error(name: str, error: Exception) -> Check:
    """The outcome that an error stands for, with every problem it carries."""
    if isinstance(error, InputError):
        message = str(error.args[0]) if error.args else "cannot be used"
        return Check(name, Status.ERROR, message, tuple(str(p) for p in error.problems), error.hint)
    if isinstance(error, HcloudError):
        return Check(name, Status.ERROR, str(error), hint=error.hint)
    return Check(name, Status.ERROR, f"cannot be read: {error}")


def failed(checks: Iterable[Check]) -> bool:
    """Whether any check ended in an error."""
    return any(c.status is Status.ERROR for c in checks)
