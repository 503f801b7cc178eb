"""Draw the README's picture of a plan from a real run: ``python docs/make_pictures.py``."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import vl_convert
from rich.console import Console

from hcloud.readers.config import load_config
from hcloud.usecases.plan import make_plan
from hcloud.views.console import Terminal
from hcloud.views.plan import show_plan

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "high-variability" / "hcloud.yaml"
WIDTH = 100


def main() -> None:
    """Write docs/plan.png: the example's plan as a terminal shows it."""
    screen = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    plan = make_plan(load_config(EXAMPLE), datetime.now(UTC)).plan
    show_plan(plan, Terminal(screen, screen))
    svg = screen.export_svg(title="hcloud plan -f examples/high-variability/hcloud.yaml")
    (HERE / "plan.png").write_bytes(vl_convert.svg_to_png(svg, scale=1))


if __name__ == "__main__":
    main()
