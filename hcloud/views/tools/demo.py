"""``hcloud demo`` on a terminal: what comes, each step with its command and result, and what to do next."""

from __future__ import annotations

from pathlib import Path

from rich.padding import Padding
from rich.text import Text

from hcloud.model.rehearsal import DemoStep, DemoTotals, RehearsedStep
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.lines import line_of

INDENT = 2
NEXT = (
    ("hcloud plan trace.csv", "your own trace (docs/tutorial.md)"),
    ("hcloud plan scenario:high-variability", "a larger example"),
    ("hcloud fake up aws", "the real SDK against a strict fake (extras aws, fake; docs/guides/operate.md)"),
    ("hcloud --help", "every verb; how it decides: docs/research/method.md"),
)


def show_opening(terminal: Terminal, folder: Path, *, keeps: bool) -> None:
    """What is going to happen, and where."""
    kept = f"Everything is kept in {folder}." if keeps else "That folder is removed at the end; --keep DIR keeps it."
    terminal.show(
        Text("hcloud in a minute: measure, plan, buy, apply, a month, the report and the end.", style="bold"),
        "A cloud in memory stands in for Amazon: no account, no network, no money. Each command is really run, in a "
        f"folder of its own, and the lines of its screen that matter most are shown. {kept}",
    )


def show_step(terminal: Terminal, number: int, step: DemoStep) -> None:
    """What a step is for."""
    terminal.show("", Text(f"{number}. {step.title}", style="bold cyan"), step.why)


def show_result(terminal: Terminal, shown: RehearsedStep) -> None:
    """The command line and what came of it."""
    ended = f"(killed: exit code {shown.exit_code})" if shown.exit_code > 128 else ""
    ended = f"(exit code {shown.exit_code})" if 0 < shown.exit_code <= 128 else ended
    terminal.show(line_of(Text(f"$ {shown.command}", style="green", overflow="fold"), hang=2 * INDENT))
    for line in (*shown.lines, ended):
        if line:
            terminal.show(Padding(Text(line, no_wrap=True, overflow="ellipsis"), (0, 0, 0, INDENT)))


def show_stand_in(terminal: Terminal, app: str) -> None:
    """That a profile measured elsewhere is used, and why."""
    terminal.show(
        "This measurement is too weak: the machine is too busy, or cannot isolate programs, to measure in "
        f"seconds. What follows uses a bundled profile of a program that does much the same ({app}), measured for "
        "three minutes elsewhere."
    )


def show_closing(terminal: Terminal, facts: DemoTotals, seconds: float, kept: Path | None) -> None:
    """What the fake cloud's own ledger says, and where to go from here."""
    terminal.show(
        "",
        Text("What the fake cloud's own ledger says", style="bold cyan"),
        f"{counted(facts.wanted, 'machine')} were wanted and {facts.launched} launched, in spite of the kill; "
        f"{facts.standing} are running. {counted(facts.bought, 'commitment')} bought, "
        f"{counted(facts.changes, 'request')} that changed something. ${facts.reported:,} were reported as billed, "
        f"and the fake's own bill, which shares no code with the report, says ${facts.billed:,}. Nothing is left. It "
        f"took {seconds:.0f} s.",
        "",
        Text("Where to go next", style="bold cyan"),
    )
    width = max(len(command) for command, _ in NEXT)
    for command, text in NEXT:
        terminal.show(Padding(Text(f"{command:<{width}}  {text}"), (0, 0, 0, INDENT)))
    if kept is not None:
        terminal.show(f"kept in {kept}: hcloud.yaml, trace.csv, plan.json, and every whole screen in screens/")
