"""Compiles the entries of a group of kernels, each with all that it calls, in a process of its own; a few seconds.

Numba optimises every function together with all that it calls, and then those that call it: with kernels a dozen calls
deep that takes ten times as long as optimising what is called from outside, once. It also compiles a function anew for
each number that it is called with. Here kernels that are called by kernels are translated only, once for each type.
What numba documents is its hook for other passes; the library of code, which the passes fill, it does not. Where a
version of it differs this process fails, and the kernels are compiled in the usual way when they are first called.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import IO, Annotated, Any, get_args, get_origin, get_type_hints

import numba
import numpy as np
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NopythonRewrites

from hcloud.kernel_cache import cached_in
from hcloud.policy.records import Ints, Reals, Table, table
from hcloud.sim.kernels.compiled import OUT_OF_LINE, SET, entries_of, folder_of, gated


class _NoEnvironment:
    """A code generator that is asked to fill in addresses of code which was never generated."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: object) -> None:
        """Nothing to fill in: whoever loads an entry does it."""


class _Part(JITCodeLibrary):
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


class _Whole(JITCodeLibrary):
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
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=2)
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


def compile_group(group: str) -> None:
    """Compile the entries of a group and let numba keep them in the folder of the kernels."""
    names, wholes = entries_of(group), {}
    part, whole = _compiler_into(_Part), _compiler_into(_Whole)
    lean: Any = {"_nrt": False, "no_cfunc_wrapper": True}
    inner: Any = {"no_cpython_wrapper": True, **lean}
    dispatcher: Any = CPUDispatcher
    dispatcher.get_call_template = _without_literals(CPUDispatcher.get_call_template)

    def compile_one(name: str, twin: FunctionType) -> Any:
        twin = gated(group, name, twin)
        if name in names:
            with cached_in(folder_of(group)):
                wholes[name] = numba.njit(cache=True, pipeline_class=whole, **lean)(twin)
        inline = name.rsplit(".", 1)[1] not in OUT_OF_LINE
        return numba.njit(pipeline_class=part, forceinline=inline, **inner)(twin)

    SET.compiled(compile_one)
    with cached_in(folder_of(group)):
        for name in names:
            wholes[name].compile(arguments(SET.plain[name]))


def _without_literals(template: Any) -> Any:
    def of(self: Any, args: Any, kws: Any) -> Any:
        return template(self, tuple(map(_plain_type, args)), kws)

    return of


def _plain_type(kind: Any) -> Any:
    """What a kernel is compiled for where it is called with that: whole numbers have 64 bits."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) else kind


def arguments(function: FunctionType) -> tuple[Any, ...]:
    """Numba's types of a kernel's arguments, from its annotations."""
    hints = get_type_hints(function, include_extras=True)
    return tuple(numba.typeof(_example(hints[name])) for name in inspect.signature(function).parameters)


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


def main(group: str, mark: Path) -> None:
    """Compile a group and leave a mark that it is done."""
    with mark.with_suffix(".lock").open("ab") as file:
        _locked(file)
        if not mark.exists():
            gc.disable()  # a tenth of the time; the process ends soon
            compile_group(group)
            mark.touch()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
