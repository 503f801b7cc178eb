"""Where the controller of a stream was at a place of its journal, in a file beside it: a restart replays only what came
after. It holds nothing that the journal does not: who removes it makes the next restart slower, and no more."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from hcloud.errors import HcloudError
from hcloud.model.json_text import parsed
from hcloud.store.files.whole import write_whole

EVERY = 32 << 20
"""Ours: bytes of a journal between two points; replaying so many takes some seconds."""
_LOOKED_AT = 1 << 16
_MARK = b'{"resume_point":'


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """After so many ``bytes`` of a journal with so many ``events``, the last of them at ``last``; ``digest`` is of the
    journal's first line and of what stands before that place."""

    bytes: int
    events: int
    last: float
    digest: str


def beside(journal: Path) -> Path:
    """The file of a journal's point."""
    return journal.with_name(f"{journal.name}.point")


def save_point(journal: Path, place: int, events: int, last: float, session: bytes) -> None:
    """Keep the state of a controller after ``place`` bytes of its journal; where that cannot be, nothing happens. A
    file of that name that is something else is left alone."""
    target = beside(journal)
    try:
        if target.exists() and not target.read_bytes().startswith(_MARK):
            return
        point = ResumePoint(place, events, last, _digest(journal, place))
        write_whole(target, [json.dumps({"resume_point": asdict(point)}, separators=(",", ":")), "\n", session, "\n"])
    except (OSError, HcloudError):
        return  # the journal has it all


def read_point(journal: Path) -> tuple[ResumePoint, bytes] | None:
    """The point beside a journal, and the controller's session there; None where there is none of this journal."""
    try:
        head, _, session = beside(journal).read_bytes().partition(b"\n")
        point = ResumePoint(**parsed(head)["resume_point"])
        if journal.stat().st_size < point.bytes or _digest(journal, point.bytes) != point.digest:
            return None
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return point, session.removesuffix(b"\n")


def _digest(journal: Path, place: int) -> str:
    with journal.open("rb") as file:
        found = sha256(file.readline())
        file.seek(max(place - _LOOKED_AT, 0))
        found.update(file.read(min(place, _LOOKED_AT)))
    return found.hexdigest()
