"""Documents that state every number with its origin: strict keys, and all problems of a file found at once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hcloud.errors import InputError, Problem, UsageError, did_you_mean
from hcloud.model.files import HEAD, check_sort, kind_of
from hcloud.model.running.strategy import FORMAT_VERSION, Key, Mechanism, Parameter, ParameterOrigin, Value
from hcloud.model.workload import JobKind
from hcloud.readers.safe_yaml import load_yaml
from hcloud.units import counted

LARGEST = 1024 * 1024
SORTS = {"application": ("a description of an application",)}
"""What a document is called among all sorts of files, where that is another name."""
_MECHANISM = ("rule", "origin", "source", "why", "parameters")
_PARAMETER = ("value", "unit", "origin", "source", "why")


def find_file(name: str, known: Sequence[str], folder: Path, what: str) -> Path:
    """The bundled file of a name (in any case) or the user's own by its path; UsageError where there is neither."""
    if bundled_name := next((k for k in known if k.lower() == name.lower()), None):
        return folder / f"{bundled_name}.yaml"
    path = Path(name)
    if path.is_file():
        return path
    if name and path.exists() and (kind := kind_of(path.stat().st_mode)):
        raise UsageError(f"{name}: is {kind}, not a {what}")
    if path.suffix in (".yaml", ".yml") or "/" in name:
        raise UsageError(f"{name}: no such {what} file")
    close = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.5)
    meant = next((k for k in known if close and k.lower() == close[0]), None)
    raise UsageError(
        f"there is no {what} {name!r}{f'; did you mean {meant}?' if meant else ''}",
        hint=f"known: {', '.join(known)}, or the path of a file of your own",
    )


def read_document(path: Path, what: str) -> object:
    """The content of a file; InputError where it is too large, no UTF-8 or no plain YAML."""
    return document_in(document_bytes(path, what), str(path), what)


def document_bytes(path: Path, what: str) -> bytes:
    """What a file holds; InputError where that is too large, or empty."""
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any {what} ({LARGEST} bytes)")
    data = path.read_bytes()
    if not data.strip():
        raise InputError(f"{path}: is empty, and no {what}")
    return data


def document_in(data: bytes, name: str, what: str) -> object:
    """The content of what a file of that name holds; InputError where it is no UTF-8 or no plain YAML."""
    check_sort(Path(name), data[:HEAD], *SORTS.get(what, (f"a {what}",)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text: {error.reason}") from None
    return load_yaml(text, name)


class NumberWanted(NamedTuple):
    """What a number has to be, and what it is where nothing is said (None: it has to be stated)."""

    least: float
    most: float
    default: float | None = None
    is_whole: bool = False
    is_above: bool = False
    """Whether the least itself is too little."""

    def takes(self, value: float) -> bool:
        """Whether a number is one of these."""
        fits = not isinstance(value, bool) and self.least <= value <= self.most
        return fits and (not self.is_whole or value == int(value)) and not (self.is_above and value == self.least)

    @property
    def allowed(self) -> str:
        """The same in words."""
        what, since = "a whole number" if self.is_whole else "a number", "above" if self.is_above else "from"
        return f"{what} {since} {self.least:,.9g} to {self.most:,.9g}"


@dataclass(slots=True)
class Stated:
    """One file being read: what is unusable is remembered and stood in for, so that all problems are found at once."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def note(self, where: str, value: str, allowed: str) -> None:
        """Remembers a problem."""
        self.problems.append(Problem(self.file, where, value, allowed))

    def refuse(self, what: str) -> None:
        """Raises InputError with all problems, if there are any."""
        if self.problems:
            raise InputError(f"{self.file}: {counted(len(self.problems), 'problem')} in the {what}", self.problems)

    def head(self, content: object, known: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, object]:
        """The top of a document; its version must be one that is understood."""
        head = self.mapping(content, "", known, optional)
        version = str(head.get("format_version", FORMAT_VERSION))
        if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
            self.note("format_version", version, f"this hcloud reads {FORMAT_VERSION}")
        return head

    def mapping(
        self, content: object, where: str, known: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> dict[str, object]:
        """The known keys of a mapping; unknown and missing ones become problems."""
        if not isinstance(content, dict):
            self.note(where or "(top)", repr(content)[:60], f"a mapping with the keys {', '.join(known) or 'none'}")
            return {}
        path = f"{where}." if where else ""
        for key in content:
            if key not in known:
                self.note(f"{path}{key}", "unknown key", self.instead(str(key), known))
        for key in known:
            if key not in content and key not in optional:
                self.note(f"{path}{key}", "missing", "has to be stated")
        return {str(k): v for k, v in content.items() if k in known}

    def instead(self, key: str, known: tuple[str, ...]) -> str:
        """What to write in place of an unknown key."""
        close = difflib.get_close_matches(key, known, n=1)
        return f"did you mean {close[0]}?" if close else _listed(known)

    def mechanism(
        self, name: str, content: object, where: str, keys_by_rule: Mapping[str, tuple[Key, ...]]
    ) -> Mechanism:
        """A mechanism: which of its rules it follows, with the numbers that this asks for."""
        stated = self.mapping(content, where, _MECHANISM, ("source", "parameters"))
        rule, parameters = str(stated.get("rule", "")), tuple[Parameter, ...]()
        if rule in keys_by_rule:
            parameters = self.parameters(keys_by_rule[rule], stated.get("parameters", {}), f"{where}.parameters")
        elif "rule" in stated:
            known = f"rules: {', '.join(keys_by_rule)}{did_you_mean(rule, keys_by_rule)}"
            self.note(f"{where}.rule", repr(rule), known)
        origin, source = self.origin(stated, where)
        return Mechanism(name, rule, origin, source, self.text(stated, "why", where), parameters)

    def parameters(self, keys: tuple[Key, ...], content: object, where: str) -> tuple[Parameter, ...]:
        """The numbers that the keys ask for, all of them but those with a default, and no others."""
        optional = tuple(k.name for k in keys if k.default is not None)
        given = self.mapping(content, where, tuple(k.name for k in keys), optional)
        return tuple(self.parameter(k, given[k.name], where) for k in keys if k.name in given)

    def parameter(self, key: Key, content: object, within: str) -> Parameter:
        """One number with its unit, origin and reason."""
        where = f"{within}.{key.name}"
        stated = self.mapping(content, where, _PARAMETER, ("source",) if key.unit else ("source", "unit"))
        value = stated.get("value")
        if isinstance(value, list):
            value = tuple(value)
        if "value" in stated and not key.accepts(value):
            self.note(f"{where}.value", repr(value)[:60], key.allowed)
        unit = str(stated.get("unit", key.unit))
        if unit != key.unit:
            self.note(f"{where}.unit", repr(unit), f"the unit is {key.unit!r}" if key.unit else "has no unit")
        origin, source = self.origin(stated, where)
        usable: Value = value if isinstance(value, bool | int | float | str | tuple) else 0
        return Parameter(key.name, usable, unit, origin, source, self.text(stated, "why", where))

    def origin(self, stated: Mapping[str, object], where: str) -> tuple[ParameterOrigin, str]:
        """Who says so and where; all but our own choices name their source."""
        letter, source = str(stated.get("origin", ParameterOrigin.OURS)), str(stated.get("source", ""))
        if letter not in list(ParameterOrigin):
            allowed = ", ".join(f"{o.value} ({o.label})" for o in ParameterOrigin)
            self.note(f"{where}.origin", repr(letter), allowed)
            return ParameterOrigin.OURS, source
        if letter != ParameterOrigin.OURS and not source:
            self.note(f"{where}.source", "missing", f"origin {letter} names the section or publication it is from")
        return ParameterOrigin(letter), source

    def number(self, stated: Mapping[str, object], key: str, within: str, wanted: NumberWanted) -> float:
        """A number in its bounds; the default (else the least) where none is stated or it cannot be."""
        otherwise = wanted.least if wanted.default is None else wanted.default
        value = stated.get(key, otherwise)
        if isinstance(value, int | float) and (key not in stated or wanted.takes(value)):
            return float(value)
        self.note(f"{within}.{key}".lstrip("."), repr(value)[:60], wanted.allowed)
        return otherwise

    def job_kind(self, content: object) -> JobKind:
        """Batch or service; batch where nothing is stated or it cannot be."""
        known = {kind.name.lower(): kind for kind in JobKind}
        if content is not None and str(content) not in known:
            self.note("kind", repr(content)[:60], " or ".join(known))
        return known.get(str(content), JobKind.BATCH)

    def text(self, stated: Mapping[str, object], key: str, within: str = "") -> str:
        """A text that must not be empty."""
        value = stated.get(key, "-")
        if not isinstance(value, str) or not value.strip():
            self.note(f"{within}.{key}".lstrip("."), repr(value), "a text")
            return ""
        return value.strip()


def _listed(known: tuple[str, ...]) -> str:
    return f"known keys: {', '.join(known)}" if known else "this rule has no keys"
