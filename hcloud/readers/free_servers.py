"""A CSV file of servers that are there: what each is, how much of it is free, and what its tenants press with."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.model.files import HEAD, check_sort, none_such
from hcloud.model.measured.profile import RESOURCES
from hcloud.planning.forecasting.targeted import FreeServer, ServerShare
from hcloud.readers.stated import Stated

NEEDED = ("server", "type", "vcpus", "memory_gib")
FREE = ("free_vcpus", "free_memory_gib")
PRESSURE, ROOM = ("pressure", "room")
COLUMNS = (*NEEDED, *FREE, *(f"{what}_{resource}" for what in (PRESSURE, ROOM) for resource in RESOURCES))
_MOST, _POINTS = 1e6, 100.0


def load_free_servers(path: Path) -> tuple[FreeServer, ...]:
    """The servers of a file; UsageError where there is none, InputError with everything that is wrong with it."""
    if not path.is_file():
        raise UsageError(none_such(path), hint=f"a CSV file with the columns {', '.join(NEEDED)}")
    data = path.read_bytes()
    check_sort(path, data[:HEAD], "a file of servers")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason}") from None
    reading = _ServersReading(str(path))
    found = reading.servers(lines)
    reading.refuse("file of servers")
    if not found:
        raise InputError(f"{path}: no server in it; the file has only a header")
    return found


class _ServersReading(Stated):
    """A file of servers being read."""

    def servers(self, lines: Sequence[str]) -> tuple[FreeServer, ...]:
        rows = csv.DictReader(lines)
        names = [name.strip() for name in rows.fieldnames or ()]
        rows.fieldnames = names
        for name in names:
            if name not in COLUMNS:
                close = did_you_mean(name, COLUMNS).removeprefix("; ")
                self.note(f"column {name!r}"[:60], "unknown", close or f"known columns: {', '.join(COLUMNS[:6])}")
        missing = [name for name in NEEDED if name not in names]
        for name in missing:
            self.note(f"column {name}", "missing", "has to be there")
        first: dict[str, int] = {}
        found = []
        for row in rows if not missing else ():
            line = rows.line_num
            server = self._server(row, line)
            if server.name in first:
                self.note(f"line {line}, server", repr(server.name)[:60], f"line {first[server.name]} has it already")
            first.setdefault(server.name, line)
            found.append(server)
        return tuple(found)

    def _server(self, row: Mapping[str, str | None], line: int) -> FreeServer:
        name, kind = ((row.get(key) or "").strip() for key in ("server", "type"))
        for key, value in (("server", name), ("type", kind)):
            if not value:
                self.note(f"line {line}, {key}", "empty", "a name")
        whole = ServerShare(*(self._number(row, line, key, (0.001, _MOST)) for key in NEEDED[2:]))
        free = ServerShare(*(self._free(row, line, key, of) for key, of in zip(FREE, whole, strict=True)))
        return FreeServer(name, kind, whole, free, self._points(row, line, PRESSURE), self._points(row, line, ROOM))

    def _free(self, row: Mapping[str, str | None], line: int, key: str, whole: float) -> float:
        return self._number(row, line, key, (0.0, whole)) if (row.get(key) or "").strip() else whole

    def _points(self, row: Mapping[str, str | None], line: int, what: str) -> tuple[float, ...] | None:
        """Ten points; a resource without a cell is neither pressed on nor near its limit."""
        keys = [f"{what}_{resource}" for resource in RESOURCES]
        if not any((row.get(key) or "").strip() for key in keys):
            return None
        usual = 0.0 if what == PRESSURE else _POINTS
        cells = ((key, (row.get(key) or "").strip()) for key in keys)
        return tuple(self._number(row, line, key, (0.0, _POINTS)) if cell else usual for key, cell in cells)

    def _number(self, row: Mapping[str, str | None], line: int, key: str, bounds: tuple[float, float]) -> float:
        text = (row.get(key) or "").strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if bounds[0] <= value <= bounds[1]:
            return value
        self.note(f"line {line}, {key}", repr(text)[:60], f"a number from {bounds[0]:g} to {bounds[1]:g}")
        return bounds[1]
