"""Pictures of a reproduction: panels with curves, bars, boxes, stacked areas or a heat map."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from hcloud.research.page import file_name
from hcloud.research.studies.report import Picture, PictureMark
from hcloud.views.pictures import check_picture, save_picture, styled

_COLOURS = {"SR": "#2f6f9f", "OdF": "#e08a2e", "OdM": "#b0302f", "HF": "#5a9e5a", "HM": "#9a6fb0"}
_PLACES = {
    "reserved": "#2f6f9f", "1 vCPU": "#f7d9a8", "2 vCPU": "#f2b866", "4 vCPU": "#e08a2e", "8 vCPU": "#b85f1c",
    "16 vCPU": "#8c2d04", "on demand": "#e08a2e",
}  # fmt: skip
_WIDTH, _HEIGHT = 250, 180
_COLUMNS = 3
_DIGITS = 4
_MOST_POINTS = 60
_OVERLAP = 1.2
"""Cells of a heat map reach into the next, which is drawn over them, so that no seams show."""
_SHADE = 0.0625
"""Shares of a server that a heat map tells apart: the sizes of jobs are whole sixteenths."""
_DASHED = "HM"
"""Drawn over HF, with which it often coincides."""
_TAG = re.compile(r"<[^>]*>")
_LABELS = re.compile(r' (?:aria-[a-z]+|role|class|pointer-events)="[^"]*"')
_NAME = re.compile(r'\bid="([^"]+)"')
_REFERENCE = re.compile(r"""(\bid="|url\(['"]?#|href="#)([^"')]+)(["')])""")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
Values = list[dict[str, Any]]


def save_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Every picture under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        path = folder / file_name(picture)
        check_picture(path)
        save_picture(styled(_drawn(picture)), path, picture.title)
        path.write_text(renumbered(slim(path.read_text(encoding="utf-8"))), encoding="utf-8")


def slim(svg: str) -> str:
    """The same picture in half the bytes: no labels for readers of marks, coordinates to a tenth."""
    return _TAG.sub(lambda tag: _LONG_NUMBER.sub(_tenth, _LABELS.sub("", tag[0])), svg)


def renumbered(svg: str) -> str:
    """The same picture whatever was drawn before it: names inside it are counted through the life of a process."""
    names = {name: f"n{at}" for at, name in enumerate(dict.fromkeys(_NAME.findall(svg)))}
    return _REFERENCE.sub(lambda found: found[1] + names.get(found[2], found[2]) + found[3], svg)


def _tenth(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _drawn(picture: Picture) -> Any:
    import altair as alt

    draw = {"lines": _lines, "bars": _bars, "boxes": _boxes, "areas": _areas, "heat": _heat}[picture.kind]
    panels = list(dict.fromkeys(mark.panel for mark in picture.marks))
    charts = [
        draw(picture, [m for m in picture.marks if m.panel == panel]).properties(
            width=_WIDTH, height=_HEIGHT, title=panel
        )
        for panel in panels
    ]
    title = alt.TitleParams(picture.title, fontSize=15, offset=10)
    made = alt.concat(*charts, columns=_COLUMNS).properties(title=title).resolve_scale(color="shared")
    return made.resolve_scale(y="shared") if picture.y and picture.kind != "heat" else made


def _chart(values: Values) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=values))


def _colour(marks: Sequence[PictureMark], *, legend: bool = True) -> Any:
    import altair as alt

    known = {**_COLOURS, **_PLACES}
    present = {mark.series for mark in marks}
    names = [name for name in known if name in present]
    scale = alt.Scale(domain=names, range=[known[name] for name in names])
    told = alt.Legend(title=None, orient="bottom", direction="horizontal", symbolOpacity=1) if legend else None
    return alt.Color("series:N", scale=scale, legend=told)


def _scale(picture: Picture, axis: Literal["x", "y"]) -> Any:
    import altair as alt

    if axis in picture.log:
        return alt.Scale(type="log", nice=False) if axis == "x" else alt.Scale(type="log")
    return alt.Scale(nice=False, zero=False) if axis == "x" else alt.Scale(zero=True)


def _rows(marks: Sequence[PictureMark], names: tuple[str, ...]) -> Values:
    return [
        {"series": m.series, "x": _short(m.x), **{n: _short(v) for n, v in zip(names, m.values, strict=True)}}
        for m in marks
    ]


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _lines(picture: Picture, marks: list[PictureMark]) -> Any:
    import altair as alt

    values = [v for v in _rows(marks, ("y", "low", "high")) if v["y"] == v["y"]]
    if "y" in picture.log:
        values = [{**v, "low": max(v["low"], v["y"] / 10)} for v in values if v["y"] > 0]
    base = _chart(values)
    axis = _decades(marks) if "y" in picture.log else alt.Axis()
    x = alt.X("x:Q", title=picture.x, scale=_scale(picture, "x"), axis=alt.Axis(format="~r", labelOverlap=True))
    y = alt.Y("y:Q", title=picture.y or None, scale=_scale(picture, "y"), axis=axis)
    band = base.mark_area(opacity=0.2).encode(
        x=x, y=alt.Y("low:Q", title=picture.y or None), y2="high:Q", color=_colour(marks)
    )
    points = alt.OverlayMarkDef(size=16) if len(values) <= _MOST_POINTS else False
    last = alt.condition(alt.datum.series == _DASHED, alt.value([5, 4]), alt.value([1, 0]))
    line = base.mark_line(point=points).encode(x=x, y=y, color=_colour(marks), strokeDash=last)
    return band + line


def _decades(marks: Sequence[PictureMark]) -> Any:
    """Ticks of a logarithmic axis: 1, 10, 100 ..."""
    import altair as alt

    values = [value for mark in marks for value in mark.values if value > 0]
    ends = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return alt.Axis(values=[10.0**power for power in range(ends[0], ends[1] + 1)], format="~s")


def _named(picture: Picture, marks: list[PictureMark]) -> Any:
    import altair as alt

    order = list(dict.fromkeys(mark.series for mark in marks))
    return alt.X("series:N", sort=order, title=picture.x or None, axis=alt.Axis(labelAngle=0))


def _bars(picture: Picture, marks: list[PictureMark]) -> Any:
    import altair as alt

    base = _chart(_rows(marks, ("y", "low", "high"))).encode(x=_named(picture, marks))
    colour = _colour(marks, legend=False)
    bars = base.mark_bar(size=28).encode(y=alt.Y("y:Q", title=picture.y), color=colour)
    return bars + base.mark_rule(color="#111").encode(y="low:Q", y2="high:Q")


def _boxes(picture: Picture, marks: list[PictureMark]) -> Any:
    import altair as alt

    values = _rows(marks, ("p5", "p25", "p50", "p75", "p95", "mean"))
    base = _chart(values).encode(x=_named(picture, marks))
    axis = _decades(marks) if "y" in picture.log else alt.Axis()
    y = alt.Y("p5:Q", title=picture.y, scale=_scale(picture, "y"), axis=axis)
    whiskers = base.mark_rule(color="#555").encode(y=y, y2="p95:Q")
    box = base.mark_bar(size=26).encode(y=alt.Y("p25:Q"), y2="p75:Q", color=_colour(marks, legend=False))
    middle = base.mark_tick(color="#111", size=26, thickness=1.5).encode(y="p50:Q")
    mean = base.mark_point(color="#111", filled=True, shape="diamond", size=45, opacity=1).encode(y="mean:Q")
    return whiskers + box + middle + mean


def _areas(picture: Picture, marks: list[PictureMark]) -> Any:
    import altair as alt

    known = list(_PLACES)
    values = [{**v, "place": known.index(v["series"])} for v in _rows(marks, ("y",))]
    return (
        _chart(values)
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("x:Q", title=picture.x, scale=alt.Scale(nice=False)),
            y=alt.Y("y:Q", title=picture.y, stack="zero"),
            color=_colour(picture.marks),
            order=alt.Order("place:Q"),
        )
    )


def _heat(picture: Picture, marks: list[PictureMark]) -> Any:
    import altair as alt

    times, servers = (sorted(places) for places in ({m.x for m in marks}, {m.values[0] for m in marks}))
    width, height = (_step(steps) for steps in (times, servers))
    ends = alt.Scale(nice=False, domain=[0, servers[-1] + height])
    return (
        _chart(_bands(marks, width, height))
        .mark_rect(clip=True)
        .encode(
            x=alt.X("x:Q", title=picture.x, scale=alt.Scale(nice=False, domain=[times[0], times[-1] + width])),
            x2="to:Q",
            y=alt.Y("row:Q", title=picture.y, scale=ends),
            y2="top:Q",
            color=alt.Color("use:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=alt.Legend(title="use")),
        )
    )


def _bands(marks: Sequence[PictureMark], width: float, height: float) -> Values:
    """Cells of a row that follow each other and differ by less than a shade as one."""
    bands: Values = []
    for mark in sorted(marks, key=lambda m: (m.values[0], m.x)):
        row, use = mark.values[0], round(mark.values[1] / _SHADE) * _SHADE
        if bands and (bands[-1]["row"], bands[-1]["use"]) == (row, use):
            bands[-1]["to"] = _short(mark.x + width * _OVERLAP)
            continue
        place = {"x": _short(mark.x), "to": _short(mark.x + width * _OVERLAP), "top": row + height * _OVERLAP}
        bands.append({"row": row, "use": use, **place})
    return bands


def _step(places: list[float]) -> float:
    return places[1] - places[0] if len(places) > 1 else 1.0
