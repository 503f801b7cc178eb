"""Draw the README's pictures from real runs: ``python docs/make_pictures.py [AZURE_VM_TRACE]``."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vl_convert
from rich.console import Console

from hcloud.model.catalog import Provider
from hcloud.readers.config import load_config
from hcloud.usecases.plan import make_plan
from hcloud.usecases.simulate import compare, strategies_named
from hcloud.usecases.simulation import Asked, open_study
from hcloud.usecases.sources import Flags, with_flags
from hcloud.views.console import Terminal
from hcloud.views.pictures import save_drawn
from hcloud.views.plan import show_plan
from hcloud.views.plan_charts_costs import front_picture
from hcloud.views.simulation_charts import picture_of

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "high-variability" / "hcloud.yaml"
WIDTH = 100


SMALL = 1.0
"""Pixels a point: sharp enough in a page, a third of the bytes."""


def main(trace: str | None) -> None:
    """Write docs/plan.png (the example's plan as a terminal shows it), docs/front.png, docs/compare*.png."""
    draw_plan()
    draw_front()
    draw_comparison(Flags(workload="scenario:high-variability"), 7, HERE / "compare.png")
    if trace is not None:
        draw_comparison(Flags(workload=trace, providers=(Provider.AZURE,)), 3, HERE / "compare-azure.png")


def draw_comparison(flags: Flags, seeds: int, target: Path) -> None:
    """Compare all strategies and draw the six panels."""
    now = datetime.now(UTC)
    study = open_study(with_flags(load_config(None), flags), Asked(), now.date())
    chart: Any = picture_of(compare(study, strategies_named(["all"]), seeds))
    chart.save(str(target), scale_factor=SMALL)


def draw_plan() -> None:
    """The plan of the bundled example."""
    screen = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    plan = make_plan(load_config(EXAMPLE), datetime.now(UTC)).plan
    show_plan(plan, Terminal(screen, screen))
    svg = screen.export_svg(title="hcloud plan -f examples/high-variability/hcloud.yaml")
    (HERE / "plan.png").write_bytes(vl_convert.svg_to_png(svg, scale=1))


def draw_front() -> None:
    """Dollars against quality of every strategy for the bundled example."""
    loaded = with_flags(load_config(EXAMPLE), Flags(operation={"strategy": "auto", "seeds": 7}))
    plan = make_plan(loaded, datetime.now(UTC)).plan
    assert plan.operation is not None
    save_drawn(front_picture(plan.operation), HERE / "front.png", f"{plan.workload.name}: dollars and quality")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
