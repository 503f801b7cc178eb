"""``hcloud validate``: the configuration and everything it names, every check made whatever the others found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from hcloud.catalog.book import PriceBook
from hcloud.errors import HcloudError, InputError, UsageError
from hcloud.model.catalog import Offer, OfferKey, refresh_command
from hcloud.model.checks import CheckResult, CheckStatus, found, from_error, guarded
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import Jobs, Workload
from hcloud.planning.fleets.allowed_cover import allowed_cover
from hcloud.planning.fleets.candidates import find_candidates
from hcloud.planning.fleets.gpu_jobs import GpuRules, for_markets
from hcloud.planning.settings import Market
from hcloud.readers.configuration.config import Loaded, load_config
from hcloud.readers.typed import typed
from hcloud.units import counted, format_age, format_duration, format_span
from hcloud.usecases.tools.validate_live import live_checks
from hcloud.usecases.workloads.sources import open_prices, open_workload

DAY = 86_400
LATER = ("workload", "prices", "overlay", "profiles", "operation")
SHOWN = 10

Progress = Callable[[float], None]


def validate(file: Path | None, now: datetime, progress: Progress | None = None) -> tuple[CheckResult, ...]:
    """Check a configuration, the workload, prices and overlay it names; raises UsageError where there is none."""
    try:
        loaded = load_config(file)
    except (InputError, OSError, UnicodeDecodeError) as error:
        skipped = (CheckResult(name, CheckStatus.SKIPPED, "the configuration cannot be read") for name in LATER)
        return (from_error("configuration", error), *skipped)
    if not loaded.files:
        raise UsageError("there is no hcloud.yaml here", hint="write one with 'hcloud init', or name a file")
    read: list[Workload] = []
    workload = guarded("workload", lambda: _workload(loaded, read, progress))
    live = live_checks(loaded, now.date())
    later = (guarded("profiles", lambda: _profiles(loaded)), guarded("operation", lambda: _operation(loaded, now)))
    return (_configuration(loaded), workload, *_prices(loaded, read, now), *live, *later)


def _configuration(loaded: Loaded) -> CheckResult:
    given = loaded.config.model_dump(exclude_unset=True)
    keys = sum(len(v) if isinstance(v, dict) else 1 for v in given.values())
    return CheckResult(
        "configuration", CheckStatus.OK, f"{', '.join(map(str, loaded.files))}: {counted(keys, 'key')} set, all known"
    )


def _workload(loaded: Loaded, read: list[Workload], progress: Progress | None) -> CheckResult:
    section = loaded.config.workload
    if section.path is None and section.scenario is None:
        return CheckResult("workload", CheckStatus.SKIPPED, "none configured", hint="set workload.path, or pass a file")
    with typed(keys="configuration"):
        workload = open_workload(loaded, progress)
    read.append(workload)
    origin = workload.provenance
    details = [f"{counted(count, 'row')} repaired: {why}" for why, count in sorted(origin.repaired.items())]
    details += [f"{counted(count, 'row')} left out: {why}" for why, count in sorted(origin.left_out.items())]
    status = CheckStatus.WARNING if details else CheckStatus.OK
    details += [f"modelled: {m.column}, {m.rule} (workload.options.{m.key})" for m in origin.modelled]
    message = f"{origin.name}: {counted(origin.rows, 'row')} of {origin.format}, {_extent(workload)}"
    return CheckResult("workload", status, message, tuple(details))


def _extent(workload: Workload) -> str:
    if isinstance(workload, Jobs):
        span = float(workload.ends.max() - workload.begins.min())
        return f"{counted(len(workload), 'job')} over {format_span(span)}"
    step = format_duration(workload.step_seconds)
    return f"{counted(len(workload), 'step')} of {step}, {float(workload.cores.mean()):,.0f} vCPU on average"


def _prices(loaded: Loaded, workloads: Sequence[Workload], now: datetime) -> Iterator[CheckResult]:
    """A check of each market, of GPUs that jobs ask for, of what is owned and of the overlay; the book is read once
    without the overlay."""
    plain = loaded.changed(prices={"overlay": None})
    books: list[PriceBook] = []

    def read() -> CheckResult:
        book = open_prices(plain, now.date())[0]
        books.append(book)
        quarantined = [f"quarantined: {q.row}: {q.reason}" for q in book.quarantine]
        shown = (*quarantined[:SHOWN], *([f"... and {len(quarantined) - SHOWN} more"] if quarantined[SHOWN:] else []))
        offers = f"{counted(len(book.offers), 'offer')} of the book {loaded.config.prices.book}"
        return found("prices", f"{offers}, {len(quarantined)} quarantined", odd=shown)

    yield guarded("prices", read)
    for book in books:
        markets = loaded.config.settings().markets
        for workload in workloads:
            try:
                markets = for_markets(workload, book, markets, GpuRules(loaded.config.planning.divisible))[1]
            except HcloudError as error:
                yield from_error("gpus", error)
        for market in markets:
            yield guarded("market", lambda m=market, b=book: _market(m, b, loaded, now))  # type: ignore[misc]
        if loaded.config.owned:
            yield _owned(loaded, book, now)
    yield guarded("overlay", lambda: _overlay(loaded, now))


def _operation(loaded: Loaded, now: datetime) -> CheckResult:
    """Whether the strategies and the cloud that are named are there, and can be read."""
    from hcloud.readers.clouds import load_cloud
    from hcloud.usecases.deciding.operate import AUTO
    from hcloud.usecases.studies.simulate import strategies_named

    section = loaded.config.operation
    named = section.strategy not in (None, AUTO)
    strategies = strategies_named([str(section.strategy)]) if named else ()
    names = [s.name for s in strategies]
    cloud = load_cloud(section.cloud).name if section.cloud else "the market's own"
    if section.strategy is None:
        return CheckResult("operation", CheckStatus.OK, "no strategy configured: 'hcloud plan' does not simulate")
    growing = _backlogs(loaded, strategies, now)
    return found("operation", f"{', '.join(names) or 'every strategy'} in the cloud {cloud}", odd=growing)


def _backlogs(loaded: Loaded, strategies: Sequence[Strategy], now: datetime) -> tuple[str, ...]:
    """What is said of backlogs that must grow; nothing without jobs, which another check tells of."""
    from hcloud.usecases.studies.simulation import SimulationRequest, open_study
    from hcloud.usecases.tools.backlog import backlogs

    section = loaded.config.workload
    if not strategies or (section.path is None and section.scenario is None):
        return ()
    try:
        study = open_study(loaded, SimulationRequest(loaded.config.operation.cloud), now.date())
    except (HcloudError, OSError):
        return ()
    return tuple(said for strategy in strategies for said in backlogs(study, strategy))


def _profiles(loaded: Loaded) -> CheckResult:
    from hcloud.readers.applications.profiles import load_corpus

    folder = loaded.config.profiles.folder
    if folder is None:
        return CheckResult("profiles", CheckStatus.OK, "none configured: jobs get the size they request")
    return CheckResult(
        "profiles", CheckStatus.OK, f"{folder}: {counted(len(load_corpus(loaded.resolve(folder))), 'profile')}"
    )


def _market(market: Market, book: PriceBook, loaded: Loaded, now: datetime) -> CheckResult:
    candidates, _ = find_candidates(
        book, market, loaded.config.settings().outlook.horizon_hours
    )  # with vcpus "auto" it checks the names only
    where = f"{market.provider} {', '.join(market.regions)}"
    if market.vcpus and not candidates:
        raise UsageError(
            f"{where}: no instance type of {market.vcpus} vCPUs is allowed",
            hint="loosen vcpus, families or architectures of this market",
        )
    offers = list(_allowed_offers(market, book))
    if not offers:
        raise UsageError(f"{where}: the price book has no offer that this market allows")
    days = [(now.date() - o.origin.day).days for o in offers]
    oldest = min(offers, key=lambda o: o.origin.day).key
    refresh = f"'{refresh_command(oldest.provider, oldest.region)}' {_OR_IMPORT}"
    limit, warn = loaded.config.prices.max_age, loaded.config.prices.warn_age
    message = (
        f"{where}: {counted(len(offers), 'offer')}, the newest price {format_age(min(days))}, the oldest {max(days):,}"
    )
    if limit is not None and min(days) * DAY > limit:
        return CheckResult(
            "market", CheckStatus.ERROR, message, hint=f"all are older than prices.max_age allows: {refresh}"
        )
    ages = [("warn_age", warn)] + ([("max_age", limit)] if limit is not None else [])
    older = [(key, age, sum(d * DAY > age for d in days)) for key, age in ages]
    details = tuple(f"{n:,} of them older than {format_duration(a)} (prices.{k})" for k, a, n in older if n)
    return found("market", message, odd=details, hint=refresh)


_OR_IMPORT = "or 'hcloud pricing import' brings newer prices"


def _allowed_offers(market: Market, book: PriceBook) -> Iterable[Offer]:
    for key, offer in book.offers.items():
        if (key.provider, key.os, key.tenancy) != (market.provider, market.os, market.tenancy):
            continue
        shape = book.types.get((key.provider, key.instance_type))
        if key.region not in market.regions or shape is None or shape.arch not in market.architectures:
            continue
        fits = not market.vcpus or shape.vcpus == market.vcpus
        if market.names(shape) and fits and _buyable(key, market):
            yield offer


def _buyable(key: OfferKey, market: Market) -> bool:
    if not key.option.is_commitment:
        return True
    wanted = not market.options or key.option in market.options
    return wanted and key.term_years in market.terms and key.payment in market.payments


def _owned(loaded: Loaded, book: PriceBook, now: datetime) -> CheckResult:
    problems, expired, elsewhere = [], 0, []
    for index, section in enumerate(loaded.config.owned):
        where = f"owned.{index}"
        if (section.count is None) == (section.dollars_per_hour is None):
            problems.append(f"{where}: give either count or dollars_per_hour")
        try:
            why = allowed_cover(section.key, book, loaded.config.settings()).elsewhere
            elsewhere += [f"{where}: {section.key} covers nothing: {why}"] if why else []
        except HcloudError as error:
            problems.append(f"{where}: {error}")
        expired += section.expires <= now.date()
    message = f"{counted(len(loaded.config.owned), 'commitment')}, {expired} expired"
    if problems:
        return CheckResult("owned", CheckStatus.ERROR, message, tuple(problems))
    status = CheckStatus.WARNING if expired or elsewhere else CheckStatus.OK
    return CheckResult("owned", status, message, tuple(elsewhere))


def _overlay(loaded: Loaded, now: datetime) -> CheckResult:
    path = loaded.config.prices.overlay
    if path is None:
        return CheckResult("overlay", CheckStatus.OK, "none configured")
    from hcloud.readers.prices.overlay import read_overlay

    rules = read_overlay(loaded.resolve(path))
    idle = open_prices(loaded, now.date())[1]
    return found("overlay", f"{path}: {counted(len(rules), 'rule')}", odd=idle)
