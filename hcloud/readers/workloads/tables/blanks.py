"""Tables whose columns blanks separate, as programs print them for people: the command that makes a CSV of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hcloud.readers.workloads.commands import piped
from hcloud.readers.workloads.meanings import SERIES, is_jobs, is_use, job_columns, meant
from hcloud.readers.workloads.source import HEAD_BYTES, TraceFile

_GAPS = ("  +", " +")
_NAME = re.compile(r"%?[A-Za-z][^,;|\t]*", re.ASCII)
_PRINT = (
    "let the program that printed it write one separator between columns, as sacct -P, squeue -o '%i|%V|%S|%e|%C' and"
    " bjobs -o \"jobid submit_time start_time finish_time slots delimiter=','\" do"
)


class BlankTable(NamedTuple):
    """What to do with such a table, and whether its columns are those of jobs."""

    hint: str
    of_jobs: bool


def apart_by_blanks(source: TraceFile) -> BlankTable | None:
    """The table in a text without other separators; None where the first lines are none."""
    text = source.head.decode("utf-8", "replace")
    whole = text if len(source.head) < HEAD_BYTES else text.rpartition("\n")[0]
    lines = [line.strip() for line in whole.splitlines() if line.strip(" -=")]
    if len(lines) < 2 or re.search(r"[,;|\t]", lines[0]):
        return None
    for gap in _GAPS:
        names = re.split(gap, lines[0])
        of_jobs = is_jobs(job_columns(names))
        named = _are_names(names) and (of_jobs or is_use(meant(names, SERIES)) or "  " in whole)
        if named and all(len(re.split(gap, line)) == len(names) for line in lines[1:]):
            return BlankTable(_separated(source, gap, "|" if "," in whole else ","), of_jobs)
    names = lines[0].split()
    if "  " not in whole or not names[2:] or not _are_names(names):
        return None
    return BlankTable(f"some of its cells are empty or hold blanks: {_PRINT}", of_jobs=False)


def _separated(source: TraceFile, gap: str, mark: str) -> str:
    command = piped(source, rf"sed -E '/^[ =-]*$/d; s/^ +| +$//g; s/{gap}/{mark}/g'")
    return f"write separators: {command}" if command else "write separators in place of the blanks"


def _are_names(names: Sequence[str]) -> bool:
    return len(names) > 1 and all(map(_NAME.fullmatch, names))
