"""Collects what is wrong with one input file, so that all of it is shown together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from hcloud.errors import InputError, Problem

ENOUGH = 1000
"""Problems kept per file; a file with more is broken as a whole, and memory stays bounded."""
SHOWN_CHARACTERS = 60


class Findings:
    """Problems of one file in the order they were met."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.alike = 0
        """Problems beyond these that are like one of them."""

    @property
    def full(self) -> bool:
        """Whether looking further is pointless."""
        return len(self.problems) >= ENOUGH

    def add(self, where: str, value: str, allowed: str) -> None:
        """Note one problem; ``where`` names line or row and column."""
        if not self.full:
            self.problems.append(Problem(self.file, where, value, allowed))

    def add_alike(self, count: int) -> None:
        """Count more problems that are like those which were noted."""
        self.alike += max(count, 0)

    def error(self, message: str = "") -> InputError:
        """The error that carries every problem found."""
        number = len(self.problems) + self.alike
        count = f"{number:,} or more" if self.full else f"{number:,}"
        plural = "" if number == 1 else "s"
        shown = f" ({len(self.problems):,} of them named)" if self.alike else ""
        return InputError(message or f"{self.file}: {count} problem{plural}{shown}", self.problems)


_LINE = re.compile(r"\bline (\d+)\b")


@contextmanager
def told_of(word: str, header: str) -> Iterator[None]:
    """What is said of lines of a table that was made of another file, said of its rows (a ``word`` as job) or of the
    names of its columns."""

    def renamed(said: str) -> str:
        return _LINE.sub(lambda line: f"{word} {int(line[1]) - 1}" if int(line[1]) > 1 else header, said)

    try:
        yield
    except InputError as error:
        problems = [replace(one, where=renamed(one.where), allowed=renamed(one.allowed)) for one in error.problems]
        raise InputError(renamed(str(error.args[0])), problems, hint=error.hint) from None


def shown(text: str) -> str:
    """A value as it stands in the file, quoted, escaped and cut to a readable length."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")
