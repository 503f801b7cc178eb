"""The course of a run as a picture: demand against machines, the queue below it, and what was decided when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain

from hcloud.planning.reports.course import DAY, QUEUED, RELEASED, RENTED, REPAIRED, RESERVED, WorkCourse
from hcloud.units import counted
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import Panel, PanelGroup, SeriesMark, panels

_CAPACITY = {"reserved": "p-c1", "rented": "p-c2", "demand of jobs": "p-level"}
_MADE = {RESERVED: "p-c1", RENTED: "p-c2", QUEUED: "p-c3", RELEASED: "p-other", REPAIRED: "p-c4"}
_HIGH, _LOW = 250.0, 150.0


def course_picture(course: WorkCourse, title: str) -> Drawn:
    """The picture."""
    unit, seconds = _unit(course)
    # a day is read by the clock; what is shorter or longer, or has no date, from its beginning
    offset = course.start % DAY / seconds if course.by_clock else 0.0
    places = [offset + at * course.step / seconds for at in range(len(course.demand))]
    capacity = Panel(
        "demand and machines",
        "areas",
        unit,
        "vCPUs",
        [
            mark
            for name, values in (("reserved", course.reserved), ("rented", course.rented))
            for mark in (_series(name, places, values) if values.any() else ())
        ],
        over=_series("demand of jobs", places, course.demand),
    )
    queue = Panel("jobs in the queue", "areas", unit, "jobs, mean", _series(QUEUED, places, course.queue))
    bars = range(max((len(numbers) for numbers in course.decisions.values()), default=1))
    begins = offset + (course.first_bar - course.start) / seconds
    names = tuple(f"{begins + at * course.bar / seconds:.3g}" for at in bars)
    made = [_series(kind, bars, numbers) for kind, numbers in course.decisions.items()]
    decided = Panel(
        "decisions", "stacked", unit, f"in {_span(course.bar)}", list(chain.from_iterable(made)), names=names
    )
    groups = [
        PanelGroup([capacity], kinds=_CAPACITY, height=_HIGH),
        *([PanelGroup([queue], kinds=_MADE, height=_LOW)] if course.queue.any() else []),
        PanelGroup([decided], kinds=_MADE, height=_LOW),
    ]
    return Drawn(title, lambda width: panels(groups, width), _told(course), "")


def _series(name: str, places: Iterable[float], values: Iterable[float]) -> list[SeriesMark]:
    return [SeriesMark(name, float(x), (float(value),)) for x, value in zip(places, values, strict=True)]


def _span(seconds: float) -> str:
    for name, length in (("day", DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= length:
            return (
                f"{'an' if name == 'hour' else 'a'} {name}"
                if seconds == length
                else counted(int(seconds // length), name)
            )
    return counted(int(seconds), "second")


def _unit(course: WorkCourse) -> tuple[str, float]:
    """What the horizontal axis counts, and the seconds of one."""
    whole = course.step * len(course.demand)
    if course.by_clock:
        return f"hour of {datetime.fromtimestamp(course.start, UTC):%d %B %Y} (UTC)".replace(" 0", " "), 3600.0
    for name, seconds in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if whole >= 3 * seconds:
            return f"{name} since the beginning", seconds
    return "seconds since the beginning", 1.0


def _told(course: WorkCourse) -> str:
    """What it shows, for who cannot see it."""
    means = f"{course.demand.mean():,.1f} vCPUs demanded in the mean and {course.demand.max():,.1f} at the most"
    rented = f"{course.reserved.max():,.0f} vCPUs reserved, up to {course.rented.max():,.0f} rented"
    decided = ", ".join(f"{sum(numbers):,} {kind}" for kind, numbers in course.decisions.items())
    return f"{means}; {rented}; {course.queue.mean():.2g} jobs in the queue in the mean. Decisions: {decided}."
