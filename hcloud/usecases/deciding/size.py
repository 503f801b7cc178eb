"""``hcloud size``: which servers, how much of each and of which types meet an application's target, and what they
cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

from hcloud.catalog.quote import rental_cost
from hcloud.catalog.shapes import family_of
from hcloud.errors import EvidenceError
from hcloud.model.measured.profile import Estimate
from hcloud.model.target import GoalKind
from hcloud.model.workload import JobKind
from hcloud.planning.fleets.candidates import find_candidates
from hcloud.planning.forecasting.needs import ApplicationNeed, need_of
from hcloud.planning.forecasting.targeted import (
    RUNS,
    ServerShare,
    SizedApp,
    SizedTarget,
    SizingMarket,
    size_free,
    size_rented,
)
from hcloud.readers.applications.app import TOP
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.applications.targets import TargetedApp, load_targeted
from hcloud.readers.bundle import bundled
from hcloud.readers.clouds import load_cloud
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.free_servers import load_free_servers
from hcloud.units import SECONDS_PER_HOUR
from hcloud.usecases.measuring.classify import (
    BUNDLED,
    ObservedValue,
    Solver,
    estimate_of,
    observed_in,
    open_corpus,
    options_of,
)
from hcloud.usecases.measuring.profile_names import profile_file
from hcloud.usecases.workloads.sources import check_regions, open_prices

STUDY_CLOUD = "paper"
"""Whose model says how much pressure slows an application down."""


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """What is asked: the application's file, its profile's folder (None: beside the file, else the bundled ones), the
    corpus, values observed since, and servers that are there (None: types that can be rented)."""

    app: Path
    folder: Path | None = None
    corpus: str = BUNDLED
    observed: tuple[ObservedValue, ...] = ()
    free: Path | None = None


def size_app(request: SizeRequest, loaded: Loaded, at: datetime) -> SizedApp:
    """The answer for one application. Raises InputError for what is wrong with its file, EvidenceError with the
    measurement that is missing."""
    app = load_targeted(request.app, TOP, at)
    servers = None if request.free is None else load_free_servers(request.free)
    if app.target.kind is GoalKind.NONE:
        return SizedApp(app.name, app.target, "", None, None, "")
    folders = (request.app.parent, bundled("profiles")) if request.folder is None else (request.folder,)
    profile = load_profile(profile_file(app.name, *folders))
    profile = observed_in(profile, request.observed, at)
    estimate = estimate_of(profile, open_corpus(request.corpus), options_of(Solver.RIDGE, None))
    need = need_of(profile, estimate)
    market = None
    try:
        if servers is None:
            sized, market = _rented(app, need, loaded, at)
        else:
            section = "service" if profile.kind is JobKind.SERVICE else "batch"
            sized = size_free(app.target, need, servers, load_cloud(STUDY_CLOUD).number(section, "sensitivity"))
    except EvidenceError as error:
        raise EvidenceError(str(error), hint=_with_probe(error.hint, estimate)) from None
    unit = RUNS if need.by_runs else profile.metric.unit
    return SizedApp(app.name, app.target, unit, sized, market, need.because, need.spans, need.node_spans)


def _with_probe(hint: str, estimate: Estimate) -> str:
    """The hint with what classification would have measured next of the same."""
    wanted = [p for p in estimate.probes if f"{p.aspect}." in hint]
    return "; ".join((hint, *(f"classification would measure {p.aspect} {p.column} next: {p.why}" for p in wanted)))


def _rented(app: TargetedApp, need: ApplicationNeed, loaded: Loaded, at: datetime) -> tuple[SizedTarget, SizingMarket]:
    """What it takes of the types of a market; without families named, of those that it is known on."""
    market = loaded.config.settings().markets[0]
    families = {family_of(market.provider, name) for name in need.types}
    market = replace(market, families=market.families or _sold(families, loaded, at.date()))
    book, _ = open_prices(loaded, at.date())
    check_regions(loaded, book)
    found, _ = find_candidates(book, replace(market, regions=market.regions[:1]), SECONDS_PER_HOUR)
    billing = book.billing[market.provider]
    offers = {c.shape.name: c.on_demand for c in found}
    wholes = {c.shape.name: ServerShare(float(c.shape.vcpus), float(c.shape.memory_gib)) for c in found}
    hourly = {name: rental_cost(offer, SECONDS_PER_HOUR, billing) for name, offer in offers.items()}
    sized = size_rented(app.target, need, wholes, {name: float(dollars) for name, dollars in hourly.items()})
    oldest = min(offer.origin.day for offer in offers.values())
    return sized, SizingMarket(f"{market.provider}/{market.regions[0]}", hourly, oldest)


def _sold(families: set[str], loaded: Loaded, today: date) -> tuple[str, ...]:
    """Those of some families that the market's provider sells; none: all that a plan would choose from."""
    book, _ = open_prices(loaded, today)
    provider = loaded.config.settings().markets[0].provider
    return tuple(sorted(families & {shape.family for (by, _), shape in book.types.items() if by == provider}))
