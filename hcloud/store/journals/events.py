"""Events as JSON lines: strict keys on the way in, numbers that come back exactly.

What each key may hold is said once, and is how it is checked, read and written, and its published schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any

from hcloud.model.json_text import said
from hcloud.model.running.event import (
    ENTRIES,
    UNKNOWN,
    Arrival,
    BelowQos,
    Cancelled,
    ClockTick,
    Closing,
    Completion,
    During,
    Event,
    EventError,
    Failed,
    Interruption,
    Latency,
    LaunchFailed,
    Lost,
    Pool,
    Progress,
    Quality,
    Ready,
    Reclassified,
    Sample,
)

MOST = 1e15
LONGEST_NAME, LONGEST_WHY = 200, 1000
MOST_SERVERS, MOST_AGENTS, MOST_REFUSED = 1_000_000, 1_000, 1_000_000
MOST_PRIORITY = (1 << 32) - 1  # the highest that slurmctld knows

REFUSED: object = object()
_NUMBERS = (int, float)

Document = dict[str, Any]
Schema = dict[str, object]


def _no_number(token: str) -> float:
    raise ValueError(f"{token} is no number")


_decode = json.JSONDecoder(parse_constant=_no_number).decode
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class LineValue:
    """What a key may hold. ``read`` gives the value of what stands in a line, REFUSED for what is not ``allowed``;
    ``written`` gives what stands there for a value (None: the same), but ``unwritten`` is left out. Without the key
    ``usual`` is read (REFUSED: there is no line without it)."""

    read: Callable[[Any], Any]
    allowed: str
    schema: Schema
    written: Callable[[Any], object] | None = None
    may_be_null: bool = False
    usual: Any = REFUSED
    unwritten: Any = REFUSED

    def stated(self, key: str, given: object) -> Any:
        """The value that a line states; raises EventError with what is allowed."""
        found = self.read(given)
        if found is not REFUSED:
            return found
        if given is None and self.may_be_null:
            return None
        raise EventError(f"{key}: {_shown(given)}; {self.allowed}")


def _shown(value: object) -> str:
    return "missing" if value is None else json.dumps(value)[:60]


def _number(least: float, most: float, made: Callable[[Any], Any] = float) -> LineValue:
    def read(value: Any) -> Any:
        return made(value) if type(value) in _NUMBERS and least <= value <= most else REFUSED  # so is NaN

    return LineValue(
        read, f"a number from {least:g} to {most:g}", {"type": "number", "minimum": least, "maximum": most}
    )


def _whole(least: int, most: int) -> LineValue:
    def read(value: Any) -> Any:
        return value if type(value) is int and least <= value <= most else REFUSED

    schema: Schema = {"type": "integer", "minimum": least, "maximum": most}
    return LineValue(read, f"a whole number from {least} to {most}", schema)


def _list(fits: Callable[[Any], bool], allowed: str, made: Callable[[Any], Any] = tuple, **schema: object) -> LineValue:
    def read(value: Any) -> Any:
        return made(value) if type(value) is list and fits(value) else REFUSED

    return LineValue(read, allowed, {"type": "array", **schema}, list)


def _or_null(value: LineValue) -> LineValue:
    kinds = [value.schema["type"], "null"]
    return replace(value, schema={**value.schema, "type": kinds}, may_be_null=True)


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def _is_name(value: object) -> bool:
    return type(value) is int or _is_text(value, LONGEST_NAME)


def _is_vector(value: list[Any]) -> bool:
    return len(value) == ENTRIES and set(map(type, value)) == {int} and min(value) >= 0 and max(value) <= 99


TIME, _SHARE = _number(0, MOST), _number(0, 1)
_PERFORMANCE = replace(_number(0, 1000), usual=1.0)
CORES = replace(_number(0, 1e6, lambda n: max(round(n * 1000), 1)), written=lambda ask: ask / 1000)
MEMORY = replace(_number(0, 1e6, lambda n: math.ceil(n * 1024)), written=lambda mib: mib / 1024, usual=0)
_FLAG = LineValue(lambda value: value if type(value) is bool else REFUSED, "true or false", {"type": "boolean"})
_CHARACTERS = "characters, without line breaks and control characters"
_A_NAME = f"a whole number or a text of 1 to {LONGEST_NAME} {_CHARACTERS}"
_NAME_SCHEMA: Schema = {"type": ["string", "integer"], "minLength": 1, "maxLength": LONGEST_NAME}
_NAME = LineValue(lambda value: str(value) if _is_name(value) else REFUSED, _A_NAME, _NAME_SCHEMA)
_NAMES = _list(
    lambda names: all(map(_is_name, names)),
    f"a list of jobs, each {_A_NAME}",
    lambda names: tuple(map(str, names)),
    items=_NAME_SCHEMA,
)
_WHY = LineValue(
    lambda text: text if _is_text(text, LONGEST_WHY) else REFUSED,
    f"a text of 1 to {LONGEST_WHY} {_CHARACTERS}",
    {"type": "string", "minLength": 1, "maxLength": LONGEST_WHY},
)
_NATURAL: Schema = {"type": "integer", "minimum": 0}
INSTANCE = LineValue(
    lambda value: value if type(value) is int and value >= 0 else REFUSED,
    "the number of an instance from a decision",
    _NATURAL,
)
_INSTANCES = _list(
    lambda values: all(type(value) is int and 0 <= value < MOST_SERVERS for value in values),
    "a list of numbers of instances",
    items={**_NATURAL, "exclusiveMaximum": MOST_SERVERS},
)
_VECTOR = _list(
    _is_vector,
    f"a list of {ENTRIES} whole numbers from 0 to 99",
    items={**_NATURAL, "maximum": 99},
    minItems=ENTRIES,
    maxItems=ENTRIES,
)
_KNOWN, _MOMENT = _or_null(_VECTOR), _or_null(TIME)
_CODE = LineValue(
    lambda value: value if type(value) is int and -255 <= value <= 255 and value else REFUSED,
    "a whole number from -255 to 255 but 0: a job that ends with 0 is a completion",
    {"type": "integer", "minimum": -255, "maximum": 255, "not": {"const": 0}},
)
_DURING = LineValue(
    lambda value: During(value) if value in tuple(During) else REFUSED,
    f"one of {', '.join(During)}",
    {"enum": [during.value for during in During]},
    lambda during: during.value,
    usual=During.WATCH,
)

_ARRIVAL = {
    "job": _NAME,
    "cores": CORES,
    "memory_gib": MEMORY,
    "vector": replace(_VECTOR, usual=UNKNOWN),
    "restartable": replace(_FLAG, usual=False),
    "coin": replace(_SHARE, usual=None),
    "submitted": _MOMENT,
    "true_vector": _KNOWN,
    "movable": _FLAG,
    "agent": _whole(0, MOST_AGENTS),
    "copy_age": replace(TIME, usual=0.0),
    "platform": _whole(0, MOST_SERVERS),
    "ranked": _INSTANCES,
    "refused": _whole(0, MOST_REFUSED),
    "expected": _MOMENT,
    "slack": _or_null(_number(-MOST, MOST)),
    "urgent": _FLAG,
    "priority": _whole(-MOST_PRIORITY, MOST_PRIORITY),
    "spare": _FLAG,
    "copy_of": _NAME,
    "pieces": _whole(1, MOST_SERVERS),
    "after": _NAME,
    "tolerates": _KNOWN,
    "true_tolerates": _KNOWN,
}
_LINES: Mapping[str, tuple[type[Event], Mapping[str, LineValue]]] = {
    "arrival": (Arrival, _ARRIVAL),
    "completion": (Completion, {"job": _NAME, "performance": _PERFORMANCE, "tail": _MOMENT}),
    "failed": (Failed, {"job": _NAME, "code": _CODE}),
    "cancelled": (Cancelled, {"job": _NAME}),
    "below-qos": (BelowQos, {"job": _NAME, "performance": _PERFORMANCE, "rate": _MOMENT}),
    "progress": (Progress, {"job": _NAME, "share": _SHARE}),
    "latency": (Latency, {"job": _NAME, "p99": TIME}),
    "reclassified": (
        Reclassified,
        {"job": _NAME, "estimate": _VECTOR, "performance": _PERFORMANCE, "tolerates": _KNOWN},
    ),
    "ready": (Ready, {"instance": INSTANCE, "spin_up": _MOMENT}),
    "launch-failed": (LaunchFailed, {"instance": INSTANCE, "why": _WHY, "until": TIME}),
    "lost": (Lost, {"instance": INSTANCE, "unbegun": _NAMES}),
    "closing": (Closing, {"instance": INSTANCE, "over": _FLAG, "measures": _NAME, "suffers": _NAME}),
    "quality": (Quality, {"instance": INSTANCE, "score": _SHARE}),
    "pool": (Pool, {"size": _whole(0, MOST_SERVERS), "type": _NAME}),
    "sample": (Sample, {"instance": INSTANCE, "contention": _VECTOR, "during": _DURING}),
    "interruption": (Interruption, {"instance": INSTANCE}),
    "clock": (ClockTick, {}),
}
"""What the keys of the line of each event hold, beside its time and name, in the order in which they are written. A key
that has no usual value here has its field's default, and is written only where it is another."""
_SPELT = {"ask": "cores", "memory": "memory_gib"}


class EventForm:
    """How the lines of an event are read and written; ``keys`` are what theirs may hold, in the order of its fields."""

    def __init__(self, name: str, kind: type[Event], held: Mapping[str, LineValue]) -> None:
        self.name, self._kind = name, kind
        field_of = {_SPELT.get(field.name, field.name): field for field in fields(kind)}
        known = {key: _completed(value, field_of[key].default) for key, value in {"at": TIME, **held}.items()}
        self.keys = {key: known[key] for key in field_of}
        self._read = {key: (field_of[key].name, value.read, value) for key, value in known.items()}
        self._written = [(key, field_of[key].name, known[key].unwritten, known[key].written) for key in held]
        self._usual = {field: value.usual for field, _, value in self._read.values()}
        self._needed = [key for key, value in known.items() if value.usual is REFUSED]

    def document(self, event: Event) -> Document:
        """The line of an event."""
        made: Document = {"at": event.at, "event": self.name}
        for key, field, unwritten, written in self._written:
            given = getattr(event, field)
            if unwritten is REFUSED or (given is not unwritten and given != unwritten):
                made[key] = given if written is None else written(given)
        return made

    def event(self, document: Document) -> Event:
        """The event of a line; raises EventError with the key that is wrong, and what is allowed."""
        made = self._usual.copy()
        for key, given in document.items():
            if key in self._read:
                field, read, value = self._read[key]
                found = read(given)
                made[field] = found if found is not REFUSED else value.stated(key, given)
            elif key != "event":
                known = EVENT_KEYS[self.name]
                told = f"{_shown(key)[1:-1]}: unknown key{_guess(key, known)}"
                raise EventError(f"{told}; {self.name} knows {', '.join(known)}")
        for key in self._needed:
            if key not in document:
                self.keys[key].stated(key, None)
        if self._kind is Arrival:
            _check_arrival(made)
        return self._kind(**made)


def _completed(value: LineValue, default: Any) -> LineValue:
    """What a field's default says, unless a usual value is given."""
    is_open = value.usual is REFUSED and default is not MISSING
    return replace(value, usual=default, unwritten=default) if is_open else value


FORMS = {name: EventForm(name, kind, held) for name, (kind, held) in _LINES.items()}
_FORM_OF = {kind: FORMS[name] for name, (kind, _) in _LINES.items()}
EVENT_KEYS: Mapping[str, tuple[str, ...]] = {
    name: ("at", "event", *(key for key in form.keys if key != "at")) for name, form in FORMS.items()
}
"""The keys of the line of each event."""


def to_line(document: Mapping[str, object]) -> str:
    """One line of JSON with its end."""
    return _encode(document) + "\n"


def from_line(text: str) -> Document:
    """The object a line holds; raises EventError where it holds none."""
    try:
        document = _decode(text)
    except (ValueError, RecursionError) as error:
        raise EventError(f"not JSON: {said(error)}") from None
    if not isinstance(document, dict):
        raise EventError("not a JSON object")
    return document


def event_document(event: Event) -> Document:
    """An event as it stands in a line."""
    made = _FORM_OF[type(event)].document(event)
    if isinstance(event, Arrival) and event.agent is None:
        del made["copy_age"]
    return made


def parse_event(document: Document) -> Event:
    """The event that a line states; raises EventError with what is wrong and what is allowed."""
    name = document.get("event")
    form = FORMS.get(name) if isinstance(name, str) else None
    if form is None:
        raise EventError(f"event: {_shown(name)}{_guess(str(name), FORMS)}; one of {', '.join(FORMS)}")
    return form.event(document)


def _guess(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def coin_of(job: str) -> float:
    """A number in 0..1 that is a job's own, for random mapping, where the stream states none."""
    return int.from_bytes(blake2b(job.encode(), digest_size=6).digest()) / 2.0**48


def _check_arrival(made: Document) -> None:
    """Give it a coin where its line states none; EventError where it was submitted after it came."""
    if made["coin"] is None:
        made["coin"] = coin_of(made["job"])
    if made["submitted"] is not None:
        _number(0, made["at"]).stated("submitted", made["submitted"])
