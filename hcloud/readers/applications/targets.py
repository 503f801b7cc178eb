"""Targets as applications and jobs state them, with their units, and every problem of one file at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.files import none_such
from hcloud.model.target import GoalKind, JobTarget, TargetedSize
from hcloud.readers.stated import Stated, read_document
from hcloud.units import counted, parse_amount, parse_duration, parse_milliseconds

SIZES = ("cores", "vcpus", "memory_gib")
"""Keys that state a size, which a target replaces."""
KINDS: Mapping[GoalKind, tuple[str, ...]] = {
    GoalKind.SERVICE: ("qps", "tail_ms"),
    GoalKind.DEADLINE: ("deadline", "work"),
    GoalKind.RATE: ("rate",),
}
"""The keys that a target of a kind has to state."""
_MORE = {GoalKind.SERVICE: ("own_ms", "per_run", "scale_out"), GoalKind.DEADLINE: ("per_run", "scale_out")}
_KEYS = tuple(dict.fromkeys(key for keys in (*KINDS.values(), *_MORE.values()) for key in keys))
LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class TargetedApp:
    """An application by name, and what it is to achieve."""

    name: str
    target: JobTarget


def load_targeted(path: Path, known: tuple[str, ...], at: datetime) -> TargetedApp:
    """The application of a file with its target; ``known`` are the keys that its other readers look at.

    Raises UsageError where there is no such file, InputError with everything that is wrong with its target.
    """
    if not path.is_file():
        raise UsageError(none_such(path), hint="describe name and target of the application there")
    stated = Stated(str(path))
    content = read_document(path, "application")
    head = stated.head(content, (*known, *SIZES), (*known, *SIZES))
    found = TargetedApp(stated.text({"name": head.get("name")}, "name"), read_target(stated, head, at))
    stated.refuse("application")
    return found


def read_target(stated: Stated, head: Mapping[str, object], at: datetime) -> JobTarget:
    """The target of a mapping that must not state a size beside it; ``at`` is the time that dates are counted from."""
    sizes = [key for key in SIZES if key in head]
    if "target" not in head:
        stated.note("target", "missing", "for example {qps: 100k, tail_ms: 10}, {deadline: 2h, work: 500} or none")
        return JobTarget(GoalKind.NONE)
    if sizes:
        stated.note("target", f"stated beside {', '.join(sizes)}", "which of them counts? leave out the other")
    return _TargetsRead(stated, at).target(head["target"])


def read_targets(cells: Sequence[str], name: str, beside: Mapping[str, int]) -> tuple[TargetedSize, ...]:
    """The targets of a workload's cells (``qps=100k tail_ms=10``, ``deadline=2h work=500``, ``rate=0.95``, ``none``);
    a deadline counts from the submission. InputError with everything that is wrong with them, and with the columns that
    so many rows state ``beside`` their target."""
    stated = Stated(name)
    for column, rows in beside.items():
        if rows:
            both = f"{counted(rows, 'row')} with both target and {column}"
            stated.note("column target", both, "which of them counts? leave the other cell empty")
    found = []
    for cell in cells:
        words = [word.partition("=") for word in cell.split()]
        content = {key: value for key, _, value in words} if cell.strip() != GoalKind.NONE else GoalKind.NONE.value
        before = len(stated.problems)
        found.append(TargetedSize(_TargetsRead(stated, None).target(content)))
        stated.problems[before:] = [replace(p, where=f"column target, {cell!r}: {p.where}"[:120])
                                    for p in stated.problems[before:]]  # fmt: skip
    stated.refuse("targets")
    return tuple(found)


class _TargetsRead:
    """One target being read."""

    def __init__(self, stated: Stated, at: datetime | None) -> None:
        self.stated, self.at = stated, at

    def target(self, content: object) -> JobTarget:
        if content in (None, GoalKind.NONE.value):
            return JobTarget(GoalKind.NONE)
        given = self.stated.mapping(content, "target", _KEYS, _KEYS)
        made = {kind: self._made(kind, given) for kind in KINDS if any(key in given for key in KINDS[kind])}
        per_run, linear = self._number(given, "per_run", 1.0), self._linear(given)
        if len(made) != 1:
            keys = ", ".join(key for key in given if any(key in of for of in KINDS.values()))
            self.stated.note("target", f"contradictory: {keys}" if made else ", ".join(given) or "empty", _ways())
            return JobTarget(GoalKind.NONE)
        (kind, target), *_ = made.items()
        self._check_keys(kind, given)
        return self._with_own(replace(target, per_run=per_run, linear=linear), given)

    def _made(self, kind: GoalKind, given: Mapping[str, object]) -> JobTarget:
        return JobTarget(kind, self._amount(kind, given), self._limit(kind, given))

    def _check_keys(self, kind: GoalKind, given: Mapping[str, object]) -> None:
        """Notes what lacks of a kind, and what does not go with it."""
        for key in KINDS[kind]:
            if key not in given:
                self.stated.note(f"target.{key}", "missing", f"{' and '.join(KINDS[kind])} go together")
        for key in given:
            if key not in (*KINDS[kind], *_MORE.get(kind, ())):
                self.stated.note(f"target.{key}", f"does not go with {KINDS[kind][0]}", "leave it out")

    def _amount(self, kind: GoalKind, given: Mapping[str, object]) -> float:
        if kind is GoalKind.RATE:
            return self._share(given)
        return self._number(given, "qps" if kind is GoalKind.SERVICE else "work", 1.0)

    def _limit(self, kind: GoalKind, given: Mapping[str, object]) -> float:
        if kind is GoalKind.SERVICE:
            return self._milliseconds(given, "tail_ms", 1.0)
        return self._until(given) if kind is GoalKind.DEADLINE else 0.0

    def _number(self, given: Mapping[str, object], key: str, default: float) -> float:
        return self._read(given, key, default, parse_amount)

    def _milliseconds(self, given: Mapping[str, object], key: str, default: float) -> float:
        return self._read(given, key, default, _tail)

    def _read(self, given: Mapping[str, object], key: str, default: float, parse: Callable[[str], float]) -> float:
        """A positive number, plain or as text with a unit."""
        if key not in given:
            return default
        value = given[key]
        try:
            number = float(value) if _is_number(value) else parse(str(value))  # type: ignore[arg-type]
        except ValueError as error:
            self.stated.note(f"target.{key}", repr(value)[:60], str(error).partition("; ")[2] or str(error))
            return default
        if not 0 < number < float("inf"):
            self.stated.note(f"target.{key}", repr(value)[:60], "a number above 0")
            return default
        return number

    def _share(self, given: Mapping[str, object]) -> float:
        value = given.get("rate")
        text = str(value)
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = 0.0
        if isinstance(value, bool) or not 0 < number <= 1:
            self.stated.note("target.rate", repr(value)[:60], "a share of the best rate, for example 0.95 or 95%")
            return 1.0
        return number

    def _until(self, given: Mapping[str, object]) -> float:
        """Seconds until the deadline, which is a time from now or a date."""
        if "deadline" not in given:
            return 1.0
        text = str(given["deadline"]).strip()
        try:
            dated = self.at is not None and text[:4].isdigit() and "-" in text
            seconds = self._until_date(text, self.at) if dated and self.at else parse_duration(text)
        except ValueError:
            dates = "a time with its unit or a date, for example 90s, 2h, 7d or 2026-12-01T06:00Z"
            since = "the time from the submission on, for example 90s, 2h or 7d"
            self.stated.note("target.deadline", repr(text)[:60], dates if self.at is not None else since)
            return 1.0
        if seconds > 0:
            return seconds
        past = "in the past" if seconds < 0 else "now"
        self.stated.note("target.deadline", repr(text)[:60], f"is {past}; a time to come")
        return 1.0

    @staticmethod
    def _until_date(text: str, at: datetime) -> float:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return (moment - at).total_seconds()

    def _linear(self, given: Mapping[str, object]) -> bool:
        value = given.get("scale_out", LINEAR)
        if value != LINEAR:
            self.stated.note(
                "target.scale_out", repr(value)[:60], "linear (n servers do n times as much), or leave it out"
            )
        return "scale_out" in given

    def _with_own(self, made: JobTarget, given: Mapping[str, object]) -> JobTarget:
        """The service's own tail, which no number of servers makes shorter."""
        own = self._milliseconds(given, "own_ms", 0.0) if "own_ms" in given else 0.0
        if own and "tail_ms" in given and own >= made.limit:
            self.stated.note(
                "target.tail_ms", f"{made.limit:g} ms", f"above the service's own time: it takes {own:g} ms by itself"
            )
        return replace(made, own_ms=own)


def _tail(text: str) -> float:
    """Milliseconds where no unit is written."""
    return float(text) if text.replace(".", "", 1).isdecimal() else parse_milliseconds(text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ways() -> str:
    return f"one of {', '.join(' with '.join(keys) for keys in KINDS.values())}, none"
