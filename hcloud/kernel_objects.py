"""Calls compiled kernels that are kept on disk, without the compiler: to import that takes longer than most runs.

A kept kernel is one function of machine code. It takes the addresses of its arguments, as words of eight bytes, and of
a word for its answer, and tells whether it failed. A number is one word, and a tuple of numbers one each. An array is
two empty words, how many members it has, how many bytes each takes, where they lie, its lengths and its strides: the
block in which numba passes it. A row of a table is its address, and a named tuple of tables that of a block with their
words.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ANSWERS: dict[bytes, Callable[[ctypes.c_int64], object]] = {
    b"-": lambda word: None,
    b"b": lambda word: bool(word.value),
    b"i": lambda word: word.value,
    b"f": lambda word: ctypes.c_double.from_buffer(word).value,
}
"""How the word of an answer is read, by the letter that is kept before the code."""
_DIGEST = hashlib.sha256().digest_size
Kernel = Callable[..., Any]


class UnkeptError(TypeError):
    """Arguments for which no kernel is kept."""


class _Passed(NamedTuple):
    """An argument, its words and their code for ``struct``, its type in words, and what must last as long as it."""

    value: object
    words: Sequence[Any]
    code: str
    kind: str
    held: object = None


@cache
def _columns(kind: np.dtype[Any]) -> str:
    return str(kind)


def _passed(value: Any) -> _Passed:
    if isinstance(value, bool):
        return _Passed(value, (int(value),), "q", "bool")
    if isinstance(value, int | np.int64):
        return _Passed(value, (int(value),), "q", "int")
    if isinstance(value, float):
        return _Passed(value, (value,), "d", "float")
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, np.void):
        return _Passed(value, (np.frombuffer(value, np.uint8).ctypes.data,), "q", f"row {_columns(value.dtype)}")
    if isinstance(value, tuple):
        return _of_tuple(value)
    raise UnkeptError(f"kernels take no {type(value).__qualname__}")


def _of_array(value: np.ndarray[Any, Any]) -> _Passed:
    flags = value.flags
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    limits = f"{'' if flags.writeable else ' read only'}{'' if flags.aligned else ' not aligned'}"
    words = (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
    return _Passed(value, words, "q" * len(words), f"{_columns(value.dtype)}{order}{value.ndim}{limits}")


def _of_tuple(value: tuple[Any, ...]) -> _Passed:
    members = [_passed(member) for member in value]
    words = [word for member in members for word in member.words]
    code, kinds = "".join(member.code for member in members), ", ".join(member.kind for member in members)
    if not hasattr(value, "_fields"):
        return _Passed(value, words, code, f"({kinds})", members)
    block = ctypes.create_string_buffer(struct.pack(f"={code}", *words))
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return _Passed(value, (ctypes.addressof(block),), "q", f"{name}({kinds})", (block, members))


def kind_of(arguments: Sequence[object]) -> str:
    """The types of arguments in words; UnkeptError for one that kept kernels do not take."""
    return "; ".join(_passed(argument).kind for argument in arguments)


def place_of(folder: Path, name: str, kind: str) -> Path:
    """Where a kernel for arguments of some types is kept."""
    return folder / f"{name}-{hashlib.sha256(kind.encode()).hexdigest()[:16]}.kernel"


def symbol_of(name: str) -> str:
    """What the function of a kernel is called in what is kept."""
    return f"kept_kernel.{name}"


def keep(place: Path, letter: bytes, code: bytes, proof: Callable[[Path], None]) -> None:
    """Keep machine code that answers as the letter says, once the proof holds."""
    handle, made = tempfile.mkstemp(dir=place.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(letter + hashlib.sha256(code).digest() + code)
    try:
        proof(Path(made))
        Path(made).replace(place)
    finally:
        Path(made).unlink(missing_ok=True)


class _Code:
    """Machine code that is ready to be called; OSError or ValueError where it cannot be read."""

    def __init__(self, place: Path, name: str) -> None:
        import llvmlite.binding as llvm

        kept = place.read_bytes()
        self.letter, code = kept[:1], kept[1 + _DIGEST :]
        if self.letter not in ANSWERS or hashlib.sha256(code).digest() != kept[1 : 1 + _DIGEST]:
            raise ValueError(f"{place} is damaged")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()  # each engine ends its own
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # holds the code
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        function = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p)
        self.run: Any = function(self._engine.get_function_address(symbol_of(name)))


def load(place: Path) -> None:
    """Bring kept machine code into memory; the process ends where that calls what is not there."""
    _Code(place, "")


class _Call:
    """A kept kernel for arguments of certain types. Tables that come again are not looked at again."""

    def __init__(self, name: str, code: _Code, arguments: Sequence[object]) -> None:
        self._name, self._code, self._read = name, code, ANSWERS[code.letter]
        self._seen = [_passed(argument) for argument in arguments]
        self._pack = struct.Struct("=" + "".join(passed.code for passed in self._seen)).pack

    def __call__(self, *arguments: object) -> object:
        words, held = self._words(arguments)
        try:
            packed = self._pack(*words)
        except struct.error as problem:
            raise UnkeptError(str(problem)) from None
        answer = ctypes.c_int64()
        if self._code.run(packed, ctypes.addressof(answer)):
            raise ArithmeticError(f"{self._name} divides by zero")
        del held
        return self._read(answer)

    def _words(self, arguments: Sequence[Any]) -> tuple[list[Any], list[_Passed]]:
        """All words, and what must last as long as the call, whoever calls meanwhile."""
        words: list[Any] = []
        seen = self._seen.copy()
        for at, value in enumerate(arguments):
            kind = type(value)
            if value is seen[at].value:
                words += seen[at].words
            elif kind is int or kind is float:
                words.append(value)
            elif kind is tuple:
                words += value
            else:
                seen[at] = self._seen[at] = self._again(value, seen[at])
                words += seen[at].words
        return words, seen

    @staticmethod
    def _again(value: object, before: _Passed) -> _Passed:
        passed = _passed(value)
        if passed.kind != before.kind:
            raise UnkeptError(f"{passed.kind}, not {before.kind}")
        return passed


class KeptKernel:
    """A kernel that plain Python calls: read from disk, and ``compiled`` for arguments that it was not called with
    before; where that fails, ``usual`` is how the compiler itself would do it."""

    def __init__(
        self, folder: Path, name: str, compiled: Callable[[Path, Sequence[object]], None], usual: Callable[[], Kernel]
    ) -> None:
        self._folder, self._name, self._compiled, self._usual = folder, name, compiled, usual
        self._calls: dict[str, Kernel] = {}
        self._last: Kernel = self._first

    def __call__(self, *arguments: object) -> Any:
        try:
            return self._last(*arguments)
        except UnkeptError:  # of other types than the last time
            self._last = self._for(arguments)
        return self._last(*arguments)

    def _first(self, *arguments: object) -> object:
        raise UnkeptError

    def _for(self, arguments: Sequence[object]) -> Kernel:
        try:
            kind = kind_of(arguments)
        except UnkeptError:
            return self._usual()
        if kind not in self._calls:
            self._calls[kind] = self._read(place_of(self._folder, self._name, kind), arguments) or self._usual()
        return self._calls[kind]

    def _read(self, place: Path, arguments: Sequence[object]) -> Kernel | None:
        for is_compiled in (False, True):
            try:
                return _Call(self._name, _Code(place, self._name), arguments)
            except (OSError, ValueError, RuntimeError):  # not kept yet, or damaged
                if not is_compiled:
                    self._compiled(place, arguments)
        return None
