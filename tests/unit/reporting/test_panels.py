"""Panels: each kind draws what it is given, inside of the picture, and names from outside stay text."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.views.page.drawn import Drawn, standalone
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, PanelKind, SeriesMark, panels
from hcloud.views.page.svg import NARROW, Canvas

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</text><script>alert(1)</script>"
VALUES: dict[PanelKind, tuple[float, ...]] = {
    "lines": (4.0, 3.0, 6.0),
    "steps": (4.0,),
    "bars": (4.0, 3.0, 6.0),
    "stacked": (4.0,),
    "boxes": (1.0, 2.0, 3.0, 4.0, 9.0, 3.5),
    "areas": (4.0,),
    "heat": (2.0, 0.5),
    "dots": (4.0, 1.0),
}


def panel(kind: PanelKind, series: Sequence[str] = ("a", "b"), log: str = "") -> Panel:
    names = ("x", "y", "z") if kind == "stacked" else ()
    marks = [SeriesMark(name, float(at), VALUES[kind]) for name in series for at in range(3)]
    return Panel(f"{kind} of both", kind, "hours", "vCPUs", marks, "what it is", log=log, names=names)


def drawn(panel: Panel, width: int = WIDTH, *, shared: bool = True) -> Canvas:
    return panels([PanelGroup([panel, panel], shared=shared)], width, "about it")


def shapes(canvas: Canvas, kind: str) -> int:
    """How many shapes have a class."""
    return sum(kind in e.get("class", "").split() for e in ET.fromstring(canvas.svg()).iter())


def test_no_two_series_of_a_dozen_look_alike() -> None:
    names = [f"application {at}" for at in range(12)]
    classes = PanelGroup([panel("lines", names)]).classes()
    assert len(set(classes.values())) == len(names)


@pytest.mark.parametrize("width", [WIDTH, NARROW])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", VALUES)
def test_what_is_drawn_lies_in_the_picture(kind: PanelKind, shared: bool, width: int) -> None:
    canvas = drawn(panel(kind), width, shared=shared)
    reach = [(0.0, 0.0)]

    def walk(element: ET.Element, x: float, y: float) -> None:
        moved = re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        points = [tuple(map(float, p)) for p in re.findall(r"(-?[\d.]+) (-?[\d.]+)", element.get("d", ""))]
        if element.tag == f"{SVG}rect":
            left, top = float(element.get("x", "")), float(element.get("y", ""))
            points = [(left, top), (left + float(element.get("width", "")), top + float(element.get("height", "")))]
        reach.extend((x + a, y + b) for a, b in points)
        for part in element:
            walk(part, x, y)

    walk(ET.fromstring(canvas.svg()), 0.0, 0.0)
    assert len(reach) > 10
    assert all(-0.2 <= x <= canvas.width + 0.2 and -0.2 <= y <= canvas.height + 0.2 for x, y in reach)


@pytest.mark.parametrize(
    ("kind", "shape", "count"),
    [
        ("lines", "p-fill", 12), ("areas", "p-c2", 3), ("dots", "p-fill", 12), ("bars", "p-whisker", 12),
        ("boxes", "p-ink", 12),
    ],
)  # fmt: skip
def test_each_value_is_drawn_once(kind: PanelKind, shape: str, count: int) -> None:
    """Of three values of two series in two panels; areas are one shape a series, and one in the key."""
    assert shapes(drawn(panel(kind)), shape) == count


def test_cells_of_a_row_in_one_shade_are_one_and_rows_that_are_empty_are_not_drawn() -> None:
    marks = [SeriesMark("", float(x), (float(row), 0.5 * row)) for x in range(5) for row in (0, 1, 2)]
    found = drawn(Panel("", "heat", "hours", "server", marks), shared=False)
    assert [shapes(found, f"p-h{shade}") for shade in (8, 16)] == [2 + 2, 2 + 2]  # a row and a patch of each key


@pytest.mark.parametrize("kind", ["lines", "steps", "boxes"])
def test_logarithmic_axes_have_their_decades(kind: PanelKind) -> None:
    marks = [SeriesMark("a", 10.0**n, tuple(10.0**n * v for v in VALUES[kind])) for n in range(4)]
    canvas = drawn(Panel("", kind, "weeks", "dollars", marks, log="xy"))
    labels = {e.text for e in ET.fromstring(canvas.svg()).iter(f"{SVG}text")}
    assert {"10", "100", "1,000"} <= labels


def test_what_has_no_value_or_no_place_on_a_logarithmic_axis_is_left_out() -> None:
    values = (math.nan, 0.0, 5.0, 50.0)
    marks = [SeriesMark("a", float(x), (v, v, v)) for x, v in enumerate(values)]
    assert shapes(drawn(Panel("", "lines", "x", "y", marks, log="y")), "p-fill") == 2 * 2
    assert shapes(drawn(Panel("", "lines", "x", "y", marks)), "p-fill") == 2 * 3
    empty = drawn(Panel("nothing", "boxes", "", "y", ()))
    assert "nothing" in empty.svg()


@pytest.mark.slow
@given(st.data(), st.sampled_from(sorted(VALUES)), st.sampled_from(["", "y"]), st.sampled_from([WIDTH, NARROW]))
@settings(deadline=None, max_examples=60)
def test_any_values_are_drawn_or_left_out(data: st.DataObject, kind: PanelKind, log: str, width: int) -> None:
    amounts = st.sampled_from([0.0, 1e-9, 0.5, 3.0, 100.0, 5e12, -2.0, math.nan, math.inf])
    marks = data.draw(
        st.lists(
            st.builds(
                SeriesMark,
                st.sampled_from(["a", "b" * 40, ""]),
                st.sampled_from([0.0, 0.1, 1.0, 2.0, 1e6]),
                st.tuples(*[amounts] * len(VALUES[kind])),
            ),
            max_size=6,
        )
    )
    held = log if kind in ("lines", "steps", "boxes") else ""
    names = ("x", "y" * 50) if kind == "stacked" else ()
    svg = drawn(Panel("title", kind, "x", "y", marks, log=held, names=names), width).svg()
    assert not re.search(r"nan|inf", re.sub(r">[^<]*<", "><", svg))


@pytest.mark.parametrize(("whole", "expected"), [(True, ["1", "2"]), (False, ["1", "1.25", "1.5", "1.75", "2"])])
def test_an_axis_of_whole_numbers_has_no_ticks_between(whole: bool, expected: list[str]) -> None:
    marks = [SeriesMark("a", x, (9.0, 9.0, 9.0)) for x in (1.0, 2.0)]
    svg = drawn(Panel("", "lines", "seeds", "y", marks, whole=whole), 260).svg()
    found = dict.fromkeys(e.text for e in ET.fromstring(svg).iter(f"{SVG}text") if e.get("text-anchor") == "middle")
    assert [text for text in found if text in {"1", "1.25", "1.5", "1.75", "2"}] == expected


def test_panels_of_a_group_have_one_scale_unless_they_have_their_own() -> None:
    low, high = (Panel("", "bars", "", "y", [SeriesMark("a", 0.0, (v, v, v))]) for v in (1.0, 100.0))

    def tallest(*, own: bool = False) -> list[float]:
        found = ET.fromstring(panels([PanelGroup([low, high], own_scales=own)], WIDTH).svg()).iter(f"{SVG}rect")
        return sorted(float(e.get("height", "")) for e in found if "p-fill" in e.get("class", ""))

    together, apart = tallest(), tallest(own=True)
    assert together[0] == pytest.approx(together[1] / 100, abs=0.1)
    assert apart[0] == apart[1]


@pytest.mark.parametrize("kind", VALUES)
def test_L2_names_from_outside_stay_text(kind: PanelKind) -> None:
    evil = Panel(EVIL, kind, EVIL, EVIL, panel(kind, (EVIL, "b")).marks, EVIL, names=panel(kind).names)
    text = standalone(Drawn(EVIL, lambda width: drawn(evil, width), EVIL, EVIL, WIDTH), EVIL)
    assert "<script" not in text
    assert not list(ET.fromstring(text).iter(f"{SVG}script"))


def test_a_file_holds_the_rules_of_what_is_drawn_and_no_others() -> None:
    bars = standalone(Drawn("t", lambda width: drawn(panel("bars"), width), "said", "", WIDTH), "t")
    assert ".p-c2 {" in bars
    assert ".p-whisker {" in bars
    assert ".p-h8 {" not in bars
    assert "currentColor" in bars
    assert "var(" not in bars


def test_six_panels_where_five_fit_are_two_rows_of_three() -> None:
    every = [replace(panel("areas"), title=f"panel{n}") for n in range(6)]
    root = ET.fromstring(panels([PanelGroup(every, columns=5)], WIDTH, "").svg())
    titled = [
        sum("".join(t.itertext()).startswith("panel") for t in g.iter(f"{SVG}text")) for g in root.iter(f"{SVG}g")
    ]
    assert [count for count in titled if 1 < count < 6] == [3, 3]


@pytest.mark.parametrize(("kind", "values"), [("dots", (100.0, 1.0)), ("lines", (100.0, 100.0, 100.0))])
def test_no_share_is_above_all(kind: PanelKind, values: tuple[float, ...]) -> None:
    one = Panel("", kind, "$ an hour", "% of jobs", [SeriesMark("HC", 1.0, values)], from_zero=False)
    texts = [element.text or "" for element in ET.fromstring(drawn(one).svg()).iter(f"{SVG}text")]
    shares = [float(text) for text in texts if text.isdecimal() and int(text) > 50]
    assert max(shares) == 100
    assert min(shares) < 100
    places = [float(e.get("cy", "")) for e in ET.fromstring(drawn(one).svg()).iter(f"{SVG}circle")]
    assert max(places) < 100, "little room above"


def test_names_of_points_that_lie_close_together_cover_neither_points_nor_names() -> None:
    marks = [
        ("HC", 0.37, 84),
        ("OdM", 0.67, 73),
        ("HF", 0.75, 94),
        ("HM", 0.77, 84),
        ("OdF", 0.78, 94.5),
        *((name, 0.9, 100) for name in ("SR", "SR2", "SR3", "SR4")),
    ]
    panel = Panel("", "dots", "$", "%", [SeriesMark(name, x, (float(y), 0.0)) for name, x, y in marks])
    named = [e for e in ET.fromstring(drawn(panel, 340).svg()).iter(f"{SVG}text") if e.text in {m[0] for m in marks}]
    boxes = [(float(e.get("x", "")), float(e.get("y", "")), 3.8 * len(e.text or "")) for e in named[: len(marks)]]
    for at, (x, y, half) in enumerate(boxes):
        assert all(abs(x - far) >= half + wide or abs(y - up) >= 12 for far, up, wide in boxes[:at]), named[at].text


def test_many_names_of_points_are_left_out_where_none_has_place_and_a_long_key_covers_no_line() -> None:
    """All 73 names lay on each other, and the key of as many lines covered them and the pictures below."""
    names = [f"strategy {at}" for at in range(30)]
    dots = drawn(Panel("", "dots", "$", "%", [SeriesMark(n, 1.0, (50.0, float(n == names[-1]))) for n in names]), 340)
    texts = [e.text for e in ET.fromstring(dots.svg()).iter(f"{SVG}text")]
    assert names[-1] in texts
    assert len({*names} & {*texts}) < 8
    lines = Panel("", "steps", "weeks", "$", [SeriesMark(n, x, (x,)) for n in names for x in (1.0, 2.0)])
    few = replace(lines, marks=lines.marks[:4])
    assert drawn(lines, 340, shared=False).height > drawn(few, 340, shared=False).height + 300


def test_of_counts_no_tick_lies_between_whole_numbers() -> None:
    panel = Panel("", "stacked", "minutes", "in 5 minutes", [SeriesMark("started", 0.0, (1.0,))], names=("0", "5"))
    texts = {e.text for e in ET.fromstring(drawn(panel).svg()).iter(f"{SVG}text")}
    assert "1" in texts
    assert not any(text and text.startswith("0.") for text in texts)
