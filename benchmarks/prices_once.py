"""The prices that ship with hcloud, read once for all that a process does: one of a user runs one verb, one of ours
hundreds, or is forked into hundreds. Nothing changes a book."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from hcloud.catalog.book import PriceBook
from hcloud.readers.prices.shipped import bundled

ASKED = ("providers", "regions", "families", "systems")
_read = bundled.load_bundled


@lru_cache(maxsize=32)
def _read_once(*asked: frozenset[Any] | None) -> PriceBook:
    return _read(None, *asked)


def _shared(root: Path | None = None, *asked: Any, **named: Any) -> PriceBook:
    if root is not None:
        return _read(root, *asked, **named)
    wanted = {**dict(zip(ASKED, asked, strict=False)), **named}
    return _read_once(*(None if wanted.get(name) is None else frozenset(wanted[name]) for name in ASKED))


def read_once() -> None:
    """From now on; to be called before anything imports the reader by name."""
    bundled.load_bundled = _shared
