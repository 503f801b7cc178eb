"""Draw docs/research/method.md from the kernels themselves: ``python docs/make_decision_pictures.py``."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from hcloud.model.measured.profile import Aspect
from hcloud.policy.codes import LARGE, ON_DEMAND, QUEUE, RESERVED
from hcloud.policy.limits import next_soft_limit
from hcloud.policy.mapping import Situation, choose
from hcloud.policy.registry import compose
from hcloud.policy.retention import keep_seconds
from hcloud.policy.rules import Rules
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled
from hcloud.readers.configuration.config import Loaded, load_config
from hcloud.readers.strategies import load_strategy
from hcloud.store.profiles import save_profile
from hcloud.usecases.deciding.make import make_plan
from hcloud.usecases.measuring.classify import ClassificationRequest, classify_apps
from hcloud.usecases.workloads.sources import Flags, with_flags
from hcloud.views.deciding.plan_page import pictures
from hcloud.views.page.axes import axis, framed, key, short_number
from hcloud.views.page.bars import BarRow, Bars, bar_picture
from hcloud.views.page.drawn import Drawn, standalone
from hcloud.views.page.panels import Panel, PanelGroup, SeriesMark, panels
from hcloud.views.page.svg import Canvas

TARGET = Path(__file__).parent / "research" / "decides"
TRACE = Path(__file__).parents[1] / "examples" / "own-trace" / "trace.csv"
HEIGHT = 300.0
ACTIONS = {RESERVED: "reserved", ON_DEMAND: "on demand", LARGE: "large on demand", QUEUE: "local queue"}
SHOWN = ("demand", "use", "cost", "falls")


def main() -> None:
    """Write all of them."""
    TARGET.mkdir(exist_ok=True)
    plan = make_plan(_asked(), datetime.now(UTC)).plan
    for name, drawn in pictures(plan).items():
        if name in SHOWN:
            _write(drawn, name)
    rules = compose(load_strategy("HM"), 0, (0,))
    limits(rules)
    mapping(rules)
    retention(rules)
    spot()
    classification()


def _asked(share: float | None = None) -> Loaded:
    loaded = with_flags(load_config(None, {}), Flags(workload=str(TRACE), families=("m7i",)))
    if share is None:
        return loaded
    planning = loaded.config.planning.model_copy(update={"spot_share_of_batch": share})
    return dataclasses.replace(loaded, config=loaded.config.model_copy(update={"planning": planning}))


def limits(rules: Rules) -> None:
    """The soft limit while a queue grows, stays, and has been empty."""
    soft, empty, marks = rules.hard - rules.gap, 0.0, []
    for step in range(90):
        growth = 3 if 10 <= step < 22 else -3 if 30 <= step < 42 else 0
        empty = 0.0 if 10 <= step < 42 else empty + rules.period
        soft = next_soft_limit(rules, soft, growth, empty)
        minutes = step * rules.period / 60
        marks += [
            SeriesMark(name, minutes, (100 * v,)) for name, v in (("soft limit", soft), ("hard limit", rules.hard))
        ]
    across = "minutes; the queue grows by 3 jobs a period at first, later it empties"
    _save(
        Panel("", "steps", across, "utilisation of the reserve, %", marks, from_zero=False),
        "limits",
        "The soft limit follows the queue",
    )


def mapping(rules: Rules) -> None:
    """Where a job goes by the utilisation of the reserve and the quality it needs."""

    def draw(width: int) -> Canvas:
        canvas = Canvas(width, HEIGHT)
        classes = {name: f"p-c{at} p-fill p-h16" for at, name in enumerate(ACTIONS.values(), 1)}
        above = key(canvas, [(kind, name) for name, kind in classes.items()])
        used = axis("utilisation of the reserve, % (soft limit 65%)", (0.0, 100.0), 6, short_number)
        frame = framed(canvas, used, axis("quality the job needs, %", (0.0, 100.0), 6, short_number), above=above)
        for needed in range(0, 10_000, 250):
            wait = 2.0 if needed < 9_000 else 60.0
            places = (Situation(p / 100, 0.65, 1, 7_500, needed, wait, 12.0, 0.0, 0) for p in range(100))
            begins, top = 0, frame.up(needed / 100 + 2.5)
            for goes, run in groupby(ACTIONS[choose(rules, place)[0]] for place in places):
                ends = begins + len(list(run))
                size = (frame.across(ends) - frame.across(begins), frame.up(needed / 100) - top)
                canvas.box((frame.across(begins), top), size, classes[goes])
                begins = ends
        return canvas

    title = "Where a job goes (the small type offers 75%; above 90% the wait is 60 s, else 2 s)"
    _write(Drawn(title, draw, f"{title}.", ""), "mapping")


def retention(rules: Rules) -> None:
    """How long an idle instance is kept."""
    marks = [
        SeriesMark(f"starts in {start:g} s", float(gap), (keep_seconds(rules, start, gap) / 60,))
        for start in (12.0, 19.0, 60.0)
        for gap in range(1, 61)
    ]
    panel = Panel("", "lines", "mean seconds between jobs", "minutes an idle instance is kept", marks)
    _save(panel, "retention", "The longer a start takes and the rarer jobs are, the longer an instance is kept")


def spot() -> None:
    """What the shop's plan costs with more of its batch work on spot."""
    marks = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        plan = make_plan(_asked(share), datetime.now(UTC)).plan
        marks.append(SeriesMark("", 100 * share, (float(plan.after.monthly),)))
    panel = Panel(
        "", "lines", "share of the batch work that may be interrupted, %", "$ a month", marks, from_zero=False
    )
    _save(panel, "spot", "What spot would save the shop (5.8% of its work is batch)")


def classification() -> None:
    """What is predicted of a program from two of its scores, beside what was measured."""
    known = load_profile(bundled("profiles") / "zstd.profile.yaml")
    scores = known.entries[Aspect.TOLERATED]
    given = sorted(scores)[:2]
    few = {**known.entries, Aspect.TOLERATED: {name: scores[name] for name in given}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "few.profile.yaml"
        save_profile(dataclasses.replace(known, entries=few), path)
        request = ClassificationRequest(apps=(str(path),), aspects=(Aspect.TOLERATED,), largest_error=1.0)
        row = classify_apps(request, datetime.now(UTC))[0].estimate.rows[Aspect.TOLERATED]
    rows = list(_scores(scores, row.columns, given))
    title = f"{known.app}: two scores given, the others predicted"
    caption = "Pressure at which 5% of the speed is lost (100: never); whiskers: the interval of a prediction."
    _write(bar_picture(title, Bars(rows), caption), "classification")


def _scores(measured: Any, predicted: Any, given: Sequence[str]) -> Iterator[BarRow]:
    """A bar for each score, and for one that was not given what is predicted beside what was measured."""
    for name, seen in measured.items():
        if name not in given and name in predicted:
            told = predicted[name]
            said = f"{told.value:.0f} ({told.low:.0f} to {told.high:.0f})"
            yield BarRow(f"{name}: predicted", said, told.value, told.low, told.high, "p-reserve")
        what, kind = ("given", "p-best") if name in given else ("measured", "p-other")
        yield BarRow(f"{name}: {what}", f"{seen.value:.0f}", seen.value, kind=kind)


def _save(panel: Panel, name: str, title: str) -> None:
    groups = [PanelGroup([panel], height=HEIGHT)]
    _write(Drawn(title, lambda width: panels(groups, width), f"{title}.", ""), name)


def _write(drawn: Drawn, name: str) -> None:
    (TARGET / f"{name}.svg").write_text(standalone(drawn, drawn.title), encoding="utf-8")


if __name__ == "__main__":
    main()
