"""``app.yaml``: an application to be measured, read strictly, with every problem of the file shown at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from hcloud.errors import UsageError
from hcloud.model.files import none_such
from hcloud.model.measured.app import (
    COMPLETION,
    TAIL,
    THROUGHPUT,
    App,
    CompletionTime,
    HttpLoad,
    LoadCommand,
    MachineShare,
    Measure,
    PrintedMetric,
    ProfilingBudget,
    Readiness,
)
from hcloud.model.measured.profile import Metric
from hcloud.model.workload import JobKind
from hcloud.readers.stated import NumberWanted, Stated, read_document
from hcloud.units import parse_duration, seconds_of_unit

TOP = (
    "format_version",
    "name",
    "kind",
    "command",
    "shape",
    "metric",
    "ready",
    "warm_up",
    "time_cap",
    "run_cap",
    "budget",
    "target",
)
_NEEDED = ("name", "command")
_METRIC = ("printed", "load", "url", "connections", "seconds", "pattern", "name", "unit", "better", "of")
_FEWEST_VCPUS, _MOST_VCPUS, _MOST_GIB = 0.1, 1024.0, 65536.0
_DIRECTIONS = {"higher": True, "lower": False}
_HTTP = {"p99": TAIL, "throughput": THROUGHPUT}


def load_app(path: Path | None, flags: Mapping[str, object]) -> App:
    """The application in a file, its keys overridden by those of ``flags``; raises InputError with everything that is
    wrong with it."""
    if path is not None and not path.is_file():
        raise UsageError(none_such(path), hint="describe the application there, or name its command after --")
    stated = Stated("command line" if path is None else str(path))
    content = {} if path is None else read_document(path, "application")
    if isinstance(content, dict):
        content = _named({**content, **flags})
    head = stated.head(content, TOP, tuple(k for k in TOP if k not in _NEEDED))
    plain = App(name="", kind=JobKind.BATCH, command=())
    app = App(
        name=stated.text(head, "name"),
        kind=stated.job_kind(head.get("kind")),
        command=_command(stated, head.get("command"), "command"),
        measure=_measure(stated, head.get("metric")),
        shape=_shape(stated, head.get("shape", {})),
        ready=_ready(stated, head["ready"]) if "ready" in head else None,
        warm_up=_seconds(stated, head, "warm_up", plain.warm_up),
        limits=_limits(stated, head),
    )
    check_app(stated, app)
    stated.refuse("application")
    return app


def _named(content: dict[str, object]) -> dict[str, object]:
    """An application without a name is called as its program."""
    command = content.get("command")
    if "name" in content or not (isinstance(command, list) and command):
        return content
    return {**content, "name": PurePath(str(command[0])).name or "command"}


def check_app(stated: Stated, app: App) -> None:
    """Notes what cannot be measured of an application as it is described."""
    serves = isinstance(app.measure, HttpLoad | LoadCommand)
    if app.kind is JobKind.SERVICE and not serves:
        stated.note("metric", "missing", "a service needs load: url, or load and pattern")
    if app.kind is JobKind.BATCH and serves:
        stated.note("kind", "batch", "load is put on a service; say kind: service")
    if app.kind is JobKind.SERVICE and app.ready is None and not isinstance(app.measure, HttpLoad):
        stated.note("ready", "missing", "a service says when it serves: port, url or line")
    if app.limits.dollars is not None and app.limits.dollars_per_hour is None:
        stated.note("budget", "dollars without a price", "dollars_per_hour of this machine has to be stated, too")


def _command(stated: Stated, content: object, where: str) -> tuple[str, ...]:
    words = content if isinstance(content, list) else []
    if words and all(isinstance(w, str) and "\0" not in w for w in words) and words[0].strip():
        return tuple(words)
    if content is not None:
        stated.note(where, repr(content)[:60], 'a list of texts, a word each, for example [sort, "-n", big.txt]')
    return ("-",)


def _measure(stated: Stated, content: object) -> Measure:
    if content is None or content == "completion time":
        return CompletionTime(COMPLETION)
    given = stated.mapping(content, "metric", _METRIC, _METRIC)
    kinds = [k for k in ("printed", "load", "url") if k in given]
    if len(kinds) != 1:
        stated.note("metric", ", ".join(kinds) or "none", "one of printed, load (with pattern) or url")
        return CompletionTime(COMPLETION)
    if kinds == ["printed"]:
        _only(stated, given, ("printed", "name", "unit", "better"))
        return PrintedMetric(_pattern(stated, given, "printed"), _metric(stated, given))
    if kinds == ["load"]:
        _only(stated, given, ("load", "pattern", "name", "unit", "better"))
        command = _command(stated, given["load"], "metric.load")
        return LoadCommand(command, _pattern(stated, given, "pattern"), _metric(stated, given))
    return _http(stated, given)


def _http(stated: Stated, given: Mapping[str, object]) -> HttpLoad:
    _only(stated, given, ("url", "connections", "seconds", "of"))
    of = str(given.get("of", "p99"))
    if of not in _HTTP:
        stated.note("metric.of", repr(of)[:60], " or ".join(_HTTP))
    connections = stated.number(given, "connections", "metric", NumberWanted(1, 1000, 4, is_whole=True))
    seconds = stated.number(given, "seconds", "metric", NumberWanted(0.2, 600, 2))
    return HttpLoad(_url(stated, given["url"], "metric.url"), int(connections), seconds, _HTTP.get(of, TAIL))


def _only(stated: Stated, given: Mapping[str, object], allowed: tuple[str, ...]) -> None:
    for key in given:
        if key not in allowed:
            stated.note(f"metric.{key}", "does not go with the rest", f"here: {', '.join(allowed)}")


def _pattern(stated: Stated, given: Mapping[str, object], key: str) -> str:
    text = stated.text({key: given.get(key)}, key, "metric")
    try:
        groups = re.compile(text).groups
    except re.error as error:
        stated.note(f"metric.{key}", repr(text)[:60], f"a regular expression: {error}")
        return "(.)"
    if text and groups != 1:
        stated.note(f"metric.{key}", repr(text)[:60], "exactly one group, around the number")
    return text


def usually_better(unit: str) -> str:
    """Which figures of a unit are better where nobody says: of a time, also for each request or run, the lower ones."""
    return "higher" if seconds_of_unit(unit) is None else "lower"


def _metric(stated: Stated, given: Mapping[str, object]) -> Metric:
    better = str(given.get("better", "not stated"))
    if better not in _DIRECTIONS:
        stated.note("metric.better", better[:60], " or ".join(_DIRECTIONS))
    name, unit = (stated.text({k: given.get(k)}, k, "metric") for k in ("name", "unit"))
    return Metric(name, unit, _DIRECTIONS.get(better, True))


def _shape(stated: Stated, content: object) -> MachineShare:
    given = stated.mapping(content, "shape", ("vcpus", "memory_gib"), ("vcpus", "memory_gib"))
    vcpus = stated.number(given, "vcpus", "shape", NumberWanted(_FEWEST_VCPUS, _MOST_VCPUS, 1))
    memory = (
        stated.number(given, "memory_gib", "shape", NumberWanted(0.01, _MOST_GIB)) if "memory_gib" in given else None
    )
    return MachineShare(vcpus, memory)


def _ready(stated: Stated, content: object) -> Readiness:
    given = stated.mapping(content, "ready", ("port", "url", "line"), ("port", "url", "line"))
    if len(given) != 1:
        stated.note("ready", ", ".join(given) or "none", "one of port, url or line")
    if "port" in given:
        return Readiness(port=int(stated.number(given, "port", "ready", NumberWanted(1, 65535, is_whole=True))))
    if "url" in given:
        return Readiness(url=_url(stated, given["url"], "ready.url"))
    return Readiness(line=stated.text({"line": given.get("line")}, "line", "ready"))


def _url(stated: Stated, content: object, where: str) -> str:
    try:
        parts = urlsplit(str(content))
        if parts.scheme == "http" and parts.hostname and (parts.port is None or parts.port):
            return str(content)
    except ValueError:
        pass
    stated.note(where, repr(content)[:60], "an http:// URL of this machine")
    return "http://127.0.0.1/"


def _limits(stated: Stated, head: Mapping[str, object]) -> ProfilingBudget:
    keys = ("dollars", "dollars_per_hour")
    given = stated.mapping(head.get("budget", {}), "budget", keys, keys)
    dollars, price = (stated.number(given, k, "budget", NumberWanted(1e-6, 1e9)) if k in given else None for k in keys)
    plain = ProfilingBudget()
    return ProfilingBudget(
        _seconds(stated, head, "time_cap", plain.seconds),
        _seconds(stated, head, "run_cap", plain.run_seconds),
        dollars,
        price,
    )


def _seconds(stated: Stated, head: Mapping[str, object], key: str, default: float) -> float:
    if key not in head:
        return default
    try:
        return float(parse_duration(str(head[key])))
    except (ValueError, ArithmeticError) as error:
        stated.note(key, repr(head[key])[:60], str(error)[:100])
        return default
