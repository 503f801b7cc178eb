"""Compiles the policies, the controller and the engine with numba, on first use only; they also run as plain Python."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import time
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

KERNELS = (
    "policy.quality",
    "policy.limits",
    "policy.retention",
    "policy.repair",
    "policy.queueing",
    "policy.placement",
    "policy.mapping",
    "control.servers",
    "control.search",
    "control.queue",
    "control.controller",
    "sim.heap",
    "sim.interference",
    "sim.progress",
    "sim.engine",
)
"""Modules whose functions are kernels, each after those it calls."""

OUT_OF_LINE = frozenset(
    {"simulate", "leave", "drain", "begin", "review", "seat", "unseat", "find", "wait_of", "_obey", "_map", "_rent"}
    | {"_start_queued", "take_stock"}
)
"""Kernels that are called from several places and are too long to be repeated there; all others are put in line."""

PLAIN_JOBS = 250
"""Plain Python simulates as many jobs in less time than numba takes to import and load what it compiled before."""


_KEPT_SECONDS = 30 * 86_400
"""Ours: kernels that another version compiled are kept for a month after they were last used."""


class _Spent:
    """The jobs given to plain Python so far: many short runs are worth the compiled kernels, too."""

    jobs = 0


def kernels(jobs: int) -> dict[str, Any]:
    """The kernels by ``module.name``: plain Python while a process asks for little, compiled from then on; the answers
    agree."""
    _Spent.jobs += jobs
    return plain() if _Spent.jobs <= PLAIN_JOBS else compiled()


def plain() -> dict[str, Any]:
    """Every kernel as it stands in its module."""
    return {f"{m}.{name}": function for m in KERNELS for name, function in own_functions(_module(m)).items()}


@cache
def compiled() -> dict[str, Any]:
    """Every kernel compiled, and kept on disk in a folder named after the digest of all their sources.

    Numba's own cache watches only the file that a function is in; kernels call those of other files, so any change
    to one of the files makes another folder. The functions are rebuilt over a copy of their module's globals in which
    the names of kernels mean the compiled ones, and the modules themselves stay plain Python. Kernels allocate nothing,
    so they do without numba's reference counts, which would take nine tenths of the time.
    """
    import numba

    _forget_old(_cache_folder())
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(_cache_folder())
    try:
        return _compile_all(numba.njit)
    finally:
        settings.CACHE_DIR = before


def _compile_all(njit: Any) -> dict[str, Any]:
    done: dict[str, Any] = {}
    twins: dict[FunctionType, Any] = {}
    for name in KERNELS:
        module = _module(name)
        scope: dict[str, Any] = {
            key: twins.get(value, value) if isinstance(value, FunctionType) else value
            for key, value in vars(module).items()
        }
        for own, function in own_functions(module).items():
            twin = FunctionType(function.__code__, scope, own)
            twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
            try:
                scope[own] = njit(cache=True, forceinline=own not in OUT_OF_LINE, _nrt=False)(twin)
            except RuntimeError:  # numba found no directory it may write its cache to
                scope[own] = njit(twin)
            done[f"{name}.{own}"] = twins[function] = scope[own]
    return done


def _cache_folder() -> Path:
    from platformdirs import user_cache_path

    files = [__file__, *(str(_module(name).__file__) for name in KERNELS)]
    text = b"".join(Path(file).read_bytes() for file in files)
    return user_cache_path("hcloud-hybrid", appauthor=False) / "kernels" / hashlib.sha256(text).hexdigest()[:16]


def is_first_use() -> bool:
    """Whether compiled kernels are still to be made on this machine, which takes half a minute."""
    return not _cache_folder().is_dir()


def _forget_old(mine: Path) -> None:
    """Remove what other versions compiled and nobody used for long; marks the own folder as used."""
    try:
        mine.mkdir(parents=True, exist_ok=True)
        mine.touch()
        old = [f for f in mine.parent.iterdir() if f != mine and time.time() - f.stat().st_mtime > _KEPT_SECONDS]
    except OSError:  # no directory that may be written to: numba finds another place or none
        return
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"hcloud.{name}")


def own_functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions defined in the module itself."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }
