"""Draw docs/how-it-decides.md from the kernels themselves: ``python docs/make_decision_pictures.py``."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import altair as alt
from hcloud.policy.compose import compose

from hcloud.model.measured.profile import Aspect
from hcloud.policy.codes import LARGE, ON_DEMAND, QUEUE, RESERVED
from hcloud.policy.limits import next_soft_limit
from hcloud.policy.mapping import Situation, choose
from hcloud.policy.retention import keep_seconds
from hcloud.policy.rules import Rules
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled
from hcloud.readers.configuration.config import Loaded, load_config
from hcloud.readers.strategies import load_strategy
from hcloud.store.profiles import save_profile
from hcloud.usecases.deciding.plan import make_plan
from hcloud.usecases.measuring.classify import ClassificationRequest, classify_apps
from hcloud.usecases.workloads.sources import Flags, with_flags
from hcloud.views.deciding.plan_page import pictures
from hcloud.views.page.drawn import standalone

TARGET = Path(__file__).parent / "decides"
TRACE = Path(__file__).parents[1] / "examples" / "own-trace" / "trace.csv"
WIDTH, HEIGHT = 560, 240
ACTIONS = {RESERVED: "reserved", ON_DEMAND: "on demand", LARGE: "large on demand", QUEUE: "local queue"}
SHOWN = ("demand", "use", "cost", "falls")
Row = dict[str, object]


def main() -> None:
    """Write all of them."""
    TARGET.mkdir(exist_ok=True)
    plan = make_plan(_asked(), datetime.now(UTC)).plan
    for name, drawn in pictures(plan).items():
        if name in SHOWN:
            (TARGET / f"{name}.svg").write_text(standalone(drawn, drawn.title), encoding="utf-8")
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
    soft, empty, rows = rules.hard - rules.gap, 0.0, []
    for step in range(90):
        growth = 3 if 10 <= step < 22 else -3 if 30 <= step < 42 else 0
        empty = 0.0 if 10 <= step < 42 else empty + rules.period
        soft = next_soft_limit(rules, soft, growth, empty)
        minutes = step * rules.period / 60
        rows += [{"minutes": minutes, "share": soft, "limit": "soft limit"}]
        rows += [{"minutes": minutes, "share": rules.hard, "limit": "hard limit"}]
    chart = alt.Chart(_data(rows)).mark_line(interpolate="step-after")
    chart = chart.encode(
        x=alt.X("minutes:Q", title="minutes; the queue grows by 3 jobs a period at first, later it empties"),
        y=alt.Y("share:Q", title="utilisation of the reserve", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
        color=alt.Color("limit:N", title=None),
    )
    _save(chart, "limits", "The soft limit follows the queue")


def mapping(rules: Rules) -> None:
    """Where a job goes by the utilisation of the reserve and the quality it needs."""
    rows: list[Row] = []
    for needed in range(0, 10_000, 250):
        for percent in range(100):
            wait = 2.0 if needed < 9_000 else 60.0
            now = Situation(percent / 100, 0.65, 1, 7_500, needed, wait, 12.0, 0.0, 0)
            goes = ACTIONS[choose(rules, now)[0]]
            row: Row = {"low": needed / 10_000, "high": (needed + 250) / 10_000, "goes": goes}
            if percent and rows[-1]["goes"] == goes:
                rows[-1]["until"] = (percent + 1) / 100
            else:
                rows.append({**row, "from": percent / 100, "until": (percent + 1) / 100})
    chart = alt.Chart(_data(rows)).mark_rect()
    chart = chart.encode(
        x=alt.X("from:Q", title="utilisation of the reserve (soft limit 65 %)", axis=alt.Axis(format="%")),
        x2="until:Q",
        y=alt.Y("low:Q", title="quality the job needs", axis=alt.Axis(format="%")),
        y2="high:Q",
        color=alt.Color("goes:N", title="goes to", sort=list(ACTIONS.values())),
    )
    _save(chart, "mapping", "Where a job goes (the small type offers 75 %; above 90 % the wait is 60 s, else 2 s)")


def retention(rules: Rules) -> None:
    """How long an idle instance is kept."""
    rows = [
        {"gap": gap, "kept": keep_seconds(rules, start, gap) / 60, "start": f"starts in {start:g} s"}
        for start in (12.0, 19.0, 60.0)
        for gap in range(1, 61)
    ]
    chart = alt.Chart(_data(rows)).mark_line()
    chart = chart.encode(
        x=alt.X("gap:Q", title="mean seconds between jobs"),
        y=alt.Y("kept:Q", title="minutes an idle instance is kept"),
        color=alt.Color("start:N", title=None),
    )
    _save(chart, "retention", "The longer a start takes and the rarer jobs are, the longer an instance is kept")


def spot() -> None:
    """What the shop's plan costs with more of its batch work on spot."""
    rows: list[Row] = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        plan = make_plan(_asked(share), datetime.now(UTC)).plan
        rows.append({"share": share, "dollars": float(plan.after.monthly)})
    chart = alt.Chart(_data(rows)).mark_line(point=True)
    chart = chart.encode(
        x=alt.X("share:Q", title="share of the batch work that may be interrupted", axis=alt.Axis(format="%")),
        y=alt.Y("dollars:Q", title="$ a month", scale=alt.Scale(zero=False)),
    )
    _save(chart, "spot", "What spot would save the shop (5.8 % of its work is batch)")


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
    base = alt.Chart(_data(rows)).encode(y=alt.Y("resource:N", title=None))
    interval = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="pressure at which 5 % of the speed is lost (100: never)"), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=80).encode(
        x="value:Q", shape=alt.Shape("what:N", title=None), color="what:N"
    )
    _save(interval + points, "classification", f"{known.app}: two scores given, the others predicted")


def _scores(measured: Any, predicted: Any, given: Sequence[str]) -> Iterator[Row]:
    for name, seen in measured.items():
        if name not in given and name in predicted:
            told = predicted[name]
            yield {"resource": name, "what": "predicted", "value": told.value, "low": told.low, "high": told.high}
        what = "given" if name in given else "measured"
        yield {"resource": name, "what": what, "value": seen.value, "low": seen.value, "high": seen.value}


def _data(rows: Sequence[Row]) -> alt.Data:
    return alt.Data(values=list(rows))


def _save(chart: Any, name: str, title: str) -> None:
    sized = chart.properties(width=WIDTH, height=HEIGHT, title=title)
    sized.configure(background="white").save(str(TARGET / f"{name}.svg"))


if __name__ == "__main__":
    main()
