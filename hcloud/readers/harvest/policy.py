"""The document of harvesting: strict keys, and every number with its origin and reason."""

from __future__ import annotations

from pathlib import Path

from hcloud.harvest.policy import MECHANISMS, HarvestPolicy
from hcloud.model.running.strategy import Strategy
from hcloud.readers.bundle import bundled
from hcloud.readers.stated import Stated, find_file, read_document

HARVEST = "harvest"
_HEAD = ("format_version", "name", "title", "summary", "source", "harvesting")


def stated_harvest(name: str = HARVEST) -> Strategy:
    """The bundled document, or the user's own by the path of its file, with origins and reasons.

    Raises UsageError where there is no such file, InputError with every problem of a file.
    """
    path = find_file(name, (HARVEST,), bundled("policies"), "harvest policy")
    reading = _HarvestReading(str(path))
    stated = reading.document(read_document(path, "harvest policy"))
    reading.refuse("harvest policy")
    return stated


def load_harvest(file: Path | None = None) -> HarvestPolicy:
    """The numbers of a document."""
    return HarvestPolicy.of(stated_harvest(HARVEST if file is None else str(file)))


class _HarvestReading(Stated):
    def document(self, content: object) -> Strategy:
        head = self.head(content, _HEAD)
        stated = self.mapping(head.get("harvesting", {}), "harvesting", tuple(MECHANISMS))
        name, title, summary, source = (self.text(head, key) for key in ("name", "title", "summary", "source"))
        mechanisms = tuple(
            self.mechanism(known, stated[known], f"harvesting.{known}", {rule: keys})
            for known, (rule, keys) in MECHANISMS.items()
            if known in stated
        )
        return Strategy(name, title, summary, source, mechanisms)
