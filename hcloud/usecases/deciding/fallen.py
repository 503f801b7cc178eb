"""A workload whose demand fell is planned from the time since then alone."""

from __future__ import annotations

from dataclasses import replace

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Jobs, WindowRule
from hcloud.planning.forecasting.fall import DemandFall, fall_of
from hcloud.planning.forecasting.forecast import WEEK, YEAR
from hcloud.planning.forecasting.window import AskedWindow, restricted
from hcloud.readers.configuration.config import Loaded
from hcloud.units import format_span


def since_it_fell(
    loaded: Loaded, workload: Jobs | Demand, demand: Demand
) -> tuple[Loaded, Jobs | Demand, tuple[str, ...]]:
    """The weeks or days of a workload since its demand fell, the configuration that asks for them, and what to say of
    it; all as it was where a window is asked for, or demand did not fall."""
    planning = loaded.config.planning
    fall = fall_of(demand, planning.shrunk, planning.warm_up, planning.shrunk_days)
    if loaded.config.workload.window is not None or fall is None:
        return loaded, workload, ()
    text = format_span(fall.seconds)
    if not fall.share:
        whole = format_span(len(demand) * demand.step_seconds)
        raise InputError(
            f"{demand.provenance.name}: there was no demand in the last {text}: nothing is left to plan for",
            hint=f"if it comes back, --window {whole} plans from the whole trace",
        )
    since = restricted(workload, AskedWindow(text, last=float(fall.seconds)))
    assert since.window is not None
    unknown = "" if fall.seconds > WEEK else "; so short a time cannot show whether it falls further or comes back"
    said = (
        f"demand fell: the last {text} used {fall.share:.0%} of {fall.than}, so the plan is made from these {text}"
        f" alone{unknown}. {_unless(since, demand, fall)} planning.shrunk: 0 to plan from the whole trace"
    )
    fallen = replace(since, window=replace(since.window, rule=WindowRule.FALLEN))
    return loaded.changed(workload={"window": text}), fallen, (said,)


def _unless(since: Jobs | Demand, demand: Demand, fall: DemandFall) -> str:
    """What looks like a fall and is none, where this may be it, before what plans for that."""
    if isinstance(since, Jobs) and since.window is not None and not (since.begins > since.window.start).any():
        return "No job began in them: the list may just end. If nothing follows, buy nothing; if such jobs go on, set"
    if fall.seconds >= WEEK and len(demand) * demand.step_seconds <= YEAR:
        return "A trace of a year or less cannot tell a fall from a low season: if it is one, set"
    return "Set"
