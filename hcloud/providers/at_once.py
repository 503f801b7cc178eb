"""Several requests at the same time, where a cloud has none for many things at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8  # ours: below the ten connections that the SDKs keep
Given = TypeVar("Given")
Found = TypeVar("Found")


def in_parallel(ask: Callable[[Given], Found], wanted: Sequence[Given]) -> list[Found]:
    """What ``ask`` answers to each, in their order; the first error of any of them is raised."""
    if len(wanted) < 2:
        return [ask(one) for one in wanted]
    with ThreadPoolExecutor(min(AT_ONCE, len(wanted))) as pool:
        return list(pool.map(ask, wanted))
