"""``hcloud report`` of what is rented: the log beside the state, the cloud's commitments, today's prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time

from hcloud.catalog.bills.billing import charges
from hcloud.catalog.bills.days import month_of
from hcloud.catalog.bills.terms import Tariff, why_not
from hcloud.errors import DeniedError, UsageError
from hcloud.model.catalog import Provider
from hcloud.model.holdings.live import Commitment, Machine, MachineState
from hcloud.model.report import CommitmentStatus, MachineRental, Period
from hcloud.planning.reports.report import Report, ReportSource
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.units import HOURS_PER_YEAR, counted
from hcloud.usecases.live.connect import FAKE
from hcloud.usecases.live.ground import LiveGround, market_of
from hcloud.usecases.live.operating.looking import rentals_of_work
from hcloud.usecases.reports.rented import ends_not_told
from hcloud.usecases.reports.report import (
    ReportRequest,
    commitment_of,
    counterfactuals,
    holding_of,
    listed_prices,
    oldest_price,
)


def report_of_live(ground: LiveGround, asked: ReportRequest) -> Report:
    """What was rented in a period and is, with what commitments did for it.

    Raises InputError where the log of rentals is damaged, EvidenceError where a price is missing.
    """
    if ground.is_local:
        raise UsageError("machines on this computer cost nothing: there is nothing to report", hint="name a --cloud")
    in_memory = ground.selection.startswith(FAKE)  # such a fake has a time of its own
    now = datetime.fromtimestamp(ground.clock.now(), UTC) if in_memory else asked.at
    period = asked.span.of(now)
    scope = ground.patience().ask(ground.cloud.scope)
    provider, region = Provider(ground.place.provider), ground.place.region
    listed = listed_prices(market_of(ground.loaded, ground.place), ground.today)
    tariff = Tariff(ground.book, provider, region, scope.account, listed)
    since = month_of(period.start).start  # what ran earlier in the month counts for sustained use
    every = (*ground.store.rentals().usages(), *rentals_of_work(ground))
    logged = [u for u in every if u.seconds_within(since, period.end)]
    seen, unseen = _as_seen(ground, logged)
    rented = [u for u in seen if u.seconds_within(since, period.end)]
    held, said = _held(ground)
    counted_in = tuple(c for c in held if not why_not(c))
    rows = charges(rented, counted_in, tariff, period)
    shared = (
        ("machines outside this log may use the account's commitments; what they use counts as unused here",)
        if any(c.status is CommitmentStatus.UNUSED for c in rows)
        else ()
    )
    return Report(
        source=ReportSource.LIVE,
        name=str(scope),
        period=period,
        charges=rows,
        holdings=tuple(holding_of(c, tariff.region) for c in counted_in),
        counterfactuals=counterfactuals(rented, tariff, period),
        price_day=oldest_price(rows, tariff),
        notes=(*said, *unseen, *shared, *_notes(rented, held, period)),
        team_tag=asked.team_tag,
    )


def _as_seen(ground: LiveGround, logged: Sequence[MachineRental]) -> tuple[list[MachineRental], tuple[str, ...]]:
    """Rentals with the ends that the cloud tells by now of those the log takes for running, and why where it could not
    be asked: machines are ended by hand or interrupted between two runs."""
    running = sorted({u.resource for u in logged if u.end is None})
    if not running:
        return list(logged), ()
    try:
        told = ground.patience().ask(lambda: ground.cloud.look(running))
    except DeniedError as error:
        return list(logged), (
            f"the cloud did not answer which machines still run; the report uses only the log: {error}",
        )
    there, now = {m.id: m for m in told}, int(ground.clock.now())
    return [u if u.end is not None else _ended(u, there.get(u.resource), now) for u in logged], ()


def _ended(usage: MachineRental, machine: Machine | None, now: int) -> MachineRental:
    """A rental that has no end in the log, with the cloud's; where that shows no such machine, seen to be gone now."""
    if machine is None or (machine.state is MachineState.ENDED and machine.ended is None):
        return replace(usage, end=max(now, usage.start), end_is_told=False)
    if machine.ended is None or machine.state.is_live:
        return usage
    return replace(usage, end=max(int(machine.ended.timestamp()), usage.start))


def _held(ground: LiveGround) -> tuple[tuple[Commitment, ...], tuple[str, ...]]:
    """What is committed: as the configuration states it for this place, else as the cloud tells."""
    here = (ground.place.provider, ground.place.region)
    stated = [o for o in ground.loaded.config.owned if (o.provider, o.region) == here]
    if stated:
        return tuple(_stated(number, o, ground) for number, o in enumerate(stated, start=1)), (
            "commitments are those that section owned of the configuration states",
        )
    try:
        return ground.patience().ask(ground.cloud.commitments), ()
    except DeniedError as error:
        return (), (f"commitments could not be read, and nothing is counted as covered: {error}",)


def _stated(number: int, owned: OwnedSection, ground: LiveGround) -> Commitment:
    offer = ground.book.offer(owned.key)
    ends = datetime.combine(owned.expires, time(), UTC)
    starts = datetime.fromtimestamp(ends.timestamp() - owned.term_years * HOURS_PER_YEAR * 3600, UTC)
    dollars = owned.dollars_per_hour
    count = owned.count or (dollars or offer.effective_hourly) / offer.effective_hourly
    return commitment_of(f"owned-{number}", offer, count, starts, ends)


def _notes(rented: Sequence[MachineRental], held: Sequence[Commitment], period: Period) -> Iterator[str]:
    if not any(u.seconds_within(period.start, period.end) for u in rented):
        yield "the log of rentals has no machine in this period (--state selects another)"
    yield from ends_not_told(rented, period)
    running = sum(1 for u in rented if u.end is None)
    if running:
        yield f"{counted(running, 'machine')} still running: charged up to the end of the report"
    for commitment in held:
        if why := why_not(commitment):
            yield f"commitment {commitment.id} is not counted: {why}"
