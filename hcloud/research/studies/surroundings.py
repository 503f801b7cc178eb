"""Studies of what surrounds a strategy: spin-up, external load, retention, and how many jobs are sensitive."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.research.studies import figures as fig
from hcloud.research.studies import report
from hcloud.research.studies.bench import HIGH, HYBRIDS, STRATEGIES, Case, Figure, StudyBench
from hcloud.research.studies.report import Claim, Picture, StudyReport, WrittenInterval

SPIN_UPS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
LOADS = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0)
RETENTIONS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
UNBOUNDED = "retention.longest_seconds=604800"
Cases = Mapping[tuple[float, str], Case]


def spin_up(bench: StudyBench) -> StudyReport:
    """Study 3: instances that start sooner or later."""
    cases = {(x, n): Case(HIGH, n, (f"cloud.spin_up=x{x:g}",)) for x in SPIN_UPS for n in STRATEGIES}
    claims = [_flat(bench, cases, "SR", ("Table 8.3", "SR has no spin-up (by construction)"), (0.0, 8.0))]
    for title, figure in fig.SWEPT.items():
        claims.append(
            report.silent(("§8.5", f"{title}, eight times slower"), _change(bench, cases, figure, (1.0, 8.0)))
        )
    tables = fig.swept(bench, cases, "spin-up", [f"x{x:g}" for x in SPIN_UPS])
    picture = Picture("spin-up", "Spin-up", "lines", "times the usual spin-up", "", fig.curves(bench, cases))
    about = "High variability; the usual spin-up is 15 to 21 s in the mean, by size. Retention stays a multiple of it."
    return StudyReport("spin-up", "3. Spin-up", about, tables, tuple(claims), (picture,))


def external_load(bench: StudyBench) -> StudyReport:
    """Study 4: how loaded the other slices of a server are."""
    key = "cloud.neighbours.mean_load"
    cases = {(x, n): Case(HIGH, n, (f"{key}={x:g}",)) for x in LOADS for n in STRATEGIES}
    said = {
        "SR": ("Table 8.3", "SR sees no external load (by construction)"),
        "OdF": ("Table 8.3", "OdF is barely affected by external load"),
    }
    claims = [_flat(bench, cases, name, words, (0.0, 1.0)) for name, words in said.items()]
    before, after = (bench.values(cases[x, "OdF"], fig.tail_worst) for x in (0.0, 1.0))
    claims.append(report.changed_by_at_most(("Table 8.3", "the same, tail of services (p95)"), before, after))
    for read, words in ((fig.batch_worst, "batch, 95 % reach"), (fig.batch_mean, "batch, mean")):
        before, after = (bench.values(cases[x, "OdM"], read) for x in (0.0, 1.0))
        claims.append(
            report.above(("Table 8.3", f"OdM suffers from external load, 0 against 100 %: {words}"), before, after)
        )
    for title, figure in fig.SWEPT.items():
        claims.append(report.silent(("§8.5", f"{title}, 0 to 100 % load"), _change(bench, cases, figure, (0.0, 1.0))))
    tables = fig.swept(bench, cases, "load", [f"{x:.1%}" for x in LOADS])
    marks = fig.curves(bench, cases)
    picture = Picture("external-load", "External load", "lines", "load of the other slices", "", marks)
    about = "High variability; the study's own load is 25 %, ± 10 % of it. A swing beyond 0 to 100 % is cut."
    return StudyReport("external-load", "4. External load", about, tables, tuple(claims), (picture,))


def retention(bench: StudyBench) -> StudyReport:
    """Study 5 (Fig 8.15): how long idle instances are kept, with and without probing before reuse."""
    probed, blind = _retained(True), _retained(False)
    names = [f"x{x:g}" for x in RETENTIONS]
    tables = fig.swept(bench, probed, "retention", names) + tuple(
        type(t)(f"{t.title}, without probing before reuse", t.columns, t.rows)
        for t in fig.swept(bench, blind, "retention", names)
    )
    pictures = tuple(
        Picture(name, title, "lines", "retention, times spin-up", "", fig.curves(bench, cases))
        for name, title, cases in (
            ("retention", "Retention", probed),
            ("retention-blind", "Retention, without probing before reuse", blind),
        )
    )
    about = (
        "High variability; ten times the spin-up is the usual retention, here without its bound of an hour. SR rents "
        "nothing. The text's loss with very long retention needs reuse without a new probe, so both are shown."
    )
    claims = tuple(_retention_claims(bench, probed, blind))
    return StudyReport("retention", "5. Retention (Fig 8.15)", about, tables, claims, pictures)


def _retained(probe: bool) -> Cases:
    told = () if probe else ("retention.probe_before_reuse=false",)
    return {
        (x, n): Case(HIGH, n, () if n == "SR" else (f"retention.factor={x:g}", UNBOUNDED, *told))
        for x in RETENTIONS
        for n in STRATEGIES
    }


def _retention_claims(bench: StudyBench, probed: Cases, blind: Cases) -> list[Claim]:
    """Judged by the mean of batch jobs: what 95 % of them reach is the worst slowdown with OdM, and does not move."""
    claims = []
    for name in STRATEGIES[1:]:
        batch = [bench.values(probed[x, name], fig.batch_mean) for x in (10.0, 0.0)]
        claims.append(report.above(("Fig 8.15", f"no retention hurts: batch, mean, {name}, x10 against x0"), *batch))
        tails = [bench.values(probed[x, name], fig.tail_worst) for x in (0.0, 10.0)]
        claims.append(report.above(("Fig 8.15", f"no retention hurts: tail p95, {name}, x0 against x10"), *tails))
    for name in ("OdF", "OdM"):
        costs = [bench.values(probed[x, name], fig.per_hour) for x in (300.0, 10.0)]
        claims.append(report.above(("Fig 8.15", f"longer retention costs more: {name}, x300 against x10"), *costs))
    claims.append(_flat(bench, probed, "SR", ("Fig 8.15", "SR is unchanged (by construction)"), (0.0, 300.0)))
    for name in HYBRIDS:
        before, after = (bench.values(probed[x, name], fig.per_hour) for x in (10.0, 300.0))
        said = ("Fig 8.15", f"the cost of hybrids changes little: {name}, x10 to x300")
        claims.append(report.changed_by_at_most(said, before, after, report.SLIGHT))
    for name in ("OdM", "HM"):
        for cases, told in ((blind, "without probing"), (probed, "with probing")):
            batch = [bench.values(cases[x, name], fig.batch_mean) for x in (10.0, 300.0)]
            said = ("Fig 8.15", f"too long hurts slightly: batch, mean, {name}, x10 to x300, {told}")
            claims.append(report.slightly_below(said, *batch))
    return claims


def sensitive(bench: StudyBench) -> StudyReport:
    """Study 7: how many of the jobs are sensitive."""
    kinds = {(x, n): Case(HIGH, n, sensitive=x) for x in SHARES for n in STRATEGIES}
    batch = {(x, n): Case(HIGH, n, (f"sensitive_share={x:g}",)) for x in SHARES for n in STRATEGIES}
    names = [f"{x:.0%}" for x in SHARES]
    tables = fig.swept(bench, kinds, "sensitive", names) + tuple(
        type(t)(f"{t.title}, sensitive among batch jobs", t.columns, t.rows)
        for t in fig.swept(bench, batch, "sensitive", names)
    )
    claims = [
        report.silent(("§8.5", f"{title}, 0 to 100 % sensitive"), _levels(bench, kinds, figure, (0.2, 0.8)))
        for title, figure in fig.SWEPT.items()
    ]
    pictures = tuple(
        Picture(name, title, "lines", x, "", fig.curves(bench, cases))
        for name, title, x, cases in (
            ("sensitive", "Share of sensitive jobs", "share of jobs that are services, the rest tolerant", kinds),
            ("sensitive-batch", "Share of sensitive batch jobs", "share of batch jobs that are sensitive", batch),
        )
    )
    about = (
        "High variability, the same demand. First reading: that share of all jobs are services and all others tolerant "
        "batch jobs (from only Hadoop to only memcached). Second: services stay, the share of sensitive ones among the "
        "batch jobs changes."
    )
    return StudyReport("sensitive", "7. Sensitive jobs", about, tables, tuple(claims), pictures)


def _flat(bench: StudyBench, cases: Cases, name: str, said: tuple[str, str], ends: tuple[float, float]) -> Claim:
    before, after = (bench.values(cases[x, name], fig.batch_worst) for x in ends)
    return report.changed_by_at_most((said[0], f"{said[1]}: batch, 95 % reach"), before, after)


def _change(bench: StudyBench, cases: Cases, figure: Figure, ends: tuple[float, float]) -> str:
    made = {}
    for name in STRATEGIES:
        before, after = (bench.values(cases[x, name], figure) for x in ends)
        made[name] = report.percent(report.relative(before, after).mean)
    return ", ".join(f"{name} {change}" for name, change in made.items())


def _levels(bench: StudyBench, cases: Cases, figure: Figure, ends: tuple[float, float]) -> str:
    told = (report.listed({n: WrittenInterval.of(bench.values(cases[x, n], figure)) for n in STRATEGIES}) for x in ends)
    return "; ".join(f"at {x:.0%}: {words}" for x, words in zip(ends, told, strict=True))
