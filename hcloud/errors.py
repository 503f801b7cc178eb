"""The exceptions hcloud raises, one class per thing a caller does about it.

::

    HcloudError            exit 1   says what, where, why and what to do next
    ├── UsageError         exit 64  the command line or the configuration asks for something impossible
    ├── InputError         exit 1   a file cannot be used; carries every problem found in it
    ├── EvidenceError      exit 9   a price (or another figure) that is needed is missing, quarantined or too old
    ├── UnreachableError   exit 1   a provider's endpoint did not answer; nothing was changed
    └── MissingExtraError  exit 1   an optional dependency is not installed; names the install command
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one place of one input: where it is, what stands there and what is allowed."""

    file: str
    where: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.file}: {self.where}: {self.value} ({self.allowed})"


class HcloudError(Exception):
    """Base of all errors that are reported to the user without a stack trace."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(HcloudError):
    """The command line or the configuration asks for something that cannot be done."""

    exit_code = 64


class InputError(HcloudError):
    """A file cannot be used; every problem found in it is carried along and shown together."""

    SHOWN = 20

    def __init__(self, message: str, problems: Iterable[Problem] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        shown = [f"  {p}" for p in self.problems[: self.SHOWN]]
        more = len(self.problems) - len(shown)
        if more > 0:
            shown.append(f"  ... and {more} more")
        return "\n".join([super().__str__(), *shown])


class EvidenceError(HcloudError):
    """A figure the decision rests on is missing, quarantined or too old."""

    exit_code = 9


class UnreachableError(HcloudError):
    """A provider's endpoint failed or answered nonsense; what was stored before is kept."""


class MissingExtraError(HcloudError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed", hint=f"install it with: python -m pip install 'hcloud-hybrid[{extra}]'"
        )
