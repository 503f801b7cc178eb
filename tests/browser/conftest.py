"""One headless Chromium for all pages, and pages of real plans: plain, simulated and made for a cloud, and hostile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from building import Built

from browser.fetch_axe import TARGET as AXE
from hcloud.cli.main import run
from hcloud.model.plans.plan import Plan
from hcloud.store.plan_file import load_plan
from hcloud.views.deciding.plan_page import plan_page
from hcloud.views.page.render import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
NOW = ("--now", "2026-11-20T12:00:00Z")
HOSTILE = "</title><script>console.error('run')</script><img src=http://example.invalid/x onerror=alert(1)>"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium from the system with a profile of its own, which can name no host."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser: install one of {', '.join(NAMES)}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=list(SWITCHES))
        yield running
        running.close()


@pytest.fixture(scope="package")
def axe() -> str:
    """The accessibility checker, as a script."""
    if not AXE.is_file():
        pytest.skip("no axe-core: make axe")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="package")
def pages(built: Built) -> dict[str, Path]:
    """Files of pages by name."""

    def made(directory: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HYC_PRICES", str(directory / "prices"))
            patch.setenv("XDG_CONFIG_HOME", str(directory / "config"))
            _make(directory)

    return {path.stem: path for path in built("pages", made).glob("*.html")}


def _make(folder: Path) -> None:
    plans = {"plain": _plain(folder), "simulated": _simulated(folder)}
    plans["hostile"] = _hostile(plans["simulated"])
    for name, plan in plans.items():
        (folder / f"{name}.html").write_text(render(plan_page(plan)), encoding="utf-8")
    trace = str(folder / "trace.csv")
    _print(folder / "report.html", "report", "cost", str(folder / "simulated.json"), *NOW, "-o", "html")
    _print(folder / "held.html", "report", "commitments", str(folder / "simulated.json"), *NOW, "-o", "html")
    panels, swept, demand = (str(folder / f"{name}.html") for name in ("panels", "swept", "demand"))
    several = ("compare", trace, "-s", "SR,HF,HM", "--seeds", "2", *NOW)
    _print(folder / "compared.html", *several, "-o", "html", "--picture", panels)
    sweep = ["sweep", trace, "--strategy", "SR,HM", "--seeds", "2", "--workers", "1", "--vary", "pool=4,8", "--vary"]
    sweep += ["price_ratio=0.5,1,2", "--picture", swept]
    for words in (sweep, ["workload", "show", trace, "--out", demand]):
        assert run(["-q", *words]) == 0


def _print(target: Path, *words: str) -> None:
    """What a command prints, in a file."""
    with target.open("w", encoding="utf-8") as file, redirect_stdout(file):
        assert run(["-q", *words]) == 0


def _plain(folder: Path) -> Plan:
    target = folder / "plain.json"
    assert (
        run(["-q", "plan", "scenario:high-variability", "--family", "m6i", "--vcpus", "16", *NOW, "--out", str(target)])
        == 0
    )
    return load_plan(target)


def _simulated(folder: Path) -> Plan:
    """A few long services and a burst of short jobs every hour, every strategy, on a fake cloud."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,21600,8,16,service" for i in range(6)]
    rows += [f"b{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(6) for i in range(12)]
    trace, target = folder / "trace.csv", folder / "simulated.json"
    trace.write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ["-q", "plan", str(trace), "--family", "m6i", "--vcpus", "16", *NOW, "--seeds", "2", "-s", "auto"]
    words += ["--budget", "2500", "--cloud", "fake", "--state", str(folder / "state"), "--out", str(target)]
    assert run(words) == 0
    return load_plan(target)


def _hostile(plan: Plan) -> Plan:
    """The plan with names that would be elements if they were not escaped."""
    assert plan.changes is not None
    line, change, refusal = plan.mix[0], plan.changes.changes[0], plan.refusals[0]
    bad_change = replace(change, address=HOSTILE, reason=HOSTILE, ids=(HOSTILE,))
    return replace(
        plan,
        workload=replace(plan.workload, name=HOSTILE, left_out={HOSTILE: 1}),
        mix=(replace(line, instance_type=HOSTILE, region=HOSTILE), *plan.mix[1:]),
        refusals=(replace(refusal, address=HOSTILE, reason=HOSTILE, flips_if=HOSTILE), *plan.refusals[1:]),
        reasons=(HOSTILE,),
        warnings=(HOSTILE,),
        changes=replace(plan.changes, changes=(bad_change, *plan.changes.changes[1:]), notes=(HOSTILE,)),
    )
