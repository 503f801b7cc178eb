"""``hcloud.read``, ``plan``, ``simulate`` and ``report``: the verbs as functions, for notebooks and scripts.

Keywords are the verbs' flags, and mean the same. Nothing is printed; what a verb refuses is an exception of
:mod:`hcloud.errors`, in the same words. Every function works in a thread, and as often as it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from hcloud.errors import UsageError, did_you_mean
from hcloud.notebook.inputs import (
    SEED,
    Columns,
    Names,
    Options,
    ReadAs,
    Reading,
    check_value,
    configured,
    flags_of,
    folder,
    in_background,
    known,
    names,
    read_any,
    time_of,
    whole,
)
from hcloud.notebook.results import BillPlanResult, BillResult, DemandResult, PlanResult, ReportResult, SimulationResult
from hcloud.readers.configuration.config import load_config
from hcloud.usecases.asked import provider_named, refuse_beside_bill, refuse_unsimulated
from hcloud.usecases.workloads.bills import KIND, is_bill_named
from hcloud.usecases.workloads.sources import as_configured, with_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hcloud.notebook.inputs import Demand, Frame
    from hcloud.usecases.progress import Progress

P = ParamSpec("P")
R = TypeVar("R")
KINDS = ("cost", "savings", "commitments")


def _checked(verb: Callable[P, R]) -> Callable[P, R]:
    """The function with UsageError for a keyword that it has not, with the one that may be meant (some flags may be
    repeated with one verb only), and for a value of another kind than it says."""
    known = signature(verb).parameters

    @wraps(verb)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        for name, value in keywords.items():
            if name not in known:
                raise UsageError(f"hcloud.{verb.__name__} has no keyword {name!r}{did_you_mean(name, known)}")
            check_value(name, value, known[name].annotation)
        return verb(*args, **keywords)

    return called


@_checked
def read(
    demand: Frame | str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Columns = None,
    options: Options = None,
    decimal: str | None = None,
    window: str | None = None,
    seed: int = SEED,
    now: str | datetime | None = None,
) -> DemandResult | BillResult:
    """Read what ran: any file or bill that ``hcloud workload show`` reads, ``scenario:NAME``, or a DataFrame.

    A DataFrame of jobs has the columns ``submit`` (a time, or seconds), ``duration`` (seconds, or a timedelta) or
    ``end``, and optionally ``cores`` (vCPUs), ``memory`` (GiB), ``kind``, ``app`` and more;
    ``columns={"submit": "start_time", "cores": "vcpus"}`` says what it calls them. One with a DatetimeIndex is a series
    of vCPUs in use, of several machines a column each, or of what ``options={"series_value": "percent"}`` says.

    Raises InputError with row and column of all that is wrong, UsageError for unknown formats, keys or columns.

    >>> hcloud.read("trace.csv", window="14d")
    >>> hcloud.read(frame, columns={"submit": "start_time", "duration": "run_time", "cores": "vcpus"})
    """
    return read_any(demand, Reading(format, columns, options, decimal), ReadAs(window, seed, time_of(now)))


@_checked
def plan(
    demand: Demand | None = None,
    *,
    config: str | Path | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Columns = None,
    options: Options = None,
    decimal: str | None = None,
    window: str | None = None,
    providers: Names = None,
    regions: Names = None,
    families: Names = None,
    vcpus: int | None = None,
    divisible: Literal["all", "services", "none"] | None = None,
    horizon: str | None = None,
    regret_quantile: float | None = None,
    seed: int | None = None,
    profiles: str | Path | None = None,
    strategy: str | None = None,
    qos: float | None = None,
    budget: float | None = None,
    seeds: int | None = None,
    cloud_model: str | None = None,
    util: str | Path | None = None,
    servers: str | Path | None = None,
    harvest_set: Options = None,
    harvest_policy: str | Path | None = None,
    max_price_age: str | None = None,
    now: str | datetime | None = None,
) -> PlanResult | BillPlanResult:
    """How much to reserve, where and for which term, and what stays on demand: ``hcloud plan``, of no running cloud.

    ``demand`` is what :func:`read` takes or returns, else what hcloud.yaml (or ``config``) names. ``horizon`` is a time
    span such as ``"3y"``, ``window`` one such as ``"14d"`` or ``START..END``; ``budget`` is dollars a month, ``qos``
    the share of jobs to keep 95% of their performance, ``strategy`` a name, or ``"auto"`` to simulate all.

    ``util`` is a history of use, of the services of the demand: batch runs in what they leave idle of the reserve.

    Of a bill it is a plan for each kind of machine in it, and of ``options={"kind": NAME}`` that of one.

    Raises InputError for unusable data, UsageError for impossible settings, EvidenceError where a price is missing.

    >>> hcloud.plan("trace.csv", providers="aws", regions=["us-east-1"], horizon="3y")
    """
    from hcloud.usecases.deciding.billed.basis import basis_of
    from hcloud.usecases.deciding.billed.plan import plan_bill, plan_of
    from hcloud.usecases.deciding.make import make_plan
    from hcloud.usecases.deciding.plan import Beside, plan_for
    from hcloud.usecases.harvesting.asked import HarvestAsked
    from hcloud.usecases.workloads.billed import by_kinds

    asked = {"strategy": strategy, "qos": qos, "budget": budget, "seeds": seeds, "cloud": cloud_model}
    operation = {key: value for key, value in asked.items() if value is not None}
    how = Reading(format, columns, options, decimal)
    found = known(demand, how)
    flags = replace(
        flags_of(found, how),
        window=window,
        providers=tuple(map(provider_named, names(providers))),
        regions=names(regions),
        families=names(families),
        vcpus=vcpus,
        divisible=divisible,
        horizon=horizon,
        regret_quantile=regret_quantile,
        seed=seed,
        max_price_age=max_price_age,
        operation=operation,
        profiles=folder(profiles),
    )
    loaded, at = with_flags(configured(found, config), flags), time_of(now)
    use = None if util is None else str(util)
    idle = HarvestAsked(use, folder(servers), _words_of(harvest_set), folder(harvest_policy))
    idle.refuse(strategy=loaded.config.operation.strategy)
    if is_bill_named(loaded) and KIND not in loaded.config.workload.options:
        refuse_beside_bill({**operation, "util": util})
        if isinstance(found, BillResult):
            basis = basis_of(by_kinds(found.figures.bill, loaded), loaded, at)
            return BillPlanResult(in_background(lambda progress: plan_of(basis, at, progress)))
        return BillPlanResult(in_background(lambda progress: plan_bill(loaded, at, progress)))
    refuse_unsimulated(loaded.config.operation.strategy, operation)

    def work(progress: Progress) -> PlanResult:
        if isinstance(found, DemandResult):
            made = plan_for(as_configured(loaded, found.whole), loaded, at, progress, Beside(idle=idle.idle))
            return PlanResult(made.plan, loaded, found)
        return PlanResult(make_plan(loaded, at, progress, idle.idle).plan, loaded)

    return in_background(work)


@_checked
def simulate(
    demand: Demand | PlanResult | None = None,
    strategies: Names = None,
    *,
    placement: Names = None,
    sizing: Names = None,
    admission: Names = None,
    watching: Names = None,
    seeds: int = 1,
    config: str | Path | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Columns = None,
    options: Options = None,
    decimal: str | None = None,
    window: str | None = None,
    provider: str | None = None,
    region: str | None = None,
    families: Names = None,
    vcpus: int | None = None,
    divisible: Literal["all", "services", "none"] | None = None,
    cloud_model: str | None = None,
    pool: int | None = None,
    price_ratio: float | None = None,
    unprofiled: bool = False,
    drop_unplaceable: bool = False,
    audit: bool = False,
    interference: bool = True,
    size_for: float | None = None,
    profiles: str | Path | None = None,
    load: float | Sequence[float] | None = None,
    harvest: str | None = None,
    util: str | Path | None = None,
    servers: str | Path | None = None,
    harvest_set: Options = None,
    seed: int | None = None,
    now: str | datetime | None = None,
) -> SimulationResult:
    """What each strategy would have cost and done: ``hcloud simulate``, and over several ``seeds`` ``hcloud compare``.

    ``demand`` as in :func:`plan`; or a plan, or its file, to simulate its own fleet. ``strategies`` are SR, OdF, OdM,
    HF, HM, HC or files, else the first five (of a plan its own, on a scenario's own cluster SR); ``pool`` is a number
    of reserved servers, ``vcpus`` the size of one, ``price_ratio`` on-demand over reserved price, ``load`` the vCPUs
    needed over those of a scenario's own cluster. ``placement`` names what chooses a server of a pool, several for one
    after the other, ``sizing`` how much jobs are given, ``admission`` how they wait, ``watching`` how they are watched
    while they run, likewise; ``audit`` ranks what each took, ``size_for=0.95`` finds the reserve that keeps so many
    jobs, and without ``interference`` no job slows another down. With ``harvest="on,off"`` batch runs in the idle hours
    of the reserve, too, as far as ``util``, the use of services on ``servers``, leaves any.

    Raises InputError and UsageError as :func:`plan` does, EvidenceError for a job that fits no instance type.

    >>> hcloud.simulate("trace.csv", ["HM", "SR"], provider="aws").to_frame("float")
    """
    from hcloud.notebook.inputs import FleetRequest, names_plan, open_fleet
    from hcloud.usecases.harvesting.compared import compare_with_idle_hours, idle_hours_asked
    from hcloud.usecases.studies.clusters import checked_loads, refuse_beside_a_cluster
    from hcloud.usecases.studies.journal import as_the_journal_says
    from hcloud.usecases.studies.simulate import CompareRequest, compare_and_size, compare_at_loads, strategies_named
    from hcloud.usecases.studies.simulation import (
        SimulationRequest,
        clustered,
        open_study,
        study_of,
        usual_strategies,
        without_interference,
    )

    at, how, chosen = time_of(now), Reading(format, columns, options, decimal), names(strategies)
    placed = names(placement), names(sizing), names(admission), names(watching)
    seeds, pool = whole("seeds", seeds, 1), None if pool is None else whole("pool", pool, 0)
    loads = () if load is None else checked_loads([load] if isinstance(load, int | float) else load)
    beside = {
        "format": format, "columns": columns, "options": options, "decimal": decimal, "provider": provider,
        "region": region,
        "families": families, "vcpus": vcpus, "profiles": profiles, "window": window, "price_ratio": price_ratio,
        "pool": pool, "divisible": divisible,
    }  # fmt: skip
    idle = None
    if not (harvest is None and util is None and servers is None and harvest_set is None):
        planned, use = isinstance(demand, PlanResult) or names_plan(demand), None if util is None else str(util)
        idle = idle_hours_asked(harvest, use, folder(servers), _words_of(harvest_set), planned=planned)
    if isinstance(demand, PlanResult) or names_plan(demand):
        request = FleetRequest(config, cloud_model, seed, not unprofiled, {**beside, "load": loads})
        own = open_fleet(demand, request, at)
        rules, felt = strategies_named(chosen or [own.fleet.strategy], *placed), own.study
        fleet = replace(felt if interference else without_interference(felt), audit=audit)
        asked_for = CompareRequest(seeds, own.fleet.servers, (), size_for)
        return in_background(lambda progress: SimulationResult(compare_and_size(fleet, rules, asked_for, progress), at))
    found = known(demand, how)
    flags = replace(
        flags_of(found, how),
        window=window,
        providers=() if provider is None else (provider_named(provider),),
        regions=names(region),
        families=names(families),
        vcpus=vcpus,
        divisible=divisible,
        seed=seed,
        profiles=folder(profiles),
    )
    market = as_the_journal_says(configured(found, config), flags, cloud_model, sized=pool is None)
    loaded, first = market.loaded, loads[0] if loads else None
    asked = SimulationRequest(
        cloud_model, price_ratio, not unprofiled, drop_unplaceable, first, interference, market.servers_of
    )
    if (scenario := clustered(loaded)) is not None:
        refuse_beside_a_cluster(scenario, [*beside.items()])
    compared = strategies_named(chosen or usual_strategies(loaded), *placed)

    def work(progress: Progress) -> SimulationResult:
        if isinstance(found, DemandResult):
            study = study_of(as_configured(loaded, found.whole), loaded, asked, at.date())
        else:
            study = open_study(loaded, asked, at.date())
        study = replace(study, audit=audit, notes=(*study.notes, *market.notes))
        wanted = CompareRequest(seeds, pool, loads, size_for)
        compares = compare_at_loads if idle is None else partial(compare_with_idle_hours, idle=idle)
        return SimulationResult(compare_and_size(study, compared, wanted, progress, compares), at)

    return in_background(work)


@_checked
def report(
    source: PlanResult | str | Path | None = None,
    kind: Literal["cost", "savings", "commitments"] = "cost",
    *,
    by: Names = None,
    month: str | None = None,
    start: str | None = None,
    end: str | None = None,
    team_tag: str | None = None,
    config: str | Path | None = None,
    cloud: str | None = None,
    state: str | None = None,
    provider: str | None = None,
    region: str | None = None,
    commitment: str | None = None,
    now: str | datetime | None = None,
) -> ReportResult:
    """What a plan will cost, what a journal or running machines have cost, or what commitments did: ``hcloud report``.

    ``source`` is a plan, its file or a journal, else what runs in ``cloud`` is reported, which only reads there. ``by``
    groups costs by app, team, type, option or day; ``month`` is ``"2026-11"``, ``start`` a first day and ``end`` an end
    date, exclusive (``--from`` and ``--to``). Amounts are dollars of the period.

    Raises InputError for a file that is neither, UsageError for what cannot be asked of it, EvidenceError where a price
    is missing, CloudError and its kinds for what a cloud answers.

    >>> hcloud.report(hcloud.plan("trace.csv"), by=["type", "option"]).to_frame()
    """
    from hcloud.planning.reports.report import Dimension
    from hcloud.usecases.reports.opened import ReportSelection, report_on
    from hcloud.usecases.reports.report import ReportRequest
    from hcloud.usecases.reports.span import span_of_flags

    if kind not in KINDS:
        raise UsageError(f"kind={kind!r}: must be one of {', '.join(KINDS)}{did_you_mean(kind, KINDS)}")
    known_by = [str(one) for one in Dimension]
    if wrong := [one for one in names(by) if one not in known_by]:
        raise UsageError(f"by={wrong[0]!r}: must be of {', '.join(known_by)}{did_you_mean(wrong[0], known_by)}")
    if by is not None and kind != "cost":
        raise UsageError(f"by is about kind='cost'; {kind} are not grouped")
    loaded, at = load_config(folder(config)), time_of(now)
    asked = ReportRequest(loaded, at, span_of_flags((month, start, end)), team_tag or loaded.config.report.team_tag)
    where = ReportSelection(cloud, state, provider, region, commitment)
    what = source.plan if isinstance(source, PlanResult) else folder(source)
    found = in_background(lambda progress: report_on(what, asked, where))
    return ReportResult(found, kind, [Dimension(one) for one in dict.fromkeys(names(by) or ("app", "option"))], at)


def _words_of(keys: Options) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in (keys or {}).items())
