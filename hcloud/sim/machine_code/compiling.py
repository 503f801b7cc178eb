"""Compiles all that plain Python calls of the engine and the controller, in a process of its own; about a minute.

Where a version of numba differs in what :mod:`hcloud.kernel_compiler` counts on this process fails, and the kernels are
compiled in the usual way when they are first called.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import FunctionType
from typing import IO, Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from hcloud.kernel_compiler import from_the_front, keep_together, parts
from hcloud.policy.records import Ints, Reals, Table, table
from hcloud.sim.machine_code.compiled import ENTRIES, SET


def compile_entries(folder: Path) -> None:
    """Compile the entries with all that they call, as one machine code, and keep it in a folder."""
    kernels = parts(SET)
    with from_the_front():
        keep_together(folder, {name: (kernels[name], arguments(SET.plain[name])) for name in ENTRIES})


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


def main(mark: Path) -> None:
    """Compile, and leave the mark that it is done."""
    with mark.with_suffix(".lock").open("ab") as lock:
        _locked(lock)
        if not mark.exists():
            compile_entries(mark.parent)
            mark.touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
