"""Kernels that are compiled when they are first called, and kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from hcloud.kernel_cache import KernelSet
from hcloud.kernel_objects import KeptKernel, Kernel


def kept_kernels(kernels: KernelSet, called: Iterable[str]) -> dict[str, KeptKernel]:
    """The kernels that plain Python calls by their own names, each compiled at its first call and kept."""
    called = frozenset(called)
    names = frozenset(name for name in kernels.plain if name.rpartition(".")[2] in called)

    def compiled(name: str, place: Path, arguments: Sequence[object]) -> None:
        from hcloud.kernel_compiler import UNKNOWN, keep_together, parts

        with suppress(*UNKNOWN):
            keep_together(place.parent, {name: (parts(kernels)[name], arguments)})

    def usual(name: str) -> Kernel:
        from hcloud.kernel_compiler import usual

        kernel: Kernel = usual(kernels, kernels.folder, names)[name]
        return kernel

    return {
        name.rpartition(".")[2]: KeptKernel(kernels.folder, name, partial(compiled, name), partial(usual, name))
        for name in names
    }
