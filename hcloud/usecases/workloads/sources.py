"""Where a verb's workload and prices come from: files, generated scenarios, the bundled tables and the user's book."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.catalog.book import PriceBook, absent
from hcloud.errors import InputError, UsageError
from hcloud.model.catalog import Provider
from hcloud.model.clouds.facts import custom_size
from hcloud.model.workload import Jobs, Workload
from hcloud.readers.configuration.config import Loaded, MarketSection, parse_config
from hcloud.store.buckets.copied import is_in_bucket

if TYPE_CHECKING:
    from hcloud.readers.workloads.options import WorkloadOptions

SHOWN_REGIONS = 8
SCENARIO_PREFIX = "scenario:"
STDIN = Path("-")


def open_workload(loaded: Loaded, progress: Callable[[float], None] | None = None) -> Workload:
    """The workload the configuration names, its jobs fitted to their applications' profiles where it names these;
    ``progress`` hears the share read so far. Raises UsageError where the configuration names none or two."""
    return as_configured(loaded, _read_workload(loaded, progress))


def as_configured(loaded: Loaded, read: Workload) -> Workload:
    """A workload that was read: in the configuration's window, its jobs fitted to the profiles that it names."""
    workload = within(read, loaded.config.workload.window)
    if loaded.config.profiles.folder is not None:
        from hcloud.usecases.workloads.profiled import with_profiles

        workload = with_profiles(loaded, workload)
    if isinstance(workload, Jobs) and workload.target is not None:
        from hcloud.planning.forecasting.target_jobs import check_sized

        check_sized(workload)
    return workload


def within(workload: Workload, window: str | None) -> Workload:
    """The workload in the window that is asked for; UsageError where it has nothing there."""
    if window is None:
        return workload
    from hcloud.planning.forecasting.window import restricted, window_of
    from hcloud.readers.configuration.window import check_clock, parse_window

    asked = parse_window(window)
    check_clock(asked, window_of(workload).first)
    return restricted(workload, asked)


def _read_workload(loaded: Loaded, progress: Callable[[float], None] | None) -> Workload:
    section = loaded.config.workload
    if (section.path is None) == (section.scenario is None):
        raise UsageError(
            "no workload given" if section.path is None else "workload: give path or scenario, not both",
            hint="hcloud plan TRACE.csv, or workload.path in hcloud.yaml, or 'hcloud plan scenario:high-variability'",
        )
    if section.scenario is not None:
        from hcloud.readers.workloads.requiring import part_of
        from hcloud.usecases.workloads.scenarios import scenario_jobs

        parts = (str(section.options.get(key, "")) for key in ("requires", "gib_per_vcpu"))
        return part_of(scenario_jobs(section.scenario, loaded.config.planning.seed), *parts)
    from hcloud.usecases.workloads.bills import is_bill_named

    if is_bill_named(loaded):
        from hcloud.usecases.workloads.billed import demand_in_bill

        return demand_in_bill(loaded, progress)
    from hcloud.usecases.workloads.journals import read_trace

    options = trace_options({k: str(v) for k, v in section.options.items()})
    path = section.path or Path()
    return read_trace(path if path == STDIN else loaded.resolve(path), section.format, options, progress)


def trace_options(keys: Mapping[str, str]) -> WorkloadOptions:
    """How a file that is no bill is read; UsageError for an unknown key, or one of bills."""
    from hcloud.readers.bills.options import is_of_bill
    from hcloud.readers.workloads.options import WorkloadOptions, with_keys

    if of_bills := [key for key in keys if is_of_bill(key)]:
        hint = "'hcloud workload show' and 'hcloud plan' read bills; 'hcloud workload validate' checks other files"
        raise UsageError(f"{of_bills[0]} is a key of bills, and this is read as a workload", hint=hint)
    return with_keys(WorkloadOptions(), keys)


def open_prices(loaded: Loaded, today: date) -> tuple[PriceBook, tuple[str, ...]]:
    """The prices of the configured markets (and of what is owned), and what should be said about them."""
    section, (providers, regions, *_) = loaded.config.prices, _priced_places(loaded)
    book = _with_own(loaded, bundled_prices(loaded), providers, regions)
    if section.overlay is None:
        return book, ()
    from hcloud.catalog.overlay import apply_overlay, idle_rules
    from hcloud.readers.prices.overlay import read_overlay

    rules = read_overlay(loaded.resolve(section.overlay))
    return apply_overlay(book, rules, today), tuple(str(w) for w in idle_rules(book, rules, today))


def in_places(loaded: Loaded, places: Iterable[tuple[Provider, str]], systems: Iterable[str] = ()) -> Loaded:
    """The configuration with the markets of some places alone, for these operating systems where some are named."""
    by_provider: dict[Provider, list[str]] = {}
    for provider, region in places:
        by_provider.setdefault(provider, []).append(region)
    known = {m.provider: m for m in reversed(loaded.config.markets)}
    markets = tuple(
        known.get(p, MarketSection(provider=p)).model_copy(update={"regions": tuple(regions), **system})
        for p, regions in by_provider.items()
        for system in [{"os": name} for name in sorted(systems)] or [{}]
    )
    return loaded.changed(markets=markets)


def bundled_prices(loaded: Loaded) -> PriceBook:
    """The bundled prices of the configured markets and of what is owned."""
    return _shipped(*_priced_places(loaded))


def _priced_places(loaded: Loaded) -> tuple[frozenset[Provider], frozenset[str], frozenset[str], frozenset[str]]:
    """Providers, regions and operating systems of the markets and of what is owned: Linux too, which prices of others
    are derived from; and the custom machines that they name."""
    markets, owned = loaded.config.settings().markets, loaded.config.owned
    return (
        frozenset({m.provider for m in markets} | {o.provider for o in owned}),
        frozenset({r for m in markets for r in m.regions} | {o.region for o in owned}),
        frozenset({"linux", *(m.os for m in markets), *(o.os for o in owned)}),
        frozenset(
            filter(custom_size, [*(name for m in markets for name in m.families), *(o.instance_type for o in owned)])
        ),
    )


@lru_cache(maxsize=8)  # kinds of a bill ask for those of few places in turn
def _shipped(
    providers: frozenset[Provider], regions: frozenset[str], systems: frozenset[str], machines: frozenset[str]
) -> PriceBook:
    from hcloud.readers.prices.shipped.bundled import load_bundled

    return load_bundled(providers=providers, regions=regions, systems=systems, machines=machines)


def check_regions(loaded: Loaded, book: PriceBook) -> None:
    """UsageError for a region without prices, with those that have some and the one that may be meant."""
    markets = loaded.config.settings().markets
    wanted = [(market.provider, region) for market in markets for region in market.regions]
    unpriced = absent(wanted, book.places())
    for market in markets:
        for region in market.regions:
            if (market.provider, region) in unpriced:
                known = sorted({region for _, region in _whole_book(loaded, market.provider).places()})
                close = get_close_matches(region, known, n=1)
                raise UsageError(
                    f"{market.provider}: the price book has no prices for region {region!r}"
                    + (f"; did you mean {close[0]}?" if close else ""),
                    hint=f"it knows {', '.join(known[:SHOWN_REGIONS])}; 'hcloud pricing import' adds more",
                )


@dataclass(frozen=True, slots=True)
class Flags:
    """Command-line flags that override the configuration; None and empty leave it as it is."""

    workload: str | None = None
    format: str | None = None
    options: tuple[str, ...] = ()
    window: str | None = None
    providers: tuple[Provider, ...] = ()
    regions: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    vcpus: int | None = None
    divisible: str | None = None
    horizon: str | None = None
    regret_quantile: float | None = None
    seed: int | None = None
    max_price_age: str | None = None
    operation: Mapping[str, str | float] = field(default_factory=dict)
    profiles: Path | None = None


def with_flags(loaded: Loaded, flags: Flags) -> Loaded:
    """The configuration with the flags on top; raises UsageError where a flag's value is not allowed."""
    document = loaded.config.model_dump(mode="json", exclude_unset=True)
    _workload_flags(document.setdefault("workload", {}), flags)
    wanted = {
        "horizon": flags.horizon,
        "seed": flags.seed,
        "regret_quantile": flags.regret_quantile,
        "divisible": flags.divisible,
    }
    document.setdefault("planning", {}).update({k: v for k, v in wanted.items() if v is not None})
    if flags.profiles is not None:
        document.setdefault("profiles", {})["folder"] = str(flags.profiles.absolute())
    if flags.operation:
        document.setdefault("operation", {}).update(flags.operation)
    if flags.max_price_age is not None:
        document.setdefault("prices", {})["max_age"] = flags.max_price_age
    if "markets" in document or flags.providers or flags.regions or flags.families or flags.vcpus is not None:
        document["markets"] = _markets(loaded, flags)
    try:
        return replace(loaded, config=parse_config(document, "command line"))
    except InputError as error:
        raise UsageError(error.brief, hint=error.hint) from None


def _workload_flags(section: dict[str, object], flags: Flags) -> None:
    if flags.workload is not None:
        section.pop("path", None)
        section.pop("scenario", None)
        if flags.workload.startswith(SCENARIO_PREFIX):
            section["scenario"] = flags.workload.removeprefix(SCENARIO_PREFIX)
        else:
            path = Path(flags.workload)
            as_it_is = path == STDIN or is_in_bucket(flags.workload)
            section["path"] = flags.workload if as_it_is else str(path.absolute())
    if flags.format is not None:
        section["format"] = flags.format
    if flags.window is not None:
        section["window"] = flags.window
    for option in flags.options:
        key, equals, value = option.partition("=")
        if not equals:
            raise UsageError(f"--set {option}: write KEY=VALUE")
        options = section.setdefault("options", {})
        if isinstance(options, dict):
            options[key] = value


def _markets(loaded: Loaded, flags: Flags) -> list[dict[str, object]]:
    """The markets of the named providers (new ones with defaults), narrowed by region, family and size."""
    given = [m.model_dump(mode="json", exclude_unset=True) | {"provider": m.provider} for m in loaded.config.markets]
    if flags.providers:
        named = [[m for m in given if m["provider"] == p] or [{"provider": p}] for p in flags.providers]
        given = [market for markets in named for market in markets]
    size = {} if flags.vcpus is None else {"vcpus": flags.vcpus}
    providers = {Provider(str(m["provider"])) for m in given}
    places = _places(loaded, flags, providers)
    return [{**market, **size, **places[Provider(str(market["provider"]))]} for market in given]


def _places(loaded: Loaded, flags: Flags, providers: Collection[Provider]) -> dict[Provider, dict[str, object]]:
    """The regions and families of the flags by provider: of several providers each takes those it has prices for, and
    one that nobody knows goes to all, to be refused there."""
    regions, families = {p: set(flags.regions) for p in providers}, {p: set(flags.families) for p in providers}
    if len(providers) > 1 and (flags.regions or flags.families):
        books = {p: _whole_book(loaded, p) for p in providers}
        known = {p: {region for _, region in book.places()} for p, book in books.items()}
        series = {p: {n for t in book.types.values() for n in (t.family, t.name)} for p, book in books.items()}
        everywhere = set().union(*known.values())
        regions = {p: {r for r in flags.regions if r in known[p] or r not in everywhere} for p in providers}
        families = {p: {f for f in flags.families if any(fnmatchcase(n, f) for n in series[p])} for p in providers}
        nobodys = {f for f in flags.families if not any(f in mine for mine in families.values())}
        families = {p: mine | nobodys for p, mine in families.items()}
    ordered = {
        p: {"regions": _in(flags.regions, regions[p]), "families": _in(flags.families, families[p])} for p in providers
    }
    return {p: {k: v for k, v in wanted.items() if v} for p, wanted in ordered.items()}


def _in(given: tuple[str, ...], kept: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in given if name in kept)


def _whole_book(loaded: Loaded, provider: Provider) -> PriceBook:
    from hcloud.readers.prices.shipped.bundled import load_bundled

    return _with_own(loaded, load_bundled(providers={provider}), {provider})


def _with_own(
    loaded: Loaded, book: PriceBook, providers: Collection[Provider], regions: Collection[str] | None = None
) -> PriceBook:
    """A book with the user's own prices laid over it, where the configuration wants these."""
    from hcloud.store.prices import Choice, PriceStore

    mine = PriceStore.open().load(Choice(providers, regions)) if loaded.config.prices.book == "user" else None
    return book if mine is None else book.merged(mine)
