"""The sections of a configuration that are about a cloud, checked against the price tables without asking a cloud."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.errors import HcloudError, did_you_mean
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption
from hcloud.model.checks import CheckResult, CheckStatus, found, guarded
from hcloud.model.clouds.known import CLOUDS
from hcloud.planning.changes.slots import CloudRegion
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.configuration.live_sections import FleetSection
from hcloud.units import HOURS_PER_MONTH, counted, format_money
from hcloud.usecases.live.connect import FAKE, LOCAL, plan_named, plan_of, settled_fields
from hcloud.usecases.live.ground import prices_of
from hcloud.usecases.live.launch_template import user_data
from hcloud.usecases.live.places import place_of


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
    wrong: list[str] = []
    if place.provider != LOCAL:
        wrong += _wrong_region(prices_of(loaded, place, today), place)
        wrong += [f"live.zones: {said}" for said in _wrong_zones(place, live.zones)]
    if live.cloud is not None and live.cloud in CLOUDS:
        settled_fields(live.cloud, live.settings, region=place.region, endpoint=live.endpoint or "")
    plan_of(plan_named(live.cloud or ""))
    user_data(loaded)
    at = f" at {live.endpoint}" if live.endpoint else ""
    named = live.cloud or "no cloud given (--cloud)"
    return found("live", f"{named}, {place.provider} {place.region}{at}, state {live.state}", wrong)


def _wrong_region(book: PriceBook, place: CloudRegion) -> Iterator[str]:
    if not any(key.region == place.region for key in book.offers):
        from hcloud.readers.prices.shipped.bundled import load_bundled

        known = sorted({region for _, region in load_bundled(providers={Provider(place.provider)}).places()})
        meant = did_you_mean(place.region, known)
        yield f"live.region: the price book has no prices of {place.region!r}{meant}"


def _wrong_zones(place: CloudRegion, zones: tuple[str, ...]) -> Iterator[str]:
    facts = CLOUDS[place.provider]
    pattern, example = facts.zone.format(region=re.escape(place.region)), facts.zones_of(place.region)[0]
    for zone in zones:
        if not re.fullmatch(pattern, zone):
            yield f"{zone!r} is no zone of {place.region}, for example {example}"


def _fleet(loaded: Loaded, today: date) -> CheckResult:
    fleet, limits = loaded.config.fleet, loaded.config.limits
    place = place_of(loaded, loaded.config.live.cloud or FAKE)
    wrong, odd, hourly = list[str](), list[str](), Decimal(0)
    book = prices_of(loaded, place, today) if place.provider != LOCAL else None
    if book is not None and not any(key.region == place.region for key in book.offers):
        return CheckResult("fleet", CheckStatus.SKIPPED, f"types not checked: no prices for {place.region!r}")
    for number, section in enumerate(fleet):
        where = f"fleet.{number} ({section.address})"
        if [s.address for s in fleet].index(section.address) != number:
            wrong.append(f"{where}: another entry has this address; each needs its own")
        if book is not None:
            wrong += [f"{where}: zones: {said}" for said in _wrong_zones(place, section.zones)]
            wrong += [f"{where}: {why}" for why in _unknown(section, place, book)]
            offer = book.offers.get(_offered(section, place, section.instance_type))
            hourly += Decimal(0) if offer is None else offer.hourly * section.count
            if section.option is PurchaseOption.SPOT and not section.fallbacks:
                odd.append(f"{where}: spot without fallbacks: if it is sold out, nothing runs")
    machines = counted(sum(s.count for s in fleet), "machine")
    if limits.hourly is not None and hourly > limits.hourly:
        odd.append(f"limits.hourly: ${hourly:,.4f}/h is more than ${limits.hourly:,}/h; apply would refuse")
    if limits.monthly is not None and hourly * HOURS_PER_MONTH > limits.monthly:
        monthly = format_money(hourly * HOURS_PER_MONTH)
        odd.append(f"limits.monthly: {monthly}/month is more than ${limits.monthly:,}; apply would refuse")
    places = counted(len(fleet), "address", "addresses")
    return found("fleet", f"{machines} at {places}, ${hourly:,.4f}/h", wrong, odd)


def _unknown(section: FleetSection, place: CloudRegion, book: PriceBook) -> Iterator[str]:
    """Which of an entry's types are not known or have no price."""
    for name in (section.instance_type, *section.fallbacks):
        try:
            book.instance_type(Provider(place.provider), name)
            book.offer(_offered(section, place, name))
        except HcloudError as error:
            yield str(error)


def _offered(section: FleetSection, place: CloudRegion, name: str) -> OfferKey:
    return OfferKey(Provider(place.provider), place.region, name, section.option)
