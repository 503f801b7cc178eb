"""What a job requires of a machine, as a trace states it: ``type=m5.xlarge|c5*``, ``vcpus>=8``, ``memory>=60``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

ALLOWED = "type=NAME|NAME (a name may end in *), vcpus>=N or memory>=GIB, apart by spaces"
_TYPE = "type="
_LEAST = ("vcpus>=", "memory>=")


class Requirement(NamedTuple):
    """Patterns of the types that will do (none: any), the least vCPUs and GiB of the whole machine."""

    types: tuple[str, ...] = ()
    vcpus: float = 0.0
    memory: float = 0.0

    def is_met(self, name: str, vcpus: float, memory: float) -> bool:
        """Whether a machine of a type and size will do."""
        is_named = not self.types or any(fnmatchcase(name, pattern) for pattern in self.types)
        return is_named and vcpus >= self.vcpus and memory >= self.memory


def requirement_of(text: str) -> Requirement | None:
    """What a text requires; None where it is none."""
    types: tuple[str, ...] = ()
    least = dict.fromkeys(_LEAST, 0.0)
    for part in text.split():
        if part.startswith(_TYPE):
            types = tuple(part.removeprefix(_TYPE).split("|"))
            if not all(types):
                return None
            continue
        prefix = next((p for p in _LEAST if part.startswith(p)), None)
        number = part.removeprefix(prefix) if prefix else ""
        if prefix is None or not number.replace(".", "", 1).isdigit() or not number.isascii():
            return None
        least[prefix] = float(number)
    return Requirement(types, least["vcpus>="], least["memory>="]) if text.split() else None
