"""Notes of a journal as JSON lines: what was intended with machines and attempts, and what came of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hcloud.model.checked import form_of
from hcloud.model.running.event import EventError
from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestCancelled,
    HarvestClasses,
    HarvestGraphTaken,
    HarvestMoved,
    HarvestOver,
    HarvestSet,
    HarvestTaken,
    HarvestWaiting,
    HarvestYielding,
)
from hcloud.model.running.note import (
    Asked,
    AttemptOver,
    Beginning,
    CommitmentsAdvised,
    ControllerStarted,
    Ended,
    EstimateFitted,
    Finished,
    Held,
    JobTaken,
    Joined,
    Launched,
    Launching,
    LimitsSet,
    Note,
    NotLaunched,
    PassNoted,
    Settled,
    Sized,
    SnapshotTaken,
)

Document = dict[str, Any]

_NAMES: dict[type, str] = {
    ControllerStarted: "controller-started",
    JobTaken: "job",
    Beginning: "beginning",
    Sized: "sized",
    AttemptOver: "attempt-over",
    Launching: "launching",
    Launched: "launched",
    NotLaunched: "not-launched",
    Joined: "joined",
    Settled: "settled",
    Ended: "ended",
    Held: "held",
    Asked: "asked",
    Finished: "finished",
    LimitsSet: "limits",
    EstimateFitted: "estimate",
    CommitmentsAdvised: "advice",
    SnapshotTaken: "snapshot",
    PassNoted: "pass",
    HarvestSet: "harvest",
    HarvestClasses: "harvest-classes",
    HarvestTaken: "harvest-job",
    HarvestGraphTaken: "harvest-graph",
    HarvestWaiting: "harvest-waiting",
    HarvestBeginning: "harvest-beginning",
    HarvestYielding: "harvest-yielding",
    HarvestOver: "harvest-over",
    HarvestMoved: "harvest-moved",
    HarvestCancelled: "harvest-cancelled",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_KEYS = {kind: frozenset(field.name for field in fields(kind)) for kind in _NAMES}


def note_document(note: Note) -> Document:
    """A note as it stands in a line; what is not known is left out."""
    told = form_of(type(note)).dump_python(note, mode="json", exclude_none=True, exclude_defaults=True)
    return {"at": told.pop("at"), "note": _NAMES[type(note)], **told}


def parse_note(document: Document) -> Note:
    """The note in a line; raises EventError where it is none."""
    given = dict(document)
    name = given.pop("note", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise EventError(f"not a note of this hcloud: {str(name)[:60]!r}")
    if unknown := sorted(given.keys() - _KEYS[kind]):
        raise EventError(f"not a note: {name} has no {unknown[0]!r}")
    try:
        found: Note = form_of(kind).validate_python(given)
    except ValueError as error:
        first = str(error).splitlines()
        raise EventError(f"not a note: {name}: {' '.join(line.strip() for line in first[1:3])}") from None
    return found
