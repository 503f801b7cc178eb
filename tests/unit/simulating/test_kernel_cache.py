"""Compiled kernels are kept by what they do, and somewhere even where the user's cache cannot be written to."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hcloud import kernel_cache
from hcloud.control.sessions.teller import HANDLE
from hcloud.kept_kernels import kept_kernels
from hcloud.kernel_objects import UnkeptError, keep, kind_of
from hcloud.planning.reserving import compiled as planning_compiled
from hcloud.policy.records import table
from hcloud.sim.kernels.world import Tally
from hcloud.sim.machine_code import compiled
from hcloud.sim.machine_code.compiled import PLAIN_JOBS, PLAIN_MOST, plain

LIMIT = 3


def renamed(function: FunctionType, **globals_: object) -> FunctionType:
    made = FunctionType(function.__code__, {**function.__globals__, **globals_}, function.__name__)
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    made.__annotations__ = function.__annotations__
    return made


def recompiled(source: str) -> FunctionType:
    scope: dict[str, object] = {"LIMIT": LIMIT, "__name__": __name__}
    exec(compile(source, "elsewhere.py", "exec"), scope)
    made = scope["waits"]
    assert isinstance(made, FunctionType)
    return made


def test_the_planners_kernels_are_kept_with_the_simulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not beside the sources: another release with the same kernels finds them, also where it may not write."""
    monkeypatch.setattr(kernel_cache, "folder", lambda name: kernel_cache._claimed(tmp_path / name))
    monkeypatch.setattr(planning_compiled, "SET", kernel_cache.KernelSet(*planning_compiled.SET.modules))
    kernels = planning_compiled.compiled.__wrapped__()
    for name in planning_compiled.CALLED:
        assert kernels[name].stats.cache_path.startswith(str(tmp_path))
    assert kernels.keys() == planning_compiled.SET.named.keys()


def test_what_is_called_out_of_line_are_kernels() -> None:
    """Of a kernel with another name all of it would be compiled, for everybody, and put in line."""
    names = compiled.SET.plain
    assert {name.rpartition(".")[2] for name in names} >= compiled.OUT_OF_LINE


def test_words_and_lines_do_not_count_but_constants_and_code_do() -> None:
    waits = recompiled('def waits(queued: int) -> bool:\n    """Words."""\n    return queued > LIMIT\n')
    mine = kernel_cache.digest([waits])
    moved = recompiled('\n\ndef waits(queued: int) -> bool:\n    """Other words."""\n    return queued > LIMIT\n')
    assert kernel_cache.digest([moved]) == mine
    assert kernel_cache.digest([renamed(waits, LIMIT=4)]) != mine
    other = recompiled('def waits(queued: int) -> bool:\n    """Words."""\n    return queued >= LIMIT\n')
    assert kernel_cache.digest([other]) != mine


def test_a_class_of_arguments_with_another_name_or_module_counts() -> None:
    """Numba keeps the types of arguments by their classes' names: where one is gone, it cannot read what it kept."""
    kernel = plain()["sim.kernels.engine.simulate"]
    mine = kernel_cache.digest([kernel])
    world = kernel.__globals__[str(kernel.__annotations__["w"])]
    for changed in ({"__qualname__": "Another"}, {"__module__": "hcloud.elsewhere"}):
        other = type(world.__name__, (world,), {"__annotations__": world.__annotations__, **changed})
        assert kernel_cache.digest([renamed(kernel, **{world.__name__: other})]) != mine


def test_a_cache_that_cannot_be_written_to_is_replaced_by_a_private_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = kernel_cache.folder.__wrapped__("abc")
    assert place.is_relative_to(tmp_path)
    assert place.parent.stat().st_mode & 0o077 == 0
    assert (place / kernel_cache.SOURCE).stat().st_mtime == 0
    assert kernel_cache.folder.__wrapped__("abc") == place


def test_temporary_kernels_of_another_user_are_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = kernel_cache.folder.__wrapped__("abc")
    first.parent.chmod(0o777)
    assert kernel_cache.folder.__wrapped__("abc").parent != first.parent


@contextmanager
def waiting_to_fail() -> Iterator[subprocess.Popen[bytes]]:
    """A process that compiles nothing, and fails when its input ends."""
    program = "import sys; sys.exit(sys.stdin.read() or 1)"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as asleep:
        yield asleep


def test_plain_python_simulates_while_the_engine_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the compiling process still at work a run begins and goes on; one too long for plain Python waits."""
    monkeypatch.setattr(compiled.SET, "folder", tmp_path)
    monkeypatch.setattr(compiled.SET, "spent", Counter({compiled.SIMULATE: PLAIN_JOBS, HANDLE: PLAIN_JOBS}))
    kernels = compiled.soonest()
    with waiting_to_fail() as asleep:
        monkeypatch.setattr(compiled, "_makers", [asleep])
        assert compiled.begins_plainly(PLAIN_MOST)
        assert compiled.goes_on_plainly(PLAIN_MOST)
        assert not compiled.begins_plainly(PLAIN_MOST + 1)
        assert kernels[HANDLE] is compiled.plain()[HANDLE]
    assert asleep.returncode == 1
    assert not compiled.begins_plainly(PLAIN_MOST)  # who compiles has failed: whoever calls compiles by himself
    assert not compiled.goes_on_plainly(PLAIN_MOST)
    assert compiled.goes_on_plainly(PLAIN_JOBS)
    assert kernels[HANDLE] is compiled.plain()[HANDLE]  # but who cannot wait does not


def test_whoever_cannot_wait_begins_with_plain_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller waited a minute for compiled kernels, in which nobody watched what ran."""
    monkeypatch.setattr(compiled.SET, "folder", tmp_path)
    monkeypatch.setattr(compiled.SET, "spent", Counter())
    monkeypatch.setattr(compiled, "_loaded", lambda: {HANDLE: 1})
    with waiting_to_fail() as asleep:
        monkeypatch.setattr(compiled, "_makers", [])
        monkeypatch.setattr(compiled, "_compiling", lambda: asleep)
        kernels = compiled.soonest()
        assert {kernels[HANDLE] for _ in range(PLAIN_JOBS)} == {compiled.plain()[HANDLE]}
        assert not compiled._makers  # so few decisions are not worth it
        assert kernels[HANDLE] is compiled.plain()[HANDLE]
        assert compiled._makers
        compiled._mark().touch()
        assert kernels[HANDLE] == compiled.soonest()[HANDLE] == 1


@pytest.mark.parametrize("at_once", [True, False])
def test_a_compiler_that_is_killed_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    """Whoever waited compiled in numba's usual way instead, which takes far longer."""
    makers = [subprocess.Popen([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]) for _ in range(3)]
    for maker in makers if at_once else ():
        maker.wait()
    coming = iter(makers)
    monkeypatch.setattr(compiled.SET, "folder", tmp_path)
    monkeypatch.setattr(compiled, "_makers", [])
    monkeypatch.setattr(compiled, "_loaded", lambda: {HANDLE: 1})
    monkeypatch.setattr(compiled, "_compiling", lambda: next(coming))
    assert compiled.compiled() == {HANDLE: 1}
    assert compiled._makers == makers  # and what kills three of them may kill all


def test_a_short_run_neither_compiles_nor_imports_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.SET, "folder", tmp_path)
    monkeypatch.setattr(compiled.SET, "spent", Counter())
    monkeypatch.setattr(compiled, "_makers", [])
    assert compiled.begins_plainly(PLAIN_JOBS)
    assert compiled.goes_on_plainly(PLAIN_JOBS)
    assert not compiled._makers


def draws(kernel: Any) -> list[tuple[int, list[int]]]:
    stream = np.arange(100, 104)
    return [(kernel(stream, 1000), stream.tolist()) for _ in range(20)]


@pytest.fixture
def drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kernel_cache.KernelSet:
    kernels = kernel_cache.KernelSet("harvest.kernels.pool")
    monkeypatch.setattr(kernels, "folder", kernel_cache._claimed(tmp_path))
    return kernels


def test_a_kernel_is_kept_and_read_again_without_the_compiler(drawing: kernel_cache.KernelSet) -> None:
    expected = draws(drawing.plain["harvest.kernels.pool.draw"])
    assert draws(kept_kernels(drawing, ("draw",))["draw"]) == expected
    (kept,) = drawing.folder.glob("*.kernel")
    written = kept.read_bytes()
    program = ("import sys; from pathlib import Path; from hcloud.kernel_cache import KernelSet; import numpy as np\n"
        "from hcloud.kept_kernels import kept_kernels; s = KernelSet('harvest.kernels.pool')\n"
        "s.__dict__['folder'] = Path(sys.argv[1]); stream = np.arange(100, 104)\n"
        "from hcloud.sim.machine_code import compiled; from hcloud.planning.reserving import compiled as planning\n"
        "print(kept_kernels(s, ('draw',))['draw'](stream, 1000), 'numba' in sys.modules)\n"
        "print(compiled.SET.folder.name, planning.SET.folder.name)")  # fmt: skip
    told = subprocess.run([sys.executable, "-c", program, kept.parent], capture_output=True, text=True, check=True)
    folders = [group.SET.folder.name for group in (compiled, planning_compiled)]
    assert told.stdout.split() == [str(expected[0][0]), "False", *folders]
    kept.write_bytes(written[:-1])  # damaged: compiled anew
    assert draws(kept_kernels(drawing, ("draw",))["draw"]) == expected
    assert len(kept.read_bytes()) >= len(written)


def test_what_one_library_brings_and_another_only_declares_is_in_the_machine_code() -> None:
    """Of what may be brought several times, a linker leaves out what neither of its two calls."""
    from llvmlite.binding import parse_assembly

    from hcloud import kernel_compiler

    texts = ["declare i64 @help()\ndefine i64 @call() {\n%x = call i64 @help()\nret i64 %x\n}",
        "define i64 @one() {\nret i64 1\n}", "define i64 @two() {\nret i64 2\n}",
        "define linkonce_odr i64 @help() {\nret i64 3\n}"]  # fmt: skip
    brought = [SimpleNamespace(_get_module_for_linking=partial(parse_assembly, text)) for text in texts]
    linked = kernel_compiler._linked(brought)
    assert {f.name: f.is_declaration for f in linked.functions} == dict.fromkeys(("call", "one", "two", "help"), False)


def test_where_numba_differs_kernels_are_compiled_in_its_usual_way(
    drawing: kernel_cache.KernelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba's library of code is not documented: where it differs, answers are the same and take longer to come."""
    from hcloud import kernel_compiler

    def fails(*_: object) -> int:
        raise AttributeError

    monkeypatch.setattr(kernel_compiler, "words_of", fails)
    assert draws(kept_kernels(drawing, ("draw",))["draw"]) == draws(drawing.plain["harvest.kernels.pool.draw"])
    assert list(drawing.folder.rglob("*.nbi"))
    assert not list(drawing.folder.glob("*.kernel"))


def test_code_that_ends_the_process_is_not_kept(drawing: kernel_cache.KernelSet, tmp_path: Path) -> None:
    """A kernel may call what the machine that compiles has and the one that runs has not."""
    from hcloud.kernel_compiler import _is_loaded_elsewhere

    with pytest.raises(RuntimeError, match="cannot be loaded"):
        keep(tmp_path / "kept", b"i", b"no object file", _is_loaded_elsewhere)
    assert not (tmp_path / "kept").exists()


def test_kernels_that_could_not_be_compiled_elsewhere_are_compiled_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.SET, "folder", kernel_cache._claimed(tmp_path))
    failed = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
    monkeypatch.setattr(compiled, "_makers", [failed])
    monkeypatch.setattr(compiled, "_loaded", compiled._loaded.__wrapped__)
    kernel = compiled.compiled()[HANDLE]
    assert kernel._usual().__name__ == "handle"  # nothing was compiled yet, as nothing was asked


def test_code_that_is_damaged_is_made_anew_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's usual way, for which a controller waited, takes far longer."""
    began, place = list[subprocess.Popen[bytes]](), tmp_path / "a.kernel"

    def compiling() -> subprocess.Popen[bytes]:
        began.append(subprocess.Popen([sys.executable, "-c", f"open({str(compiled._mark())!r}, 'w')"]))
        return began[0]

    monkeypatch.setattr(compiled.SET, "folder", kernel_cache._claimed(tmp_path))
    monkeypatch.setattr(compiled, "_makers", [])
    monkeypatch.setattr(compiled, "_compiling", compiling)
    forget = compiled._loaded.__wrapped__()[HANDLE]._compiled
    compiled._mark().touch()
    forget(place, ())
    assert compiled.is_first_use()  # what was made is for other types: nobody knows that it would be better
    assert not began
    place.touch()
    forget(place, ())
    assert not compiled.is_first_use()
    assert began


def test_arguments_of_other_types_are_other_kernels() -> None:
    """The row of a table, its whole table, another order of memory and what must not be written to."""
    rows = table(Tally, 2)
    square, line = np.zeros((2, 3)), np.zeros(3, np.int64)
    fixed = line.copy()
    fixed.flags.writeable = False
    kinds = [kind_of((value,)) for value in (rows, rows[0], square, square.T, line, fixed, 1, 1.0, True, (1, 2))]
    assert len(set(kinds)) == len(kinds)
    assert kind_of((np.int64(1),)) == kind_of((1,))
    with pytest.raises(UnkeptError, match="str"):
        kind_of(("words",))


@pytest.mark.slow
def test_kernels_are_compiled_in_a_folder_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks may stand in a folder that is gone before the compiler is done, and numba asks where it stands."""
    begun: list[dict[str, object]] = []
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", lambda command, **how: begun.append(how))
        compiled._compiling()
    assert begun[0]["cwd"] == compiled.SET.folder
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert compiled._compiling().wait(60) == 0
