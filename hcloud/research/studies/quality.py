"""Studies of performance: what was calibrated, the five strategies with and without information, mapping policies."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.research.studies import figures as fig
from hcloud.research.studies import report
from hcloud.research.studies.bench import (
    HIGH,
    HYBRIDS,
    LOW,
    SCENARIOS,
    STRATEGIES,
    Case,
    Figure,
    StudyBench,
)
from hcloud.research.studies.report import (
    Claim,
    Picture,
    PictureMark,
    StudyReport,
    WrittenInterval,
    written,
)
from hcloud.sim.outcomes.measure import Distribution

POLICIES = tuple(f"P{n}" for n in range(1, 9))
NEAR_OPTIMAL = 95.0
"""'Near-optimal' is the quality of service kept everywhere else: 95 % of the performance in isolation."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What the model is calibrated on, seed by seed: completion times of batch jobs with OdM over SR; the tails of
    services with OdM over SR by scenario; the performance that the hybrids lose against SR in %, of batch jobs
    (isolated over real completion time), of services (one over the tail), and the mean of the two kinds."""

    slower: list[float]
    tails: dict[str, list[float]]
    lost_batch: list[float]
    lost_services: list[float]

    @property
    def lost(self) -> list[float]:
        """Services counted as much as batch jobs."""
        return _means([self.lost_batch, self.lost_services])


def calibrated(bench: StudyBench, changes: tuple[str, ...] = ()) -> Calibrated:
    """The figures over the low and the high scenario; ``changes`` are made to every strategy."""

    def values(scenario: str, name: str, figure: Figure) -> list[float]:
        return bench.values(Case(scenario, name, changes), figure)

    def against_reserved(name: str, figure: Figure) -> list[list[float]]:
        return [report.ratio(values(s, name, figure), values(s, "SR", figure)) for s in (LOW, HIGH)]

    def lost(figure: Figure) -> list[float]:
        return [100 * (1 - kept) for kept in _means([v for n in HYBRIDS for v in against_reserved(n, figure)])]

    slower = _means(against_reserved("OdM", fig.completion))
    tails = dict(zip((LOW, HIGH), against_reserved("OdM", fig.tail_mean), strict=True))
    return Calibrated(slower, tails, lost(fig.batch_mean), lost(fig.service_mean))


def calibration(bench: StudyBench) -> StudyReport:
    """The three figures that the model was calibrated on, and which of them it cannot meet."""
    made = calibrated(bench)
    parts = {"batch jobs": WrittenInterval.of(made.lost_batch), "services": WrittenInterval.of(made.lost_services)}
    told = ", ".join(f"{kind} {interval}" for kind, interval in parts.items())
    claims = (
        report.near(("§8.1, §8.3.4", "calibrated: completion time of batch jobs, OdM over SR"), 2.2, made.slower),
        report.near(("§8.1, §8.4.3", "calibrated: performance the hybrids lose against SR, in %"), 8, made.lost),
        report.silent(("§8.1, §8.4.3", "the same, each kind of job by itself, in %"), told),
        report.near(("§8.3.4", "calibrated: tail of services, OdM over SR, low variability"), 24, made.tails[LOW]),
        report.near(("§8.3.4", "calibrated: the same, high variability"), 42, made.tails[HIGH]),
    )
    return StudyReport("calibration", "What was calibrated", _ABOUT_CALIBRATION, (), claims)


_ABOUT_CALIBRATION = (
    "These figures say nothing about the model: it was fitted to them and frozen (benchmarks/calibration.py). Every "
    "other section is a prediction. What the hybrids lose is the mean of what batch jobs and what services lose, the "
    "performance of a service being one over its tail. It is less than stated, for want of losses of batch jobs: one "
    "that suffers is moved within seconds, and starts as stated cannot give the rest; errors of classification do not "
    "either ([decision 0016](../decisions/0016-what-neighbours-press-on.md))."
)


def _means(series: list[list[float]]) -> list[float]:
    return [sum(values) / len(values) for values in zip(*series, strict=True)]


def performance(bench: StudyBench) -> StudyReport:
    """Figs 8.4 and 8.10: batch performance and tails of services, with and without profiling information."""
    tables = []
    for profiled in (True, False):
        for scenario in SCENARIOS:
            cases = {name: Case(scenario, name, profiled=profiled) for name in STRATEGIES}
            title = f"{scenario}, {'with' if profiled else 'without'} profiling information"
            more = {**fig.QUALITY, "moved (% of jobs)": fig.moved}
            tables.append(fig.table(bench, title, cases, more))
    pictures = (_boxes(bench, "batch"), _boxes(bench, "tail"))
    about = (
        "Performance of batch jobs is isolated over real completion time, waiting and spin-up included; of services "
        "the tail latency relative to isolation, where waiting counts. The two are averaged in the calibration only. "
        "Without information the jobs ask for what users would (our error model), and the pool of SR is "
        "overprovisioned more."
    )
    return StudyReport("performance", "Performance of the strategies (Figs 8.4, 8.10)", about, tuple(tables),
                  tuple(_performance_claims(bench)), pictures)  # fmt: skip


def _performance_claims(bench: StudyBench) -> list[Claim]:
    claims = []
    for scenario in SCENARIOS:
        of = {name: bench.values(Case(scenario, name), fig.batch_mean) for name in STRATEGIES}
        claims += [
            report.above(("§8.1", f"SR performs better than {name}: batch jobs, {scenario}"), of["SR"], of[name])
            for name in ("OdF", "OdM")
        ]
    moved = {name: bench.values(Case(HIGH, name), fig.moved) for name in STRATEGIES}
    said = ("§8.5.2", "rescheduling is very rare with {}, % of jobs, high variability")
    claims += [
        report.at_most((said[0], said[1].format(name)), moved[name], report.RARE * 100)
        for name in STRATEGIES
        if name != "OdM"
    ]
    claims.append(report.above(("§8.5.2", "and more frequent with OdM (against HM)"), moved["OdM"], moved["HM"]))
    told = {n: bench.interval(Case(HIGH, n, profiled=False), fig.batch_mean) for n in STRATEGIES}
    claims.append(report.silent(("Figs 8.4, 8.10", "batch performance without information, high variability, %"),
                               report.listed(told)))  # fmt: skip
    return claims


def _boxes(bench: StudyBench, kind: str) -> Picture:
    """Boxes of distributions over jobs: their percentiles are means over the seeds."""
    marks = []
    for profiled in (True, False):
        for scenario in SCENARIOS:
            panel = f"{scenario}, {'profiled' if profiled else 'no information'}"
            for at, name in enumerate(STRATEGIES):
                runs = bench.runs(Case(scenario, name, profiled=profiled))
                spreads = [getattr(run.measures.service, kind) for run in runs]
                marks.append(PictureMark(panel, name, at, tuple(_level(spreads, level) for level in _LEVELS)))
    if kind == "batch":
        return Picture("performance-batch", "Batch jobs", "boxes", "", "share of isolation", tuple(marks))
    return Picture("performance-services", "Services", "boxes", "", "tail, times isolation", tuple(marks), "y")


_LEVELS = ("p5", "p25", "p50", "p75", "p95", "mean")


def _level(spreads: list[Distribution], level: str) -> float:
    values: list[float] = [getattr(spread, level) for spread in spreads]
    return sum(values) / len(values)


def q90(bench: StudyBench) -> StudyReport:
    """The two readings of the 90th percentile of quality."""
    modes = {"guarantee": (), "literal": ("quality.q90_mode=literal",)}
    cases = {
        f"{name}, {scenario}, {mode}": Case(scenario, name, changes)
        for scenario in SCENARIOS
        for name in HYBRIDS
        for mode, changes in modes.items()
    }
    table = fig.table(bench, "hybrids", cases, {**fig.QUALITY, "cost ($ an hour)": fig.per_hour})
    pair = [bench.interval(cases[f"HM, {HIGH}, {mode}"], fig.tail_mean) for mode in modes]
    got = f"mean tail with HM, high variability: guarantee {pair[0]}, literal {pair[1]}"
    about = "Q90 read as the quality that 90 % of a type's instances reach (our default), and as the 0.90 quantile."
    return StudyReport(
        "q90", "Two readings of Q90", about, (table,), (report.silent(("§8.4.2", "which is meant"), got),)
    )


_PLACES = {
    "jobs on demand (%)": fig.rented_share,
    "batch on reserved (%)": fig.own_batch,
    "batch on demand (%)": fig.rented_batch,
    "tail on reserved (x)": fig.own_tail,
    "tail on demand (x)": fig.rented_tail,
    "cost ($ an hour)": fig.per_hour,
}


def mapping(bench: StudyBench) -> StudyReport:
    """Figs 8.6 and 8.7: the eight mapping policies under both hybrids."""
    cases = {(h, p): Case(HIGH, h, (f"mapping={p}",)) for h in HYBRIDS for p in POLICIES}
    tables = [fig.table(bench, h, {p: cases[h, p] for p in POLICIES}, _PLACES) for h in HYBRIDS]
    claims = [claim for h in HYBRIDS for claim in _policy_claims(bench, h, {p: cases[h, p] for p in POLICIES})]
    spans = {h: _span([bench.values(cases[h, p], fig.rented_batch) for p in POLICIES]) for h in HYBRIDS}
    said = ("§8.4.2", "the policy matters more for HM: span of batch on demand over P1-P8, in points")
    claims.append(report.above(said, spans["HM"], spans["HF"]))
    marks = []
    for (h, p), case in cases.items():
        for series, figure in (("reserved", fig.own_batch), ("on demand", fig.rented_batch)):
            made = bench.interval(case, figure)
            marks.append(PictureMark(h, series, POLICIES.index(p) + 1, (made.mean, made.low, made.high)))
    about = (
        "High variability. P1 a fair coin; P2-P4 limits on the job's quality; P5-P7 static limits on utilisation of "
        "50, 70 and 90 %; P8 the dynamic policy. The thresholds of P3 and P4 are quantiles of our job mix."
    )
    picture = Picture("mapping", "Batch performance by where jobs ran", "lines", "mapping policy P", "% of isolation",
                      tuple(marks))  # fmt: skip
    return StudyReport(
        "mapping", "Mapping policies P1-P8 (Figs 8.6, 8.7)", about, tuple(tables), tuple(claims), (picture,)
    )


def _policy_claims(bench: StudyBench, hybrid: str, cases: dict[str, Case]) -> list[Claim]:
    own, rented = ({p: bench.values(c, f) for p, c in cases.items()} for f in (fig.own_batch, fig.rented_batch))
    tail, cost = ({p: bench.values(c, f) for p, c in cases.items()} for f in (fig.own_tail, fig.per_hour))
    claims = []
    for p, limit in (("P5", 50), ("P6", 70)):
        told = f"{hybrid}, static limit of {limit} % ({p}): "
        claims += [
            report.at_least(("§8.4.2", f"{told}near-optimal on reserved, batch %"), own[p], NEAR_OPTIMAL),
            report.above(("§8.4.2", f"{told}poor on demand, batch % of P8 against it"), rented["P8"], rented[p]),
            report.above(("§8.4.2", f"{told}costly, $ an hour against P8"), cost[p], cost["P8"]),
        ]
    told = f"{hybrid}, static limit of 90 % (P7): reserved degraded, "
    claims.append(report.above(("§8.4.2", f"{told}batch % of P8 against it"), own["P8"], own["P7"]))
    claims.append(report.above(("§8.4.2", f"{told}tail against P8"), tail["P7"], tail["P8"]))
    return claims


def _span(policies: list[list[float]]) -> list[float]:
    """The largest less the smallest of the policies, seed by seed."""
    return [max(values) - min(values) for values in zip(*policies, strict=True)]


def at_once(bench: StudyBench) -> StudyReport:
    """Instances released at once, per use and per instance ever obtained."""
    readings = {
        "per use (%)": fig.at_once_per_use,
        "per instance ever obtained (%)": fig.at_once_per_instance,
        "instances launched": fig.launched,
        "reused": fig.reused,
    }
    tables = tuple(
        fig.table(bench, scenario, {n: Case(scenario, n) for n in STRATEGIES[1:]}, readings) for scenario in SCENARIOS
    )
    told = {n: WrittenInterval.of(bench.values(Case(HIGH, n), fig.at_once_per_use)) for n in STRATEGIES[1:]}
    got = "per use, high variability: " + ", ".join(f"{n} {written(i.mean)} %" for n, i in told.items())
    about = "An instance that behaved badly is released as soon as its jobs have ended. The text allows two readings."
    return StudyReport("released-at-once", "Instances released at once", about, tables,
                  (report.silent(("§8.3.2", "share of instances released at once"), got),))  # fmt: skip
