"""The command that mends a table in which some cells are written as they cannot be read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from hcloud.errors import Problem
from hcloud.readers.workloads.commands import piped
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.header import separator

_MOST = 20  # ours: lines that a command leaves out
_NOTHING = "N/A|n/a|NA|NULL|null|None|none|NaN|nan|-"
_MENDED: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), told, command)
    for pattern, told, command in (
        (r"byte 0x", "if it is Latin-1, convert it", "iconv -f LATIN1 -t UTF-8"),
        (
            rf"'({_NOTHING})'$",
            "leave cells without a value empty",
            rf"sed -E ':a; s#(^|[,;\t])({_NOTHING})([,;\t]|\r?$)#\1\3#; ta'",
        ),
        (
            r"' +[^ ]|'[^ ].* '$",
            "take the blanks around cells away",
            r"sed -E 's/^ +| +$//g; s/ *([,;\t]) */\1/g'",
        ),
    )
)
_PLAIN = re.compile(r"'([\w.:+-]+)'", re.ASCII)
_LINE = re.compile(r"line (\d+)\b")


class PlainTable(NamedTuple):
    """What separates the columns of a table without quotes, and what they are called."""

    delimiter: str
    names: list[str]


def mending_command(
    source: TraceFile, problems: Sequence[Problem], plain: PlainTable | None = None, *, rest: bool
) -> str:
    """What to do, with its command for a shell: by what stands in all cells, else to leave a few lines out where there
    is a ``rest``; nothing where neither would do, or the table was made of another file."""
    told, _, command = _mending(problems, plain, rest=rest).partition(": ")
    whole = piped(source, command) if command else ""
    return f"{told}: {whole}" if whole else ""


def _mending(problems: Sequence[Problem], plain: PlainTable | None, *, rest: bool) -> str:
    """What to do, and the command that does it to the text on its input."""
    for pattern, told, command in _MENDED:
        if all(pattern.match(problem.value) for problem in problems):
            return f"{told}: {command}"
    if not rest:
        return ""
    odd = {(problem.where.partition("column ")[2], problem.value) for problem in problems}
    if len(problems) > _MOST and len(odd) == 1 and plain is not None:
        (column, value) = odd.pop()
        if column in plain.names and (cell := _PLAIN.fullmatch(value)):
            test = f"-F'{plain.delimiter}' '{{sub(/\\r$/, \"\")}} ${plain.names.index(column) + 1} != \"{cell[1]}\"'"
            return f"correct them, or leave these lines out: awk {test}"
    lines = sorted({int(found[1]) for problem in problems if (found := _LINE.match(problem.where))})
    if not lines or len(lines) > _MOST or lines[0] == 1:
        return ""
    out = "; ".join(f"{line}d" for line in lines)
    return f"correct what is named, or leave these lines out: sed '{out}'"


def in_use_command(source: TraceFile, names: Sequence[str], value: int, size: tuple[str, str]) -> str:
    """The command that writes vCPUs in use in place of a part of a machine and the column with its vCPUs, of which the
    whole is so much; nothing for cells that may hold a separator or a decimal comma."""
    named, whole = size
    if b'"' in source.head or separator(source.head.split(b"\n", 1)[0].decode("utf-8", "replace")) != ",":
        return ""
    kept = [at for at, name in enumerate(names) if name != named]
    header = ",".join("cores" if at == value else names[at] for at in kept)
    product = f'(${value + 1} == "" ? "" : ${value + 1} * ${names.index(named) + 1} / {whole})'
    cells = ' "," '.join(product if at == value else f"${at + 1}" for at in kept)
    program = f'{{sub(/\\r$/, "")}} NR == 1 {{print "{header}"; next}} {{print {cells}}}'
    return piped(source, f"awk -F, {shlex.quote(program)}")
