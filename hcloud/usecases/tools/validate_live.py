"""The sections of a configuration that are about a cloud, checked against the price tables without asking a cloud."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.errors import HcloudError, did_you_mean
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption
from hcloud.model.checks import CheckResult, CheckStatus, guarded
from hcloud.model.clouds.known import CLOUDS
from hcloud.planning.changes.slots import CloudRegion
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.configuration.live_sections import FleetSection
from hcloud.units import HOURS_PER_MONTH, counted, format_money
from hcloud.usecases.live.connect import FAKE, LOCAL, plan_named, plan_of, settled_fields
from hcloud.usecases.live.ground import place_of, prices_of
from hcloud.usecases.live.launch_template import user_data


@dataclass(slots=True)
class LiveProblems:
    """What is wrong, and what is odd."""

    problems: list[str]
    oddities: list[str]


def live_checks(loaded: Loaded, today: date) -> Iterator[CheckResult]:
    """A check of section live and one of section fleet at the prices of a day, where the configuration has them."""
    config = loaded.config
    if config.live.cloud is None and not config.fleet:
        return
    yield guarded("live", lambda: _live(loaded, today))
    if config.fleet:
        yield guarded("fleet", lambda: _fleet(loaded, today))


def _live(loaded: Loaded, today: date) -> CheckResult:
    live = loaded.config.live
    place = place_of(loaded, live.cloud or FAKE)
    judged = LiveProblems([], [])
    if place.provider != LOCAL:
        _region(prices_of(loaded, place, today), place, judged)
        judged.problems += [f"live.zones: {said}" for said in _wrong_zones(place, live.zones)]
    if live.cloud is not None and live.cloud in CLOUDS:
        settled_fields(live.cloud, live.settings, region=place.region, endpoint=live.endpoint or "")
    plan_of(plan_named(live.cloud or ""))
    user_data(loaded)
    at = f" at {live.endpoint}" if live.endpoint else ""
    return _judged(
        "live",
        f"{live.cloud or 'no cloud given (--cloud)'}, {place.provider} {place.region}{at}, state {live.state}",
        judged,
    )


def _region(book: PriceBook, place: CloudRegion, judged: LiveProblems) -> None:
    if not any(key.region == place.region for key in book.offers):
        from hcloud.readers.prices.shipped.bundled import load_bundled

        known = sorted({region for _, region in load_bundled(providers={Provider(place.provider)}).places()})
        meant = did_you_mean(place.region, known)
        judged.problems.append(f"live.region: the price book has no prices of {place.region!r}{meant}")


def _wrong_zones(place: CloudRegion, zones: tuple[str, ...]) -> Iterator[str]:
    facts = CLOUDS[place.provider]
    pattern, example = facts.zone.format(region=re.escape(place.region)), facts.zones_of(place.region)[0]
    for zone in zones:
        if not re.fullmatch(pattern, zone):
            yield f"{zone!r} is no zone of {place.region}, for example {example}"


def _fleet(loaded: Loaded, today: date) -> CheckResult:
    fleet, limits = loaded.config.fleet, loaded.config.limits
    place = place_of(loaded, loaded.config.live.cloud or FAKE)
    judged = LiveProblems([], [])
    hourly = Decimal(0)
    book = prices_of(loaded, place, today) if place.provider != LOCAL else None
    if book is not None and not any(key.region == place.region for key in book.offers):
        return CheckResult("fleet", CheckStatus.SKIPPED, f"types not checked: no prices for {place.region!r}")
    for number, section in enumerate(fleet):
        where = f"fleet.{number} ({section.address})"
        if [s.address for s in fleet].index(section.address) != number:
            judged.problems.append(f"{where}: another entry has this address; each needs its own")
        if book is not None:
            judged.problems += [f"{where}: zones: {said}" for said in _wrong_zones(place, section.zones)]
            hourly += _priced(section, place, book, judged, where)
    machines = counted(sum(s.count for s in fleet), "machine")
    if limits.hourly is not None and hourly > limits.hourly:
        judged.oddities.append(f"limits.hourly: ${hourly:,.4f}/h is more than ${limits.hourly:,}/h; apply would refuse")
    if limits.monthly is not None and hourly * HOURS_PER_MONTH > limits.monthly:
        monthly = format_money(hourly * HOURS_PER_MONTH)
        judged.oddities.append(f"limits.monthly: {monthly}/month is more than ${limits.monthly:,}; apply would refuse")
    return _judged("fleet", f"{machines} at {counted(len(fleet), 'address', 'addresses')}, ${hourly:,.4f}/h", judged)


def _priced(section: FleetSection, place: CloudRegion, book: PriceBook, judged: LiveProblems, where: str) -> Decimal:
    """Dollars an hour of an entry; what of its types is not known or has no price goes to the problems."""
    provider, region = Provider(place.provider), place.region
    for name in (section.instance_type, *section.fallbacks):
        try:
            book.instance_type(provider, name)
            book.offer(OfferKey(provider, region, name, section.option))
        except HcloudError as error:
            judged.problems.append(f"{where}: {error}")
    offer = book.offers.get(OfferKey(provider, region, section.instance_type, section.option))
    if section.option is PurchaseOption.SPOT and not section.fallbacks:
        judged.oddities.append(f"{where}: spot without fallbacks: if it is sold out, nothing runs")
    return Decimal(0) if offer is None else offer.hourly * section.count


def _judged(name: str, message: str, judged: LiveProblems) -> CheckResult:
    if judged.problems:
        return CheckResult(name, CheckStatus.ERROR, message, tuple(judged.problems + judged.oddities))
    return CheckResult(
        name, CheckStatus.WARNING if judged.oddities else CheckStatus.OK, message, tuple(judged.oddities)
    )
