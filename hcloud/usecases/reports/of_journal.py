"""``hcloud report`` of a journal: what a simulated or decided run rented, at today's prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hcloud.catalog.bills.billing import charges
from hcloud.catalog.bills.terms import Tariff
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import Offer, Payment, Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import MachineRental, Period
from hcloud.planning.changes.slots import LAUNCHED, RESERVED
from hcloud.planning.reports.report import Report, ReportSource
from hcloud.planning.reports.savings import INSTANCES
from hcloud.readers.configuration.config import Loaded
from hcloud.store.journals.journal import LiveOrigin
from hcloud.store.journals.live import read_whole
from hcloud.units import HOURS_PER_YEAR
from hcloud.usecases.asked import provider_named
from hcloud.usecases.reports.rented import JournalRentals, ends_not_told, is_dated, rented_in, rented_live
from hcloud.usecases.reports.report import (
    ReportRequest,
    commitment_of,
    counterfactuals,
    holding_of,
    listed_prices,
    midnight,
    oldest_price,
)
from hcloud.usecases.workloads.sources import in_places, open_prices

POOL = "pool"
_PLAYED = "'hcloud simulate PLAN --journal FILE' makes one of the plan's trace"


@dataclass(frozen=True, slots=True)
class JournalPricing:
    """Where a journal's machines are priced, and what its pool is bought as (None: as the configuration or the
    provider's usual), also ``by_type`` one machine after the other, those beyond as the first."""

    provider: str | None = None
    region: str | None = None
    commitment: str | None = None
    by_type: Mapping[str, Sequence[str]] = field(default_factory=dict)


def report_of_journal(
    path: Path, asked: ReportRequest, place: JournalPricing, window: tuple[float, float] | None = None
) -> Report:
    """Everything a journal rented, its pool bought as a commitment; within a window of its seconds, if one is named.
    Raises EvidenceError where a price is missing, or nothing is in the window."""
    journal = read_whole(path)
    live = journal.live
    dated = is_dated(journal.setup, journal.entries)
    if asked.span.end is not None or (dated and asked.span.start is not None):
        raise UsageError("a journal is reported from its beginning to its end", hint="leave out --to (and --from)")
    origin = 0 if dated else midnight(asked.span.start or asked.at.date())
    told = rented_in(journal.setup, journal.entries, origin) if live is None else rented_live(journal)
    if window is not None:
        counted = origin + round(window[0]), origin + round(window[1])
        told = _within(told, path, counted, is_own=window == journal.setup.window)
    provider, region = _where(asked.loaded, place if live is None else _stated_or_own(place, live))
    there = in_places(asked.loaded, [(provider, region)], (LAUNCHED,))
    book, said = open_prices(there, asked.at.date())
    tariff = Tariff(book, provider, region, listed=listed_prices(there, asked.at.date()))
    bought = live is None or place.commitment is not None
    with _naming_provider(stated=live is not None or place.provider is not None):
        held = _pool(told, tariff, place) if bought else ()
        rows = charges(told.rented, held, tariff, told.period)
    return Report(
        source=ReportSource.JOURNAL,
        name=path.name,
        period=told.period,
        charges=rows,
        holdings=tuple(holding_of(c, region) for c in held),
        counterfactuals=counterfactuals(told.rented, tariff, told.period),
        price_day=oldest_price(rows, tariff),
        notes=(
            *said,
            f"priced in {provider} {region}",
            *_notes(told, None if dated else origin, bought=bought),
            *ends_not_told(told.rented, told.period),
        ),
        team_tag=asked.team_tag,
    )


def _within(told: JournalRentals, path: Path, window: tuple[int, int], *, is_own: bool) -> JournalRentals:
    """What was rented in a window. The one that a journal says ``is_own``, so that before its first event and after its
    last one nothing ran but the reserve; of others only what the journal tells of counts."""
    first, last = told.period.start, told.period.end
    start, end = window if is_own else (min(max(at, first), last) for at in window)
    if start >= end:
        raise EvidenceError(f"{path}: ends before the window begins that the plan counts", hint=_PLAYED)
    rented = (_stretched(r, told.period, Period(start, end)) if is_own else r for r in told.rented)
    return replace(told, rented=tuple(rented), period=Period(start, end))


def _stretched(rental: MachineRental, told: Period, to: Period) -> MachineRental:
    """A rental as it was in a period that may be longer than what was ``told``: the reserve goes on, all else ended."""
    if rental.address != RESERVED:
        return replace(rental, end=told.end if rental.end is None else rental.end)
    begun = min(rental.start, to.start) if rental.start == told.start else rental.start
    return replace(rental, start=begun, end=max(told.end, to.end) if rental.end in (None, told.end) else rental.end)


@contextmanager
def _naming_provider(*, stated: bool) -> Iterator[None]:
    """A missing price of a provider that nobody ``stated`` is told with the flag that names another."""
    try:
        yield
    except EvidenceError as error:
        hint = error.hint if stated else "--provider names the cloud whose types these are: aws, gcp or azure"
        raise EvidenceError(str(error), hint=hint) from None


def _where(loaded: Loaded, place: JournalPricing) -> tuple[Provider, str]:
    provider = provider_named(place.provider) if place.provider else loaded.config.markets[0].provider
    market = next((m for m in loaded.config.markets if m.provider == provider), None)
    regions = market.regions if market is not None else ()
    return provider, place.region or (regions or (CLOUDS[provider].home_region,))[0]


def _stated_or_own(place: JournalPricing, live: LiveOrigin) -> JournalPricing:
    """Where live work was, unless another place is stated."""
    if place.provider is None and live.cloud not in list(Provider):
        raise UsageError(
            f"machines of {live.cloud} cost nothing: there is nothing to report",
            hint="--provider and --region price them as those of a cloud, where it has types of these names",
        )
    region = live.region if place.provider in (None, live.cloud) else None
    return replace(place, provider=place.provider or live.cloud, region=place.region or region)


def _pool(told: JournalRentals, tariff: Tariff, place: JournalPricing) -> tuple[Commitment, ...]:
    starts = datetime.fromtimestamp(told.period.start, UTC)
    made: list[Commitment] = []
    for name, servers in told.pool.items():
        ways = place.by_type.get(name) or (place.commitment,)
        for wanted, count in Counter([*ways, *[ways[0]] * servers][:servers]).items():
            offer = _bought_as(name, tariff, wanted, is_planned=bool(place.by_type))
            ends = starts + timedelta(hours=offer.key.term_years * HOURS_PER_YEAR)
            other = "" if wanted == ways[0] else f"-{wanted}"
            label = f"{POOL}-{name}{other}" if made else POOL
            made.append(commitment_of(label, offer, count, starts, ends))
    return tuple(made)


def _bought_as(name: str, tariff: Tariff, wanted: str | None, *, is_planned: bool) -> Offer:
    """The commitment of the pool: what is asked for, else the provider's one-year commitment of instances, all upfront
    where that is sold, as the simulator buys it."""
    on_demand = tariff.offer(name, PurchaseOption.ON_DEMAND).key
    every = tariff.book.commitments(on_demand)
    sold = [o for o in every if o.key.option in INSTANCES]
    named = {f"{o.key.option}-{o.key.term_years}y-{o.key.payment}": o for o in reversed(every)}
    if wanted is not None:
        if wanted not in named and is_planned:
            why = f"{on_demand.provider}/{on_demand.region}/{name}/{wanted}: the plan has it, the price book does not"
            raise EvidenceError(why, hint="import or refresh the price: 'hcloud pricing import --help'")
        if wanted not in named:
            raise UsageError(
                f"--commitment {wanted}: {name} is not for sale with these terms",
                hint=f"it is as {', '.join(sorted(named))}",
            )
        return named[wanted]
    usual = [o for o in sold if o.key.term_years == 1]
    if not usual:
        raise EvidenceError(f"{on_demand}: the price book has no one-year commitment for it")
    return min(usual, key=lambda o: (o.key.payment is not Payment.ALL, o.term_cost))


def _notes(told: JournalRentals, origin: int | None, *, bought: bool) -> Iterator[str]:
    if origin is not None:
        day = datetime.fromtimestamp(origin, UTC).date()
        yield f"the journal's clock starts at 0, read as {day} (--from)"
    if told.pool and not bought:
        yield "a live journal has no commitments: the reserve is charged at on-demand prices (set --commitment)"
    elif told.pool:
        yield "the reserved pool is bought when the journal begins; its upfront payment is billed there"
