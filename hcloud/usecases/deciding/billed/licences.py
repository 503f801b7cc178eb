"""Licences that no commitment covers: Google and Azure bill them by use, beside the machines that are committed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

from hcloud.catalog.cover.steps import bought_key
from hcloud.model.catalog import OfferKey
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.planning.billed.kinds import MachineKind
from hcloud.readers.configuration.config import Loaded
from hcloud.units import cents, format_money, rate
from hcloud.usecases.workloads.sources import in_places, open_prices


def as_bought(plan: Plan, loaded: Loaded, today: date) -> Plan:
    """The plan with what is owned and bought at what is paid for it, as clouds quote it: the machines alone."""
    held = [line for line in plan.mix if line.option.is_commitment]
    bought = [line for line in held if CLOUDS[line.provider].has_licence(line.special)]
    counted = [line.key for line in bought if line.licences is None]
    shares = _bare_shares(counted, loaded, today) if counted else {}
    as_sold = {line.address: _at_share(line, shares.get(line.key)) for line in bought}
    return replace(plan, mix=tuple(as_sold.get(line.address, line) for line in plan.mix))


def _bare_shares(keys: Sequence[OfferKey], loaded: Loaded, today: date) -> dict[OfferKey, Decimal]:
    """The part of prices with a licence in them that is paid for a commitment."""
    places, systems = {(key.provider, key.region) for key in keys}, {"linux", *(key.os for key in keys)}
    offers = open_prices(in_places(loaded, places, systems), today)[0].offers
    there = (key for key in keys if key in offers and bought_key(key) in offers)
    return {key: offers[bought_key(key)].effective_hourly / offers[key].effective_hourly for key in there}


def _at_share(line: MixLine, share: Decimal | None) -> MixLine:
    """A purchase at what is paid for it, a share of a price that holds the licence; what is paid by use does not change
    when it is worth its price."""
    part = line.without_licences if share is None else share
    worth = line.break_even and share and rate(share / (1 / line.break_even - 1 + share))
    return replace(
        line,
        hourly=rate(line.hourly * part),
        monthly=cents(line.monthly * part),
        upfront=cents(line.upfront * (share or 1)),
        total=cents(line.total * part),
        break_even=worth or line.break_even,
        licences=None,
    )


def told_of_licences(plan: Plan, kind: MachineKind) -> Iterator[str]:
    """What is paid for commitments whose lines have the licences of what runs on them."""
    if lines := [line for line in plan.purchases if line.licences]:
        bought = sum((line.hourly_held * line.without_licences for line in lines), Decimal(0))
        shown = sum((line.hourly_held for line in lines), Decimal(0))
        yield (
            f"the commitments cost {format_money(bought, 2)}/h. This plan shows {format_money(shown, 2)}/h, with the "
            f"licence of {kind.os} for what runs on them, which {CLOUDS[kind.provider].maker} bills by use beside them"
        )
