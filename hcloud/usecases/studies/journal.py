"""The journal of a simulated run, and the replay of any journal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hcloud.control import ranks
from hcloud.control.pieces import are_linked
from hcloud.control.sessions.decode import decide
from hcloud.control.sessions.session import ControlSession
from hcloud.control.state import RentableKind
from hcloud.errors import HcloudError
from hcloud.model.catalog import Provider
from hcloud.model.files import HEAD, sort_of
from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import (
    ENTRIES,
    Arrival,
    BelowQos,
    Cancelled,
    ClockTick,
    Closing,
    Completion,
    During,
    Event,
    Failed,
    Interruption,
    LaunchFailed,
    Lost,
    Pool,
    Ready,
    Reclassified,
    Sample,
)
from hcloud.model.running.strategy import Strategy
from hcloud.policy.adjusting import refold
from hcloud.policy.codes import LAUNCH, SCALE
from hcloud.policy.facts import DecisionFacts, DecodedCommand, Setup, TypeFacts
from hcloud.policy.quality import complement
from hcloud.policy.records import Ints, Table, column
from hcloud.policy.registry import rents_whole_servers
from hcloud.policy.rules import Rules
from hcloud.readers.configuration.config import Loaded
from hcloud.sim.kernels import world
from hcloud.sim.kernels.phases import HALF_ENTRIES
from hcloud.sim.machine_code.compiled import kernels
from hcloud.sim.outcomes.measure import tails_by_task
from hcloud.sim.run import RunOutcome
from hcloud.sim.setup.shop import Shop
from hcloud.store.journals.journal import check_target, read_header, save_journal
from hcloud.units import counted
from hcloud.usecases.studies.simulation import LARGE_VCPUS, Study, simulate_once
from hcloud.usecases.workloads.sources import Flags, with_flags

Line = tuple[int, int, int, int, int, float, float]
_NO_CAPACITY = "no capacity of this type"
_KILLED = 137
"""The exit code of a process that was ended for want of memory."""
_PROBED_BEFORE = {ranks.ARRIVAL: During.ARRIVAL, ranks.FINISH: During.COMPLETION}


def setup_of(strategy: Strategy, rules: Rules, kinds: Table[RentableKind], shop: Shop, pool: int) -> Setup:
    """What a controller of that strategy is told; its clock starts with its first event."""
    names = [t.shape.name for t in shop.types]
    types = tuple(
        TypeFacts(name, int(k.cores), int(k.memory), float(k.spin_up), int(k.prior))
        for name, k in zip(names, (kinds[at] for at in range(len(kinds))), strict=True)
    )
    return Setup(strategy.name, strategy.digest(), rules, rents_whole_servers(strategy), pool, None, types)


def journal_run(study: Study, strategy: Strategy, path: Path, pool: int | None = None) -> None:
    """Simulate a strategy over a study once more, with its journal; with ``pool`` servers where it reserves."""
    reserve = pool if strategy.follows("reserved") else None
    write_journal(simulate_once(study, strategy, pool=reserve, journal=True), path)


def write_journal(outcome: RunOutcome, path: Path) -> None:
    """Write the journal of a run that was made with ``journal=True``.

    Its events are fed to a fresh controller, which gives the decisions in words; raises HcloudError where these are
    not the commands that the engine obeyed.
    """
    check_target(path)
    setup = setup_of_run(outcome)
    save_journal(setup, journal_entries(outcome, setup), path)


def setup_of_run(outcome: RunOutcome) -> Setup:
    """What the controller of a run was told; the engine's clock starts at 0."""
    setting, control = outcome.setting, outcome.world.control
    rules = Rules._make(getattr(control.rules, name).item() for name in Rules._fields)
    made = setup_of(setting.strategy, rules, control.kinds, setting.shop, setting.pool)
    beside = tuple((lot.kind, lot.servers) for lot in setting.lots[1:])
    speeds = () if setting.speeds is None else tuple(map(tuple, control.speeds.tolist()))
    return replace(made, start=0.0, beside=beside, speeds=speeds, window=setting.window)


def journal_entries(outcome: RunOutcome, setup: Setup) -> Iterator[Entry]:
    """The events of a run, each followed by what was decided because of it and what was due before it."""
    session = ControlSession(setup, kernels(len(outcome.tasks)))
    obeyed: list[Told] = []
    decided: list[Told] = []
    for entry in JournalReader(outcome, setup).entries():
        if isinstance(entry, Decision):
            obeyed.append(told(entry))
            continue
        made = session.handle(entry)
        decided += map(told, made)
        yield entry
        yield from made
    if decided != obeyed:
        at = next((mine[0] for mine, other in zip(obeyed, decided, strict=False) if mine != other), math.inf)
        raise HcloudError(f"the journal does not repeat the run: at {at!r} the controller decides otherwise")


Told = tuple[float, DecisionAction, str | None, int | None, str, float | None, float | None]


def told(decision: Decision) -> Told:
    """All of a decision but its words, which need to know what stood around it."""
    d = decision
    return d.at, d.action, d.job, d.instance, d.reason, d.margin, d.until


class JournalReader:
    """The lines of a run's journal as events and (without the words for what stood around them) decisions.

    Instances get the numbers that a session gives them: in the order of their launches, after the reserved ones.
    """

    def __init__(self, outcome: RunOutcome, setup: Setup) -> None:
        self._setup, self._tasks, self._submit = setup, outcome.tasks, outcome.submit.tolist()
        self._names, self._tails = _with_copies(outcome, job_names(outcome)), tails_by_task(outcome).tolist()
        fields = [outcome.of_lines(name).tolist() for name in ("code", "a", "b", "c", "d", "time", "value")]
        self._lines: list[Line] = list(zip(*fields, strict=True))
        self._numbers = {slot: slot for slot in range(len(setup.reserve))}
        self._next = len(self._numbers)
        self._natures: dict[int, Ints] = {}
        self._added: Counter[int] = Counter()

    def entries(self) -> Iterator[Entry]:
        """In order, and at last the time at which the record ends."""
        for at, line in enumerate(self._lines):
            if line[0] >= world.COMMAND:
                yield self._decision(line)
            elif line[0] not in (ranks.CONTROL, ranks.EXPIRE) and (line[0] != world.CLASSIFIED or line[4]):
                yield self._event(at)
        yield ClockTick(self._lines[-1][5] if self._lines else 0.0)

    def _decision(self, line: Line) -> Decision:
        code, job, slot, action, reason, time, margin = line
        if code == world.COMMAND + LAUNCH:
            self._numbers[slot], self._next = self._next, self._next + 1
        name, number = self._names[job] if job >= 0 else None, self._numbers.get(slot)
        order = DecodedCommand(code - world.COMMAND, action, reason, margin, name, number, "")
        return decide(self._setup, order, DecisionFacts(time, 0.0, 0.0, 0, 0, 0, 0.0, 0, False))

    def _event(self, at: int) -> Event:
        code, who, crashed, _, _, time, value = self._lines[at]
        if code == world.QUALITY:
            return self._sample(at)
        if code == ranks.ARRIVAL:
            return self._arrival(who, time, self._lines[at])
        if code == ranks.FINISH and crashed:
            return Failed(time, self._names[who], _KILLED)
        if code == ranks.FINISH:
            tail = self._tails[who]
            return Completion(time, self._names[who], value, None if math.isnan(tail) else tail)
        if code == world.CLASSIFIED:
            return self._classified(self._lines[at - 1], self._lines[at])
        if code in (ranks.CHECK, world.MEASURED):
            return self._seen(self._lines[at])
        if code in (ranks.CANCEL, ranks.REPLACE):
            name = None if crashed == self._setup.rules.large else self._setup.types[crashed].name
            return Cancelled(time, self._names[who]) if code == ranks.CANCEL else Pool(time, who, name)
        return self._of_instance(self._lines[at])

    def _seen(self, line: Line) -> BelowQos | Reclassified:
        """How a job is off its target; or what it is known to be like after two entries of it were measured."""
        code, who, *packed, _, time, performance = line
        if code == ranks.CHECK:
            rate = packed[0] / SCALE if self._setup.rules.watching else None
            return BelowQos(time, self._names[who], performance, rate)
        nature = self._nature(who)
        (one, *first), (two, *second) = ((n // 10_000, n // 100 % 100, n % 100) for n in packed)
        refold(self._setup.rules, nature, (one, two), (first[0], first[1], second[0], second[1]))
        known = tuple(nature.tolist())
        return Reclassified(time, self._names[who], known[:ENTRIES], performance, known[ENTRIES:])

    def _classified(self, *lines: Line) -> Reclassified:
        """What is known of a job once all of it was measured: five scores in each number."""
        nature, who = self._nature(lines[0][1]), lines[0][1]
        packed = [n for line in lines for n in line[2:4]]
        nature[:] = [n // 100**place % 100 for n in packed for place in range(HALF_ENTRIES - 1, -1, -1)]
        known = tuple(nature.tolist())
        return Reclassified(lines[0][5], self._names[who], known[:ENTRIES], lines[0][6], known[ENTRIES:])

    def _of_instance(self, line: Line) -> Event:
        code, slot, held_back, over, below, time, value = line
        number = self._numbers[slot]
        if code == world.KEPT_FREE:
            about = {"suffers" if below else "measures": self._names[held_back]}
            return Closing(time, number, bool(over), **about)
        if code == ranks.READY:
            return Ready(time, number, value if held_back else None)
        if code == ranks.FAILED_LAUNCH:
            return LaunchFailed(time, number, _NO_CAPACITY, value)
        return (Interruption if code == ranks.INTERRUPT else Lost)(time, number)

    def _arrival(self, row: int, time: float, line: Line) -> Arrival:
        if line[4] > 0:
            return self._second(line[4] - 1, row, line)
        t = self._tasks
        vector = tuple(t.vector[row].tolist())
        asked = -line[4] or int(t.ask[row]), int(t.memory[row])
        submitted = self._submit[row]
        before = submitted if submitted < time else None
        restartable, coin, truth = not t.service[row], float(t.coin[row]), tuple(t.truth[row].tolist())
        agent = line[2] if self._setup.rules.agents and line[2] >= 0 else None  # the last piece has one
        made = Arrival(time, self._names[row], *asked, vector, restartable, coin, before, truth)
        made = made if t.platform is None else replace(made, platform=int(t.platform[row]))
        if t.expected is not None:
            made = replace(made, expected=float(t.expected[row]))
        if t.spare is not None and t.spare[row]:
            made = replace(made, spare=True)
        if t.urgent is not None and t.urgent[row]:
            made = replace(made, urgent=True)
        if t.slack is not None:
            made = replace(made, slack=float(t.slack[row]))
        if t.borne is not None:
            known, true = (tuple(points[row].tolist()) for points in t.borne)
            made = replace(made, tolerates=known, true_tolerates=true)
        if t.pieces is not None and t.pieces[row] > 1 and are_linked(self._setup.rules):
            before = row > 0 and t.job[row - 1] == t.job[row]
            made = replace(made, pieces=int(t.pieces[row]), after=self._names[row - 1] if before else None)
        return made if agent is None else replace(made, agent=agent, copy_age=line[6], refused=line[3])

    def _second(self, original: int, row: int, line: Line) -> Arrival:
        """A job comes as a second run of a piece of another one: as that did, and as it is known by now."""
        first, ask = self._arrival(original, line[5], (*line[:3], 0, 0, *line[5:])), line[3]
        if ask:
            self._added[original] += 1
            self._names[row] = f"{first.job}+{self._added[original]}"
            first = replace(first, ask=ask)
        nature = self._nature(original).copy()
        self._natures[row], known = nature, tuple(nature.tolist())
        made = replace(first, job=self._names[row], submitted=None, pieces=1, after=None, copy_of=first.job)
        return replace(made, vector=known[:ENTRIES], tolerates=known[ENTRIES:])

    def _nature(self, row: int) -> Ints:
        """What is known of a job: what it causes, then what it tolerates."""
        t = self._tasks
        return self._natures.setdefault(row, np.r_[t.vector[row], t.tolerates[row]].astype(np.int64))

    def _sample(self, at: int) -> Sample:
        """A probe stands right before the arrival or the end, or right after the start, that it was made for."""
        _, slot, high, low, _, time, _ = self._lines[at]
        during = _PROBED_BEFORE.get(self._lines[at + 1][0], During.WATCH) if at + 1 < len(self._lines) else During.WATCH
        if at > 0 and self._lines[at - 1][:2] == (ranks.READY, slot):
            during = During.READY
        halves = complement(high, low)
        digits = [half // 100**place % 100 for half in halves for place in range(4, -1, -1)]
        return Sample(time, self._numbers[slot], tuple(digits), during)


def job_names(outcome: RunOutcome) -> list[str]:
    """Jobs by the trace's own ids (by their row where it has none); pieces of one that was split are told apart."""
    rows = outcome.tasks.job
    names = _named_apart([outcome.tasks.name(task) for task in range(len(rows))], rows)
    return names if len(set(names)) == len(names) else _named_apart([str(row) for row in rows.tolist()], rows)


def _with_copies(outcome: RunOutcome, names: list[str]) -> list[str]:
    """The names of jobs, and those of second runs of their pieces; servers that a service gets are counted as they
    come."""
    second = column(outcome.world.watches, "twin")[len(names) :].tolist()
    return [*names, *(f"{names[-copy - 1]}+" for copy in second)]


def _named_apart(names: list[str], rows: Ints) -> list[str]:
    pieces = np.bincount(rows)
    seen: dict[int, int] = {}
    told = []
    for name, row in zip(names, rows.tolist(), strict=True):
        seen[row] = seen.get(row, 0) + 1
        told.append(name if pieces[row] == 1 else f"{name}.{seen[row]}")
    return told


NO_PRICES = (
    "machines on this computer have no price: types, prices and cloud are those of the HCloud study, with servers of {}"
    " as in the journal; 'hcloud operate status --compare' counts vCPU-hours on the machines that there were"
)


class JournalMarket(NamedTuple):
    """The configuration with the flags and what a journal adds to them, what is to be said of prices, and how many
    vCPUs its servers have where nobody sells them."""

    loaded: Loaded
    notes: tuple[str, ...] = ()
    servers_of: int = LARGE_VCPUS


def as_the_journal_says(loaded: Loaded, flags: Flags, cloud: str | None, *, sized: bool) -> JournalMarket:
    """The configuration with the flags, and with region and types of a live journal that either names, and what is to
    be said of prices and, where strategies are ``sized`` for the jobs, of the reserve; nothing of these for other
    workloads, and where a ``cloud``, or in flags or configuration a market, is named."""
    named = cloud or flags.providers or flags.regions or flags.families or flags.vcpus is not None
    if named or "markets" in loaded.config.model_fields_set:
        return JournalMarket(with_flags(loaded, flags))
    journal = _file_of(loaded, flags)
    if journal is None or not is_journal(journal):
        return JournalMarket(with_flags(loaded, flags))
    setup, live = read_header(journal)
    if live is None:
        return JournalMarket(with_flags(loaded, flags))
    vcpus, reserve = max(setup.large.cores // 1000, 1), _said_of_reserve(setup) if sized else ()
    if live.cloud not in list(Provider):
        said = NO_PRICES.format(counted(vcpus, "vCPU"))
        return JournalMarket(with_flags(loaded, flags), (said, *reserve), vcpus)
    types = tuple(facts.name for facts in setup.types)
    there = replace(flags, providers=(Provider(live.cloud),), regions=(live.region,), families=types, vcpus=vcpus)
    said = f"region and types are those of the journal: {live.cloud} {live.region}, {', '.join(types)}"
    return JournalMarket(with_flags(loaded, there), (said, *reserve))


def _file_of(loaded: Loaded, flags: Flags) -> Path | None:
    """Where the workload would be if it is a file."""
    if flags.workload is not None:
        return Path(flags.workload)
    stated = loaded.config.workload.path
    return None if stated is None else loaded.resolve(stated)


def is_journal(workload: Path) -> bool:
    """Whether a workload is a file that begins like a journal."""
    if not workload.is_file():
        return False
    with workload.open("rb") as file:
        found = sort_of(file.read(HEAD))
    return found is not None and found.name == "a journal"


def _said_of_reserve(setup: Setup) -> tuple[str, ...]:
    """That a strategy sizes its own reserve, where the run had one."""
    if not setup.reserve:
        return ()
    there = " + ".join(f"{servers} x {setup.types[kind].name}" for kind, servers in setup.lots if servers)
    alike = "" if setup.beside else f" (--pool {setup.pool}: as many)"
    return (f"the run reserved {there}; here a strategy sizes its own reserve for these jobs{alike}",)
