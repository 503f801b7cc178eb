"""``--replan``: a plan of the demand that live work had, beside what is held; it recommends and buys nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from hcloud.errors import HcloudError, UsageError
from hcloud.model.catalog import Provider
from hcloud.model.plans.held import begun_later, held_now, said_days
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import Arrival, Cancelled, Completion, Failed
from hcloud.model.running.note import CommitmentsAdvised, Note
from hcloud.model.workload import Jobs
from hcloud.planning.fleets.history import said_of_history
from hcloud.policy.facts import Setup
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.store.journals.journal import JournalContents, read_header
from hcloud.store.journals.live import read_whole
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, cents, counted, format_money, rate
from hcloud.usecases.asked import seconds_named
from hcloud.usecases.deciding.plan import plan_for
from hcloud.usecases.live.ground import LiveGround, market_of
from hcloud.usecases.live.held import with_held
from hcloud.usecases.live.operate_requests import never_ran
from hcloud.usecases.workloads.journals import jobs_of_journal
from hcloud.usecases.workloads.sources import within


def window_asked(text: str, flag: str) -> float:
    """The seconds of ``28d``; UsageError for anything else, with the flag that it was given to."""
    seconds = seconds_named(text, flag)
    if seconds < SECONDS_PER_HOUR:
        raise UsageError(f"{flag} {text}: an hour of demand is the least to plan from", hint=f"{flag} 28d")
    return float(seconds)


@dataclass(frozen=True, slots=True)
class Replanner:
    """Plans from the journals in the directory of live work: the last ``seconds`` of them. May be called by a worker.

    UsageError where the machines have no prices.
    """

    here: LiveGround
    directory: Path
    seconds: float

    def __post_init__(self) -> None:
        if self.here.is_local:
            raise UsageError(
                "replanning recommends commitments, and machines of this computer have no prices",
                hint="name a cloud (--cloud aws|gcp|azure|fake), or run without --replan",
            )

    def __call__(self, now: float) -> CommitmentsAdvised:
        """What a plan made ``now`` would buy beside what is held; why there is none where it cannot be made."""
        try:
            works = list(_works(self.directory))
            jobs = within(demand_of(works, open_source(self.directory / "journal.jsonl"), now), f"{self.seconds:.0f}s")
            assert isinstance(jobs, Jobs)
            return self._planned(jobs, self._loaded(works[-1].setup), now)
        except HcloudError as error:
            return CommitmentsAdvised(now, self.seconds, why_not=str(error))

    def _loaded(self, setup: Setup) -> Loaded:
        """The configuration with this region and the families of the machines that the work rents and reserves: what is
        bought of others would be of no use to it."""
        loaded, shapes = market_of(self.here.loaded, self.here.place), self.here.book.types
        names = [(Provider(self.here.place.provider), facts.name) for facts in setup.types]
        families = tuple(sorted({shapes[name].family for name in names if name in shapes}))
        (market,) = loaded.config.markets
        market = market.model_copy(update={"families": families or market.families})
        return loaded.changed(operation={"strategy": None, "own_fleet_jobs": 0}, markets=(market,))

    def _planned(self, jobs: Jobs, loaded: Loaded, now: float) -> CommitmentsAdvised:
        at = datetime.fromtimestamp(now, UTC)
        loaded, said = with_held(replace(self.here, loaded=loaded), at)
        plan = plan_for(jobs, loaded, at).plan
        short, (bought, monthly, later) = "; ".join(said_of_history(plan.history)), advice_of(plan)
        return CommitmentsAdvised(
            now,
            self.seconds,
            len(jobs),
            plan.workload.mean_cores,
            bought,
            monthly,
            plan.after.monthly,
            plan.now.monthly,
            short,
            (*said, *later, *(w for w in plan.warnings if w != short)),
        )


def advice_of(plan: Plan) -> tuple[tuple[str, ...], Decimal, list[str]]:
    """What a plan buys now, in words and in dollars a month while it is held, and what is told of later purchases."""
    bought, later = held_now(plan.purchases), begun_later(plan.purchases)
    hourly = sum((rate(line.hourly_held) for line in bought), Decimal(0))
    said = f"the plan has {counted(len(later), 'later purchase')}, on {said_days(later)}" if later else ""
    return tuple(map(_worded, bought)), cents(hourly * HOURS_PER_MONTH), [said] if said else []


def _worded(line: MixLine) -> str:
    size = f"{line.count.normalize():f} {line.instance_type}"
    if line.option.is_spend_based:
        size = f"{format_money(line.hourly_held, 4)}/h for {line.instance_type}"
    years, upfront = counted(line.term_years, "year"), f", {format_money(line.upfront)} upfront" if line.upfront else ""
    price = f"{format_money(line.hourly_held * HOURS_PER_MONTH)} a month"
    return f"{line.option.value} of {size} for {years}, {line.payment.value}: {price}{upfront}"


def demand_of(works: Sequence[JournalContents], source: TraceFile, until: float) -> Jobs:
    """The jobs of all work, whose last journal is the ``source``; those that run count as running ``until`` then."""
    lines = tuple(line for work in works for line in work.lines)
    last = max((until, *(line.at for line in lines[-1:])))
    ends = tuple(Completion(last, name, 1.0) for name in _unfinished(lines))
    return jobs_of_journal((*lines, *ends), source, WorkloadOptions())


def _works(directory: Path) -> Iterator[JournalContents]:
    """Each work from its beginning, by time: that which goes on last."""
    present = directory / "journal.jsonl"
    aside = sorted(directory.glob("journal.*.jsonl"), key=lambda p: int(p.stem.rpartition(".")[2]))
    ends = {read_header(path)[1]: path for path in (*aside, present) if path.exists() and path.stat().st_size}
    if not ends:
        raise never_ran(directory)
    for path in ends.values():  # a part that is put aside again is named later: the last part of each work
        yield read_whole(path)


def _unfinished(lines: Iterable[Entry | Note]) -> list[str]:
    """The jobs that came and have not ended."""
    there: dict[str, None] = {}
    for line in lines:
        if isinstance(line, Arrival):
            there[line.job] = None
        elif isinstance(line, Completion | Failed | Cancelled):
            there.pop(line.job, None)
        elif isinstance(line, Decision) and line.action in (DecisionAction.REFUSE, DecisionAction.END):
            there.pop(line.job or "", None)
    return list(there)
