"""Compiles the policies, the controller and the engine with numba, on first use only; they also run as plain Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any, cast

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

ENGINE, SESSION, REPLAY, CLASSED = "engine", "session", "replay", "classed"
SIMULATE = "sim.kernels.engine.simulate"
FOLLOW = "control.batch.follow_events"
ENTRIES = {
    ENGINE: (SIMULATE,),
    SESSION: (HANDLE,),
    REPLAY: (FOLLOW,),
}
"""The kernels that plain Python calls, by what they are called for. Each is kept on disk with all that it calls."""
_OF_GROUP = {**ENTRIES, CLASSED: (SIMULATE,)}
GATES = frozenset(
    {f"control.waits.admitting.{name}" for name in ("admit", "dispatch", "wake_up")}
    | {f"control.waits.lines.{name}" for name in ("begin_wait", "join_own", "leave_line", "find_ahead")}
    | {f"control.servers.pools.{name}" for name in ("rank_server", "take_out")}
    | {"control.waits.mixing.note_end", "control.waits.offers.make_offers"}
    | {"control.watching.adjusting.adjust", "control.watched.begin_watch"}
    | {
        f"sim.kernels.{name}"
        for name in ("watches.begin_watching", "watches.rated", "watches.stopped", "moving.leave_for", "moving.set_off")
    }
    | {"sim.kernels.phases.happen", "sim.kernels.phases.look_after", "sim.kernels.stragglers.compare_pieces"}
    | {f"sim.kernels.moving.{name}" for name in ("expect_stragglers", "drop_copy", "overtake")}
    | {"control.watching.copying.arrive_as_copy", "control.watched.displace_or_wait", "control.pieces.unlink"}
    | {"control.watched.displace_for_queued", "sim.kernels.watches.size_by_row"}
)
"""What others call of several queues, and of jobs that are watched or have phases. Only the engine of such a run is
compiled with that, when it is first wanted: it takes half as long again. In all others gates do nothing, and are never
called; sessions with queues or watched jobs stay plain."""

PLAIN_DECISIONS, PLAIN_JOBS = 250, 2_000
"""Plain Python decides on as many jobs, or simulates as many, before it is worth the while to compile kernels."""
LOADED_DECISIONS, LOADED_JOBS = 20, 200
"""The same of kernels that are kept: while they are loaded."""
PLAIN_MOST = 50_000
"""Plain Python simulates as many jobs, a quarter of a millisecond each, while another process compiles the engine."""


def kernels(jobs: int, *, gated: bool = False) -> dict[str, Any]:
    """The kernels by ``module.name``: plain Python while a process asks for little and where some are ``gated``,
    compiled from then on; the answers agree."""
    few = PLAIN_DECISIONS if is_first_use(SESSION) else LOADED_DECISIONS
    return plain() if SET.is_little(jobs, few, SESSION) or gated else compiled(SESSION)


class CompiledKernels(dict[str, Any]):
    """Compiled kernels by ``module.name``, beside those as they stand in their modules."""

    @property
    def whole(self) -> Mapping[str, Any]:
        """Kernels that know several queues, too."""
        return plain()


def begins_plainly(jobs: int, group: str = ENGINE) -> bool:
    """Whether plain Python begins a run of so many jobs: while a process asks for little, and while the engine is being
    compiled, unless the run is so long that plain Python would not get far."""
    return SET.is_little(jobs, _few(group), group) or (not is_made(group) and jobs <= PLAIN_MOST)


def foresee(jobs: int) -> None:
    """Count the jobs of runs that are sure to come: the first of them need not be plain Python, then."""
    SET.spent[ENGINE] += jobs


def goes_on_plainly(left: int, group: str = ENGINE) -> bool:
    """Whether plain Python also simulates the jobs that are left: those are few, or the engine is not compiled yet."""
    return left <= _few(group) or not is_made(group)


def _few(group: str) -> int:
    return PLAIN_JOBS if is_first_use(group) else LOADED_JOBS


def plain() -> dict[str, Any]:
    """Every kernel as it stands in its module."""
    return SET.plain


def compiled(*groups: str) -> dict[str, Any]:
    """The kernels of the groups (else of all) that plain Python calls; waits for who still compiles them."""
    done = CompiledKernels()
    wanted = groups or tuple(ENTRIES)
    for group in wanted:
        is_made(group)  # begins it: groups are compiled side by side
    for group in wanted:
        made(group)
        done.update(_loaded(group))
    return done


@cache
def _loaded(group: str) -> dict[str, KeptKernel]:
    """The kernels of a group that plain Python calls, as another process compiled them; where it failed, numba compiles
    them in its usual way."""

    def forget(*_: object) -> None:
        _mark(group).unlink(missing_ok=True)  # what it made is damaged: the next process has it made anew

    def usual(name: str) -> Any:
        from hcloud.kernel_compiler import usual

        return usual(SET, folder_of(group), _OF_GROUP[group], partial(gated, group))[name]

    return {name: KeptKernel(folder_of(group), name, forget, partial(usual, name)) for name in _OF_GROUP[group]}


def entries_of(group: str) -> tuple[str, ...]:
    """The kernels of a group that plain Python calls."""
    return _OF_GROUP[group]


def folder_of(group: str) -> Path:
    """Where a group is kept; an engine with all kernels apart from the one without."""
    return SET.folder / CLASSED if group == CLASSED else SET.folder


def gated(group: str, name: str, twin: FunctionType) -> FunctionType:
    """A kernel, or what stands for it in a group that does without."""
    return cast("FunctionType", _does_nothing) if name in GATES and group != CLASSED else twin


def _does_nothing(*_: object) -> None:
    return None


def many_at_a_time(kernels: Mapping[str, Any]) -> Any | None:
    """The kernel that follows many events at once, beside the compiled ``kernels`` of a session; None where those are
    plain, and until another process has compiled it."""
    if not is_compiled(kernels) or not is_made(REPLAY) or is_first_use(REPLAY):
        return None
    return _loaded(REPLAY)[FOLLOW]


_makers: dict[str, subprocess.Popen[bytes]] = {}


def is_made(group: str) -> bool:
    """Whether a group of kernels is compiled; begins to compile them, in another process, where nobody did.

    Also true where that process failed: the kernels are then compiled when they are called.
    """
    if _mark(group).exists():
        return True
    if group not in _makers:
        _makers[group] = _compiling(group)
    return _makers[group].poll() is not None


def _compiling(*groups: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "hcloud.sim.machine_code.compiling", *map(str, map(_mark, groups))]
    quiet = subprocess.DEVNULL  # in a session of its own: Ctrl-C shall not waste what is nearly done
    lasting = SET.folder  # numba asks where it stands, and the caller's folder may be gone before it ends
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd=lasting)


def make_all() -> None:
    """Begin to compile all but the kernels of several queues, in one other process, that takes half as long as one a
    group; who needs a group sooner waits for it."""
    missing = [group for group in ENTRIES if is_first_use(group) and group not in _makers]
    if missing:
        _makers.update(dict.fromkeys(missing, _compiling(*missing)))


def made(group: str) -> None:
    """Wait until a group of kernels is compiled."""
    if not is_made(group):
        _makers[group].wait()


def _mark(group: str) -> Path:
    return SET.folder / f"{group}.made"


def is_first_use(group: str) -> bool:
    """Whether a group of kernels is still to be compiled on this machine."""
    return not _mark(group).exists()
