"""Ends that were told of jobs before an attempt was ordered: whoever reads the file of events again tells them from the
end of that attempt."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hcloud.errors import FileError
from hcloud.model.running.event import EventError
from hcloud.store.journals.events import from_line, to_line


def past_of(orders: Path) -> Path:
    """The file of them beside that of orders."""
    return orders.with_suffix(".past")


@dataclass
class PastEnds:
    """The lines of a file of ``events`` that tell an end, by job, and those that are ``past``: an attempt was ordered
    after them. Each is noted in ``file`` before that order is given."""

    file: Path
    events: str
    _told: dict[str, list[int]] = field(default_factory=dict)
    _past: set[int] = field(default_factory=set)

    def read(self) -> PastEnds:
        """Know what was noted by the controllers before this one."""
        for text in self.file.read_text(errors="replace").splitlines() if self.file.is_file() else ():
            with suppress(EventError):  # cut, before its attempt was ordered
                told = from_line(text)
                self._past.update(told["lines"] if told.get("events") == self.events else ())
        return self

    def is_past(self, job: str, line: int) -> bool:
        """Whether an end that a line tells is not that of the newest attempt."""
        self._told.setdefault(job, []).append(line)
        return line in self._past

    def note(self, job: str) -> None:
        """All that were told of a job are past from now on; FileError where that cannot be written."""
        fresh = [line for line in self._told.get(job, ()) if line not in self._past]
        if fresh:
            append(self.file, "\n" + to_line({"events": self.events, "lines": fresh}))  # ends a line that was cut
            self._past.update(fresh)

    def forget(self, job: str) -> None:
        """No attempt of it is ordered any more."""
        self._told.pop(job, None)


def append(path: Path, text: str) -> None:
    """Add to a file what lasts; FileError where it cannot be written."""
    try:
        with path.open("ab", buffering=0) as file:
            file.write(text.encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise FileError.of(error, path, "written") from error
