"""Strategy files: strict keys, every rule with all of its numbers and their origins, and rules that fit together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hcloud.errors import InputError, Problem, UsageError
from hcloud.model.strategy import FORMAT_VERSION, RULES, Key, Mechanism, Origin, Parameter, Strategy, Value
from hcloud.readers.bundle import bundled
from hcloud.readers.safe_yaml import load_yaml
from hcloud.units import counted

LARGEST = 1024 * 1024
NAMES = ("SR", "OdF", "OdM", "HF", "HM")
_HEAD = ("format_version", "name", "title", "summary", "source", "mechanisms")
_MECHANISM = ("rule", "origin", "source", "why", "parameters")
_PARAMETER = ("value", "unit", "origin", "source", "why")
T = TypeVar("T")


def strategy_names() -> tuple[str, ...]:
    """The names of the bundled strategies: the five of the thesis, then any others, without reading a file."""
    found = {path.stem for path in bundled("policies").glob("*.yaml")}
    return tuple(n for n in NAMES if n in found) + tuple(sorted(found - set(NAMES)))


def load_strategy(name: str) -> Strategy:
    """A bundled strategy by its name (in any case), or the user's own by the path of its file.

    Raises UsageError where there is no such strategy or file, InputError with every problem of a file.
    """
    known = strategy_names()
    if bundled_name := next((k for k in known if k.lower() == name.lower()), None):
        return read_strategy(bundled("policies") / f"{bundled_name}.yaml")
    path = Path(name)
    if path.is_file():
        return read_strategy(path)
    if path.suffix in (".yaml", ".yml") or "/" in name:
        raise UsageError(f"{name}: no such strategy file")
    close = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.5)
    meant = next((k for k in known if close and k.lower() == close[0]), None)
    raise UsageError(
        f"there is no strategy {name!r}{f'; did you mean {meant}?' if meant else ''}",
        hint=f"strategies: {', '.join(known)}, or the path of a file of your own",
    )


def read_strategy(path: Path) -> Strategy:
    """The strategy in a file; raises InputError with everything that is wrong with it."""
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any strategy ({LARGEST} bytes)")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason}") from None
    return parse_strategy(load_yaml(text, str(path)), str(path))


def parse_strategy(content: object, name: str) -> Strategy:
    """The strategy that a document states; ``name`` is the file that problems are reported for."""
    reading = _Reading(name)
    strategy = reading.strategy(content)
    if not reading.problems:
        reading.problems += [Problem(name, where, what, why) for where, what, why in misfits(strategy)]
    if reading.problems:
        raise InputError(f"{name}: {counted(len(reading.problems), 'problem')} in the strategy", reading.problems)
    return strategy


def misfits(strategy: Strategy) -> Iterable[tuple[str, str, str]]:
    """Rules that cannot work together: where, what stands there and what it would need."""
    rule = {m.name: m.rule for m in strategy.mechanisms}
    mapping, has_reserve, rents = rule["mapping"], rule["reserved"] != "none", rule["on_demand"] != "none"
    where = "mechanisms.mapping.rule"
    if mapping != "on-demand-only" and not has_reserve:
        yield where, mapping, "needs a rule other than none for reserved"
    if mapping != "reserved-only" and not rents:
        yield where, mapping, "needs a rule other than none for on_demand"
    if mapping == "reserved-only" and rents:
        yield where, mapping, "never uses what on_demand rents"
    if mapping == "on-demand-only" and has_reserve:
        yield where, mapping, "never uses what reserved holds"
    if has_reserve and rule["queueing"] == "none":
        yield "mechanisms.queueing.rule", "none", "a reserve can be full: arrival-order or late-binding"
    if mapping == "dynamic":
        yield from _dynamic_misfits(strategy, rule)
    yield from _limit_misfits(strategy.mechanism("limits"))


def _dynamic_misfits(strategy: Strategy, rule: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    for needed, values in (("limits", ("fixed", "feedback")), ("quality", ("monitored",))):
        if rule[needed] not in values:
            yield f"mechanisms.{needed}.rule", rule[needed], f"the dynamic mapping needs {' or '.join(values)}"
    if rule["queueing"] != "late-binding":
        yield "mechanisms.queueing.rule", rule["queueing"], "the dynamic mapping asks late-binding for the wait"
    if rule["on_demand"] != "none":
        large = strategy.mechanism("mapping").number("large_vcpus")
        if large not in strategy.mechanism("on_demand").numbers("sizes_vcpus"):
            yield "mechanisms.mapping.parameters.large_vcpus", f"{large:g}", "must be one of on_demand's sizes_vcpus"


def _limit_misfits(limits: Mechanism) -> Iterable[tuple[str, str, str]]:
    if limits.rule == "fixed" and limits.number("soft") > limits.number("hard"):
        yield "mechanisms.limits.parameters.soft", f"{limits.number('soft'):g}", "must not exceed hard"
    if limits.rule == "feedback":
        start, ceiling = limits.number("soft_start"), limits.number("hard") - limits.number("gap")
        if not limits.number("soft_floor") <= start <= ceiling + 1e-12:
            yield "mechanisms.limits.parameters.soft_start", f"{start:g}", "must lie from soft_floor to hard - gap"


@dataclass(slots=True)
class _Reading:
    """One file being read: what is unusable is remembered and stood in for, so that all problems are found at once."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def strategy(self, content: object) -> Strategy:
        head = self._mapping(content, "", _HEAD, optional=())
        version = str(head.get("format_version", FORMAT_VERSION))
        if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
            self._note("format_version", version, f"this hcloud reads {FORMAT_VERSION}")
        mechanisms = self._mapping(head.get("mechanisms", {}), "mechanisms", tuple(RULES), optional=())
        name, title, summary, source = (self._text(head, key, "") for key in ("name", "title", "summary", "source"))
        return Strategy(
            name,
            title,
            summary,
            source,
            tuple(self._mechanism(name, mechanisms[name]) for name in RULES if name in mechanisms),
        )

    def _mechanism(self, name: str, content: object) -> Mechanism:
        where = f"mechanisms.{name}"
        stated = self._mapping(content, where, _MECHANISM, optional=("source", "parameters"))
        rule = str(stated.get("rule", ""))
        keys: tuple[Key, ...] | None = RULES[name].get(rule)
        if keys is None and "rule" in stated:
            self._note(f"{where}.rule", repr(rule), f"rules: {', '.join(RULES[name])}")
        parameters: tuple[Parameter, ...] = ()
        if keys is not None:
            at = f"{where}.parameters"
            given = self._mapping(stated.get("parameters", {}), at, tuple(k.name for k in keys), optional=())
            parameters = tuple(self._parameter(k, given[k.name], at) for k in keys if k.name in given)
        origin, source = self._origin(stated, where)
        return Mechanism(name, rule, origin, source, self._text(stated, "why", where), parameters)

    def _parameter(self, key: Key, content: object, within: str) -> Parameter:
        where = f"{within}.{key.name}"
        optional = ("source",) if key.unit else ("source", "unit")
        stated = self._mapping(content, where, _PARAMETER, optional=optional)
        value = stated.get("value")
        if isinstance(value, list):
            value = tuple(value)
        if "value" in stated and not key.accepts(value):
            self._note(f"{where}.value", repr(value)[:60], key.allowed)
        unit = str(stated.get("unit", key.unit))
        if unit != key.unit:
            self._note(f"{where}.unit", repr(unit), f"the unit is {key.unit!r}" if key.unit else "has no unit")
        origin, source = self._origin(stated, where)
        usable: Value = value if isinstance(value, bool | int | float | str | tuple) else 0
        return Parameter(key.name, usable, unit, origin, source, self._text(stated, "why", where))

    def _origin(self, stated: Mapping[str, object], where: str) -> tuple[Origin, str]:
        letter, source = str(stated.get("origin", Origin.OURS)), str(stated.get("source", ""))
        if letter not in list(Origin):
            allowed = ", ".join(f"{o.value} ({o.label})" for o in Origin)
            self._note(f"{where}.origin", repr(letter), allowed)
            return Origin.OURS, source
        if letter != Origin.OURS and not source:
            self._note(f"{where}.source", "missing", f"origin {letter} names the section or publication it is from")
        return Origin(letter), source

    def _text(self, stated: Mapping[str, object], key: str, within: str) -> str:
        value = stated.get(key, "-")
        if not isinstance(value, str) or not value.strip():
            self._note(f"{within}.{key}".lstrip("."), repr(value), "a text")
            return ""
        return value.strip()

    def _mapping(
        self, content: object, where: str, known: tuple[str, ...], *, optional: tuple[str, ...]
    ) -> dict[str, object]:
        """The known keys of a mapping; unknown and missing ones become problems."""
        if not isinstance(content, dict):
            self._note(where or "(top)", repr(content)[:60], f"a mapping with the keys {', '.join(known) or 'none'}")
            return {}
        path = f"{where}." if where else ""
        for key in content:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, n=1)
                self._note(f"{path}{key}", "unknown key", f"did you mean {close[0]}?" if close else _listed(known))
        for key in known:
            if key not in content and key not in optional:
                self._note(f"{path}{key}", "missing", "has to be stated")
        return {str(k): v for k, v in content.items() if k in known}

    def _note(self, where: str, value: str, allowed: str) -> None:
        self.problems.append(Problem(self.file, where, value, allowed))


def _listed(known: tuple[str, ...]) -> str:
    return f"known keys: {', '.join(known)}" if known else "this rule has no keys"
