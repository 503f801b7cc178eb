"""Events as JSON lines: strict keys on the way in, numbers that come back exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
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
    OfInstance,
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


def _no_number(token: str) -> float:
    raise ValueError(f"{token} is no number")


_decode = json.JSONDecoder(parse_constant=_no_number).decode
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

Document = dict[str, Any]


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
    name, _, write = _KINDS[type(event)]
    return {"at": event.at, "event": name, **write(event)}


def parse_event(document: Document) -> Event:
    """The event that a line states; raises EventError with what is wrong and what is allowed."""
    name = document.get("event")
    kind = BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        near = get_close_matches(str(name), BY_NAME, 1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        raise EventError(f"event: {_shown(name)}{guess}; one of {', '.join(BY_NAME)}")
    keys, read = kind
    if unknown := [k for k in document if k not in keys]:
        near = get_close_matches(unknown[0], keys, 1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        raise EventError(f"{_shown(unknown[0])[1:-1]}: unknown key{guess}; {name} knows {', '.join(keys)}")
    return read(document)


def _shown(value: object) -> str:
    return "missing" if value is None else json.dumps(value)[:60]


def _number(document: Document, key: str, least: float, most: float, usual: float | None = None) -> float:
    value = document.get(key, usual)
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:  # so is NaN
        raise EventError(f"{key}: {_shown(value)}; a number from {least:g} to {most:g}")
    return float(value)


def _name(document: Document) -> str:
    return _named(document.get("job"), "job")


def _or_none(document: Document, key: str) -> str | None:
    return _named(document[key], key) if key in document else None


def _named(value: object, key: str) -> str:
    if type(value) is int:
        return str(value)
    if not _is_text(value, LONGEST_NAME):
        raise EventError(f"{key}: {_shown(value)}; a whole number or a text of 1 to {LONGEST_NAME} {_CHARACTERS}")
    return str(value)


_CHARACTERS = "characters, without line breaks and control characters"


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def _why(document: Document) -> str:
    value = document.get("why")
    if not _is_text(value, LONGEST_WHY):
        raise EventError(f"why: {_shown(value)}; a text of 1 to {LONGEST_WHY} {_CHARACTERS}")
    return str(value)


def _whole(document: Document, key: str, least: int, most: int) -> int:
    value = document.get(key)
    if type(value) is not int or not least <= value <= most:
        raise EventError(f"{key}: {_shown(value)}; a whole number from {least} to {most}")
    return value


def _flag(document: Document, key: str, *, usual: bool) -> bool:
    value = document.get(key, usual)
    if type(value) is not bool:
        raise EventError(f"{key}: {_shown(value)}; true or false")
    return value


def _instance(document: Document) -> int:
    value = document.get("instance")
    if type(value) is not int or value < 0:
        raise EventError(f"instance: {_shown(value)}; the number of an instance from a decision")
    return value


def _entries(document: Document, key: str, usual: tuple[int, ...] | None = None) -> tuple[int, ...]:
    if usual is not None and key not in document:
        return usual
    value = document.get(key)
    if isinstance(value, list) and len(value) == ENTRIES and set(map(type, value)) == {int}:
        entries = tuple(value)
        if min(entries) >= 0 and max(entries) <= 99:
            return entries
    raise EventError(f"{key}: {_shown(value)}; a list of {ENTRIES} whole numbers from 0 to 99")


def _known(document: Document, key: str) -> tuple[int, ...] | None:
    return None if document.get(key) is None else _entries(document, key)


def _stated(**entries: tuple[int, ...] | str | None) -> Document:
    return {k: given if isinstance(given, str) else list(given) for k, given in entries.items() if given is not None}


def _at(document: Document) -> float:
    return _number(document, "at", 0.0, MOST)


def _optional(document: Document, key: str) -> float | None:
    return None if document.get(key) is None else _number(document, key, 0.0, MOST)


def _performance(document: Document) -> float:
    return _number(document, "performance", 0.0, 1000.0, 1.0)


def coin_of(job: str) -> float:
    """A number in 0..1 that is a job's own, for random mapping, where the stream states none."""
    return int.from_bytes(blake2b(job.encode(), digest_size=6).digest()) / 2.0**48


def _read_arrival(document: Document) -> Arrival:
    job, restartable = _name(document), _flag(document, "restartable", usual=False)
    coin = _number(document, "coin", 0.0, 1.0) if "coin" in document else coin_of(job)
    ask = max(round(_number(document, "cores", 0.0, 1e6) * 1000), 1)
    memory = math.ceil(_number(document, "memory_gib", 0.0, 1e6, 0.0) * 1024)
    at, vector = _at(document), _entries(document, "vector", UNKNOWN)
    submitted = None if document.get("submitted") is None else _number(document, "submitted", 0.0, at)
    truth = _known(document, "true_vector")
    movable = _flag(document, "movable", usual=True)
    agent = _whole(document, "agent", 0, MOST_AGENTS) if "agent" in document else None
    copy_age = _number(document, "copy_age", 0.0, MOST, 0.0)
    platform = _whole(document, "platform", 0, MOST_SERVERS) if "platform" in document else 0
    refused = _whole(document, "refused", 0, MOST_REFUSED) if "refused" in document else 0
    known = at, job, ask, memory, vector, restartable, coin, submitted, truth, movable
    expected = _optional(document, "expected")
    slack = None if document.get("slack") is None else _number(document, "slack", -MOST, MOST)
    urgent = _flag(document, "urgent", usual=False)
    priority = _whole(document, "priority", -MOST_PRIORITY, MOST_PRIORITY) if "priority" in document else 0
    natures = _known(document, "tolerates"), _known(document, "true_tolerates")
    pieces = _whole(document, "pieces", 1, MOST_SERVERS) if "pieces" in document else 1
    by, ranked, several = (agent, copy_age, platform), _ranked(document), (pieces, _or_none(document, "after"))
    spare, copy_of = _flag(document, "spare", usual=False), _or_none(document, "copy_of")
    return Arrival(*known, *by, ranked, *natures, refused, expected, *several, slack, urgent, priority, spare, copy_of)


def _ranked(document: Document) -> tuple[int, ...]:
    values = document.get("ranked", [])
    if not isinstance(values, list) or not all(type(v) is int and 0 <= v < MOST_SERVERS for v in values):
        raise EventError(f"ranked: {_shown(values)}; a list of numbers of instances")
    return tuple(values)


def _write_arrival(event: Arrival) -> Document:
    return {
        "job": event.job,
        "cores": event.ask / 1000,
        "memory_gib": event.memory / 1024,
        "vector": list(event.vector),
        "restartable": event.restartable,
        "coin": event.coin,
        **({} if event.submitted is None else {"submitted": event.submitted}),
        **_stated(true_vector=event.true_vector),
        **({} if event.movable else {"movable": False}),
        **({} if event.agent is None else {"agent": event.agent, "copy_age": event.copy_age}),
        **({"platform": event.platform} if event.platform else {}),
        **({"ranked": list(event.ranked)} if event.ranked else {}),
        **({"refused": event.refused} if event.refused else {}),
        **({} if event.expected is None else {"expected": event.expected}),
        **({} if event.slack is None else {"slack": event.slack}),
        **({"urgent": True} if event.urgent else {}),
        **({"priority": event.priority} if event.priority else {}),
        **({"spare": True} if event.spare else {}),
        **({} if event.copy_of is None else {"copy_of": event.copy_of}),
        **({"pieces": event.pieces} if event.pieces > 1 else {}),
        **({} if event.after is None else {"after": event.after}),
        **_stated(tolerates=event.tolerates, true_tolerates=event.true_tolerates),
    }


def _read_sample(document: Document) -> Sample:
    during = document.get("during", During.WATCH.value)
    if during not in tuple(During):
        raise EventError(f"during: {_shown(during)}; one of {', '.join(During)}")
    return Sample(_at(document), _instance(document), _entries(document, "contention"), During(during))


def _write_sample(event: Sample) -> Document:
    return {"instance": event.instance, "contention": list(event.contention), "during": event.during.value}


def _write_job(event: Completion | BelowQos) -> Document:
    told = {"tail": event.tail} if isinstance(event, Completion) else {"rate": event.rate}
    known = {key: value for key, value in told.items() if value is not None}
    return {"job": event.job, "performance": event.performance, **known}


def _read_completion(document: Document) -> Completion:
    return Completion(_at(document), _name(document), _performance(document), _optional(document, "tail"))


def _read_failed(document: Document) -> Failed:
    made = Failed(_at(document), _name(document), _whole(document, "code", -255, 255))
    if made.code == 0:
        raise EventError("code: 0; a job that ends with 0 is a completion")
    return made


def _read_launch_failed(document: Document) -> LaunchFailed:
    until = _number(document, "until", 0.0, MOST)
    return LaunchFailed(_at(document), _instance(document), _why(document), until)


def _read_lost(document: Document) -> Lost:
    names = document.get("unbegun", [])
    if not isinstance(names, list):
        raise EventError(f"unbegun: {_shown(names)}; a list of jobs")
    return Lost(_at(document), _instance(document), tuple(_named(name, "unbegun") for name in names))


def _write_lost(event: Lost) -> Document:
    return _write_instance(event) | ({"unbegun": list(event.unbegun)} if event.unbegun else {})


def _read_quality(document: Document) -> Quality:
    return Quality(_at(document), _instance(document), _number(document, "score", 0.0, 1.0))


def _read_pool(document: Document) -> Pool:
    return Pool(_at(document), _whole(document, "size", 0, MOST_SERVERS))


def _write_instance(event: OfInstance) -> Document:
    return {"instance": event.instance}


def _read_ready(document: Document) -> Ready:
    at, instance = _at(document), _instance(document)
    took = None if document.get("spin_up") is None else _number(document, "spin_up", 0.0, MOST)
    return Ready(at, instance, took)


def _write_launch_failed(event: LaunchFailed) -> Document:
    return {"instance": event.instance, "why": event.why, "until": event.until}


def _write_ready(event: Ready) -> Document:
    return {"instance": event.instance} | ({} if event.spin_up is None else {"spin_up": event.spin_up})


_KINDS: dict[type, tuple[str, Callable[[Document], Event], Callable[[Any], Document]]] = {
    Arrival: ("arrival", _read_arrival, _write_arrival),
    Completion: ("completion", _read_completion, _write_job),
    Failed: ("failed", _read_failed, lambda e: {"job": e.job, "code": e.code}),
    Cancelled: ("cancelled", lambda d: Cancelled(_at(d), _name(d)), lambda e: {"job": e.job}),
    BelowQos: ("below-qos", lambda d: BelowQos(_at(d), _name(d), _performance(d), _optional(d, "rate")), _write_job),
    Progress: (
        "progress",
        lambda d: Progress(_at(d), _name(d), _number(d, "share", 0.0, 1.0)),
        lambda e: {"job": e.job, "share": e.share},
    ),
    Latency: (
        "latency",
        lambda d: Latency(_at(d), _name(d), _number(d, "p99", 0.0, MOST)),
        lambda e: {"job": e.job, "p99": e.p99},
    ),
    Reclassified: (
        "reclassified",
        lambda d: Reclassified(_at(d), _name(d), _entries(d, "estimate"), _performance(d), _known(d, "tolerates")),
        lambda e: {
            "job": e.job,
            "estimate": list(e.estimate),
            "performance": e.performance,
            **_stated(tolerates=e.tolerates),
        },
    ),
    Ready: ("ready", _read_ready, _write_ready),
    LaunchFailed: ("launch-failed", _read_launch_failed, _write_launch_failed),
    Lost: ("lost", _read_lost, _write_lost),
    Closing: (
        "closing",
        lambda d: Closing(
            _at(d), _instance(d), _flag(d, "over", usual=False), _or_none(d, "measures"), _or_none(d, "suffers")
        ),
        lambda e: {
            "instance": e.instance,
            **({"over": True} if e.over else {}),
            **_stated(measures=e.measures, suffers=e.suffers),
        },
    ),
    Quality: ("quality", _read_quality, lambda e: {"instance": e.instance, "score": e.score}),
    Pool: ("pool", _read_pool, lambda e: {"size": e.size}),
    Sample: ("sample", _read_sample, _write_sample),
    Interruption: ("interruption", lambda d: Interruption(_at(d), _instance(d)), _write_instance),
    ClockTick: ("clock", lambda d: ClockTick(_at(d)), lambda e: {}),
}
_SPELT = {"ask": "cores", "memory": "memory_gib"}
BY_NAME = {
    name: (("at", "event", *(_SPELT.get(f.name, f.name) for f in fields(kind)[1:])), read)
    for kind, (name, read, _) in _KINDS.items()
}
EVENT_KEYS: Mapping[str, tuple[str, ...]] = {name: keys for name, (keys, _) in BY_NAME.items()}
"""The keys of the line of each event."""
