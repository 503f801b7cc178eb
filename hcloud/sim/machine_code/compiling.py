"""Compiles the entries of groups of kernels, each with all that it calls, in a process of its own; a few seconds.

Where a version of numba differs in what :mod:`hcloud.kernel_compiler` counts on this process fails, and the kernels are
compiled in the usual way when they are first called.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import IO, Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from hcloud.kernel_compiler import from_the_front, keep_whole, parts
from hcloud.kernel_objects import kind_of, place_of
from hcloud.policy.records import Ints, Reals, Table, table
from hcloud.sim.machine_code.compiled import SET, entries_of, folder_of, gated


def compile_groups(marks: Sequence[Path]) -> None:
    """Compile the entries of groups that stand in one folder, each named as its mark, and keep them there; leave each
    mark when its group is done. What several groups call is translated once."""
    groups = [mark.stem for mark in marks]
    folder, kernels = folder_of(groups[0]), parts(SET, partial(gated, groups[0]))
    folder.mkdir(exist_ok=True)
    for group, mark in zip(groups, marks, strict=True):
        for name in entries_of(group):
            examples = arguments(SET.plain[name])
            with from_the_front():
                keep_whole(place_of(folder, name, kind_of(examples)), kernels[name], examples)
        mark.touch()


def arguments(function: FunctionType) -> tuple[Any, ...]:
    """Values of the types that a kernel's annotations state."""
    hints = get_type_hints(function, include_extras=True)
    return tuple(_example(hints[name]) for name in inspect.signature(function).parameters)


def _example(hint: Any) -> Any:
    """A value of an annotated type; arrays have two dimensions, those of a stated length one."""
    if hint in (int, float, bool):
        return hint()
    if get_origin(hint) is tuple:
        return tuple(map(_example, get_args(hint)))
    if get_origin(hint) is Table:
        return table(get_args(hint)[0], 1)
    if get_origin(hint) is Annotated:
        array, length = get_args(hint)
        return np.zeros(length, np.int64 if array == Ints else np.float64)
    if hint in (Ints, Reals):
        return np.zeros((1, 1), np.int64 if hint == Ints else np.float64)
    fields = get_type_hints(hint, include_extras=True)
    if any(get_origin(f) is Table for f in fields.values()):
        return hint(*map(_example, fields.values()))
    return table(hint, 1)[0]


def _locked(file: IO[bytes]) -> None:
    """Wait for another process that compiles the same."""
    try:
        import fcntl
    except ImportError:  # not on this system: both compile
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def main(*marks: Path) -> None:
    """Compile groups, each named as its mark, and leave the marks that they are done."""
    with ExitStack() as locks:
        for mark in marks:
            _locked(locks.enter_context(mark.with_suffix(".lock").open("ab")))
        missing = [mark for mark in marks if not mark.exists()]
        if missing:
            compile_groups(missing)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
