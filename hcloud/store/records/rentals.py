"""The log of rentals beside the state: every machine from the start that its cloud told to its end, never trimmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from hcloud.errors import InputError
from hcloud.model.checked import check_version, first_of, form_of
from hcloud.model.holdings.state import OwnedMachine, State
from hcloud.model.report import FORMAT_VERSION, MachineRental
from hcloud.planning.changes.rentals import RentalRecord, folded, fresh, running, usages
from hcloud.store.files.place import RENTALS, RENTALS_ASIDE, StorageLocation
from hcloud.store.records.durable_lines import Content, DurableLines

WHAT = "log of rentals"
HINT = (
    f"put {RENTALS} back from a copy; without one, move it away: hcloud goes on with a new one, and reports what was "
    "rented before only as far as it stands still"
)
MOST_A_LINE = 1_000  # ours: keeps a line below the longest, whatever names a cloud gives
_HEAD, _ROWS = "log", "rentals"


class Rentals:
    """The log at a place. It is written before the state that it follows from, under the state's lock: what a crash
    leaves in between is said again by the next run, and saying it twice changes nothing.

    A line whose writing was cut short is left out, and its place taken; any other damage raises InputError.
    """

    def __init__(self, place: StorageLocation) -> None:
        self._place = place
        self._lines = DurableLines(place, RENTALS, WHAT, HINT)
        self._known: dict[tuple[str, int], RentalRecord] | None = None
        self._followed: Mapping[int, OwnedMachine] = {}

    def __str__(self) -> str:
        return str(self._lines)

    def usages(self) -> tuple[MachineRental, ...]:
        """All rentals as the log tells them now, by id and start; none where there is no log yet."""
        return usages(self._read())

    def running(self, lineage: str) -> tuple[MachineRental, ...]:
        """Those of a state that have no end yet, as far as this process has read and written."""
        if self._known is None:
            self._known = self._read()
        return running(self._known, lineage)

    def follow(self, state: State) -> None:
        """Note what this state says of machines that the log does not say yet; returns when that lasts."""
        if not (state.records or state.departed):
            return
        known = self._known = self._read() if self._known is None else self._known
        said = self._followed  # by identity: of ten thousand records a state changes a few
        changed = tuple(r for r in state.records if id(r) not in said)
        news = list(fresh(known, replace(state, records=changed)))
        self._known, self._followed = None, {}  # unless it succeeds: what stands there then has to be read
        rows = iter(news)
        while bundle := list(islice(rows, MOST_A_LINE)):
            self._append({_ROWS: [form_of(RentalRecord).dump_python(rental, mode="json") for rental in bundle]})
        self._known = folded(chain(known.values(), news)) if news else known
        self._followed = {id(r): r for r in state.records}

    def put_aside(self) -> None:
        """Keep a log that cannot be read under another name, so that a new one is begun; leave any other."""
        self._known, self._followed = None, {}
        try:
            self._read()
        except InputError:
            data = self._place.read(RENTALS)
            if data is not None:
                self._place.replace(RENTALS_ASIDE, data)
                self._place.remove(RENTALS)

    def _append(self, content: Content) -> None:
        if not self._lines.read().contents:
            self._lines.append({_HEAD: {"format_version": FORMAT_VERSION}})
        self._lines.append(content)

    def _read(self) -> dict[tuple[str, int], RentalRecord]:
        contents = self._lines.read().contents
        if contents:
            check_version(contents[0].get(_HEAD), str(self), "use the hcloud that wrote it, or a later one")
        found = (self._rentals(number, content) for number, content in enumerate(contents[1:], start=2))
        return folded(chain.from_iterable(found))

    def _rentals(self, number: int, content: Content) -> Iterator[RentalRecord]:
        from pydantic import ValidationError

        rows: Any = content.get(_ROWS)
        if len(content) != 1 or not isinstance(rows, list):
            raise InputError(f"{self}: line {number}: does not belong in a {WHAT}", hint=HINT)
        try:
            return iter([form_of(RentalRecord).validate_python(row) for row in rows])
        except ValidationError as error:
            raise InputError(f"{self}: line {number}: {first_of(error)}", hint=HINT) from None
