"""The user's own list of instance types for ``hcloud decide``: strict keys, all problems of a file at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from hcloud.errors import InputError, Problem
from hcloud.policy.codes import SCALE
from hcloud.policy.facts import TypeFacts
from hcloud.readers.stated import read_document

_NUMBERS = {
    "vcpus": (0.001, 1e5),
    "memory_gib": (0.001, 1e6),
    "spin_up_seconds": (0.0, 86_400.0),
    "quality": (0.0, 1.0),
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
        raise InputError(f"{path}: no such file of instance types")
    content = read_document(path, "list of types")
    problems = [Problem(str(path), where, repr(value)[:60], allowed) for where, value, allowed in _problems(content)]
    if problems or not isinstance(content, Mapping):
        raise InputError(f"{path}: not a list of instance types", problems)
    types = tuple(sorted(map(_type, content["types"]), key=lambda t: (t.cores, t.memory, t.name)))
    names = [t.name for t in types]
    return OwnTypes(types, names.index(content.get("large", names[-1])))


def _type(stated: Mapping[str, float]) -> TypeFacts:
    prior = min(round(stated["quality"] * SCALE), SCALE - 1)
    cores, memory = round(stated["vcpus"] * 1000), int(stated["memory_gib"] * 1024)
    return TypeFacts(str(stated["name"]), cores, memory, float(stated["spin_up_seconds"]), prior)


def _problems(content: object) -> Iterable[tuple[str, object, str]]:
    if not isinstance(content, Mapping) or not isinstance(content.get("types"), list) or not content["types"]:
        yield "types", content, "a mapping with a list of types, and large if it is not the largest"
        return
    for key in set(content) - {"types", "large"}:
        yield str(key), content[key], "unknown key; types and large are known"
    for at, stated in enumerate(content["types"]):
        yield from _type_problems(f"types[{at}]", stated)
    names = [t.get("name") for t in content["types"] if isinstance(t, Mapping)]
    if len(set(map(str, names))) < len(names):
        yield "types", names, "every name once"
    if content.get("large", names[0] if names else None) not in names:
        yield "large", content["large"], "the name of one of the types"


def _type_problems(where: str, stated: object) -> Iterable[tuple[str, object, str]]:
    if not isinstance(stated, Mapping) or not isinstance(stated.get("name"), str) or not stated["name"].isprintable():
        yield where, stated, f"a mapping with name and {', '.join(_NUMBERS)}"
        return
    for key in set(stated) - {"name", *_NUMBERS}:
        yield f"{where}.{key}", stated[key], f"unknown key; known: name, {', '.join(_NUMBERS)}"
    for key, (least, most) in _NUMBERS.items():
        value = stated.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            yield f"{where}.{key}", value, f"a number from {least:g} to {most:g}"
