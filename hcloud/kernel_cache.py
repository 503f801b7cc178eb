"""Where compiled kernels are kept: a folder named after the kernels themselves and the compilers that made them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_KEPT_SECONDS = 30 * 86_400
"""Ours: kernels that other versions compiled are kept for a month after they were last used."""
_COMPILERS = ("numba", "llvmlite", "numpy")
_PASSING = (
    "arguments as words; tables by an address of their own; what is walked together lies together;"
    " indices from the front; what is called together is one code"
)
"""How kernels take their arguments: those compiled otherwise are others."""
SOURCE = "kernels.py"
"""Named as every kernel's file: numba's cache would miss kernels that were installed elsewhere or at another time."""


def digest(functions: Iterable[FunctionType]) -> str:
    """What the kernels do and who compiles them: their bytecode, the constants they read, and the compilers' versions.

    Two releases whose kernels differ in nothing but words have the same digest.
    """
    made = hashlib.sha256(" ".join(map(version, _COMPILERS)).encode())
    made.update(f"{platform.python_version()} {_processor()} {_PASSING}".encode())
    for function in functions:
        made.update("\n".join(_facts(function)).encode())
    return made.hexdigest()[:16]


def _processor() -> str:
    """What the machine can execute, as far as the system tells: homes are shared by machines that differ."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    facts = {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    return f"{platform.machine()} {sorted(facts)}"


def _facts(function: FunctionType) -> Iterator[str]:
    code = function.__code__
    yield f"{function.__module__}.{function.__qualname__} {code.co_varnames} {code.co_names}"
    yield code.co_code.hex()
    yield _types(inspect.get_annotations(function), function.__globals__)
    yield from (_value(c) for c in code.co_consts if c != function.__doc__)
    for name in code.co_names:
        if name in function.__globals__:
            yield f"{name} = {_value(function.__globals__[name])}"


def _value(value: object) -> str:
    """A constant as text that is the same in every process; a kernel or module by its name, as it has facts of its
    own; a table's class by its columns."""
    if isinstance(value, CodeType):
        return value.co_code.hex()
    if isinstance(value, type):
        return _columns(value)
    if isinstance(value, bool | int | float | str | bytes | tuple | None):
        return repr(value)
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or repr(value))


def _types(hints: Mapping[str, object], scope: Mapping[str, object]) -> str:
    """The classes that annotations name: numba keeps the types of arguments by the names of their classes, and cannot
    read what it kept where one of them has another name."""
    named = sorted({name for hint in hints.values() for name in re.findall(r"\w+", str(hint))})
    kinds = (scope.get(name) for name in named)
    return "; ".join(_columns(kind) for kind in kinds if isinstance(kind, type))


@cache
def _columns(kind: type) -> str:
    """A class by its name and those of its columns, with the classes that these are of."""
    hints = inspect.get_annotations(kind)
    module = sys.modules.get(kind.__module__)
    inner = _types(hints, vars(module)) if module and kind.__module__.startswith("hcloud.") else ""
    return f"{kind.__module__}.{kind.__qualname__} {hints} {inner}"


@cache
def folder(name: str) -> Path:
    """The folder of a digest, made where it is missing: in the user's cache, else among the temporary files.

    Also forgets what other versions compiled and nobody used for long.
    """
    from platformdirs import user_cache_path

    try:
        mine = _claimed(user_cache_path("hcloud-hybrid", appauthor=False) / "kernels" / name)
    except OSError:  # a home that is missing or cannot be written to
        mine = _claimed(_temporary() / name)
    _forget_old(mine)
    return mine


def _temporary() -> Path:
    """A folder of this user's alone: what is in it is executed."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    place = Path(tempfile.gettempdir()) / f"hcloud-kernels-{user}"
    place.mkdir(mode=0o700, exist_ok=True)
    found = place.lstat()
    if place.is_symlink() or (hasattr(os, "getuid") and (found.st_uid != user or found.st_mode & 0o077)):
        return Path(tempfile.mkdtemp(prefix="hcloud-kernels-"))
    return place


def _claimed(mine: Path) -> Path:
    """A folder with the file that numba asks for the age of the sources; always the same age."""
    mine.mkdir(parents=True, exist_ok=True)
    mine.touch()
    source = mine / SOURCE
    if not source.exists():
        handle, made = tempfile.mkstemp(dir=mine)
        os.close(handle)
        os.utime(made, (0, 0))
        Path(made).replace(source)
    elif not os.access(mine, os.W_OK):
        raise PermissionError(mine)
    return mine


def _forget_old(mine: Path) -> None:
    try:
        old = [f for f in mine.parent.iterdir() if f != mine and time.time() - f.stat().st_mtime > _KEPT_SECONDS]
    except OSError:
        return
    for other in old:
        shutil.rmtree(other, ignore_errors=True)


class KernelSet:
    """The kernels of some modules, each after those it calls: as they stand in plain Python, or compiled; the answers
    agree. Compiled, those that are ``inline`` by their own names are repeated where others call them."""

    def __init__(self, *modules: str, inline: Callable[[str], bool] = lambda _: False) -> None:
        self.modules, self._inline = modules, inline
        self.spent: Counter[str] = Counter()

    def is_inline(self, name: str) -> bool:
        """Whether the kernel ``module.name`` is put in line where others call it."""
        return self._inline(name.rpartition(".")[2])

    def is_little(self, more: int, limit: int, group: str = "") -> bool:
        """Whether plain Python also does so much more of what a group of kernels is for: many small tasks are worth the
        compiled ones, too."""
        self.spent[group] += more
        return self.spent[group] <= limit

    @cached_property
    def plain(self) -> dict[str, Any]:
        """Every kernel as it stands in its module, by ``module.name``."""
        return {f"{m}.{name}": f for m, module in self._loaded() for name, f in own_functions(module).items()}

    @cached_property
    def named(self) -> dict[str, Any]:
        """The same by their own names."""
        return by_name(self.plain)

    @cached_property
    def folder(self) -> Path:
        """Where they are kept: as long as kernels and compilers are the same, whatever else is new."""
        return folder(digest(self.plain.values()))

    def compiled(self, compile_one: Callable[[str, FunctionType], object]) -> dict[str, Any]:
        """Every kernel rebuilt and compiled by ``compile_one``, by ``module.name``."""
        with cached_in(self.folder):
            return twins(self._loaded(), self.folder, compile_one)

    def _loaded(self) -> Iterator[tuple[str, ModuleType]]:
        return ((name, importlib.import_module(f"hcloud.{name}")) for name in self.modules)


def by_name(kernels: Mapping[str, Any]) -> dict[str, Any]:
    """Kernels by their own names, without their modules."""
    return {name.rpartition(".")[2]: kernel for name, kernel in kernels.items()}


def own_functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions defined in the module itself."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }


@contextmanager
def cached_in(place: Path) -> Iterator[None]:
    """Let numba keep there what is declared meanwhile."""
    import numba

    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(place)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def twins(
    modules: Iterable[tuple[str, ModuleType]], place: Path, compile_one: Callable[[str, FunctionType], object]
) -> dict[str, object]:
    """Every function of the modules compiled by ``compile_one``, by ``name.function``.

    The functions are rebuilt over a copy of their module's globals in which the names of kernels mean the compiled
    ones, and the modules themselves stay plain Python. All of them claim to be in one file, at its first line.
    """
    done: dict[str, object] = {}
    known: dict[FunctionType, object] = {}
    for name, module in modules:
        scope = {k: known.get(v, v) if isinstance(v, FunctionType) else v for k, v in vars(module).items()}
        for own, function in own_functions(module).items():
            code = function.__code__.replace(co_filename=str(place / SOURCE), co_firstlineno=1)
            twin = FunctionType(code, scope, own)
            twin.__qualname__, twin.__module__ = f"{name}.{own}", function.__module__
            scope[own] = done[f"{name}.{own}"] = known[function] = compile_one(f"{name}.{own}", twin)
    return done
