"""Data frames of pandas: demand from them, read as the file of the same columns is, and results as them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from hcloud.errors import InputError, Problem, UsageError
from hcloud.temporary import temporary_folder
from hcloud.usecases.extras import require

if TYPE_CHECKING:
    import pandas as pd

    from hcloud.model.workload import Workload
    from hcloud.views.rows import Rows

Amounts = Literal["decimal", "float"]
NAME = "DataFrame"
_MOST_ROWS = 20  # ours: rows that a hint names
SAYING = frozenset(("value", "cores", "percent", "requests"))
"""What a column of a series may be called that says itself what it holds."""


def is_frame(demand: object) -> TypeGuard[pd.DataFrame | pd.Series[Any]]:
    """Whether it is of pandas, without importing that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(demand, pandas.DataFrame | pandas.Series)


def usual_keys(frame: pd.DataFrame | pd.Series[Any]) -> dict[str, str]:
    """How its values are read where nothing else is said: by a DatetimeIndex stand vCPUs, of one machine a column."""
    import pandas as pd

    named = {frame.name} if isinstance(frame, pd.Series) else set(frame.columns)
    dated = isinstance(frame.index, pd.DatetimeIndex)
    return {"series_value": "cores"} if dated and not named & SAYING else {}


@contextmanager
def as_file(frame: pd.DataFrame | pd.Series[Any]) -> Iterator[Path]:
    """The frame as a file for the readers, while it is read: what they refuse is said with its row (from 0, as in
    ``iloc``) and column."""
    with temporary_folder() as folder:
        path = folder / "frame.csv"
        _write(_columns(frame), path)
        try:
            yield path
        except InputError as error:
            raise _of_frame(error, str(path)) from None


def _columns(frame: pd.DataFrame | pd.Series[Any]) -> pd.DataFrame:
    """Its columns as a table has them: a DatetimeIndex as the column timestamp, time spans as seconds."""
    import pandas as pd

    table = frame.to_frame(frame.name or "cores") if isinstance(frame, pd.Series) else frame.copy(deep=False)
    if not all(isinstance(name, str) for name in table.columns):
        raise UsageError("the names of the DataFrame's columns must be text", hint="frame.columns.map(str)")
    if isinstance(table.index, pd.DatetimeIndex):
        table.insert(0, "timestamp", table.index, allow_duplicates=True)
    if twice := sorted(set(table.columns[table.columns.duplicated()])):
        raise UsageError(f"the DataFrame has several columns named {', '.join(twice)}", hint="rename all but one")
    _check_zones(table)
    for name in table.columns:
        if isinstance(table[name].dtype, pd.DatetimeTZDtype):
            table[name] = table[name].dt.tz_convert("UTC")
        elif pd.api.types.is_timedelta64_dtype(table[name].dtype):
            table[name] = table[name].dt.total_seconds()
        elif isinstance(table[name].dtype, pd.CategoricalDtype) or pd.api.types.is_object_dtype(table[name].dtype):
            table[name] = table[name].astype(object).map(str, na_action="ignore")
    return table


def _check_zones(table: pd.DataFrame) -> None:
    """UsageError where one column of times has a zone and another has none: hours would lie between them."""
    import pandas as pd

    times = [name for name in table.columns if pd.api.types.is_datetime64_any_dtype(table[name].dtype)]
    zoned = [name for name in times if isinstance(table[name].dtype, pd.DatetimeTZDtype)]
    naive = [name for name in times if name not in zoned]
    if zoned and naive:
        zone = table[zoned[0]].dtype.tz  # type: ignore[union-attr]
        raise UsageError(
            f"the column {zoned[0]} of the DataFrame has a time zone ({zone}) and {naive[0]} has none",
            hint=f"say which it is: frame[{naive[0]!r}].dt.tz_localize({str(zone)!r}), or 'UTC'",
        )


def _write(table: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    try:
        csv.write_csv(pa.Table.from_pandas(table, preserve_index=False), path)
    except pa.ArrowException as error:
        raise InputError(f"{NAME}: {str(error).splitlines()[0]}") from None


def _of_frame(error: InputError, path: str) -> InputError:
    """What was said of the file, said of the frame."""

    def said(text: str) -> str:
        return re.sub(r"\bline (\d+)\b", lambda found: _row(int(found[1])), text.replace(path, NAME))

    problems = [Problem(said(p.file), said(p.where), p.value, said(p.allowed)) for p in error.problems]
    hint = said(error.hint)
    if "mended.csv" in hint:  # a command for a file
        rows = sorted({int(found[1]) for p in problems if (found := re.match(r"row (\d+)\b", p.where))})
        hint = f"correct these rows, or leave them out: frame.drop(frame.index[{rows}])"
        hint = hint if len(rows) <= _MOST_ROWS else ""
    return InputError(said(str(error.args[0])), problems, hint=hint)


def _row(line: int) -> str:
    return f"row {line - 2}" if line > 1 else "the names of the columns"


def frame_of_rows(rows: Rows, amounts: Amounts) -> pd.DataFrame:
    """The table of a document."""
    made = _exactly(rows.columns, rows.values, rows.exact)
    return frame_of(tuple(rows.columns), made, amounts, rows.moments)


def _exactly(
    columns: Iterable[str], values: Iterable[Sequence[object]], exact: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    decimals = [name in exact for name in columns]
    for row in values:
        yield tuple(Decimal(str(v)) if amount and v is not None else v for v, amount in zip(row, decimals, strict=True))


def frame_of(
    names: Sequence[str], rows: Iterable[Sequence[object]], amounts: Amounts, moments: Sequence[str] = ()
) -> pd.DataFrame:
    """Rows as a frame, amounts exact as Decimal, or as float64 where they are asked for so."""
    require(["notebook"])
    import pandas as pd

    if amounts not in ("decimal", "float"):
        raise UsageError(f"amounts={amounts!r}: must be 'decimal' or 'float'")
    as_float = amounts == "float"
    cells = [[float(v) if as_float and isinstance(v, Decimal) else v for v in row] for row in rows]
    frame = pd.DataFrame(cells, columns=list(names))
    for name in moments:
        frame[name] = pd.to_datetime(frame[name], format="ISO8601")
    return frame


def renamed(workload: Workload, name: str = NAME) -> Workload:
    """The workload of a frame, which is from no file."""
    return replace(workload, provenance=replace(workload.provenance, name=name))
