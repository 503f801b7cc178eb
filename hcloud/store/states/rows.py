"""States written one after the other: a record that was written before is neither put into words nor checked again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from hcloud.model.holdings.state import OwnedMachine, State
from hcloud.store.states.codec import CHECKSUM, decode_state, head_document, laid_out, record_document


class _Row(NamedTuple):
    """A record, how it is laid out in a file, and how it is summed."""

    record: OwnedMachine
    laid_out: str
    summed: str


class StateEncoder:
    """Makes the bytes of states. What it made last it remembers by record: of ten thousand a save changes a few."""

    def __init__(self) -> None:
        self._rows: Mapping[int, _Row] = {}

    def encode(self, state: State) -> bytes:
        """The bytes of a state: the same for the same state, whatever order its records are in.

        Raises InputError for a state that could not be read back.
        """
        known = self._rows  # by identity: records are frozen, and a row keeps its own alive
        rows = [known.get(id(r)) or _row(r) for r in sorted(state.records, key=lambda r: r.id)]
        distinct = len({row.record.id for row in rows}) == len(rows)
        new = [row for row in rows if id(row.record) not in known] if distinct else rows
        decode_state(_bytes(state, new), "the state to be written")
        self._rows = {id(row.record): row for row in rows}
        return _bytes(state, rows)


def encode_state(state: State) -> bytes:
    """The bytes of one state; see :meth:`StateEncoder.encode`."""
    return StateEncoder().encode(state)


def _row(record: OwnedMachine) -> _Row:
    document = record_document(record)
    return _Row(record, json.dumps(document), json.dumps(document, sort_keys=True, separators=(",", ":")))


def _bytes(state: State, rows: list[_Row]) -> bytes:
    head = head_document(state)
    summed = {k: json.dumps(v, sort_keys=True, separators=(",", ":")) for k, v in head.items() if k != CHECKSUM}
    summed["records"] = f"[{','.join(row.summed for row in rows)}]"
    whole = "{" + ",".join(f'"{key}":{summed[key]}' for key in sorted(summed)) + "}"
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return laid_out({**head, CHECKSUM: digest}, [row.laid_out for row in rows]).encode("ascii")
