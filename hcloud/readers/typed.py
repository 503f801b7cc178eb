"""The command line that was typed: refusals of workloads repeat it with what is to be added."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

KeysGiven = Literal["flags", "--harvest-set", "configuration", "nowhere"]
"""How a verb takes the keys that steer how a file is read: as --columns, --decimal and --set, as one flag of another
name, in hcloud.yaml alone, or not at all."""


class TypedCommand(NamedTuple):
    """The words of a command line, and how its verb takes keys of the file that is read just now."""

    words: tuple[str, ...]
    keys: KeysGiven = "flags"


_TYPED = ContextVar[TypedCommand]("_TYPED")


def typed_command() -> TypedCommand:
    """What was typed; no words where Python calls."""
    return _TYPED.get(TypedCommand(()))


@contextmanager
def typed(words: Sequence[str] | None = None, keys: KeysGiven = "flags") -> Iterator[None]:
    """While a command line with these words (else those of before) reads a file whose keys it takes in this way."""
    token = _TYPED.set(TypedCommand(typed_command().words if words is None else tuple(words), keys))
    try:
        yield
    finally:
        _TYPED.reset(token)


def words_for(name: str, names: Collection[str]) -> list[str]:
    """The words for one of several files that were named."""
    return [word for word in typed_command().words if word == name or word not in names]
