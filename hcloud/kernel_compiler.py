"""Compiles kernels that plain Python calls, each together with all that it calls, once.

Numba optimises every function together with all that it calls, and then those that call it: with kernels a dozen calls
deep that takes several times as long as optimising what is called from outside, once. It also compiles a function anew
for each number that it is called with. Here kernels that are called by kernels are translated only, once for each type.
What numba documents is its hook for other passes; the library of code, which the passes fill, it does not.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Any

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NopythonRewrites
from numba.cpython import slicing

from hcloud.kernel_cache import KernelSet, cached_in
from hcloud.kernel_tables import mark_addresses

LEAN: Any = {"_nrt": False, "no_cfunc_wrapper": True}
"""Kernels allocate nothing, so they do without numba's reference counts, which would take most of the time."""


class _NoEnvironment:
    """A code generator that is asked to fill in addresses of code which was never generated."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: object) -> None:
        """Nothing to fill in: whoever loads an entry does it."""


class _Marked(JITCodeLibrary):
    """A kernel that may take tables by address."""

    def add_ir_module(self, ir_module: Any) -> None:
        mark_addresses(ir_module)
        add: Any = super().add_ir_module
        add(ir_module)


class _Part(_Marked):
    """A kernel that others call: translated, and left as it is until an entry takes it in."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _Whole(_Marked):
    """An entry: takes in all that it calls, directly or not, and is optimised once."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        module = self._final_module
        own = {f.name for f in module.functions if not f.is_declaration}
        for library in _called(self, {}):
            part = library._final_module if isinstance(library, _Part) else library._get_module_for_linking()
            module.link_in(part, preserve=True)
        for function in module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = "internal"
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=3)
        passes.run(module, builder)
        module.verify()
        finish: Any = self._finalize_final_module
        finish()


def _called(library: Any, seen: dict[int, Any]) -> Iterator[Any]:
    for other in library._linking_libraries:
        if id(other) not in seen:
            seen[id(other)] = other
            yield other
            if isinstance(other, _Part):
                yield from _called(other, seen)


@cache
def _compiler_into(library: type[JITCodeLibrary]) -> type[CompilerBase]:
    """Numba's own passes, which put their code into a library of that kind."""

    @register_pass(mutates_CFG=False, analysis_only=True)
    class Choose(FunctionPass):
        _name = f"choose{library.__name__}"

        def __init__(self) -> None:
            FunctionPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return False

    class Compiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(Choose, NopythonRewrites)
            passes.finalize()
            return [passes]

    return Compiler


def part(twin: FunctionType, inline: bool) -> Any:
    """A kernel that kernels call, put in line there or not."""
    inner: Any = {"no_cpython_wrapper": True, **LEAN}
    return numba.njit(pipeline_class=_compiler_into(_Part), forceinline=inline, **inner)(twin)


def whole(twin: FunctionType) -> Any:
    """A kernel that plain Python calls; kept on disk with all that it calls."""
    return numba.njit(cache=True, pipeline_class=_compiler_into(_Whole), **LEAN)(twin)


@contextmanager
def translating() -> Iterator[None]:
    """Meanwhile a number that a kernel is called with is of its type, and not a type of its own; and memory is not
    searched for what nobody needs any more, which would take a tenth of the time."""
    dispatcher: Any = CPUDispatcher
    before, was_on = dispatcher.get_call_template, gc.isenabled()

    def template(self: Any, args: Any, kws: Any) -> Any:
        return before(self, tuple(map(types.unliteral, args)), kws)

    dispatcher.get_call_template = template
    gc.disable()
    try:
        yield
    finally:
        dispatcher.get_call_template = before
        if was_on:
            gc.enable()


@contextmanager
def from_the_front() -> Iterator[None]:
    """Meanwhile an index counts from the front, and is not asked whether it is below zero. Only for kernels that tests
    run with tables that refuse such an index: there is other memory before a table."""
    ours: Any = slicing
    before = ours.fix_index
    ours.fix_index = lambda _builder, index, _length: index
    try:
        yield
    finally:
        ours.fix_index = before


class Entry:
    """A kernel that plain Python calls: compiled at its first call for arguments of those types, or read from disk.

    ``usual`` compiles it in numba's usual way, for a numba that differs in what is not documented."""

    def __init__(self, kernels: KernelSet, kernel: Any, usual: Callable[[], Any]) -> None:
        self._kernels, self._kernel, self._usual = kernels, kernel, usual

    def __call__(self, *args: object) -> Any:
        known = tuple(map(numba.typeof, args))
        if known not in self._kernel.overloads:
            self._kernel = self._compiled(known)
        return self._kernel(*args)

    def _compiled(self, known: tuple[Any, ...]) -> Any:
        with cached_in(self._kernels.folder):
            try:
                with translating():
                    self._kernel.compile(known)
            except (AttributeError, TypeError, ValueError, RuntimeError, numba.NumbaError):
                kernel = self._usual()
                kernel.compile(known)
                return kernel
            return self._kernel


def entries(kernels: KernelSet, called: frozenset[str], inline: frozenset[str]) -> dict[str, Any]:
    """Every kernel of a set by ``module.name``: those ``called`` from plain Python as entries, all others as parts of
    them, put in line where ``inline`` names them. Names are those of functions."""

    def compile_one(name: str, twin: FunctionType) -> Any:
        own = name.rpartition(".")[2]
        if own not in called:
            return part(twin, own in inline)
        return Entry(kernels, whole(twin), lambda: _usually(kernels, called, inline)[name])

    return kernels.compiled(compile_one)


def _usually(kernels: KernelSet, called: frozenset[str], inline: frozenset[str]) -> dict[str, Any]:
    def compile_one(name: str, twin: FunctionType) -> Any:
        own = name.rpartition(".")[2]
        options: Any = {"cache": own in called, "forceinline": own in inline, "_nrt": False}
        return numba.njit(**options)(twin)

    return kernels.compiled(compile_one)
