"""B29: what errors of estimates cost a placement: jobs that kept 95 %, with the errors of classification and without.

``python -m benchmarks.b29_estimates [LOAD...]`` compares placements on ``scenario:tarcil-200-long``, seven seeds, and
prints the share of jobs of each with estimates that are off by 6.5 points (one standard deviation), and with exact
ones.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

from hcloud.cli.main import run

PLACEMENTS = "sparrow,tarcil,paragon-sampled,ideal"
USUAL = 6.5
POLICY = Path("policies/SR.yaml")


def kept(load: str, error: float) -> dict[str, float]:
    """The mean share of jobs that kept 95 %, by placement."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        strategy = Path(folder) / POLICY.name
        strategy.write_text(POLICY.read_text().replace(f"value: {USUAL}", f"value: {error}"))
        words = ["compare", "scenario:tarcil-200-long", "--strategy", str(strategy), "--placement", PLACEMENTS]
        run([*words, "--load", load, "--seeds", "7", "-o", "json"])
    strategies = json.loads(out.getvalue())["strategies"]
    return {s["name"]: sum(r["kept_qos"] for r in s["runs"]) / len(s["runs"]) for s in strategies}


def main() -> None:
    """Print a line a load and placement."""
    for load in sys.argv[1:] or ["0.5", "0.8"]:
        usual, exact = kept(load, USUAL), kept(load, 0.0)
        for name in usual:
            sys.stdout.write(f"load {load}  {name:24} {usual[name]:6.1%} with errors  {exact[name]:6.1%} exact\n")


if __name__ == "__main__":
    main()
