"""The exceptions hcloud raises, one class per thing a caller does about it.

::

    HcloudError            exit 1   says what, where, why and what to do next
    ├── UsageError         exit 64  the command line or the configuration asks for something impossible
    ├── InputError         exit 1   a file cannot be used; carries every problem found in it
    │   └── FileError      exit 1   the system does not let it be read or written; says which, why, what to do
    ├── EvidenceError      exit 9   a price (or another figure) that is needed is missing, quarantined or too old
    ├── UnreachableError   exit 1   a provider's endpoint did not answer; nothing was changed
    ├── MissingExtraError  exit 1   an optional dependency is not installed; names the install command
    ├── DeniedByGuardError exit 3   a budget, a limit or a protection of the user's own forbids it
    ├── StaleError         exit 4   the plan was made from a state, prices or an account that are not there any more
    ├── LockedError        exit 5   another hcloud works on the same state; says who, where and since when
    ├── PartialError       exit 6   a part was done, or it is not known what was; the state is saved
    ├── ConfirmationError  exit 7   a confirmation is needed and there is nobody to ask
    └── CloudError         exit 1   a cloud said no; carries cloud, region, operation and the cloud's own code
        ├── NotFoundError        exit 1   what was asked about is not there (or not yet)
        ├── NoCapacityError      exit 8   sold out here; another zone or type may have some; repeating does not help
        ├── QuotaError           exit 8   a limit of the account; only a higher limit helps
        ├── ThrottledError       exit 1   too many requests; come back later
        ├── DeniedError          exit 1   these credentials may not do this
        ├── CredentialsError     exit 1   the credentials are missing, expired or wrong; nothing will work with them
        ├── MismatchError        exit 1   the idempotency key was used for another order before
        ├── RefusedError         exit 1   the request itself is wrong
        ├── UnavailableError     exit 1   no answer that could be understood to a request that changes nothing
        └── UnknownOutcomeError  exit 6   the same to a request that does: the cloud may have acted
"""

from __future__ import annotations

import errno
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Self

_COUNTS = re.compile(r"(?<!\w)\d+", re.ASCII)
CLOSE = 0.6  # ours: how alike a name must be to be asked about


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean x?``, or nothing where no known name is close; case does not count."""
    lowered = {k.lower(): k for k in known}
    close = get_close_matches(name.strip().lower(), list(lowered), n=1, cutoff=CLOSE)
    return f"; did you mean {lowered[close[0]]}?" if close else ""


EXIT_CODES: Mapping[int, str] = {
    0: "done, or nothing to do",
    1: "an error; credentials, files and refusals of a cloud included",
    2: "something would be changed or bought; only with --detailed-exitcode",
    3: "a budget, a limit or a protection forbids it; of a plan: no simulated strategy keeps the target or the budget",
    4: "the plan is stale: state, prices or account are not those it was made from",
    5: "the state is locked by another hcloud",
    6: "partly done, or the outcome is unknown; the state is saved, and --resume or recover continues",
    7: "confirmation required, and there is no terminal to ask on",
    8: "no capacity or no quota, after every fallback that is allowed",
    9: "not enough evidence: a price is missing, quarantined or too old, or classify abstains",
    64: "the command line or the configuration asks for something impossible",
    130: "stopped by Ctrl-C",
    141: "the reader of the pipe closed it",
    143: "stopped by SIGTERM",
}
"""What the process ends with, and what that means; docs/reference/exit-codes.md is made of it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one place of one input: where it is, what stands there (empty: what is wrong is not one
    value) and what is allowed."""

    file: str
    where: str
    value: str
    allowed: str

    def __str__(self) -> str:
        said = f"{self.value} ({self.allowed})" if self.value else self.allowed
        return f"{self.file}: {self.where}: {said}"

    @property
    def kind(self) -> tuple[str, str, str]:
        """What those have in common that differ in their line and value alone."""
        return (self.file, _COUNTS.sub("", self.where), _COUNTS.sub("", self.allowed))


def _first_of_each_kind(problems: Iterable[Problem], most: int) -> Iterator[Problem]:
    seen = Counter[tuple[str, str, str]]()
    for problem in problems:
        seen[problem.kind] += 1
        if seen[problem.kind] <= most:
            yield problem


class HcloudError(Exception):
    """Base of all errors that are reported to the user without a stack trace."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def lines(self) -> list[str]:
        """What it says, a line each."""
        return [str(self)]


class UsageError(HcloudError):
    """The command line or the configuration asks for something that cannot be done."""

    exit_code = 64


class InputError(HcloudError):
    """A file cannot be used; every problem found in it is carried along and shown together."""

    SHOWN = 20
    ALIKE = 3

    def __init__(self, message: str, problems: Iterable[Problem] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)

    def lines(self) -> list[str]:
        """What is wrong with the whole, then each problem; of many, the first few of each kind."""
        shown = list(self.problems)
        if len(shown) > self.SHOWN:
            shown = list(islice(_first_of_each_kind(shown, self.ALIKE), self.SHOWN))
        more = len(self.problems) - len(shown)
        kinds, told = ({p.kind for p in some} for some in (self.problems, shown))
        alike = "" if kinds != told else " of this kind" if len(kinds) == 1 else " of these kinds"
        return [super().__str__(), *(f"  {p}" for p in shown), *([f"  ... and {more:,} more{alike}"] if more else [])]

    @property
    def brief(self) -> str:
        """Its problems in one line, without the file's name; what is wrong with the whole where there are none."""
        found = [f"{p.where}: {p.value} ({p.allowed})" for p in self.problems[: self.SHOWN]]
        return "; ".join(found) or super().__str__()

    def __str__(self) -> str:
        return "\n".join(self.lines())


class EvidenceError(HcloudError):
    """A figure the decision rests on is missing, quarantined or too old."""

    exit_code = 9


_ROOM = "free some space, or choose another place; the old file is unchanged"
_RIGHTS = "check the permissions (ls -ld), or choose another place"
_ADVICE = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "choose a writable place",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.ENOENT: "check the name; relative names start in the current directory",
    errno.EISDIR: "name a file in it",
    errno.ENOTDIR: "a folder in the path is a file; check the name",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EMFILE: "ulimit -n allows more open files",
    errno.EIO: "check the disk, then run the command again",
}


def advice_against(error: OSError) -> str:
    """What helps where the system refuses a file; empty where nothing is known."""
    return _ADVICE.get(error.errno or 0, "")


class FileError(InputError):
    """The system does not let a file be read or written."""

    @classmethod
    def of(cls, error: OSError, path: object = None, done: str = "used") -> Self:
        """What the system says about a file, in a full sentence; ``done`` is read, written or made."""
        named = path if path is not None else error.filename
        if isinstance(named, bytes):
            named = named.decode(errors="replace")
        said = (error.strerror or str(error) or type(error).__name__).lower()
        what = f"{named}: cannot be {done}: {said}" if named is not None else f"the result cannot be {done}: {said}"
        return cls(what, hint=advice_against(error))


@contextmanager
def writing(path: object, advice: str = "") -> Iterator[None]:
    """What the system says while a file is written, told as a FileError that names it, with ``advice`` if it is given
    and else what helps against such an error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        told = FileError.of(error, path, "written")
        told.hint = advice or told.hint
        raise told from error


class UnreachableError(HcloudError):
    """A provider's endpoint failed or answered nonsense; what was stored before is kept."""


class MissingExtraError(HcloudError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        from hcloud.installation import install_command

        super().__init__(f"{package} is not installed", hint=f"install it with: {install_command(extra)}")


class DeniedByGuardError(HcloudError):
    """A budget, a limit or a protection of the user's own forbids what was asked."""

    exit_code = 3


class StaleError(HcloudError):
    """What a plan was made from is not there any more: nothing was done."""

    exit_code = 4


class LockedError(HcloudError):
    """Another hcloud works on the same state."""

    exit_code = 5


class PartialError(HcloudError):
    """A part was done, or it is not known what was; the state says what is known."""

    exit_code = 6


class ConfirmationError(HcloudError):
    """A confirmation is needed and there is nobody to ask."""

    exit_code = 7


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a cloud, for messages: cloud, region and operation, and the code it was answered with."""

    cloud: str
    region: str
    operation: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.cloud} {self.region} {self.operation}" + (f": {self.code}" if self.code else "")


_KINDS = r"(?:secret|password|passwd|token|signature|api-?key|access-?key|account-?key|credential)"
_NAMED_SECRET = re.compile(
    rf"""(?x)
    ( (?i:\b authorization | \b x-amz-(?:security-token|signature|credential) | \b sig) ["']? \s* [:=]
    | (?: \b[a-z] | \b[A-Za-z]+- ) [\w-]*? (?i:{_KINDS}) [\w-]* ["']? \s* [:=]
    | [\w-]* (?i:{_KINDS}) [\w-]* =
    | \b {_KINDS} ["']? \s* [:=] )
    (\s* ["']?)
    (?: (?i:bearer|basic|aws4-hmac-sha256|sharedkey) \s+ )?
    [^\s"',;&<>]+ (?: ,? \s* (?:Credential|SignedHeaders|Signature) = [^\s"',&<>]+ )*
    """
)
_BARE_SECRET = re.compile(r"(?i)\b(?:bearer|aws4-hmac-sha256)\s+[^\s\"',;<>]+|\b(?:AKIA|ASIA)[0-9A-Za-z]{12,}")
_USER = re.compile(r"(?<=//)[^/\s\"'<>]*@")
"""Who asks, and with which password, in an address."""
REDACTED = "[redacted]"


def without_secrets(text: str) -> str:
    """What a cloud or a library said, without what it may repeat of a request: tokens, signatures, keys, users."""
    return _BARE_SECRET.sub(REDACTED, _NAMED_SECRET.sub(rf"\1\2{REDACTED}", _USER.sub("", text)))


class CloudError(HcloudError):
    """A cloud said no."""

    def __init__(self, message: str, call: Call, *, hint: str = "") -> None:
        super().__init__(f"{call}: {without_secrets(message)}", hint=hint)
        self.call = call


class NotFoundError(CloudError):
    """What was asked about is not there, or not yet."""


class NoCapacityError(CloudError):
    """The cloud has none left of a type in a zone; repeating the same order does not help."""

    exit_code = 8


class QuotaError(CloudError):
    """A limit of the account is reached; the message names it, what is needed and what is allowed."""

    exit_code = 8


class ThrottledError(CloudError):
    """Too many requests; ``retry_after`` is what the cloud says, in seconds, None where it does not."""

    def __init__(self, message: str, call: Call, retry_after: float | None = None, *, hint: str = "") -> None:
        super().__init__(message, call, hint=hint)
        self.retry_after = retry_after


class DeniedError(CloudError):
    """These credentials may not do this."""


class CredentialsError(CloudError):
    """The credentials are missing, expired or wrong; nothing will work with them."""


class MismatchError(CloudError):
    """The idempotency key was used for another order before."""


class RefusedError(CloudError):
    """The request itself is wrong."""


class UnavailableError(CloudError):
    """No answer that could be understood to a request that changes nothing."""


class UnknownOutcomeError(CloudError):
    """No answer that could be understood to a request that changes something: the cloud may have acted."""

    exit_code = 6
