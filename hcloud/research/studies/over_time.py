"""Studies over time: what each strategy has allocated, how busy the reserve is, and which application runs where."""

from __future__ import annotations

import numpy as np

from hcloud.control.state import OWN, RENTED
from hcloud.policy.limits import Feedback
from hcloud.policy.records import Reals
from hcloud.policy.registry import rule_of
from hcloud.research.studies import figures as fig
from hcloud.research.studies import report
from hcloud.research.studies.bench import HIGH, LOW, SCENARIOS, STRATEGIES, Case, StudyBench
from hcloud.research.studies.report import Claim, Picture, PictureMark, StudyReport, WrittenInterval
from hcloud.sim.run import RunOutcome

POINTS = 48
SERVERS = 45
SURGE = (50 * 60.0, 75 * 60.0)
RESERVED = "reserved"
EVERYTHING = 99.0


def allocation(bench: StudyBench) -> StudyReport:
    """Study 10: vCPUs allocated over time, and how busy each reserved server is."""
    marks, heat = [], []
    for name in STRATEGIES:
        outcome = bench.outcome(Case(HIGH, name), bench.seeds[0])
        marks += _areas(name, outcome)
        if outcome.setting.pool:
            heat += _heat(name, outcome)
    readings = {
        "use of the reserve (%)": fig.utilisation,
        "instances launched": fig.launched,
        "unused reserve ($ an hour)": lambda run: float(run.measures.cost.unused) / run.measures.cost.ideal_hours,
    }
    tables = tuple(fig.table(bench, s, {n: Case(s, n) for n in STRATEGIES}, readings) for s in SCENARIOS)
    told = {n: WrittenInterval.of(bench.values(Case(HIGH, n), fig.utilisation)) for n in ("SR", "HF", "HM")}
    got = "mean use of the reserve, %: " + report.listed(told)
    pictures = (
        Picture("allocation", "vCPUs allocated, high variability", "areas", "minutes", "vCPUs", tuple(marks)),
        Picture("heat", "Use of each reserved server, high variability", "heat", "minutes", "server", tuple(heat)),
    )
    about = f"The pictures show the run at seed {bench.seeds[0]}, the tables all seeds."
    claims = (report.silent(("§8.5.4", "how busy the reserve is"), got),)
    return StudyReport("allocation", "10. Allocation over time and use of the reserve", about, tables, claims, pictures)


def _areas(name: str, outcome: RunOutcome) -> list[PictureMark]:
    series, types = outcome.world.series, outcome.setting.shop.types
    marks = []
    for row in series[:: max(len(series) // POINTS, 1)]:
        minute = float(row[0]) / 60
        if outcome.setting.pool:
            vcpus = outcome.setting.pool * float(types[outcome.setting.shop.large].shape.vcpus)
            marks.append(PictureMark(name, RESERVED, minute, (vcpus,)))
        for at, rentable in enumerate(types):
            count = float(row[4 + RENTED * len(types) + at])
            marks.append(
                PictureMark(name, f"{rentable.shape.vcpus} vCPU", minute, (count * float(rentable.shape.vcpus),))
            )
    return marks


def _heat(name: str, outcome: RunOutcome) -> list[PictureMark]:
    heat, times = outcome.world.heat, outcome.world.series[:, 0]
    step, group = max(len(heat) // POINTS, 1), -(-heat.shape[1] // SERVERS)
    return [
        PictureMark(name, "", float(times[at]) / 60, (server, float(heat[at, server : server + group].mean())))
        for at in range(0, len(heat), step)
        for server in range(0, heat.shape[1], group)
    ]


def applications(bench: StudyBench) -> StudyReport:
    """Study 11 (Fig 8.19): where HM runs batch jobs and services in the low scenario."""
    case = Case(LOW, "HM")
    outcomes = [bench.outcome(case, seed) for seed in bench.seeds]
    marks = [
        mark for kind, service in (("batch", 0), ("services", 1)) for mark in _kind_areas(kind, service, outcomes[0])
    ]
    about = (
        "vCPUs in use by where the jobs run; a job that was moved counts where it ended. The demand is never "
        "far below the whole reserve, so that the soft limit is passed at once. "
        f"The picture is of seed {bench.seeds[0]}."
    )
    picture = Picture("applications", "HM by kind of application, low variability", "areas", "minutes",
                      "vCPUs in use", tuple(marks))  # fmt: skip
    return StudyReport("applications", "11. HM by application (Fig 8.19)", about, (),
                       tuple(_application_claims(outcomes)), (picture,))  # fmt: skip


def _application_claims(outcomes: list[RunOutcome]) -> list[Claim]:
    early = [_reserved_below_soft(o) for o in outcomes]
    surge = [_in_surge(o) for o in outcomes]
    services, batch_out, sizes, batch_sizes = (list(v) for v in zip(*surge, strict=True))
    section = "Fig 8.19"
    return [
        report.at_least(
            (section, "the reserve holds everything up to the soft limit, % of those jobs"), early, EVERYTHING
        ),
        report.at_least((section, "then services take most of the reserve, % of its use in the surge"), services, 50),
        report.at_least((section, "and batch goes on demand, % of its vCPUs in the surge"), batch_out, 50),
        report.above(
            (section, "services on demand are on larger instances, mean vCPUs against batch"), sizes, batch_sizes
        ),
    ]


def _reserved_below_soft(outcome: RunOutcome) -> float:
    """Of the jobs that come before the reserve first reaches its soft limit: the share that is sent there, %."""
    limits = rule_of(outcome.setting.strategy, "limits")
    assert isinstance(limits, Feedback)
    vcpus = float(outcome.setting.shop.types[outcome.setting.shop.large].shape.vcpus)
    room = limits.soft_start * outcome.setting.pool * vcpus * 1000
    first = np.cumsum(outcome.tasks.ask) <= room
    return float((outcome.of_tasks("paid")[first] == OWN).mean() * 100)


def _in_surge(outcome: RunOutcome) -> tuple[float, float, float, float]:
    """Over the surge, by vCPU-seconds: services' share of the reserve (%), batch's share on demand (%), mean size of
    the rented instances that services and that batch jobs are on."""
    began, ended = np.asarray(outcome.of_tasks("began")), np.asarray(outcome.of_tasks("ended"))
    inside = np.clip(np.minimum(ended, SURGE[1]) - np.maximum(began, SURGE[0]), 0, None)
    weight = np.where((began >= 0) & (ended >= 0), inside, 0.0) * outcome.tasks.need
    service, own = outcome.tasks.service == 1, outcome.of_tasks("paid") == OWN
    size = _sizes(outcome)
    reserved, batch = weight * own, weight * ~service
    return (
        float(reserved[service].sum() / reserved.sum() * 100),
        float(batch[~own].sum() / batch.sum() * 100),
        float(np.average(size[service & ~own], weights=weight[service & ~own])),
        float(np.average(size[~service & ~own], weights=weight[~service & ~own])),
    )


def _sizes(outcome: RunOutcome) -> Reals:
    vcpus = np.array([float(t.shape.vcpus) for t in outcome.setting.shop.types])
    made: Reals = vcpus[np.maximum(outcome.of_tasks("kind"), 0)]
    return made


def _kind_areas(panel: str, service: int, outcome: RunOutcome) -> list[PictureMark]:
    began, ended = outcome.of_tasks("began"), outcome.of_tasks("ended")
    chosen, own, size = outcome.tasks.service == service, outcome.of_tasks("paid") == OWN, _sizes(outcome)
    places = [RESERVED, *(f"{vcpus:g} vCPU" for vcpus in sorted(set(size.tolist())))]
    marks = []
    for time in np.linspace(0, outcome.seconds, POINTS).tolist():
        running = chosen & (began <= time) & (ended > time) & (began >= 0)
        for place in places:
            there = own if place == RESERVED else ~own & (size == float(place.split()[0]))
            marks.append(
                PictureMark(panel, place, time / 60, (float(outcome.tasks.need[running & there].sum() / 1000),))
            )
    return marks
