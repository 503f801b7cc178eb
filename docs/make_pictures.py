"""Draw the README's pictures from real runs: ``python docs/make_pictures.py``."""

from __future__ import annotations

import io
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import vl_convert
from day_of_work import a_day
from rich.console import Console

from hcloud.model.plans.plan import Plan
from hcloud.readers.configuration.config import load_config
from hcloud.usecases.deciding.make import make_plan
from hcloud.usecases.reports.quality import course_of_journal
from hcloud.usecases.studies.simulate import compare, strategies_named
from hcloud.usecases.studies.simulation import SimulationRequest, open_study
from hcloud.usecases.workloads.sources import Flags, with_flags
from hcloud.views.console import Terminal
from hcloud.views.deciding.plan import show_plan
from hcloud.views.deciding.plan_charts_costs import front_picture
from hcloud.views.deciding.plan_page import plan_page
from hcloud.views.page.drawn import standalone
from hcloud.views.page.render import render
from hcloud.views.pictures import save_drawn
from hcloud.views.reports.course import course_picture
from hcloud.views.studies.simulation_charts import picture_of

HERE = Path(__file__).parent
SIX_WEEKS = HERE.parent / "examples" / "six-weeks" / "hcloud.yaml"
EXAMPLE = HERE.parent / "examples" / "high-variability" / "hcloud.yaml"
WIDTH = 100


def main() -> None:
    """Write plan.png (the example's plan on a terminal), page-*.png, day.png, research/front.png and compare.png."""
    os.environ["HYC_PRICES"] = str(HERE / "none")
    draw_plan()
    simulated = simulated_plan()
    draw_front(simulated)
    draw_page(simulated)
    draw_comparison(Flags(workload="scenario:high-variability"), 7, HERE / "research" / "compare.png")
    draw_day()


def draw_day() -> None:
    """A day of live work on the cloud in memory, by its journal."""
    with TemporaryDirectory() as folder:
        drawn = course_picture(course_of_journal(a_day(Path(folder))), "A day of hcloud operate")
    (HERE / "day.png").write_bytes(vl_convert.svg_to_png(standalone(drawn, drawn.title), scale=1.4))


def draw_comparison(flags: Flags, seeds: int, target: Path) -> None:
    """Compare all strategies and draw the six panels."""
    now = datetime.now(UTC)
    study = open_study(with_flags(load_config(None), flags), SimulationRequest(), now.date())
    drawn = picture_of(compare(study, strategies_named(["SR,OdF,OdM,HF,HM"]), seeds))
    target.write_bytes(vl_convert.svg_to_png(standalone(drawn, drawn.title), scale=1.5))  # half the bytes of twice


def draw_plan() -> None:
    """The plan of the bundled example."""
    screen = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    plan = make_plan(load_config(SIX_WEEKS), datetime.now(UTC)).plan
    show_plan(plan, Terminal(screen, screen))
    svg = screen.export_svg(title="hcloud plan -f examples/six-weeks/hcloud.yaml")
    (HERE / "plan.png").write_bytes(vl_convert.svg_to_png(svg, scale=1))


def simulated_plan() -> Plan:
    """The plan of the high-variability scenario with every strategy simulated."""
    loaded = with_flags(load_config(EXAMPLE), Flags(operation={"strategy": "auto", "seeds": 7}))
    return make_plan(loaded, datetime.now(UTC)).plan


def draw_front(plan: Plan) -> None:
    """Dollars against quality of every strategy for the high-variability scenario."""
    assert plan.operation is not None
    save_drawn(
        front_picture(plan.operation), HERE / "research" / "front.png", f"{plan.workload.name}: dollars and quality"
    )


def draw_page(plan: Plan) -> None:
    """The top of its page as Chromium shows it on a screen, and on a phone in the dark."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(render(plan_page(plan)), encoding="utf-8")
        switches = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=found, args=switches)
        screen = browser.new_page(viewport={"width": 1280, "height": 1500}, color_scheme="light")
        screen.goto(path.as_uri())
        screen.screenshot(path=HERE / "page-desktop.png")
        phone = browser.new_context(
            viewport={"width": 360, "height": 1000},
            color_scheme="dark",
            device_scale_factor=1.5,
            reduced_motion="reduce",
        ).new_page()
        phone.goto(f"{path.as_uri()}#demand-against-the-reserve")
        phone.screenshot(path=HERE / "page-phone.png")
        browser.close()


if __name__ == "__main__":
    main()
