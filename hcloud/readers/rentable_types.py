"""The user's own list of instance types for ``hcloud decide``: strict keys, all problems of a file at once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hcloud.errors import InputError
from hcloud.model.files import none_such
from hcloud.policy.codes import SCALE
from hcloud.policy.facts import TypeFacts
from hcloud.readers.stated import NumberWanted, Stated, read_document

_NUMBERS = {
    "vcpus": NumberWanted(0.001, 1e5),
    "memory_gib": NumberWanted(0.001, 1e6),
    "spin_up_seconds": NumberWanted(0, 86_400),
    "quality": NumberWanted(0, 1),
}


class OwnTypes(NamedTuple):
    """Types by rising size, and which of them is reserved."""

    types: tuple[TypeFacts, ...]
    large: int


def read_types(path: Path) -> OwnTypes:
    """The types in a YAML or JSON file: ``types`` with name, vcpus, memory_gib, spin_up_seconds and the quality (0..1)
    expected of an instance before it was ever measured; ``large`` names the reserved one (the largest without it).

    Raises InputError with everything that is wrong.
    """
    if not path.is_file():
        raise InputError(none_such(path, "instance types"))
    stated = Stated(str(path))
    head = stated.mapping(read_document(path, "list of types"), "", ("types", "large"), ("large",))
    listed = head.get("types")
    if not isinstance(listed, list) or not listed:
        stated.note("types", repr(listed)[:60], "a list of at least one type")
        listed = []
    found = [_type(stated, one, f"types[{at}]") for at, one in enumerate(listed)]
    types = tuple(sorted(found, key=lambda t: (t.cores, t.memory, t.name)))
    names = [t.name for t in types]
    large = head.get("large", names[-1] if names else None)
    if not stated.problems and len(set(names)) < len(names):
        stated.note("types", ", ".join(names)[:60], "every name once")
    if not stated.problems and large not in names:
        stated.note("large", repr(large)[:60], "the name of one of the types")
    stated.refuse("list of instance types")
    return OwnTypes(types, names.index(str(large)))


def _type(stated: Stated, content: object, where: str) -> TypeFacts:
    given = stated.mapping(content, where, ("name", *_NUMBERS))
    vcpus, memory, spin_up, quality = (stated.number(given, key, where, wanted) for key, wanted in _NUMBERS.items())
    name = stated.text(given, "name", where)
    if not name.isprintable():
        stated.note(f"{where}.name", repr(name)[:60], "a text without control characters")
    prior = min(round(quality * SCALE), SCALE - 1)
    return TypeFacts(name, round(vcpus * 1000), int(memory * 1024), spin_up, prior)
