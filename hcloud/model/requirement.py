"""What a job requires of a machine, as a trace states it: ``type=m5.xlarge|c5*``, ``vcpus>=8``, ``memory>=60``,
``server=0|17``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

ALLOWED = (
    "type=NAME|NAME (a name may end in *), vcpus>=N, memory>=GIB or server=N|N (numbers of reserved servers, from 0),"
    " apart by spaces"
)
_TYPE, _SERVER = "type=", "server="
_LEAST = ("vcpus>=", "memory>=")
_MOST_DIGITS = 9


class Requirement(NamedTuple):
    """Patterns of the types that will do (none: any), the least vCPUs and GiB of the whole machine, and the numbers of
    the reserved servers that will do (none: any, and rented ones)."""

    types: tuple[str, ...] = ()
    vcpus: float = 0.0
    memory: float = 0.0
    servers: tuple[int, ...] = ()

    def is_met(self, name: str, vcpus: float, memory: float) -> bool:
        """Whether a machine of a type and size will do, whatever its number."""
        is_named = not self.types or any(fnmatchcase(name, pattern) for pattern in self.types)
        return is_named and vcpus >= self.vcpus and memory >= self.memory


def requirement_of(text: str) -> Requirement | None:
    """What a text requires; None where it is none."""
    types: tuple[str, ...] = ()
    servers: tuple[int, ...] = ()
    least = dict.fromkeys(_LEAST, 0.0)
    for part in text.split():
        if part.startswith(_TYPE):
            types = tuple(part.removeprefix(_TYPE).split("|"))
            if not all(types):
                return None
            continue
        if part.startswith(_SERVER):
            numbers = part.removeprefix(_SERVER).split("|")
            if not all(n.isascii() and n.isdigit() and len(n) <= _MOST_DIGITS for n in numbers):
                return None
            servers = tuple(sorted({int(n) for n in numbers}))
            continue
        prefix = next((p for p in _LEAST if part.startswith(p)), None)
        number = part.removeprefix(prefix) if prefix else ""
        if prefix is None or not number.replace(".", "", 1).isdigit() or not number.isascii():
            return None
        least[prefix] = float(number)
    return Requirement(types, least["vcpus>="], least["memory>="], servers) if text.split() else None
