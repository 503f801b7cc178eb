"""Tells a workload's format from what stands in it, never from its name."""

from __future__ import annotations

import re

from hcloud.errors import InputError
from hcloud.model.files import check_sort
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.source import TraceFile

_COMPANIONS = (
    (re.compile(r"[\d.]+,[\d.]+ \S"), "a map of flavours; give the file of requests beside it"),
    (re.compile(r"\d+ \d+$"), "a map of lifetime bins; give the file of requests beside it"),
    (re.compile(r"sn,cpu_milli,"), "a list of machines; give the list of pods beside it"),
)


def recognise(source: TraceFile) -> str:
    """The format's name; InputError when the content is none that is known."""
    if source.head.startswith(b"PAR1"):
        return "bitbrains" if _is_bitbrains(source) else "jobs-parquet"
    text = source.head.split(b"\n", 1)[0].decode("utf-8", "replace").removesuffix("\r")
    if (found := _object(source.head) or _table(text)) is not None:
        return found
    for pattern, what in _COMPANIONS:
        if pattern.match(text):
            raise InputError(f"{source.name}: not a workload but {what}")
    check_sort(source.name, source.head, "a workload", "a job trace")
    if re.fullmatch(r"[A-Za-z_ \"]+([,;\t][A-Za-z_ \"]+)+", text):
        return "jobs-csv"
    raise InputError(
        f"{source.name}: the format is not recognised; line 1 begins with {shown(text)}",
        hint="name it with --format; `hcloud workload show --help` lists the formats",
    )


def _object(head: bytes) -> str | None:
    """The format of a JSON object that begins like this."""
    if not head.lstrip().startswith(b"{"):
        return None
    fits = (n for n, known in FORMATS.items() if any(all(word in head for word in words) for words in known.holds))
    return next(fits, None)


def _table(first: str) -> str | None:
    """The format whose header, or else first line, this is."""
    delimiter = max(",;\t", key=first.count)
    names = {name.strip().strip('"') for name in first.split(delimiter)}
    for name, known in reversed(FORMATS.items()):
        if any(needed <= names for needed in known.headers):
            return name
    return next((n for n, known in reversed(FORMATS.items()) if any(p.match(first) for p in known.lines)), None)


def _is_bitbrains(source: TraceFile) -> bool:
    from pyarrow import parquet

    try:
        names = set(parquet.read_schema(source.path).names)
    except Exception as error:
        raise InputError(f"{source.name}: damaged Parquet file: {error}") from error
    return "cpu_usage" in names or "cpu_capacity" in names
