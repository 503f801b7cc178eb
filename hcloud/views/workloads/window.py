"""The part of a trace that counts: one line for a screen, and the document."""

from __future__ import annotations

from hcloud.model.workload import Window, WindowRule
from hcloud.units import SECONDS_PER_HOUR, format_span

WORTH_A_WORD = 0.02  # ours: by so much of a window whole steps may differ from it unsaid

_WHY = {
    WindowRule.ASKED: "as asked",
    WindowRule.SHORTER: "the whole trace, which is shorter than requested",
    WindowRule.TRACE: "up to the end that the trace states",
    WindowRule.ARRIVALS: "up to the last submission",
    WindowRule.STANDING: "the time that its jobs run: they outlast their submissions",
    WindowRule.FALLEN: "since demand fell",
    WindowRule.WHOLE: "the whole series",
}


def mean_window_line(window: Window, hours: float) -> str:
    """The line of a window, and over what the mean of its demand is where whole steps are longer or shorter."""
    counted = hours * SECONDS_PER_HOUR
    if abs(counted - window.seconds) <= WORTH_A_WORD * window.seconds:
        return window_line(window)
    return f"{window_line(window)}; the mean is over {format_span(counted)}, in whole steps"


def window_line(window: Window) -> str:
    """How long the window is, why, and what of the trace lies outside it."""
    said = f"{format_span(window.seconds)}, {_WHY[window.rule]}"
    if window.waited:
        said = said.replace("last submission", "last start")
        said += f"; jobs count from their start, {format_span(window.waited)} after submission on average"
    filling, draining = (" (filling)", " (draining)") if window.rule is WindowRule.ARRIVALS else ("", "")
    cut = [f"the first {format_span(window.cut_before)}{filling}"] if window.cut_before >= 1 else []
    cut += [f"the last {format_span(window.cut_after)}{draining}"] if window.cut_after >= 1 else []
    return f"{said}; not counted: {', '.join(cut)}" if cut else said
