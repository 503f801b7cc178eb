"""Compiles the policies, the controller and the engine with numba, on first use only; they also run as plain Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from hcloud.control.sessions.teller import HANDLE, is_compiled
from hcloud.kernel_cache import KernelSet
from hcloud.kernel_objects import KeptKernel

OUT_OF_LINE = frozenset(
    """
    simulate leave drain begin review seat unseat find wait_of obey map_job rent hold_back is_held overdue
    queue_up recount free_for expected best_of_busy decide_on entrust take_over rank_server take_out cut_pools
    refit tabulate fitted log_survival dispatch _place_in join schedule _find_chances leaving_time survives admit
    wake_up adjust move look_after rated expect_look expect_phase measure_anew begin_alone _end_alone shut
    _suspect _tell next_step _sweep _serve _search _sit leave_line insert _put_in _enter _leave best_fit join_own
    _start_queued reserved_for _find_by_rank best_by_filters best_of_all best_by_ranking _rank _first_of_probes
    _first_proposed serve seen note_change _commit sample best_candidate passes _is_passed _list_fitting
    _passed_from _relax_by _best_passing best_for_brief _by_chance put_on_ring take_off_ring hashed_place draw
    begin_draws audit colocation_loss contention tenants_in_the_way choose_servers pieces_of leave_ring
    forget_choice turn_pieces_away _stop stop_piece settle_pieces seat_chosen rent_pieces begin_pieces_anew
    begin_together release _come
    """.split()  # noqa: SIM905 -- a list would take a line a name
)
"""Kernels that are called from several places and are too long to be repeated there; all others are put in line."""

SET = KernelSet(
    "policy.quality",
    "policy.limits",
    "policy.retention",
    "policy.repair",
    "policy.adjusting",
    "policy.stragglers",
    "policy.waiting.queueing",
    "policy.placing.placement",
    "policy.placing.colocation",
    "policy.mapping",
    "policy.waiting.busy",
    "policy.waiting.classes",
    "control.pieces",
    "control.servers.shelves",
    "control.servers.hashed",
    "control.servers.rosters",
    "control.servers.copies",
    "control.servers.buckets",
    "control.servers.pools",
    "control.servers.tenancy",
    "control.searching.draws",
    "control.searching.candidates",
    "control.searching.filters",
    "control.searching.brief",
    "control.searching.search",
    "control.waits.tenants",
    "control.waits.mixing",
    "control.waits.lines",
    "control.waits.queue",
    "control.searching.renting",
    "control.waits.admitting",
    "control.waits.offers",
    "control.searching.together",
    "control.searching.local",
    "control.admission",
    "control.watched",
    "control.mapped",
    "control.groups",
    "control.controller",
    "control.losses",
    "control.watching.adjusting",
    "control.watching.copying",
    "control.handle",
    "control.batch",
    "sim.kernels.heap",
    "sim.kernels.interference",
    "sim.kernels.watches",
    "sim.kernels.progress",
    "sim.kernels.stages",
    "sim.kernels.agents",
    "sim.kernels.moving",
    "sim.kernels.gangs",
    "sim.kernels.obeying",
    "sim.kernels.phases",
    "sim.kernels.stragglers",
    "sim.kernels.faults",
    "sim.kernels.engine",
    inline=lambda own: own not in OUT_OF_LINE,
)
"""Modules whose functions are kernels, each after those it calls."""

SIMULATE = "sim.kernels.engine.simulate"
FOLLOW = "control.batch.follow_events"
ENTRIES = (SIMULATE, HANDLE, FOLLOW)
"""The kernels that plain Python calls: kept on disk as one machine code with all that they call."""

PLAIN_DECISIONS, PLAIN_JOBS = 250, 2_000
"""Plain Python decides on as many jobs, or simulates as many, before it is worth the while to compile kernels."""
LOADED_DECISIONS, LOADED_JOBS = 20, 200
"""The same of kernels that are kept: while they are loaded."""
PLAIN_MOST = 50_000
"""Plain Python simulates as many jobs, a quarter of a millisecond each, while another process compiles the engine."""


def kernels(decisions: int) -> dict[str, Any]:
    """The kernels by ``module.name``: plain Python while a process asks for little, compiled from then on; the answers
    agree."""
    few = PLAIN_DECISIONS if is_first_use() else LOADED_DECISIONS
    return plain() if SET.is_little(decisions, few, HANDLE) else compiled()


def soonest() -> Mapping[str, Any]:
    """The kernels for whoever cannot wait: where they are not compiled yet, plain Python until they are."""
    return _Soonest() if is_first_use() else compiled()


class _Soonest(Mapping[str, Any]):
    """Plain kernels, and from the moment on at which another process has compiled them those; that is begun when many
    were asked for."""

    def __init__(self) -> None:
        self._found = plain()

    def __getitem__(self, name: str) -> Any:
        if self._found is plain() and not SET.is_little(1, PLAIN_JOBS, HANDLE) and is_made() and not is_first_use():
            self._found = compiled()
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def begins_plainly(jobs: int) -> bool:
    """Whether plain Python begins a run of so many jobs: while a process asks for little, and while the engine is being
    compiled, unless the run is so long that plain Python would not get far."""
    return SET.is_little(jobs, _few(), SIMULATE) or (not is_made() and jobs <= PLAIN_MOST)


def foresee(jobs: int) -> None:
    """Count the jobs of runs that are sure to come: the first of them need not be plain Python, then."""
    SET.spent[SIMULATE] += jobs


def goes_on_plainly(left: int) -> bool:
    """Whether plain Python also simulates the jobs that are left: those are few, or the engine is not compiled yet."""
    return left <= _few() or not is_made()


def _few() -> int:
    return PLAIN_JOBS if is_first_use() else LOADED_JOBS


def plain() -> dict[str, Any]:
    """Every kernel as it stands in its module."""
    return SET.plain


def compiled() -> dict[str, Any]:
    """The kernels that plain Python calls; waits for who still compiles them."""
    while not is_made():
        _makers[-1].wait()
    return _loaded()


@cache
def _loaded() -> dict[str, Any]:
    """The kernels that plain Python calls, as another process compiled them; where it failed, numba does so in its
    usual way."""

    def forget(place: Path, _: object) -> None:
        _mark().unlink(missing_ok=True)  # what it made is not for us: the next process has it made anew
        if place.exists():  # and is damaged: to have it made anew takes less time than numba's usual way
            _makers[:] = [_compiling()]
            _makers[-1].wait()

    def usual(name: str) -> Any:
        from hcloud.kernel_compiler import usual

        return usual(SET, SET.folder, ENTRIES)[name]

    return {name: KeptKernel(SET.folder, name, forget, partial(usual, name)) for name in ENTRIES}


def many_at_a_time(kernels: Mapping[str, Any]) -> Any | None:
    """The kernel that follows many events at once, beside the compiled ``kernels`` of a session; None where those are
    plain, and until another process has compiled it."""
    if not is_compiled(kernels) or not is_made() or is_first_use():
        return None
    return _loaded()[FOLLOW]


_makers: list[subprocess.Popen[bytes]] = []
"""The processes that were to compile, where this one began them: the last does, those before it were killed."""
_MOST_MAKERS = 3
"""Ours: what kills one may kill all, such as too little memory."""


def is_made() -> bool:
    """Whether the kernels are compiled; begins to compile them, in another process, where nobody did.

    Also true where that process failed: the kernels are then compiled when they are called. One that was killed is
    followed by another.
    """
    if not is_first_use():
        return True
    if not _makers or _is_killed():
        _makers.append(_compiling())
    return _makers[-1].poll() is not None and not _is_killed()


def is_being_compiled() -> bool:
    """Whether another process is at it for this one."""
    return bool(_makers) and _makers[-1].poll() is None


def _is_killed() -> bool:
    """Whether who compiles was killed, and another is to do it."""
    return (_makers[-1].poll() or 0) < 0 and len(_makers) < _MOST_MAKERS


def _compiling() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "hcloud.sim.machine_code.compiling", str(_mark())]
    quiet = subprocess.DEVNULL  # in a session of its own: Ctrl-C shall not waste what is nearly done
    lasting = SET.folder  # numba asks where it stands, and the caller's folder may be gone before it ends
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd=lasting)


def is_first_use() -> bool:
    """Whether the kernels are still to be compiled on this machine."""
    return not _mark().exists()


def _mark() -> Path:
    return SET.folder / "compiled"
