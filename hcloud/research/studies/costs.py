"""Studies of dollars: with and without information, price ratio, duration, pricing models, our demand curve."""

from __future__ import annotations

from typing import get_args

from hcloud.research.studies import figures as fig
from hcloud.research.studies import report
from hcloud.research.studies.bench import HIGH, HYBRIDS, LOW, SCENARIOS, STATIC, STRATEGIES, Case, StudyBench
from hcloud.research.studies.report import (
    Claim,
    Picture,
    PictureMark,
    StudyReport,
    StudyTable,
    WrittenInterval,
    written,
)
from hcloud.sim.outcomes.measure import exact
from hcloud.sim.outcomes.pricing_models import bill
from hcloud.sim.setup.shop import ALWAYS_ON, SUSTAINED, PricingModel

RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 2.74, 3.0, 4.0)
WEEKS = (1, 2, 4, 8, 13, 20, 26, 34, 42, 52, 53, 60, 78, 104, 105)
TOLD_WEEKS = (1, 4, 13, 26, 52, 53, 104)
MODELS: tuple[PricingModel, ...] = get_args(PricingModel)
RESERVED_TOP = 4.0


def cost(bench: StudyBench) -> StudyReport:
    """Fig 8.21 and the readings of a cost per hour."""
    tables, marks = [], []
    readings = {"$ an hour of work": fig.per_hour, "$ an hour of own makespan": fig.per_own_hour}
    for profiled in (True, False):
        told = "with information" if profiled else "without information"
        for scenario in SCENARIOS:
            cases = {name: Case(scenario, name, profiled=profiled) for name in STRATEGIES}
            tables.append(fig.table(bench, f"{scenario}, {told}", cases, readings))
            for at, (name, case) in enumerate(cases.items()):
                made = bench.interval(case, fig.per_hour)
                marks.append(PictureMark(f"{scenario}, {told}", name, at, (made.mean, made.low, made.high)))
    over = {
        n: WrittenInterval.of(
            report.ratio(*(bench.values(Case(HIGH, n, profiled=p), fig.per_hour) for p in (False, True)))
        )
        for n in STRATEGIES
    }
    claims = (report.silent(("Fig 8.21", "cost without over with information, high variability"), report.listed(over)),)
    about = (
        "Reserve amortised over its year at a ratio of on-demand to reserved of 2.74. Per hour of work is what the "
        "jobs would have taken without waiting; per hour of the strategy's own makespan rewards slowness."
    )
    picture = Picture("cost", "Cost of the strategies", "bars", "", "$ an hour of work", tuple(marks))
    return StudyReport("cost", "Cost with and without information (Fig 8.21)", about, tuple(tables), claims, (picture,))


def priced(bench: StudyBench, case: Case, ratio: float) -> list[float]:
    """Dollars an hour of work with another price of the reserve."""
    pool = bench.pool(case)
    return [float(bill(run.measures.cost, bench.shop, pool, ratio).per_ideal_hour) for run in bench.runs(case)]


def price_ratio(bench: StudyBench) -> StudyReport:
    """Study 1 (Fig 8.12): which strategy is cheapest at which ratio of on-demand over reserved price."""
    marks, tables = [], []
    for scenario in SCENARIOS:
        of = {(r, n): WrittenInterval.of(priced(bench, Case(scenario, n), r)) for r in RATIOS for n in STRATEGIES}
        marks += [PictureMark(scenario, n, r, (i.mean, i.low, i.high)) for (r, n), i in of.items()]
        rows = [_ratio_row(r, {n: of[r, n] for n in STRATEGIES}) for r in RATIOS]
        tables.append(StudyTable(f"{scenario}: $ an hour of work", ("ratio", *STRATEGIES, "cheapest"), tuple(rows)))
    ends = {s: _crossings(bench, s) for s in SCENARIOS}
    changes = tuple((s, *(str(WrittenInterval.of(v)) for v in ends[s])) for s in SCENARIOS)
    headings = ("", "a hybrid is cheapest from", "SR is cheapest from")
    tables.insert(0, StudyTable("ratios at which the cheapest strategy changes", headings, changes))
    about = (
        "The price of the reserve is scaled, runs stay as they are. Both ends are solved for seed by seed. At the "
        "study's own ratio of 2.74, amortised over a fully used year, the reserve of SR for high variability (1,226 "
        "vCPUs and 15 %) costs as much as 515 vCPUs on demand: by arithmetic less than renting the mean demand of 601, "
        "and only a tenth more than a hybrid that filled its 224 reserved vCPUs and rented exactly the rest."
    )
    picture = Picture("price-ratio", "Cost over the price ratio", "lines", "on-demand over reserved price",
                      "$ an hour of work", tuple(marks), "xy")  # fmt: skip
    claims = tuple(_ratio_claims(ends))
    return StudyReport("price-ratio", "1. Price ratio (Fig 8.12)", about, tuple(tables), claims, (picture,))


def _ratio_row(ratio: float, of: dict[str, WrittenInterval]) -> tuple[str, ...]:
    cheapest = min(of, key=lambda name: of[name].mean)
    return (f"{ratio:g}", *(str(interval) for interval in of.values()), cheapest)


def _crossings(bench: StudyBench, scenario: str) -> tuple[list[float], list[float]]:
    """The ratio from which a hybrid is cheaper than renting everything, and that from which SR is cheapest.

    A strategy costs ``rented + reserved / ratio`` an hour, so that two of them meet at one ratio.
    """
    lows, highs = [], []
    for at in range(len(bench.seeds)):
        parts = {}
        for name in STRATEGIES:
            case = Case(scenario, name)
            made = bill(bench.runs(case)[at].measures.cost, bench.shop, bench.pool(case), 1.0)
            hours = exact(made.ideal_hours)
            parts[name] = (float(made.rented / hours), float(made.reserved / hours))
        rented = min(parts[name][0] for name in ("OdF", "OdM"))
        lows.append(min(reserve / (rented - part) for part, reserve in (parts[h] for h in HYBRIDS) if part < rented))
        all_reserved = parts["SR"][1]
        highs.append(max((all_reserved - parts[n][1]) / parts[n][0] for n in STRATEGIES[1:]))
    return lows, highs


def _ratio_claims(ends: dict[str, tuple[list[float], list[float]]]) -> list[Claim]:
    said = "above some ratio within the 0.01 to 4 that is shown SR is cheapest"
    claims = [report.at_most(("§8.5.1", f"{said}: {s}"), ends[s][1], RESERVED_TOP) for s in SCENARIOS]
    for more, less in ((LOW, STATIC), (HIGH, LOW)):
        told = f"this ratio grows with variability: {more} against {less}"
        claims.append(report.above(("§8.5.1", told), ends[more][1], ends[less][1]))
    for scenario in (LOW, HIGH):
        factor = report.ratio(ends[scenario][1], ends[scenario][0])
        told = f"a hybrid is cheapest over a wide range, last over first ratio: {scenario}"
        claims.append(report.at_least(("§8.5.1", told), factor, report.WIDE))
    factor = report.ratio(ends[STATIC][1], ends[STATIC][0])
    claims.append(
        report.silent(
            ("§8.5.1", "the same range in the static scenario (below 1: never the cheapest)"),
            str(WrittenInterval.of(factor)),
        )
    )
    return claims


def duration(bench: StudyBench) -> StudyReport:
    """Study 2: dollars for a scenario that goes on for weeks; terms are prepaid."""
    marks, tables = [], []
    for scenario in SCENARIOS:
        of = {(w, n): _after(bench, Case(scenario, n), w) for w in WEEKS for n in STRATEGIES}
        marks += [
            PictureMark(scenario, n, w, (i.mean, i.low, i.high))
            for (w, n), v in of.items()
            for i in [WrittenInterval.of(v)]
        ]
        rows = []
        for weeks in TOLD_WEEKS:
            row = {n: WrittenInterval.of(of[weeks, n]) for n in STRATEGIES}
            rows.append(_ratio_row(weeks, row))
        tables.append(StudyTable(f"{scenario}: thousands of dollars", ("weeks", *STRATEGIES, "cheapest"), tuple(rows)))
    twice = report.ratio(*(_after(bench, Case(HIGH, "SR"), w) for w in (53, 52)))
    firsts = {s: [_first_week(bench, s, at) for at in range(len(bench.seeds))] for s in SCENARIOS}
    told = ", ".join(f"{s} {WrittenInterval.of(weeks)}" for s, weeks in firsts.items())
    claims = (
        report.near(
            ("§8.2.3", "the reserve is charged twice past 52 weeks (by construction): SR, 53 over 52"), 2, twice
        ),
        report.silent(("§8.5.1", "the week from which SR is cheapest in total within its first year"), told),
    )
    about = (
        "The same two hours again and again: the cumulative reading, in which a term is prepaid whole, beside the "
        "amortised cost per hour of the other sections."
    )
    picture = Picture("duration", "Cost over the duration", "lines", "weeks", "thousands of $", tuple(marks), "xy")
    return StudyReport("duration", "2. Duration", about, tuple(tables), claims, (picture,))


def _after(bench: StudyBench, case: Case, weeks: int) -> list[float]:
    return [float(run.measures.cost.over_weeks(weeks)) / 1000 for run in bench.runs(case)]


def _first_week(bench: StudyBench, scenario: str, at: int) -> float:
    costs = {n: bench.runs(Case(scenario, n))[at].measures.cost for n in STRATEGIES}
    for week in range(1, 53):
        if min(costs, key=lambda name: costs[name].over_weeks(week)) == "SR":
            return week
    return float("nan")


def pricing(bench: StudyBench) -> StudyReport:
    """Study 6: AWS (reserve and on-demand), GCE (sustained-use discount), Azure (on-demand only)."""
    tables, marks, over = [], [], {}
    for scenario in SCENARIOS:
        rows = []
        for at, name in enumerate(STRATEGIES):
            case = Case(scenario, name)
            of = {m: [float(bill(run.measures.cost, bench.shop, bench.pool(case), model=m).per_ideal_hour)
                      for run in bench.runs(case)] for m in MODELS}  # fmt: skip
            rows.append((name, *(str(WrittenInterval.of(of[m])) for m in MODELS)))
            over[scenario, name] = report.ratio(of[SUSTAINED], of[ALWAYS_ON])
            marks += [PictureMark(f"{scenario}, {m}", name, at, (i.mean, i.low, i.high))
                      for m in MODELS for i in [WrittenInterval.of(of[m])]]  # fmt: skip
        tables.append(StudyTable(f"{scenario}: $ an hour of work", ("", *MODELS), tuple(rows)))
    used = {n: WrittenInterval.of(over[HIGH, n]) for n in STRATEGIES}
    claims = (
        report.near(("price list", "sustained use takes 30 % off servers that are always on: SR, gce over azure"),
                   0.7, over[HIGH, "SR"]),
        report.silent(("§8.5.3", "gce over azure, high variability"), report.listed(used)),
    )  # fmt: skip
    about = (
        "Under gce and azure there is no reserve: its servers are always-on on-demand instances. The discount of gce "
        "is pooled by instance type, and the run is taken to go on for whole months."
    )
    picture = Picture("pricing", "Cost under three pricing models", "bars", "", "$ an hour of work", tuple(marks))
    return StudyReport("pricing", "6. Pricing models", about, tuple(tables), claims, (picture,))


def demand(bench: StudyBench) -> StudyReport:
    """How much the costs depend on the demand curve, which is ours."""
    curves = {"as it is": (1.0, 1.0), "mean +10 %": (1.1, 1.0), "mean -10 %": (0.9, 1.0),
              "peaks +10 %": (1.0, 1.1), "peaks -10 %": (1.0, 0.9)}  # fmt: skip
    tables, claims = [], []
    for scenario in (LOW, HIGH):
        rows, winners = [], []
        for name, (mean, peak) in curves.items():
            cases = {n: Case(scenario, n, mean=mean, peak=peak) for n in STRATEGIES}
            of = {n: bench.interval(c, fig.per_hour) for n, c in cases.items()}
            order = sorted(of, key=lambda n: of[n].mean)
            rows.append((name, *(str(i) for i in of.values()), " < ".join(order)))
            winners.append(f"{name}: {order[0]} {written(of[order[0]].mean)}")
        headings = ("demand", *STRATEGIES, "order")
        tables.append(StudyTable(f"{scenario}: $ an hour of work", headings, tuple(rows)))
        claims.append(report.silent(("§8.2.1", f"cheapest strategy by demand curve, {scenario}"), "; ".join(winners)))
    about = (
        "The text gives least, most and mean demand; the curve between is ours. Here its mean or its peaks (the part "
        "above the mean) are 10 % higher or lower, and reserves are sized for what is then stated."
    )
    return StudyReport("demand", "Sensitivity to our demand curve", about, tuple(tables), tuple(claims))
