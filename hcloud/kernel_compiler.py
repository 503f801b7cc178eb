"""Compiles kernels that plain Python calls, each together with all that it calls, once.

Numba optimises every function together with all that it calls, and then those that call it: with kernels a dozen calls
deep that takes several times as long as optimising what is called from outside, once. It also compiles a function anew
for each number that it is called with. Here kernels that are called by kernels are translated only, once for each type.
What numba documents is its hook for other passes; the library of code, which the passes fill, it does not.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from llvmlite import ir
from llvmlite.binding import Linkage
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NopythonRewrites
from numba.cpython import slicing

from hcloud.kernel_cache import KernelSet, cached_in
from hcloud.kernel_objects import keep, kind_of, place_of, symbol_of
from hcloud.kernel_tables import AddressOfTables, known_types, mark_addresses

LEAN: Any = {"_nrt": False, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
"""Kernels allocate nothing, so they do without numba's reference counts, which would take most of the time; and nobody
calls them as numba would."""
WORD = ir.IntType(64)
LETTERS = {types.none: b"-", types.boolean: b"b", types.int64: b"i", types.float64: b"f"}
"""The letter of an answer, by its type."""
UNNEEDED = frozenset(
    """
    with_lifting inline_closure_likes inline_overloads nopython_rewrites ir_legalization dead_branch_prune
    annotate_types inline_inlinables literal_unroll find_literally LiteralPropagation
    """.split()  # noqa: SIM905 -- as a list it would take a line a name
)
"""Passes that change nothing in kernels: those hold no closures and no objects, and calculate with no whole arrays."""
UNKNOWN = (AttributeError, TypeError, ValueError, RuntimeError, KeyError, OSError, numba.NumbaError)
"""What is raised where numba differs in what is not documented, or the code cannot be kept."""


class _NoEnvironment:
    """A code generator that is asked to fill in addresses of code which was never generated."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: object) -> None:
        """Nothing to fill in: kernels do without."""


class _Part(JITCodeLibrary):
    """A kernel: translated, and left as it is until an entry takes it in."""

    def add_ir_module(self, ir_module: Any) -> None:
        mark_addresses(ir_module)
        add: Any = super().add_ir_module
        add(ir_module)

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


def _with_called(libraries: Iterable[Any], seen: dict[int, Any]) -> Iterator[Any]:
    """Libraries and those of what they call, each once."""
    for library in libraries:
        if id(library) not in seen:
            seen[id(library)] = library
            yield library
            if isinstance(library, _Part):
                yield from _with_called(library._linking_libraries, seen)


def _translated(library: Any) -> Any:
    return library._final_module if isinstance(library, _Part) else library._get_module_for_linking()


@register_pass(mutates_CFG=False, analysis_only=True)
class _Choose(FunctionPass):
    """Has the passes put their code into a library of ours."""

    _name = "choose_library"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        library: Any = _Part
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _Compiler(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Choose, NopythonRewrites)
        passes.passes = [made for made in passes.passes if made[0]._name not in UNNEEDED]
        passes.finalize()
        return [passes]


def parts(kernels: KernelSet) -> dict[str, Any]:
    """All kernels of a set by ``module.name``, put in line where others call them or not."""

    def translated(name: str, twin: FunctionType) -> Any:
        return numba.njit(pipeline_class=_Compiler, forceinline=kernels.is_inline(name), **LEAN)(twin)

    return kernels.compiled(translated)


def usual(kernels: KernelSet, folder: Path, names: Container[str]) -> Any:
    """All kernels in numba's usual way, where ours fails; those of the names kept in the folder in its way, too."""

    def compiled(name: str, twin: FunctionType) -> Any:
        options: Any = {"cache": name in names, "forceinline": kernels.is_inline(name), "_nrt": False}
        with cached_in(folder):
            return numba.njit(**options)(twin)

    return kernels.compiled(compiled)


def whole_code(entries: Mapping[str, tuple[Any, tuple[Any, ...]]]) -> tuple[dict[str, bytes], bytes]:
    """The letters of what kernels answer for such arguments, by their names, and one machine code of all of them: what
    several call is there once."""
    letters, libraries = dict[str, bytes](), []
    for name, (kernel, known) in entries.items():
        with translating():
            kernel.compile(known)
        compiled = kernel.overloads[known]
        compiled.library._finalized = False
        compiled.library.add_ir_module(_from_words(name, compiled))
        letters[name] = LETTERS[compiled.signature.return_type]
        libraries.append(compiled.library)
    module, symbols = _linked(libraries), set(map(symbol_of, entries))
    for function in module.functions:
        if not function.is_declaration and function.name not in symbols:
            function.linkage = "internal"
    generator = libraries[0]._codegen
    passes, builder = generator._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=2)
    passes.run(module, builder)
    module.verify()
    return letters, bytes(generator._tm.emit_object(module))


def _linked(libraries: Iterable[Any]) -> Any:
    """One module of all that is called: by pairs, and pairs of those, as what takes in another is looked through anew.

    What several bring must not go because the other of its pair does not call it: a third may only declare it.
    """
    modules = [_translated(library).clone() for library in _with_called(libraries, {})]
    for function in (function for module in modules for function in module.functions):
        if function.linkage == Linkage.linkonce_odr:
            function.linkage = Linkage.weak_odr
    while len(modules) > 1:
        for module, other in zip(modules[::2], modules[1::2], strict=False):
            module.link_in(other)
        del modules[1::2]
    return modules[0]


def _from_words(name: str, compiled: Any) -> Any:
    """A function that reads the arguments from words and calls the kernel."""
    context, symbol = compiled.target_context, symbol_of(name)
    module = context.create_module(symbol)
    function = ir.Function(module, ir.FunctionType(WORD, [WORD.as_pointer(), WORD.as_pointer()]), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    words, answer = function.args
    known, returned = compiled.signature.args, compiled.signature.return_type
    values, at = [], 0
    for typ in known:
        place = builder.gep(words, [WORD(at)])
        values.append(_read(context, builder, place, typ))
        at += words_of(typ)
    kernel = context.declare_function(module, compiled.fndesc)
    status, result = context.call_conv.call_function(builder, kernel, returned, known, values)
    if returned == types.boolean:
        builder.store(builder.zext(result, WORD), answer)
    elif returned != types.none:
        builder.store(builder.bitcast(result, WORD), answer)
    builder.ret(builder.zext(status.is_error, WORD))
    return module


def _read(context: Any, builder: Any, place: Any, typ: Any) -> Any:
    if typ == types.boolean:
        return builder.trunc(builder.load(place), ir.IntType(1))
    kind = context.get_value_type(typ)
    return builder.load(builder.bitcast(place, kind.as_pointer()))


def words_of(typ: Any) -> int:
    """How many words an argument of a type takes; TypeError for what :mod:`hcloud.kernel_objects` does not pass."""
    if isinstance(typ, types.Array):
        return 5 + 2 * typ.ndim
    if isinstance(typ, types.UniTuple | types.Tuple) and all(m in (types.int64, types.float64) for m in typ):
        return len(typ)
    if isinstance(typ, types.Record | AddressOfTables) or typ in LETTERS:
        return 1
    raise TypeError(f"kept kernels take no {typ}")


@contextmanager
def translating() -> Iterator[None]:
    """Meanwhile a number that a kernel is called with is of its type, and not a type of its own; what an operator makes
    of types is looked up once; and memory is not searched for what nobody needs any more, a tenth of the time."""
    dispatcher: Any = CPUDispatcher
    function: Any = types.Function
    before, look_up, was_on = dispatcher.get_call_template, function.get_call_type, gc.isenabled()
    found = dict[object, Any]()

    def template(self: Any, args: Any, kws: Any) -> Any:
        return before(self, tuple(map(types.unliteral, args)), kws)

    def call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        key = self, args, tuple(kws.items())
        if key not in found:
            found[key] = look_up(self, context, args, kws)
        return found[key]

    dispatcher.get_call_template, function.get_call_type = template, call_type
    gc.disable()
    try:
        yield
    finally:
        dispatcher.get_call_template, function.get_call_type = before, look_up
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


def keep_together(folder: Path, entries: Mapping[str, tuple[Any, Sequence[object]]]) -> None:
    """Keep the machine code of kernels with all that they call, once another process could load it."""
    letters, code = whole_code({name: (kernel, known_types(given)) for name, (kernel, given) in entries.items()})
    for name, (_, given) in entries.items():
        keep(place_of(folder, name, kind_of(given)), letters[name], code, _is_loaded_elsewhere)


def _is_loaded_elsewhere(place: Path) -> None:
    """RuntimeError where the code calls what this machine does not have: a process that loads it ends at once."""
    words = "import sys, pathlib; from hcloud.kernel_objects import load; load(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-P", "-c", words, str(place)]
    done = subprocess.run(command, check=False, capture_output=True, cwd=place.parent)
    if done.returncode != 0:
        raise RuntimeError(f"{place} cannot be loaded: {done.stderr[-200:]!r}")
