"""A live controller's state as plain data, exact to the last bit: JSON with tables of numbers as compressed bytes."""

from __future__ import annotations

import json
import math
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import astuple
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hcloud.control.sessions.instances import BookImage
from hcloud.control.tables import Given, TablesImage
from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.policy.facts import Setup

VERSION = 3
_UNBOUNDED = "unbounded"
"""A margin without end: JSON knows no infinity."""
_FAST = 1


class SessionImage(NamedTuple):
    """All that a session holds: its time, the last control period (both NaN before the first event), what was decided
    and not told yet, its instances and its tables."""

    now: float
    control: float
    due: list[Decision]
    book: BookImage
    tables: TablesImage


def written(setup: Setup, image: SessionImage) -> bytes:
    """A snapshot of a session."""
    tables = image.tables
    document = {
        "snapshot": VERSION,
        "setup": _digest(repr(setup)),
        "layout": _layout(tables.arrays),
        "now": None if math.isnan(image.now) else image.now,
        "control": None if math.isnan(image.control) else image.control,
        "due": [_decision(d) for d in image.due],
        "instances": image.book._asdict(),
        "jobs": {"rows": tables.rows, "names": tables.names, "given": tables.given, "vacant": tables.vacant},
        "tables": {name: _packed(rows) for name, rows in tables.arrays.items()},
    }
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


def read(setup: Setup, data: bytes, mine: TablesImage) -> SessionImage:
    """What a snapshot holds, whose tables are of the kinds of ``mine``. Raises InputError where it is damaged, of
    another setup, or of a version of hcloud whose state is another."""
    try:
        document: Any = parsed(data.decode())
        version = document["snapshot"]
        if version != VERSION or document["layout"] != _layout(mine.arrays):
            raise InputError(
                f"a snapshot of version {version} that this hcloud cannot read",
                hint="go on with the version of hcloud that wrote it",
            )
        if document["setup"] != _digest(repr(setup)):
            raise InputError("the snapshot of a controller with another strategy, pool or list of types")
        return _image(document, mine)
    except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
        raise InputError(f"not a snapshot, or a damaged one: {type(error).__name__}: {error}") from None


def _image(document: Mapping[str, Any], mine: TablesImage) -> SessionImage:
    book, jobs = document["instances"], document["jobs"]
    given: list[Given] = [tuple(values) for values in jobs["given"]]
    arrays = {name: _unpacked(document["tables"][name], rows.dtype) for name, rows in mine.arrays.items()}
    rows = [(str(name), int(row)) for name, row in jobs["rows"]]
    return SessionImage(
        math.nan if document["now"] is None else float(document["now"]),
        math.nan if document["control"] is None else float(document["control"]),
        [_told(values) for values in document["due"]],
        BookImage(**book),
        TablesImage(rows, jobs["names"], given, jobs["vacant"], arrays),
    )


def _decision(decision: Decision) -> list[object]:
    return [_UNBOUNDED if value == math.inf else value for value in astuple(decision)]


def _told(values: list[Any]) -> Decision:
    known: list[Any] = [math.inf if value == _UNBOUNDED else value for value in values]
    return Decision(known[0], DecisionAction(known[1]), *known[2:])


def _packed(rows: NDArray[Any]) -> str:
    return b64encode(zlib.compress(rows.tobytes(), _FAST)).decode()


def _unpacked(text: str, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(zlib.decompress(b64decode(text, validate=True)), kind)


def _layout(arrays: Mapping[str, NDArray[Any]]) -> str:
    """What the tables' records are made of: other numbers in the same bytes would be read as if nothing were wrong."""
    return _digest("; ".join(f"{name} {_spelled(rows.dtype)}" for name, rows in arrays.items()))


_spelled = cache(str)
"""To spell out a record of many fields takes half the time of a snapshot."""


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
