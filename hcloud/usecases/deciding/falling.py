"""Which weeks of a trace are planned for where its demand fell."""

from __future__ import annotations

from dataclasses import replace

from hcloud.model.workload import Demand, Jobs, WindowRule
from hcloud.planning.forecasting.fall import fall_of
from hcloud.planning.forecasting.forecast import WEEK
from hcloud.planning.forecasting.window import AskedWindow, restricted
from hcloud.readers.configuration.config import Loaded
from hcloud.units import counted, format_span


def since_it_fell(
    loaded: Loaded, workload: Jobs | Demand, demand: Demand
) -> tuple[Loaded, Jobs | Demand, tuple[str, ...]]:
    """The weeks of a workload since its demand fell, the configuration that asks for them, and what to say of it; all
    as it was where a window is asked for, or demand did not fall."""
    planning = loaded.config.planning
    fall = fall_of(demand, planning.shrunk, planning.warm_up)
    if loaded.config.workload.window is not None or fall is None:
        return loaded, workload, ()
    seconds = fall.weeks * WEEK
    text = format_span(seconds)
    since = restricted(workload, AskedWindow(text, last=float(seconds)))
    section = loaded.config.workload.model_copy(update={"window": text})
    config = loaded.config.model_copy(update={"workload": section})
    further = "; one week cannot show whether it falls further" if fall.weeks == 1 else ""
    said = (
        f"demand fell: the last {text} used {fall.share:.0%} of the mean of the {counted(fall.before, 'week')} before,"
        f" so the plan is made from these {text} alone{further}. Set planning.shrunk: 0 to plan from the whole trace"
    )
    return replace(loaded, config=config), _as_fallen(since), (said,)


def _as_fallen(workload: Jobs | Demand) -> Jobs | Demand:
    assert workload.window is not None
    return replace(workload, window=replace(workload.window, rule=WindowRule.FALLEN))
