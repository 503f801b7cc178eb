"""The picture of a spike in docs/targets.md, and the table of what was done about it: ``python docs/make_targets.py``.

The run is stepped an arrival at a time, so that what a job needs, has and does is read off the simulated world itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import vl_convert

from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.readers.configuration.config import load_config
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.watches import rows_beside
from hcloud.sim.machine_code.compiled import SIMULATE, plain
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.run import RunOutcome
from hcloud.sim.setup.build import build, usual_capacity
from hcloud.usecases.studies.journal import JournalReader, job_names, setup_of_run
from hcloud.usecases.studies.simulation import SimulationRequest, open_study, setting_for, tasks_for
from hcloud.usecases.workloads.sources import Flags, with_flags
from hcloud.views.page.drawn import Drawn, standalone
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, SeriesMark, panels

PAGE = Path(__file__).parent / "targets.md"
PICTURE = PAGE.with_name("spike.png")
SCENARIO, ADJUSTED, LEFT = "scenario:quasar-200-web-spike", "SR+paragon+adjust-to-target", "SR+paragon+off"
EVERY = 10
TABLE = re.compile(r"\| minute \| what \| why \|\n(?:\|[^\n]*\n)*")
STEPS = {
    DecisionAction.ENLARGE: "more of its server",
    DecisionAction.SHRINK: "less of its server",
    DecisionAction.MOVE: "another server",
    DecisionAction.ADD: "a server more",
    DecisionAction.DROP: "a server less",
}
Course = list[tuple[float, float, float, float]]
"""Minute, vCPUs needed, vCPUs held, tail relative to isolation."""


def lived(name: str) -> tuple[Course, list[Decision]]:
    """How the first job of the web service fared under a strategy, and what was decided about it."""
    loaded = with_flags(load_config(None), Flags(workload=SCENARIO))
    study = open_study(loaded, SimulationRequest(), datetime.now(UTC).date())
    setting, tasks = setting_for(study, load_strategy(name)), tasks_for(study, load_strategy(name))
    made = build(setting, tasks, usual_capacity(len(tasks), setting.servers, journal=True))
    objects, course, row = as_objects(made), Course(), int(tasks.service.argmax())
    for until in range(0, len(tasks) + 2, EVERY):
        plain()[SIMULATE](objects, until)
        task = objects.tasks[row]
        if task.running:
            first = objects.watches[row].twin - 1 if len(objects.watches) else 0
            beside = (objects.tasks[at] for at in range(first, first + rows_beside(objects, row)))
            cores = task.cores + sum(one.cores for one in beside if one.running)
            course.append((objects.tally.now / 60, task.need / 1000, cores / 1000, task.rate))
    plain()[SIMULATE](objects, len(tasks) + 1)
    write_back(objects, made)
    outcome = RunOutcome(setting, tasks, made)
    who = job_names(outcome)[row]
    entries = JournalReader(outcome, setup_of_run(outcome)).entries()
    return course, [e for e in entries if isinstance(e, Decision) and e.job == who and e.action in STEPS]


def _marks(series: str, course: Course, column: int) -> Iterator[SeriesMark]:
    return (SeriesMark(series, one[0], (one[column],) * 3) for one in course)


def main() -> None:
    """Draw the picture, and write the table anew."""
    (adjusted, steps), (left, _) = lived(ADJUSTED), lived(LEFT)
    held = {d.at: next((one[2] for one in adjusted if one[0] * 60 > d.at), adjusted[-1][2]) for d in steps}
    done = [SeriesMark(f"{n}: {STEPS[d.action]}", d.at / 60, (held[d.at],) * 3) for n, d in enumerate(steps, 1)]
    sizes = [
        *_marks("needed", adjusted, 1),
        *_marks("held, adjusted", adjusted, 2),
        *_marks("held, off", left, 2),
        *done,
    ]
    tails = [*_marks("tail, adjusted", adjusted, 3), *_marks("tail, off", left, 3)]
    title = "A spike: load, allocation, tail"
    about = f"{SCENARIO}: one of the eight jobs of the web service; {ADJUSTED} beside {LEFT}"
    group = PanelGroup(
        [
            Panel("what it needs and has", "lines", "minute", "vCPUs", sizes),
            Panel("what it does", "lines", "minute", "tail, times isolation", tails),
        ],
        shared=False,
        columns=2,
    )
    drawn = Drawn(title, lambda width: panels([group], width, about), f"{title}. {about}.", "", WIDTH)
    PICTURE.write_bytes(vl_convert.svg_to_png(standalone(drawn, title), scale=1.5))
    rows = [f"| {d.at / 60:.2f} | {STEPS[d.action]} | {d.why} |\n" for d in steps]
    table = "".join(("| minute | what | why |\n", "| ---: | --- | --- |\n", *rows))
    PAGE.write_text(TABLE.sub(lambda m: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
