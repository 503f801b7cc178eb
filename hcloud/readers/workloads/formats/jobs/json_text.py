"""Jobs as JSON, an object each: in lines, in a list, or in a list that is the only one of an object."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from json import JSONDecodeError
from typing import Any, TypeGuard

import pyarrow as pa
from pyarrow import csv

from hcloud.errors import InputError, writing
from hcloud.readers.workloads.findings import told_of
from hcloud.readers.workloads.formats.jobs.json_stream import JsonStream
from hcloud.readers.workloads.meanings import is_jobs, job_columns
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.readers.workloads.tables.delimited import Progress
from hcloud.temporary import FULL, temporary_folder

_CHUNK = 50_000  # ours: jobs that are held as objects at once
_LOOK = 20_000
_ONE = 1 << 22  # ours: characters up to which an object is read at once
_DEEPEST = 50  # ours: objects within objects in which a list of jobs is looked for
_FORMS = "an object a line, or a list of them"
_PAGES = "ask for all pages (the AWS CLI does without --max-items), and write them one after the other into one file"
_MORE = ("nextToken", "NextToken", "nextPageToken", "next_page_token", "nextLink", "odata.nextLink")
"""Keys of a page that say that more follow."""
_TOTALS = ("total_entries", "total_count", "totalCount")
"""Keys of a page that say how many entries all pages have."""
_OF_PAGES = re.compile(r"(?i)next|prev|page|count|total|kind|etag|link|more|context|meta|errors|warnings")
_EMPTY = re.compile(rb'\s*(\{\s*("[^"]*"\s*:\s*(null|\d+|"[^"]*")\s*,\s*)*"[^"]*"\s*:\s*)?\[\s*\]')
_TYPED = {"type", "value"}
_WITHIN = "\0"
"""Between the names of a value and of the object that holds it."""
_WORDS = {True: "yes", False: "no"}
_OF_GOOGLE = {"taskCount": 1, "parallelism": 5000, "cpuMilli": 2000, "memoryMib": 2000}
"""What Google Batch takes where a job does not say: https://cloud.google.com/batch/docs/reference/rest/v1/projects.locations.jobs
and, of tasks at once, https://cloud.google.com/batch/quotas, both read 2026-11-29."""
_USUAL = (
    f"as Google Batch does, {_OF_GOOGLE['taskCount']} task, all at once up to {_OF_GOOGLE['parallelism']:,},"
    f" with {_OF_GOOGLE['cpuMilli'] / 1000:g} vCPUs and {_OF_GOOGLE['memoryMib']:,} MiB each"
)
_ARRAY = (
    "ask for its jobs (aws batch list-jobs --array-job-id, then describe-jobs), and leave arrays out: jq '.jobs |="
    " map(select(.arrayProperties.size == null))' FILE > jobs.json"
)


@contextmanager
def json_as_text(source: TraceFile, progress: Progress | None = None) -> Iterator[TraceFile]:
    """The jobs as CSV for as long as it is needed, named as the file; what is wrong with it is said by job. Writing it
    is half of the work. What an
    object in a job holds is a column by its own name, with the object's before it where two have that."""
    with temporary_folder() as folder:
        file, repaired = folder / "table.csv", Counter[str]()
        table = _table(source, repaired, None if progress is None else lambda share: progress(share / 2))
        with writing(folder.parent, FULL):
            csv.write_csv(table, file)
        with told_of("job", "its keys"):
            yield replace(open_source(file, source.name), command=source.command, repaired=repaired, before=0.5)


def _table(source: TraceFile, repaired: Counter[str], progress: Progress | None) -> pa.Table:
    objects = enumerate(json_objects(source, progress=progress), 1)
    jobs = (_whole(job, f"job {number}", source.name, repaired) for number, job in objects)
    try:
        chunks = [_chunk(first, jobs) for first in jobs]
        table = pa.concat_tables(chunks, promote_options="default")
        paths = [path.split(_WITHIN) for path in table.column_names]
        leaves = Counter(path[-1] for path in paths)
        names = [path[-1] if leaves[path[-1]] == 1 else ".".join(path) for path in paths]
        return table.rename_columns([" ".join(name.split()) for name in names])
    except ValueError as error:
        raise InputError(f"{source.name}: is no JSON of jobs: {error}", hint=_FORMS) from None


def _chunk(first: Mapping[str, object], more: Iterator[Mapping[str, object]]) -> pa.Table:
    """The cells of some jobs, a column for each place in one, in the order in which that is met first."""
    columns = dict[str, list[str | None]]()
    for at, job in enumerate(chain([first], islice(more, _CHUNK - 1))):
        for path, cell in _leaves(job):
            column = columns.setdefault(path, [])
            if len(column) < at:
                column += [None] * (at - len(column))
            column.append(cell)
    rows = at + 1
    return pa.table({path: _texts(column + [None] * (rows - len(column))) for path, column in columns.items()})


def _texts(cells: list[str | None]) -> pa.Array:
    return pa.array(cells, pa.string()).dictionary_encode()


def json_objects(source: TraceFile, key: str = "", progress: Progress | None = None) -> Iterator[Mapping[str, object]]:
    """The objects in lines, in lists, or in the list that each object holds (of several the one with this ``key``), one
    by one; InputError for other JSON, and for pages of which the last is missing."""
    number, more = 0, list[tuple[str, float]]()
    try:
        with source.open() as file:
            for number, found in enumerate(_listed(JsonStream(file.read), key, more), 1):
                if not isinstance(found, dict):
                    raise ValueError(f"job {number} is no object")
                if progress is not None and number % _LOOK == 0:
                    progress(file.share)
                yield found
    except ValueError as error:
        raise InputError(f"{source.name}: is no JSON of jobs: {error}", hint=_FORMS) from None
    if more and all(number < whole for _, whole in more):
        raise InputError(f"{source.name}: is a part of an answer ({more[-1][0]}), more pages follow", hint=_PAGES)
    if not number:
        raise no_json_job(source.name)


def is_empty_list(head: bytes) -> bool:
    """Whether JSON begins with an empty list, or with an object of which the first list is empty."""
    return _EMPTY.match(head) is not None


def no_json_job(name: str) -> InputError:
    """The refusal of an empty list."""
    return InputError(f"{name}: holds no job: its list is empty", hint="ask for another time, queue or state of jobs")


def _listed(stream: JsonStream, key: str, more: list[tuple[str, float]]) -> Iterator[object]:
    """The values of lists and lines, and of pages; of each page is added what :func:`_follows` says."""
    is_first = True
    while mark := stream.peek():
        whole = None if mark == "[" or key else stream.whole(_ONE)
        if mark == "[":
            for _ in stream.elements():
                yield stream.value()
        elif whole is None or isinstance(whole, JSONDecodeError):
            yield from _of_long_page(stream, key, more, [])
        else:
            yield from _of_page(whole, more) if (is_first and not stream.peek()) or _is_page(whole) else [whole]
        is_first = False


def _of_page(whole: object, more: list[tuple[str, float]]) -> Iterator[object]:
    """The only list of objects that an object holds, if it is no job itself."""
    page = whole if isinstance(whole, dict) and not _is_job(whole) else {}
    lists = dict(_lists(page))
    if is_jobs(job_columns(page)) and not any(is_jobs(job_columns(one[0])) for one in lists.values()):
        lists = {}
    if len(lists) > 1:
        raise _several(list(lists))
    if lists:
        more.append(_follows(page))
    yield from next(iter(lists.values()), [] if _is_page(whole) else [whole])


def _is_job(names: Mapping[str, object]) -> bool:
    """Whether an object is a job, and no answer that has a begin and an end too."""
    found = job_columns(names)
    return is_jobs(found) and not found.keys().isdisjoint(("id", "cores"))


def _follows(page: Mapping[str, object]) -> tuple[str, float]:
    """The key of a page that says that more follow, and of how many jobs there are no more."""
    token = next((name for name in _MORE if page.get(name)), "")
    totals = ((name, total) for name in _TOTALS if type(total := page.get(name)) is int)
    return (token, math.inf) if token else next(totals, ("", 0))


def _of_long_page(
    stream: JsonStream, key: str, more: list[tuple[str, float]], lists: list[str], above: str = ""
) -> Iterator[object]:
    """The same of an object that is not held as a whole."""
    said = dict[str, object]()
    for name in stream.members():
        path, mark = f"{above}{name}", stream.peek()
        said[name] = None
        if mark == "{" and not key and above.count(".") < _DEEPEST:
            yield from _of_long_page(stream, key, more, lists, f"{path}.")
        elif mark == "[" and key in ("", path):
            yield from _of_list(stream, path, lists)
        else:
            value = stream.value()
            said[name] = value if name in _MORE or name in _TOTALS else None
    if not above:
        more.append(_follows(said))
        if not key and (not lists or _is_job(said)):
            raise ValueError(f"an object of more than {_ONE:,} characters is no list of jobs")


def _of_list(stream: JsonStream, path: str, lists: list[str]) -> Iterator[object]:
    """The objects of a list, of which an object may hold one."""
    for _ in stream.elements():
        is_object, value = stream.peek() == "{", stream.value()
        if is_object and path not in lists:
            lists.append(path)
        if len(lists) > 1:
            raise _several(lists)
        if is_object:
            yield value


def _several(lists: Sequence[str]) -> ValueError:
    return ValueError(f"several lists of objects: {', '.join(lists)}; keep one, as jq .{lists[0]} does")


def _lists(whole: Mapping[str, object], above: str = "") -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The lists of objects in an object and in those that it holds, by their paths."""
    for key, value in whole.items():
        if isinstance(value, dict):
            yield from _lists(value, f"{above}{key}.")
        elif value and _is_list(value):
            yield f"{above}{key}", value


def _is_list(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _is_page(whole: object) -> bool:
    """Whether an object has nothing but a list of objects, be it empty, and what is said of pages."""
    if not isinstance(whole, dict) or list not in map(type, whole.values()):
        return False
    others = [key for key, value in whole.items() if not _is_list(value)]
    return len(whole) == len(others) + 1 and all(map(_OF_PAGES.search, others))


def _leaves(job: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str | None]]:
    for key, held in job.items():
        value = _named(held) if isinstance(held, list) and _is_list(held) else held
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{key}{_WITHIN}")
        else:
            yield f"{above}{key}" if above else key, str(value) if type(value) is int else _cell(value)


def _named(found: list[dict[str, Any]]) -> object:
    """A list of objects with a type and a value, as AWS Batch asks for vCPUs and memory, as one object."""
    named = {str(one["type"]): one["value"] for one in found if one.keys() >= _TYPED}
    return named if named and len(named) == len(found) else found


def _whole(job: Mapping[str, object], where: str, file: str, repaired: Counter[str]) -> Mapping[str, object]:
    """A job, of Google Batch with what its tasks ask for while as many of them run as may at once, counted where that
    is by Google's defaults. InputError for an array of AWS Batch, which does not say when its jobs ran."""
    array, groups = job.get("arrayProperties"), job.get("taskGroups")
    if "jobArn" in job and isinstance(array, dict) and array.get("size"):
        raise InputError(
            f"{file}: {where} is an array of {array['size']} jobs, and does not say when each ran", hint=_ARRAY
        )
    if not _is_list(groups) or not all(isinstance(group.get("taskSpec"), dict) for group in groups):
        return job
    found, missing = Counter[str](), list[str]()
    for group in groups:
        told = {**group, **(group["taskSpec"].get("computeResource") or {})}
        asked = {name: value for name, value in told.items() if value is not None}
        if group.get("taskEnvironments"):
            asked["taskCount"] = len(group["taskEnvironments"])
        if group.get("schedulingPolicy") == "IN_ORDER":
            asked["parallelism"] = 1
        missing += [name for name in _OF_GOOGLE if name not in asked and name not in missing]
        tasks, most, cpu, memory = (int(asked.get(name, usual)) for name, usual in _OF_GOOGLE.items())
        at_once = min(tasks, most)
        found.update(cpuMilli=cpu * at_once, memoryMib=memory * at_once, servers=at_once)
    if missing:
        repaired[f"without {', '.join(missing)}: {_USUAL}"] += 1
    return {**job, "taskGroups": found}


def _cell(value: object) -> str | None:
    """A value as in a table: those of a list apart by spaces, nothing for a list of objects or lists."""
    if isinstance(value, list):
        cells = [_cell(one) for one in value if not isinstance(one, dict | list)]
        return " ".join(filter(None, cells)) if len(cells) == len(value) else None
    if isinstance(value, bool):
        return _WORDS[value]
    return None if value is None else " ".join(str(value).split())
