"""Tells a workload's format from what stands in it, never from its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hcloud.errors import InputError
from hcloud.model.files import check_sort
from hcloud.readers.workloads.commands import advice, jobs_advice, piped
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.formats.jobs.json_text import is_empty_list, json_as_text, no_json_job
from hcloud.readers.workloads.formats.jobs.slurm import is_sacct
from hcloud.readers.workloads.formats.usage.machine_columns import SADF, is_machines
from hcloud.readers.workloads.meanings import (
    JOBS,
    OF_SERIES_ONLY,
    SERIES,
    VALUES,
    as_option,
    called_columns,
    is_jobs,
    is_use,
    job_columns,
    meant,
    memory_in_use,
    plain,
    spelt,
)
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.other_programs import OTHER_JSON, OTHER_TEXT
from hcloud.readers.workloads.source import ZIP, TraceFile
from hcloud.readers.workloads.tables.blanks import apart_by_blanks
from hcloud.readers.workloads.tables.day_and_time import hours_written, refuse_days_apart, refuse_hours_across
from hcloud.readers.workloads.tables.guessing import columns_of_jobs, is_of_machines, likely_units, times_among
from hcloud.readers.workloads.tables.header import LOOK, Header, first_rows, header_names, separator
from hcloud.readers.workloads.tables.parquet_text import parquet_as_text
from hcloud.units import some_of

PARQUET = b"PAR1"
OF_TABLES = ("jobs-csv", "series", "machines")
"""Formats of tables, which may be JSON too."""
_COMPANIONS = (
    (re.compile(r"[\d.]+,[\d.]+ \S"), "a map of flavours; give the file of requests beside it"),
    (re.compile(r"\d+ \d+$"), "a map of lifetime bins; give the file of requests beside it"),
    (re.compile(r"sn,cpu_milli,"), "a list of machines; give the list of pods beside it"),
)
_A_NAME = re.compile(r"[^\d\s\"][^,;\t]*|\"[^\"]*\"|", re.ASCII)


def format_of(source: TraceFile, options: WorkloadOptions) -> str:
    """The format's name, by what ``--columns`` names where it is given, else by content."""
    if not options.columns or source.head.startswith(ZIP):
        return recognise(source)
    if set(OF_SERIES_ONLY) & set(called_columns(options.columns)):
        return "machines"
    return "jobs-parquet" if source.head.startswith(PARQUET) else "jobs-csv"


def recognise(source: TraceFile) -> str:
    """The format's name; InputError when the content is none that is known."""
    if source.head.startswith(PARQUET):
        return _parquet(source)
    first = source.head.split(b"\n", 1)[0].decode("utf-8", "replace").removesuffix("\r")
    header = _header(source)
    if (found := _object(source.head) or _table(source, first, header)) is not None:
        return "machines" if found == "series" and _in_percent(source, header) else found
    for pattern, what in _COMPANIONS:
        if pattern.match(first):
            raise InputError(f"{source.name}: not a workload but {what}")
    check_sort(source.name, source.head, "a workload", "a job trace")
    if source.head.lstrip()[:1] in (b"{", b"["):
        if {"submit", "duration"} <= set(_keys(source)) or {"submit", "end"} <= set(_keys(source)):
            return "jobs-csv"
        return _json(source)
    if header is not None and len([*filter(None, header.names)]) > 1 and all(map(_A_NAME.fullmatch, header.names)):
        if {"submit", "duration"} & set(header.names):
            return "jobs-csv"  # which says what is wrong with each column
        raise unknown_table(source, header.names)
    if header is None and re.search(r"[,;\t]", first):
        header_names(source)
    raise unknown_text(source, first)


def _header(source: TraceFile) -> Header | None:
    """The header of a table; None where the first line is none. InputError for one with the times of day apart."""
    try:
        header = header_names(source)
    except InputError:
        return None
    first = next(iter(first_rows(source)), [])
    refuse_days_apart(source, header.names, first, header.delimiter)
    refuse_hours_across(source, header.names, first, header.delimiter)
    return header


def _object(head: bytes) -> str | None:
    """The format of a JSON object that begins like this."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    fits = (n for n, known in FORMATS.items() if any(all(word in head for word in words) for words in known.holds))
    return next(fits, None)


def _table(source: TraceFile, first: str, header: Header | None) -> str | None:
    """The format whose header, or else first line, this is."""
    names = set(header.names) if header is not None else {first.strip().strip('"')}
    if is_sacct(names):
        return "slurm"
    for name, known in reversed(FORMATS.items()):
        if any(needed <= names for needed in known.headers) and (name != "series" or _is_series(source, names)):
            return name
    if header is not None and is_machines(header.names) and not _is_rather_jobs(source, header.names):
        return "machines"
    return next((n for n, known in reversed(FORMATS.items()) if any(p.match(first) for p in known.lines)), None)


_OF_MACHINES = ("stopped", "terminated")
"""Ends that use over time may have beside it, too."""


def _is_rather_jobs(source: TraceFile, names: Sequence[str]) -> bool:
    """Whether a table that may be of machines is one of jobs: unless it has the use of a machine at a time, beside
    which a duration is no job's."""
    jobs, series = meant(names, JOBS), meant(names, SERIES)
    times = {"submit", "start"} & set(jobs) and "_time" not in names  # Influx
    has_use = is_use(series) and "name" in series
    of_use = has_use and (not times or plain(jobs.get("end", "")) in _OF_MACHINES)
    return is_jobs(columns_of_jobs(source, names)) and not (of_use and is_of_machines(source, names, series))


def _in_percent(source: TraceFile, header: Header | None) -> bool:
    """Whether the first row has a cell as 45.3%, which readers of numbers alone refuse."""
    return header is not None and b"%" in b"".join(source.head.split(b"\n")[1 + header.skip : 2 + header.skip])


def _is_series(source: TraceFile, names: set[str]) -> bool:
    """Whether a table with timestamps is one series: with a column of values, none that names machines, no memory in a
    unit that its name says, which a table of machines may have, and no durations of what each row names."""
    found = meant(names, SERIES)
    is_own = found.get("memory", "memory") == "memory" or not is_machines([*names])
    of_jobs = "duration" in names and {"id", "duration"} <= columns_of_jobs(source, header_names(source).names).keys()
    return any(value in names for value in VALUES) and "name" not in found and is_own and not of_jobs


def _parquet(source: TraceFile) -> str:
    if source.packing:
        raise InputError(f"{source.name}: is a Parquet file in {source.packing}", hint="unpack it first")
    with parquet_as_text(source, LOOK) as text:
        if {"cpu_usage", "cpu_capacity"} & {*header_names(text).names}:
            return "bitbrains"
        found = recognise(text)
    return "jobs-parquet" if found == "jobs-csv" else found


_JOBS, _SERIES = "a table of jobs (jobs-csv)", "a series (machines)"
_FORMATS = "'hcloud workload --help' lists the formats, docs/reference/formats.md has an example of each"
_A_USE = re.compile(r"\s*(\d+([.,]\d+)?\s*%?)?\s*", re.ASCII)
_NAMES, _LOOK, _TITLES = 12, 1000, 20
_RULED = re.compile(rb"dag_id[^\n]*\n=+\+=")
_KEY = re.compile(rb'"([A-Za-z_@][\w. ()%/-]{0,40})"\s*:')


def unknown_table(source: TraceFile, names: Sequence[str]) -> InputError:
    """The refusal of a table whose columns are of no format."""
    jobs, series = columns_of_jobs(source, names), meant(names, SERIES)
    other = f"{names[0]}," if names[0] in ("Full label", "Label", SADF) else ""
    if other or _RULED.match(source.head):
        return unknown_text(source, other or "|".join(names))
    if names[0].startswith("(PDH-CSV"):
        total = next((name for name in names if name.endswith(r"(_Total)\% Processor Time")), "NAME")
        keys = {"columns": as_option({"timestamp": names[0], "value": total}), "dates": "month-first"}
        read = advice(source, keys)
        return _refusal(source, _SERIES, "timestamp", read)
    value = next((name for name in VALUES if name in series), None)
    of_use = value is not None and jobs.get("submit") == series.get("timestamp") and not {"id", "cores"} & {*jobs}
    if is_jobs(jobs) and not of_use:
        read = jobs_advice(source, jobs, names, likely_units(source, jobs, names))
        return _refusal(source, _JOBS, _first_missing(names, ("submit", "duration")), read)
    if "timestamp" in series and value is not None:
        columns = {mine: series[mine] for mine in ("timestamp", "name", value, "memory") if mine in series}
        memory = None if "memory" in columns else memory_in_use(names)
        more = (f"{memory} is the memory in use with it",) if memory else ()
        columns |= {"memory": memory} if memory else {}
        read = advice(source, {"columns": as_option(columns, whole=True)}, *more)
        return _refusal(source, _SERIES, _first_missing(names, ("timestamp", "value")), read)
    if "submit" in jobs and {"cores", "id", "memory"} & {*jobs}:
        return _refusal(source, *_untold(names, jobs, series))
    if not {"submit", "timestamp"} & {*jobs, *series} and (titles := _titles_above(source, names[0])) is not None:
        return titles
    return _refusal(source, *_by_cells(source, names, series, value))


def _by_cells(
    source: TraceFile, names: Sequence[str], series: Mapping[str, str], value: str | None
) -> tuple[str, str, str]:
    """Of a table whose times are called as none: what it is nearest to, which column is missing, and what its cells
    say."""
    if value in (None, "cores") and (begun := _begin_and_end(source, names)):
        return _JOBS, "submit", jobs_advice(source, begun, names, likely_units(source, begun, names))
    every = times_among(source, names)
    if not every and (hours := hours_written(source, names, first_rows(source), header_names(source).delimiter)):
        return (_SERIES, "timestamp", hours) if value is not None else (_JOBS, "submit", hours)
    if value is not None:
        given = as_option({mine: series[mine] for mine in ("name", value, "memory") if mine in series}, whole=True)
        told = f"say which holds the times: --columns timestamp=NAME,{given}; its columns: {some_of(names, _NAMES)}"
        times = [name for name in every if name not in series.values()]
        if len(times) == 1:
            told = advice(source, {"columns": f"timestamp={times[0]},{given}"})
        return _SERIES, "timestamp", told
    if _is_wide(source, names):
        return _SERIES, "timestamp", advice(source, {"columns": f"timestamp={names[0]}"})
    if used := _use_by_cells(source, names):
        told = advice(source, {"columns": as_option(used)}, f"{used['name']} is the machine of each row")
        return _SERIES, "timestamp", told
    return _JOBS, "submit", _either(names)


def _either(names: Sequence[str]) -> str:
    """What to say of columns of which none is known."""
    return (
        "of jobs say --columns submit=NAME,duration=NAME (or end=NAME), with cores=NAME, memory=NAME and id=NAME where"
        " it has them, of use over time --columns timestamp=NAME,value=NAME, with name=NAME of machines; its columns: "
        f"{some_of(names, _NAMES)}"
    )


_BEGIN = re.compile(r"(^|_)(submi\w*|queue\w*|creat\w*|start\w*|beg[iu]n\w*)(_|$)")
_END = re.compile(r"(^|_)(end\w*|finish\w*|complet\w*|stop\w*)(_|$)")


def _begin_and_end(source: TraceFile, names: Sequence[str]) -> dict[str, str]:
    """The columns of jobs of which one time alone is by its name when they began and one when they ended."""
    times = times_among(source, names)
    begins, ends = ([name for name in times if of.search(spelt(name))] for of in (_BEGIN, _END))
    if len(begins) != 1 or len(ends) != 1 or begins == ends:
        return {}
    rest = job_columns([name for name in names if name not in times])
    rest.pop("id", None)  # whose cells nobody looked at
    return {"submit": begins[0], **({} if "duration" in rest else {"end": ends[0]}), **rest}


def _use_by_cells(source: TraceFile, names: Sequence[str]) -> dict[str, str]:
    """The columns of use over time where one of three has times, one text and one numbers."""
    rows = [row for row in first_rows(source) if len(row) == len(names)]
    used = [at for at in range(len(names)) if all(_A_USE.fullmatch(row[at]) for row in rows)]
    times = [names.index(name) for name in times_among(source, names)]
    rest = {*range(len(names))} - {*used, *times}
    if len(names) != 3 or len(used) != 1 or len(times) != 1 or len(rest) != 1:
        return {}
    return {"timestamp": names[times[0]], "name": names[rest.pop()], "value": names[used[0]]}


def _is_wide(source: TraceFile, names: Sequence[str]) -> bool:
    """Whether behind a column of times there are numbers alone, as of a column a machine."""
    cells = [cell for row in first_rows(source) for cell in row[1:]]
    return times_among(source, names) == [names[0]] and all(map(_A_USE.fullmatch, cells))


def _untold(names: Sequence[str], jobs: Mapping[str, str], series: Mapping[str, str]) -> tuple[str, str, str]:
    """Of a table with times and names: what it is nearest to, which column is missing, and how to say it."""
    if "name" in series and jobs["submit"] == series.get("timestamp") and not {"cores", "memory"} & {*jobs}:
        keys = as_option({"timestamp": jobs["submit"], "name": "NAME", "value": "NAME"}, whole=True)
        nearest, missing, told = _SERIES, "value", f"say which hold the machines and their use: --columns {keys}"
    else:
        given = as_option(jobs)
        told = f"say which holds it: --columns {given + ',' if given else ''}duration=NAME (or end=NAME)"
        nearest, missing = _JOBS, "duration"
    return nearest, missing, f"{told}; its columns: {some_of(names, _NAMES)}"


_MONITORING = {"resultType", "MetricDataResults", "Metrics", "Reservations", "timeseries", "timeSeries"}


def _keys(source: TraceFile) -> list[str]:
    """The keys in the beginning of JSON."""
    return list(dict.fromkeys(key.decode() for key in _KEY.findall(source.head)))


def _json(source: TraceFile) -> str:
    """The format of the table that JSON holds; InputError for JSON that is of no known shape."""
    if source.head.lstrip().startswith(b"[JobDetails("):
        raise unknown_text(source, "[JobDetails(")
    keys = _keys(source)
    words = set(keys) | {word for word in ("vector",) if f'"{word}"'.encode() in source.head}
    jobs = job_columns(keys)
    if is_empty_list(source.head) and not words & _MONITORING:
        raise no_json_job(source.name)
    for needed, nearest, hint in OTHER_JSON:
        if needed <= words and not ("jobs" in needed and is_jobs(jobs)):
            raise InputError(f"{source.name}: is JSON of no format that is read; nearest is {nearest}", hint=hint)
    if "submit" in jobs:
        with json_as_text(source) as text:
            if (found := recognise(text)) in OF_TABLES:
                return found
            raise unknown_table(text, header_names(text).names)
    raise InputError(
        f"{source.name}: is JSON of no format that is read; its keys: {some_of(keys, _NAMES) or 'none'}",
        hint="JSON of CloudWatch, Prometheus, Google and Azure Monitor, Datadog, sacct, condor_history, argo list and"
        f" kubectl get pods,jobs is read; {_FORMATS}",
    )


def unknown_text(source: TraceFile, first: str) -> InputError:
    """The refusal of text that is no table with a header."""
    begin = first.strip() or source.head[:_LOOK].decode("utf-8", "replace").strip()
    table = apart_by_blanks(source)
    for pattern, nearest, command in OTHER_TEXT:
        if pattern.match(begin) and not (table and table.of_jobs):
            return InputError(f"{source.name}: the format is not recognised; nearest is {nearest}", hint=command)
    if (titles := _titles_above(source, first)) is not None:
        return titles
    if table:
        return InputError(f"{source.name}: is a table whose columns blanks separate", hint=table.hint)
    return InputError(
        f"{source.name}: the format is not recognised; line 1 begins with {shown(first)}",
        hint=f"a table needs a header line with names of columns; {_FORMATS}",
    )


def _titles_above(source: TraceFile, first: str) -> InputError | None:
    """The refusal of a table with titles above the names of its columns."""
    line = _line_of_names(source)
    if not line or not (command := piped(source, f"tail -n +{line}")):
        return None
    return InputError(
        f"{source.name}: the format is not recognised; line 1 begins with {shown(first)}, and names of columns stand on"
        f" line {line}",
        hint=f"leave the lines before it out: {command}",
    )


def _line_of_names(source: TraceFile) -> int:
    """The line with the names of columns of a table with titles above them; 0 where there is none."""
    lines = source.head.decode("utf-8", "replace").splitlines()[1 : _TITLES + 1]
    for line, (text, below) in enumerate(pairwise(lines), 2):
        names = [name.strip(' "') for name in text.split(separator(text))]
        is_wide = is_machines(names) and below.strip(' "')[:1].isdigit()
        if is_wide or is_use(meant(names, SERIES)) or is_jobs(job_columns(names)):
            return line
    return 0


def _refusal(source: TraceFile, nearest: str, missing: str, told: str) -> InputError:
    return InputError(
        f"{source.name}: the format is not recognised; nearest is {nearest}, for which column {missing} is missing",
        hint=told,
    )


def _first_missing(names: Sequence[str], needed: Sequence[str]) -> str:
    return next((name for name in needed if name not in names), needed[-1])
