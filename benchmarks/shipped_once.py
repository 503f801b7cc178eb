"""The prices and documents that ship with hcloud, read and checked once for all that a process does: one of a user
runs one verb, one of ours hundreds, or is forked into hundreds. Nothing changes a book."""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

from hcloud.catalog import checks
from hcloud.catalog.book import PriceBook
from hcloud.readers import stated
from hcloud.readers.prices.shipped import bundled
from hcloud.readers.safe_yaml import load_yaml

ASKED = ("providers", "regions", "families", "systems", "terms", "machines")
_read = bundled.load_bundled
_check = checks.check_prices
_NONE = PriceBook({}, {})
_SHIPPED = str(Path(stated.__file__).parents[2])


@lru_cache(maxsize=32)
def _read_once(*asked: frozenset[Any] | None) -> PriceBook:
    return _read(None, *asked)


def _shared(root: Path | None = None, *asked: Any, **named: Any) -> PriceBook:
    if root is not None:
        return _read(root, *asked, **named)
    wanted = {**dict(zip(ASKED, asked, strict=False)), **named}
    return _read_once(*(None if wanted.get(name) is None else frozenset(wanted[name]) for name in ASKED))


@lru_cache(maxsize=1)
def _found_once() -> tuple[checks.Finding, ...]:
    return _check(_shared())


def _checked(book: PriceBook, known: PriceBook = _NONE) -> tuple[checks.Finding, ...]:
    return _check(book, known) if known is not _NONE or book is not _shared() else _found_once()


@lru_cache(maxsize=256)
def _loaded(text: str, name: str) -> bytes:
    return pickle.dumps(load_yaml(text, name))


def _load(text: str, name: str) -> object:
    """Each who asks has a copy."""
    found: object = pickle.loads(_loaded(text, name)) if name.startswith(_SHIPPED) else load_yaml(text, name)
    return found


def read_once() -> None:
    """From now on; to be called before anything imports the reader or the checks by name."""
    stated.load_yaml = _load  # type: ignore[assignment, attr-defined]
    bundled.load_bundled = _shared
    checks.check_prices = _checked
