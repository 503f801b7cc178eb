"""A journal in pieces of many lines: as columns where all is as hcloud writes it, as lines where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.policy.records import Ints

if TYPE_CHECKING:
    import pyarrow as pa

PIECE = 8 << 20
"""Ours: bytes of a piece. Twice as many take no less time a line."""
ALWAYS = ("at", "event", "job", *("decision", "instance", "place", "reason", "margin", "unit", "until", "why"))
"""Keys that every piece has as columns; others are columns where a line has them."""
_NUMBERS, _WHOLE = {"at", "margin", "until", "cores", "memory_gib", "coin", "performance", "submitted"}, {"instance"}


@dataclass(frozen=True, slots=True)
class JournalPiece:
    """Complete lines of a journal: where they begin in it, their text, where each of them begins in that and where the
    last one ends."""

    begins: int
    text: bytes
    places: Ints

    def line(self, number: int) -> bytes:
        """The text of one line, without its end."""
        return self.text[self.places[number] : self.places[number + 1] - 1]

    def columns(self) -> dict[str, pa.Array] | None:
        """A column a key, with a row a line; None where a line is not one that hcloud writes."""
        import pyarrow as pa
        from pyarrow import json

        known = json.ParseOptions(explicit_schema=_schema(), unexpected_field_behavior="infer")
        text = self.text.replace(b'"margin":"unbounded"', b'"margin":Infinity')
        try:
            text.decode()  # the reader does not look
            columns = json.read_json(BytesIO(text), json.ReadOptions(block_size=1 << 20), known)
        except (UnicodeDecodeError, pa.ArrowInvalid):
            return None
        if columns.num_rows != len(self.places) - 1:
            return None
        return {name: columns[name].combine_chunks() for name in columns.column_names}


def journal_pieces(path: Path, start: int, size: int = PIECE) -> Iterator[JournalPiece]:
    """The lines of a journal from a byte on where one begins; a torn last line is left out."""
    with path.open("rb") as file:
        file.seek(start)
        left = b""
        while text := file.read(size):
            left += text
            end = left.rfind(b"\n") + 1
            if end:
                yield _piece(start, left[:end])
                start, left = start + end, left[end:]


def _piece(begins: int, text: bytes) -> JournalPiece:
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    return JournalPiece(begins, text, np.concatenate([np.zeros(1, np.int64), ends.astype(np.int64)]))


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    numbers, whole = dict.fromkeys(_NUMBERS, pa.float64()), dict.fromkeys(_WHOLE, pa.int64())
    texts = dict.fromkeys(ALWAYS, pa.string())
    return pa.schema(
        [*{**texts, **numbers, **whole, "restartable": pa.bool_(), "vector": pa.list_(pa.int64())}.items()]
    )
