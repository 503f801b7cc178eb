"""Tables whose dates and times of day stand in columns of their own: the command that writes them into one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from hcloud.errors import InputError
from hcloud.readers.workloads.commands import piped
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.meanings import JOBS, is_jobs, job_columns, meant, spelt
from hcloud.readers.workloads.quantities import NUMBER
from hcloud.readers.workloads.source import TraceFile

_OF_DAYS = re.compile(r"_?(date|day|datum)_?")
_OF_CLOCKS = re.compile(r"_?(time_of_day|time|clock|uhrzeit)_?")
_OF_HOURS = re.compile(r"_?(hour_of_day|hour|stunde)_?")
_OF_BEGINS = ("", "submit", "start", "begin", "arrival")
_DAY = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}", re.ASCII)
_CLOCK = re.compile(r"[012]?\d:[0-5]\d(:[0-5]\d(\.\d+)?)?( ?[AP]M)?", re.ASCII | re.IGNORECASE)
_HOUR_NAME = re.compile(
    r"(?:h|hr|hour|stunde|std)?_?(?P<h>[012]?\d)(?:_?h)?(?:_(?P<m>[0-5]\d)(?:_00)?)?_?(?P<half>am|pm)?(?:_uhr)?",
    re.ASCII,
)
_RANGE = re.compile(r"([012]?\d(?::[0-5]\d)?) ?[-–] ?[012]?\d(?::[0-5]\d)?", re.ASCII)
_HOURS, _DAY_SECONDS = 24, 86_400
_OF_A_DAY = re.compile(
    r"(week_?day|day_of_(the_)?week|dow|day|week|wochentag|tag|kw|month"
    r"|(daily_|day_|grand_)?(total|sum|average|avg|mean|max(imum)?|min(imum)?|peak|summe|gesamt|mittel(wert)?))s?"
)
"""Columns of a row of a day that are no hour of it and no machine."""
_HOUR = re.compile(r"[012]?\d", re.ASCII)


def refuse_days_apart(source: TraceFile, names: Sequence[str], first: Sequence[str], mark: str) -> None:
    """InputError for a table whose ``first`` row has a day in one column and, in one of the same name but for that, the
    time of day, where no column has both, or none says when its jobs ended."""
    if len(first) != len(names):
        return
    clocks = {_stem(_OF_CLOCKS, name): at for at, name in enumerate(names) if _CLOCK.fullmatch(first[at].strip())}
    hours = {_stem(_OF_HOURS, name): at for at, name in enumerate(names) if _HOUR.fullmatch(first[at].strip())}
    clocks = hours | clocks
    days = {at: _stem(_OF_DAYS, name) for at, name in enumerate(names) if _DAY.fullmatch(first[at].strip())}
    pairs = {at: clocks[stem] for at, stem in days.items() if stem is not None and stem in clocks}
    rest = job_columns([name for at, name in enumerate(names) if at not in {*pairs, *pairs.values()}])
    is_ended_so = is_jobs(job_columns(names)) and not is_jobs(rest)
    if pairs and ("submit" not in rest or is_ended_so):  # nor any time, which would stand for it
        at, other = next(iter(pairs.items()))
        command = _joined(source, names, pairs, mark)
        raise InputError(
            f"{source.name}: the day stands in column {shown(names[at])} and the time of day in {shown(names[other])}",
            hint=f"write both into one column{': ' + command if command else ''}",
        )


def refuse_hours_across(source: TraceFile, names: Sequence[str], first: Sequence[str], mark: str) -> None:
    """InputError for a table with a row a day and a column for each hour of it, or for each equal part of an hour: read
    as machines they would be added up, 24 for one. Beside them a weekday, sums of the day and a machine may stand."""
    days = [at for at, cell in enumerate(first) if _DAY.fullmatch(cell.strip())] if len(first) == len(names) else []
    minutes = {at: found for at, name in enumerate(names) if at not in days and (found := _minutes(name)) is not None}
    count, begin = len(minutes), min(minutes, default=0)
    if len(days) != 1 or count < _HOURS or _DAY_SECONDS % count or list(minutes) != [*range(begin, begin + count)]:
        return
    each = 24 * 60 / count
    if [at - minutes[begin] for at in minutes.values()] != [round(place * each) for place in range(count)]:
        return
    beside = [at for at in range(len(names)) if at not in (*days, *minutes)]
    others = [at for at in beside if not _OF_A_DAY.fullmatch(spelt(names[at]))]
    clock = f'sprintf("%02d:%02d", int((i - {begin + 1}) * {each:g} / 60), (i - {begin + 1}) * {each:g} % 60)'
    machine = "".join(f' "{mark}" ${at + 1}' for at in others)
    row = f'print ${days[0] + 1} " " {clock}{machine} "{mark}" $i'
    header = mark.join(["timestamp", *(["name"] * len(others)), "value"])
    rows = f"for (i = {begin + 1}; i <= {begin + count}; i++) {row}"
    program = f'{{sub(/\\r$/, "")}} NR == 1 {{print "{header}"; next}} NF {{{rows}}}'
    is_clear = len(others) < 2 and b'"' not in source.head
    command = piped(source, f"awk -F{shlex.quote(mark)} {shlex.quote(program)}") if is_clear else ""
    raise InputError(
        f"{source.name}: each row is a day, with a column for each {each:g} minutes of it ({shown(names[begin])} to"
        f" {shown(names[begin + count - 1])}){'' if others else ', and no machine'}",
        hint=f"write a row for each time{' and machine' * bool(others)}{': ' + command if command else ''}",
    )


def _minutes(name: str) -> int | None:
    """The minutes of a day that a column's name says (9, 09:00, h9, 9 AM, 09-10); None for another name."""
    span = _RANGE.fullmatch(name.strip())
    clock = _HOUR_NAME.fullmatch(spelt(span[1] if span else name))
    if clock is None:
        return None
    hours = int(clock["h"]) % 12 + 12 * (clock["half"] == "pm") if clock["half"] else int(clock["h"])
    return hours * 60 + int(clock["m"] or 0)


def hours_written(source: TraceFile, names: Sequence[str], rows: Sequence[Sequence[str]], mark: str) -> str:
    """What to do about times that are hours since a table began, or those of the day in rows of an hour each: the
    command that writes them as seconds. Nothing for other tables."""
    stems = {at: stem for at, name in enumerate(names) if (stem := _stem(_OF_HOURS, name)) in _OF_BEGINS}
    at, stem = next(iter(stems.items())) if len(stems) == 1 else (-1, "")
    cells = [row[at].strip() for row in rows if len(row) == len(names)]
    if at < 0 or not cells or not all(map(NUMBER.fullmatch, cells)):
        return ""
    steps = [after - before for before, after in pairwise(map(float, cells))]
    of_day = [step % 24 for step in steps] == [1.0] * len(steps)
    if not of_day and min(steps, default=0) < 0:
        return ""
    hour = f"${at + 1}"
    called = [(stem or "timestamp") if place == at else name for place, name in enumerate(names)]
    header = f'NR == 1 {{print "{mark.join(called)}"; next}}'
    next_day = f"if ({hour} < h && h < 25) d += 24"
    program = f'{{sub(/\\r$/, "")}} {header} NF {{{next_day}; h = {hour}; {hour} = int((h + d) * 3600 + .5); print}}'
    by = shlex.quote(mark)
    command = "" if b'"' in source.head else piped(source, f"awk -F{by} -v OFS={by} {shlex.quote(program)}")
    return f"write the hours of {shown(names[at])} as seconds{': ' + command if command else ''}"


def _stem(of: re.Pattern[str], name: str) -> str | None:
    """What a name says beside that it is of days, or of clocks; None where it does not say so."""
    rest, found = of.subn("", spelt(name), count=1)
    return rest if found else None


def _joined(source: TraceFile, names: Sequence[str], pairs: dict[int, int], mark: str) -> str:
    """The command; nothing where cells may hold separators, or the table was made of another file."""
    if b'"' in source.head or source.head[:4].lower() == b"sep=":
        return ""
    usual = "submit" if is_jobs(job_columns(names)) else "timestamp"
    kept = [at for at in range(len(names)) if at not in pairs.values()]
    called = [next(iter(meant([names[at]], JOBS)), usual) if at in pairs else names[at] for at in kept]
    clock = {at: f"${other + 1}" for at, other in pairs.items()}
    clock |= {at: f'sprintf("%02d:00", {clock[at]})' for at in pairs if _stem(_OF_HOURS, names[pairs[at]]) is not None}
    cells = f' "{mark}" '.join(f'${at + 1} " " {clock[at]}' if at in pairs else f"${at + 1}" for at in kept)
    program = f'{{sub(/\\r$/, "")}} NR == 1 {{print "{mark.join(called)}"; next}} {{print {cells}}}'
    return piped(source, f"awk -F{shlex.quote(mark)} {shlex.quote(program)}")
