"""Pictures of a plan keep its figures: lengths in proportion, curves that cross where the numbers do, names as text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.plans.figures import reserved_vcpus
from hcloud.model.plans.operation import Band, OperatingPoint, Operation
from hcloud.model.plans.plan import Flip, Lever, Plan, WhatIf
from hcloud.store.plan_file import load_plan
from hcloud.units import HOURS_PER_MONTH
from hcloud.views.deciding.operation import monthly_of, said_of, simulated_lines
from hcloud.views.deciding.plan import _demand, beside, markdown
from hcloud.views.deciding.plan_charts import demand_picture, falls_picture, use_picture
from hcloud.views.deciding.plan_charts_costs import cost_picture, front_picture, quality_pictures
from hcloud.views.deciding.plan_page import pictures, plan_page
from hcloud.views.deciding.plan_tables import mix_on_screen
from hcloud.views.page.axes import Axis, framed, round_ticks
from hcloud.views.page.bars import BarRow, Bars, bars
from hcloud.views.page.drawn import Drawn, palettes, standalone
from hcloud.views.page.svg import NARROW, WIDE, Canvas
from hcloud.views.pictures import save_drawn

SVG = "{http://www.w3.org/2000/svg}"
NOW = ("--now", "2026-11-20T12:00:00Z")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan of the bundled scenario."""
    target = tmp_path_factory.mktemp("plan") / "plan.json"
    assert (
        run(["-q", "plan", "scenario:high-variability", "--family", "m6i", "--vcpus", "16", *NOW, "--out", str(target)])
        == 0
    )
    return load_plan(target)


def point(strategy: str, monthly: int, kept: float, verdict: str = "dearer") -> OperatingPoint:
    """A simulated point with intervals of a hundred dollars a month and one percent."""
    hourly = Decimal(monthly) / HOURS_PER_MONTH
    half, band = Decimal(100) / HOURS_PER_MONTH, Band(1.5, 0.1)
    quality = (Band(kept, 0.01), Band(0.9, 0.01), band, None, Band(0.5, 0.0))
    return OperatingPoint(strategy, 3, "its own rule", hourly, half, Decimal(monthly), *quality, True, verdict)


def operation(*points: OperatingPoint, budget: Decimal | None = None) -> Operation:
    """What was simulated, with a target of 90%."""
    return Operation(
        points[0].strategy, 3, "m6i.4xlarge", "", "measured-aws", (1, 2), 0.9, budget, True, True, None, None, None,
        None, (), points, points[-1], ("cheapest",),
    )  # fmt: skip


def elements(drawn: Drawn, width: int, kind: str) -> list[ET.Element]:
    """The shapes of a class."""
    root = ET.fromstring(drawn.draw(width).svg())
    return [e for e in root.iter() if kind in e.get("class", "").split()]


def labels(drawn: Drawn, width: int = WIDE) -> list[str]:
    """What is written in a picture."""
    return [e.text or "" for e in ET.fromstring(drawn.draw(width).svg()).iter(f"{SVG}text")]


def corners(shape: ET.Element) -> list[tuple[float, float]]:
    """The corners of a path."""
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", shape.get("d", ""))]


def test_bars_are_as_long_as_their_values() -> None:
    drawn = bars(Bars([BarRow("a", "100", 100.0), BarRow("b", "25", 25.0), BarRow("none", "0", 0.0)]), WIDE)
    long, short, none = (float(e.get("width", "")) for e in ET.fromstring(drawn.svg()).iter(f"{SVG}rect"))
    assert long == pytest.approx(4 * short, abs=0.2)
    assert none == 1.0  # it is there


def test_whiskers_span_the_interval_and_none_is_drawn_without_one() -> None:
    drawn = bars(Bars([BarRow("a", "100", 100.0, 90.0, 110.0), BarRow("b", "50", 50.0)]), WIDE)
    root = ET.fromstring(drawn.svg())
    whiskers = [corners(e) for e in root.iter(f"{SVG}path") if e.get("class") == "p-whisker"]
    (low, _), (high, _) = whiskers[0]
    bar = float(next(root.iter(f"{SVG}rect")).get("width", ""))
    assert len(whiskers) == 3
    assert [low / bar, high / bar] == pytest.approx([0.9, 1.1], abs=0.01)


def test_the_level_lies_where_its_value_does() -> None:
    drawn = bars(Bars([BarRow("a", "100", 100.0)], 50.0, "half"), WIDE)
    root = ET.fromstring(drawn.svg())
    level = next(corners(e) for e in root.iter(f"{SVG}path") if e.get("class") == "p-limit")
    assert level[0][0] == pytest.approx(float(next(root.iter(f"{SVG}rect")).get("width", "")) / 2, abs=0.2)


@pytest.mark.parametrize(
    ("ends", "most", "ticks"),
    [((0, 1226), 6, [0, 250, 500, 750, 1000]), ((0, 1), 6, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), ((93, 100.6), 4, [95, 100])],
)
def test_ticks_are_round_and_few(ends: tuple[float, float], most: int, ticks: list[float]) -> None:
    assert round_ticks(*ends, most) == pytest.approx(ticks)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_field_holds_both_ends_of_its_axes(width: int) -> None:
    across, up = Axis("x", 0.0, 10.0, (0.0, 10.0), str), Axis("y", 0.0, 5.0, (0.0, 5.0), str)
    frame = framed(Canvas(width, 200), across, up)
    assert frame.at(0, 0) == pytest.approx((frame.corner[0], frame.bottom))
    assert frame.at(10, 5) == pytest.approx((frame.right, frame.corner[1]))
    assert 0 < frame.corner[0] < frame.right <= width


@pytest.mark.slow
def test_the_level_of_the_reserve_parts_what_it_takes_from_what_is_rented(plan: Plan) -> None:
    drawn = demand_picture(plan)
    (level,) = elements(drawn, WIDE, "p-level")[1:]  # the first is in the key
    height = corners(level)[0][1]
    reserve, rent = (elements(drawn, WIDE, kind)[-1] for kind in ("p-reserve", "p-rent"))
    assert min(y for _, y in corners(reserve)) == pytest.approx(height, abs=0.1)
    assert max(y for _, y in corners(rent)) >= height - 0.1
    assert f"{reserved_vcpus(plan.mix):,.0f} vCPUs reserved" in labels(drawn)
    assert f"{reserved_vcpus(plan.mix):,.0f} vCPUs are reserved" in drawn.alternative


@pytest.mark.slow
def test_the_reserve_ends_where_its_use_falls_below_what_pays(plan: Plan) -> None:
    """The plan is optimal, so the curve must cross the dashed line within one instance of the reserve."""
    drawn = use_picture(plan)
    assert drawn is not None
    (curve,), limit, level = (elements(drawn, WIDE, kind) for kind in ("p-line", "p-limit", "p-level"))
    pays, reserve = corners(limit[0])[0][1], corners(level[0])[0][0]
    crossing = next(x for x, y in corners(curve) if y > pays)
    vcpu = (corners(curve)[-1][0] - corners(curve)[0][0]) / plan.workload.quantiles[-1]
    assert abs(crossing - reserve) <= 16 * vcpu + 0.2


@pytest.mark.slow
def test_the_use_of_the_last_instance_is_the_one_the_plan_reasons_with(plan: Plan) -> None:
    drawn = use_picture(plan)
    assert drawn is not None
    reasoned = next(re.findall(r"is in use ([\d.]+)% of the time", r)[0] for r in plan.reasons if "is in use" in r)
    told = re.findall(r"is needed about (\d+)% of the time", drawn.alternative)[0]
    assert abs(float(reasoned) - int(told)) <= 1


def test_the_curve_of_vcpus_tells_no_break_even_where_memory_decides(plan: Plan) -> None:
    wide = replace(plan, workload=replace(plan.workload, mean_memory_gib=100 * plan.workload.mean_memory_gib))
    told = [drawn.caption for drawn in map(use_picture, (plan, wide)) if drawn is not None]
    assert ["below the dashed line on demand is cheaper" in caption for caption in told] == [True, False]
    assert ["saves too little of its cost is not bought above it" in caption for caption in told] == [True, False]


def test_a_break_even_is_rounded_alike_in_the_table_the_picture_and_the_reasons(plan: Plan) -> None:
    """The float nearest to 0.6615 is a little less: pictures and tables said 66.1% beside sentences with 66.2%."""
    mix = tuple(m if m.break_even is None else replace(m, break_even=Decimal("0.661500")) for m in plan.mix)
    drawn = use_picture(exact := replace(plan, mix=mix))
    assert drawn is not None
    assert "break-even 66.2%" in labels(drawn)
    assert "break-even of 66.2%" in drawn.alternative
    assert {row[4] for row in mix_on_screen(exact).rows} == {"66.2%", ""}


def test_without_quantiles_or_purchases_there_is_no_curve_of_use(plan: Plan) -> None:
    old = replace(plan, workload=replace(plan.workload, quantiles=(), peaks=()))
    rented = replace(plan, mix=tuple(m for m in plan.mix if not m.option.is_commitment))
    assert use_picture(old) is None
    assert use_picture(rented) is None
    assert "use" not in pictures(rented)
    assert demand_picture(old).draw(WIDE).svg() == demand_picture(plan).draw(WIDE).svg()  # steps are not averaged here
    assert "reserved" not in " ".join(labels(demand_picture(rented)))


def fall(change: str, planned: int, on_demand: int) -> WhatIf:
    """A fall of demand."""
    return WhatIf(Decimal(change), Decimal(planned), Decimal(on_demand), Decimal(1), Decimal(0))


def test_a_plan_that_costs_the_same_at_lower_demand_is_no_cheaper() -> None:
    """'0.0% cheaper than all on demand' was said of what costs exactly that."""
    told = [beside(fall("-0.5", planned, 100_000)) for planned in (100_000, 100_020, 92_000, 134_300)]
    assert told == ["no cheaper", "no cheaper", "8.0% cheaper", "34.3% dearer"]


def test_only_what_is_bought_is_compared_at_less_demand(plan: Plan) -> None:
    rented = replace(plan, mix=tuple(m for m in plan.mix if not m.option.is_commitment))
    assert ["if demand falls by" in str(markdown(one)) for one in (plan, rented)] == [True, False]


def test_rows_that_are_left_out_are_told_beside_all(plan: Plan) -> None:
    """A plan for two fifths of the work, the rest asked for GPUs, told so only in a warning."""
    part = replace(plan, workload=replace(plan.workload, left_out={"asks for GPUs": 1200, "never began": 1}))
    found = [str(_demand(one, 80)[0]).partition(" · ")[0] for one in (plan, part)]
    assert ["left out" in one for one in found] == [False, True]
    assert "rows (1,201 left out)" in found[1]


def test_courses_cross_where_both_cost_the_same(plan: Plan) -> None:
    after, now = (replace(a, total=Decimal(t)) for a, t in ((plan.after, 100), (plan.now, 200)))
    asked = (fall("-0.5", 100, 50), fall("-0.25", 100, 125))
    crossing = replace(plan, after=after, now=now, what_if=asked, flips=())
    drawn = falls_picture(crossing)
    assert drawn is not None
    # the difference goes from +50 at -50% to -25 at -25%: nothing is left of it two thirds of the way
    assert "demand falls by about 33%" in drawn.alternative
    assert "break-even at -33%" in labels(drawn)
    flip = Flip(Lever.DEMAND, Decimal(1), Decimal("0.7"), "all on demand would have been cheaper")
    exact = falls_picture(replace(crossing, flips=(flip,)))
    assert exact is not None
    assert "break-even at -30%" in labels(exact)  # as 'hcloud explain' says it
    assert "demand falls by about 30%" in exact.alternative
    assert falls_picture(replace(plan, what_if=())) is None


def test_the_best_in_hindsight_of_the_demand_planned_for_has_its_spot_part_too(plan: Plan) -> None:
    """What is on spot was in the sums of all falls and not in this: the line fell to $0 for a plan of spot alone."""
    gap = replace(plan.certificate, gap=Decimal(0))
    drawn = falls_picture(replace(plan, after=replace(plan.after, total=plan.after.total + 900), certificate=gap))
    assert drawn is not None
    planned, best = (corners(elements(drawn, WIDE, kind)[-1])[-1] for kind in ("p-line", "p-line3"))
    assert planned == best


def test_courses_that_never_cross_say_nothing_of_it(plan: Plan) -> None:
    after, now = (replace(a, total=Decimal(t)) for a, t in ((plan.after, 100), (plan.now, 200)))
    drawn = falls_picture(replace(plan, after=after, now=now, what_if=(fall("-0.5", 90, 100),), flips=()))
    assert drawn is not None
    assert "becomes cheaper" not in drawn.alternative
    assert not any(label.startswith("break-even at") for label in labels(drawn))


def test_strategies_are_drawn_by_falling_cost_with_their_intervals() -> None:
    run_as = operation(point("HC", 1000, 0.97, ""), point("OdM", 3000, 0.5), point("SR", 2000, 0.99))
    plan_like = cost_picture_of(run_as)
    assert [x for x in labels(plan_like) if "reserved" in x] == [
        "OdM, 3 reserved: misses the target", "SR, 3 reserved", "HC, 3 reserved: chosen",
    ]  # fmt: skip
    assert "$1,000 ± 100" in labels(plan_like)
    assert "SR: reserved only" in plan_like.caption


def cost_picture_of(run_as: Operation) -> Drawn:
    """The picture of simulated costs alone."""
    from hcloud.views.deciding.plan_charts_costs import strategies_picture

    return strategies_picture(run_as)


def test_without_simulation_the_alternatives_are_drawn_and_the_bound_is_the_shortest(plan: Plan) -> None:
    drawn = cost_picture(plan)
    widths = [float(e.get("width", "")) for e in ET.fromstring(drawn.draw(WIDE).svg()).iter(f"{SVG}rect")]
    assert widths == sorted(widths, reverse=True)
    (same,) = [name for name in labels(drawn) if name.startswith("this plan")]
    assert len(widths) == len(plan.alternatives) - same.count(" = ")
    assert labels(drawn).index("lower bound") > labels(drawn).index(same)


def test_on_the_front_dearer_lies_to_the_right_and_better_higher() -> None:
    run_as = operation(point("HC", 1000, 0.97, ""), point("SR", 2000, 0.99), budget=Decimal(1500))
    drawn = front_picture(run_as)
    (chosen,) = elements(drawn, NARROW, "p-best")
    other = elements(drawn, NARROW, "p-reserve")[0]
    assert float(chosen.get("cx", "")) < float(other.get("cx", ""))
    assert float(chosen.get("cy", "")) > float(other.get("cy", ""))
    assert {"HC 3: chosen", "SR 3", "target 90%", "budget $1,500"} <= set(labels(drawn))


def test_a_point_far_below_the_target_is_told_at_the_edge() -> None:
    drawn = front_picture(operation(point("HC", 1000, 0.97, ""), point("OdM", 3000, 0.4)))
    assert "OdM 3, 40%" in labels(drawn)


def test_qualities_that_do_not_apply_have_no_picture() -> None:
    titles = [drawn.title for drawn in quality_pictures(operation(point("HC", 1000, 0.97, "")))]
    assert len(titles) == 3
    assert not any("Waiting" in title for title in titles)


def test_every_picture_says_in_words_what_it_shows(plan: Plan) -> None:
    run_as = operation(point("HC", 1000, 0.97, ""), point("SR", 2000, 0.99))
    drawn = [*pictures(plan).values(), *pictures(replace(plan, operation=run_as)).values()]
    assert len(drawn) == 4 + 8
    for picture in drawn:
        assert len(picture.alternative) > 40
        assert picture.title
        assert picture.caption


def test_L2_names_in_pictures_stay_text(plan: Plan, tmp_path: Path) -> None:
    bad = "</text><script>alert(1)</script>\x1b]"
    drawn = cost_picture_of(operation(point(bad, 1000, 0.97, "")))
    root = ET.fromstring(standalone(drawn, bad))
    assert not list(root.iter(f"{SVG}script"))
    assert root.findtext(f"{SVG}title") == bad.replace("\x1b", "\\x1b")
    save_drawn(drawn, tmp_path / "a.html", bad)
    assert "<script" not in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_files_of_pictures_hold_their_own_colours_light_and_dark(plan: Plan, tmp_path: Path) -> None:
    text = standalone(demand_picture(plan), "demand")
    light, dark = palettes()
    assert "var(" not in text
    assert light["reserve"] in text.split("@media")[0]
    assert dark["reserve"] in text.split("@media")[1]
    save_drawn(demand_picture(plan), tmp_path / "a.png", "demand")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_from_the_paper(scheme: int) -> None:
    """WCAG 2.1: 4.5 for text, 3 for shapes."""
    colours = palettes()[scheme]
    for paper in (colours["paper"], colours["raised"]):
        for text in ("ink", "soft", "link", "limit"):
            assert contrast(colours[text], paper) >= 4.5, (text, paper)
    for shape in ("reserve", "rent", "other", "best"):
        assert contrast(colours[shape], colours["paper"]) >= 3, shape
    assert contrast(colours["ink"], colours["idle"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG reckons it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_both_schemes_and_print_name_the_same_colours() -> None:
    light, dark = palettes()
    assert light.keys() == dark.keys()
    used = set(re.findall(r"var\(--([a-z]+)\)", standalone_rules()))
    assert used <= light.keys()


def standalone_rules() -> str:
    """Both style sheets."""
    from hcloud.views.page.drawn import HERE

    return "".join((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "picture.css"))


def test_a_plain_plan_names_the_commands_that_would_add_what_it_lacks(plan: Plan) -> None:
    page = plan_page(plan)
    headings = [section.heading for section in page.sections]
    said = " ".join(text for s in page.sections for text in (*s.words, *s.notes, *s.points))
    assert "Quality and waiting" not in headings
    for command in ("--strategy auto", "--cloud aws", "--regret-quantile 0.9"):
        assert command in said, command
    assert "80% of 200 simulated futures cost $" in said


def test_the_first_sentence_is_the_decision_with_its_dollars(plan: Plan) -> None:
    saved = plan.now.monthly - plan.after.monthly
    first = plan_page(plan).lead[0]
    assert first.startswith("Reserving 33 × m6i.4xlarge")
    assert f"saves ${saved:,.0f} a month" in first
    dearer = replace(plan, now=replace(plan.now, monthly=plan.after.monthly - 10))
    assert "costs more by $10 a month" in plan_page(dearer).lead[0]
    rented = replace(plan, mix=tuple(m for m in plan.mix if not m.option.is_commitment))
    assert plan_page(rented).lead[0].startswith("Committing to nothing and renting on demand saves")
    far = replace(plan.refusals[0], margin=None)
    page = plan_page(replace(rented, after=plan.now, refusals=(far,)))
    assert page.lead[0].endswith("a month: no commitment is worth buying.")
    assert page.lead[0].count("$") == 1
    said = {section.heading: section.words for section in page.sections}
    assert said["Why not something else"] == ("1 option refused.",), "a table of it is below"


def test_what_is_owned_is_told_by_the_type_that_it_is_counted_in(plan: Plan) -> None:
    made = operation(point("HC", 200, 0.95, ""), replace(point("HC", 300, 0.95), reserve=2))
    assert "of the 3 reserved, 2 are what is owned, counted in m6i.4xlarge" in said_of(made)
    owning = replace(plan, operation=made)
    assert monthly_of(owning) == (Decimal(300), Decimal(200))
    assert ": 95.0% of jobs kept, 95.0% with what is owned; " in next(simulated_lines(owning))
