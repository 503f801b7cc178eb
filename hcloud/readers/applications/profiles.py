"""Profile files: what was measured of an application, read strictly, with every problem of a file shown at once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from hcloud.errors import InputError, Problem, UsageError, did_you_mean
from hcloud.model.files import kind_of
from hcloud.model.measured.profile import RESOURCES, Aspect, FailedMeasurement, Measured, Metric, Profile, size_of
from hcloud.readers.stated import Stated, read_document

SUFFIXES = (".yaml", ".yml")
TOP = ("format_version", "app", "kind", "metric", "command", "entries", "failures", "unmeasurable", "notes")
OPTIONAL = ("failures", "unmeasurable", "notes")
HIGHEST_SCORE = 100.0
_KEY = re.compile(rb"^(app|entries):", re.MULTILINE)
_FAILURE = ("why", "at", "machine", "source")
_MACHINE_MEMORY = re.compile(r", (\d+) GiB,")
_ENTRY = ("value", "low", "high", "samples", "at", "machine", "source")


def load_profile(path: Path) -> Profile:
    """The profile in a file; raises InputError with everything that is wrong with it, UsageError where none is."""
    if not path.is_file():
        names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        kind = kind_of(path.stat().st_mode) if path.exists() else ""
        what = f"is {kind}, not a profile" if kind else f"no such profile{did_you_mean(path.name, names)}"
        raise UsageError(f"{path}: {what}", hint="hcloud profile run writes one, hcloud profile list lists them")
    stated = Stated(str(path))
    head = stated.head(read_document(path, "profile"), TOP, OPTIONAL)
    profile = Profile(
        app=stated.text(head, "app"),
        kind=stated.job_kind(head.get("kind")),
        metric=_metric(stated, head.get("metric")),
        command=_texts(stated, head.get("command", []), "command"),
        entries=_entries(stated, head.get("entries", {})),
        unmeasurable=_reasons(stated, head.get("unmeasurable", {})),
        notes=_texts(stated, head.get("notes", []), "notes"),
        failures=_failures(stated, head.get("failures", {})),
    )
    _check_contradictions(stated, profile)
    stated.refuse("profile")
    return profile


def load_corpus(folder: Path) -> tuple[Profile, ...]:
    """Every profile of a folder in the order of the file names; the problems of all files are shown together.

    Other YAML, such as app.yaml and hcloud.yaml, may lie beside them: it names neither an application as ``app`` nor
    ``entries``.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder}: no such folder of profiles",
            hint="name a folder with a NAME.profile.yaml for each application",
        )
    found: dict[str, Path] = {}
    profiles: list[Profile] = []
    problems: list[Problem] = []
    refused: list[str] = []
    for path in sorted(p for p in folder.iterdir() if p.suffix in SUFFIXES and p.is_file()):
        if not path.stem.endswith(".profile") and not _KEY.search(path.read_bytes()):
            continue
        try:
            profiles.append(load_profile(path))
            _check_alone(profiles[-1].app, path, found)
        except InputError as error:
            problems.extend(error.problems)
            refused.append(path.name if error.problems else str(error))
    if refused:
        raise InputError(
            f"{folder}: not a corpus of profiles: {', '.join(refused)}",
            problems,
            hint="correct what is named, or move it to another folder: each NAME.profile.yaml of a folder is read",
        )
    return tuple(profiles)


def _check_alone(app: str, path: Path, found: dict[str, Path]) -> None:
    """InputError where another file of the folder is a profile of the same application."""
    other = found.setdefault(app, path)
    if other != path:
        allowed = f"{other.name} is a profile of it, too; rename one, or move one file elsewhere"
        raise InputError(str(path), [Problem(str(path), "app", repr(app), allowed)])


def _metric(stated: Stated, content: object) -> Metric:
    given = {} if content is None else stated.mapping(content, "metric", ("name", "unit", "rising"))
    rising = given.get("rising", True)
    if not isinstance(rising, bool):
        stated.note("metric.rising", repr(rising), "true (more is better) or false")
    return Metric(stated.text(given, "name", "metric"), stated.text(given, "unit", "metric"), rising is True)


def _texts(stated: Stated, content: object, where: str) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(word, str) for word in content):
        stated.note(where, repr(content)[:60], "a list of texts")
        return ()
    return tuple(content)


def _reasons(stated: Stated, content: object) -> Mapping[str, str]:
    given = stated.mapping(content, "unmeasurable", RESOURCES, RESOURCES)
    return {r: stated.text(given, r, "unmeasurable") for r in RESOURCES if r in given}


def _entries(stated: Stated, content: object) -> Mapping[Aspect, Mapping[str, Measured]]:
    aspects = tuple(a.value for a in Aspect)
    given = stated.mapping(content, "entries", aspects, aspects)
    return {a: _columns(stated, a, given[a.value]) for a in Aspect if a.value in given}


def _failures(stated: Stated, content: object) -> Mapping[Aspect, Mapping[str, FailedMeasurement]]:
    aspects = tuple(a.value for a in Aspect if not a.is_interference)
    given = stated.mapping(content, "failures", aspects, aspects)
    return {a: _failed_columns(stated, a, given[a.value]) for a in Aspect if a.value in given}


def _failed_columns(stated: Stated, aspect: Aspect, content: object) -> Mapping[str, FailedMeasurement]:
    where = f"failures.{aspect.value}"
    if not isinstance(content, dict):
        stated.note(where, repr(content)[:60], "a mapping of columns to failures")
        return {}
    found = {}
    for column, failure in content.items():
        place = f"{where}.{column}"
        given = stated.mapping(failure, place, _FAILURE)
        why, machine, source = (stated.text(given, key, place) for key in ("why", "machine", "source"))
        found[str(column)] = FailedMeasurement(why, _moment(stated, given, place), machine, source)
    return found


def _columns(stated: Stated, aspect: Aspect, content: object) -> Mapping[str, Measured]:
    where = f"entries.{aspect.value}"
    if aspect.is_interference:
        columns = stated.mapping(content, where, RESOURCES, RESOURCES)
    elif isinstance(content, dict):
        columns = {str(k): v for k, v in content.items()}
    else:
        stated.note(where, repr(content)[:60], "a mapping of columns to measurements")
        return {}
    found = {name: _measured(stated, aspect, f"{where}.{name}", entry) for name, entry in columns.items()}
    return {_size_asked(n, m) if aspect is Aspect.SCALE_UP else n: m for n, m in found.items()}


def _size_asked(name: str, measured: Measured) -> str:
    """The size as it was asked for. Profiles once named the memory of the machine where none was asked for, and so told
    every other machine to measure what it cannot."""
    size, machine = size_of(name), _MACHINE_MEMORY.search(measured.machine)
    whole = size and size[1] is not None and machine and f"{size[1]:.0f}" == machine[1]
    return f"{size[0]:g}c" if size and whole else name


def _measured(stated: Stated, aspect: Aspect, where: str, content: object) -> Measured:
    given = stated.mapping(content, where, _ENTRY)
    low, value, high = (_number(stated, given, key, where) for key in ("low", "value", "high"))
    if not low <= value <= high:
        stated.note(where, f"{low:g} <= {value:g} <= {high:g}", "the value has to lie in its interval")
    if aspect.is_interference and not 0 <= low <= high <= HIGHEST_SCORE:
        stated.note(where, f"{low:g} to {high:g}", "a score is from 0 to 100")
    samples = given.get("samples", 1)
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        stated.note(f"{where}.samples", repr(samples), "a whole number from 1")
        samples = 1
    machine, source = stated.text(given, "machine", where), stated.text(given, "source", where)
    return Measured(value, low, high, samples, _moment(stated, given, where), machine, source)


def _number(stated: Stated, given: Mapping[str, object], key: str, where: str) -> float:
    value = given.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        stated.note(f"{where}.{key}", repr(value)[:60], "a finite number")
        return 0.0
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _moment(stated: Stated, given: Mapping[str, object], where: str) -> datetime:
    text = given.get("at", "2000-01-01T00:00:00Z")
    try:
        at = datetime.fromisoformat(str(text))
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    stated.note(f"{where}.at", repr(text)[:60], "an ISO 8601 time with its zone, for example 2026-11-20T12:00:00Z")
    return datetime(2000, 1, 1, tzinfo=UTC)


def _check_contradictions(stated: Stated, profile: Profile) -> None:
    for aspect, columns in profile.entries.items():
        for column in sorted(set(columns) & set(profile.failures.get(aspect, {}))):
            where = f"failures.{aspect.value}.{column}"
            stated.note(where, "measured, too", f"entries.{aspect.value} has a value for it")
        for resource in sorted(set(columns) & set(profile.unmeasurable) if aspect.is_interference else ()):
            stated.note(f"unmeasurable.{resource}", "measured, too", f"entries.{aspect.value} has a value for it")
