"""Which weeks of a trace are planned for where its demand fell."""

from __future__ import annotations

from dataclasses import replace

from hcloud.model.workload import Demand, Jobs, WindowRule
from hcloud.planning.forecasting.fall import fall_of
from hcloud.planning.forecasting.forecast import WEEK
from hcloud.planning.forecasting.window import AskedWindow, demand_within, restricted, window_of
from hcloud.readers.configuration.config import Loaded
from hcloud.units import SECONDS_PER_HOUR, counted, format_span


def since_it_fell(loaded: Loaded, workload: Jobs | Demand) -> tuple[Loaded, Jobs | Demand, tuple[str, ...]]:
    """The weeks of a workload since its demand fell, the configuration that asks for them, and what to say of it; all
    as it was where a window is asked for, or demand did not fall."""
    if loaded.config.workload.window is not None:
        return loaded, workload, ()
    window, step = window_of(workload), SECONDS_PER_HOUR
    if isinstance(workload, Demand):
        step = max(step, workload.step_seconds)
    planning = loaded.config.planning
    begin = min(window.start + planning.warm_up, window.end)
    fall = fall_of(demand_within(workload, step, replace(window, start=begin)), planning.shrunk)
    if fall is None:
        return loaded, workload, ()
    seconds = fall.weeks * WEEK
    text = format_span(seconds)
    since = restricted(workload, AskedWindow(text, last=float(seconds)))
    section = loaded.config.workload.model_copy(update={"window": text})
    config = loaded.config.model_copy(update={"workload": section})
    said = (
        f"demand fell: the last {text} used {fall.share:.0%} of the mean of the {counted(fall.before, 'week')} before,"
        f" so the plan is made from these {text} alone;"
        " set planning.shrunk: 0 to plan from the whole trace"
    )
    return replace(loaded, config=config), _as_fallen(since), (said,)


def _as_fallen(workload: Jobs | Demand) -> Jobs | Demand:
    assert workload.window is not None
    return replace(workload, window=replace(workload.window, rule=WindowRule.FALLEN))
