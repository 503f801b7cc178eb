"""What init wrote and what validate and doctor checked, a line a check, on a terminal or as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hcloud.model.checks import CheckResult
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.lines import hanging

STYLES = {"ok": "green", "warning": "yellow", "error": "red", "skipped": "dim"}


def show_written(path: Path, *, has_workload: bool, terminal: Terminal) -> None:
    """Say what was written and what comes next."""
    where = f" --file {path}" if path.parent != Path() else ""
    trace = "" if has_workload else " TRACE.csv"
    terminal.note(f"written: {path}")
    if not has_workload:
        terminal.note("next: set workload.path in it, or pass a file to 'hcloud plan'")
    terminal.note(f"then: hcloud validate{f' {path}' if where else ''}")
    terminal.note(f"      hcloud plan{trace}{where}")


def show_checks(checks: Sequence[CheckResult], terminal: Terminal) -> None:
    """A line a check with its details below, and how many of each kind there were."""
    width = max((len(c.name) for c in checks), default=0)
    for check in checks:
        status = str(check.status)
        line = hanging(check.message, terminal.out.width, f"{status:<8}{check.name:<{width}}  ")
        line.stylize(STYLES[status], 0, len(status))
        terminal.show(line)
        for text in (*check.details, *([f"-> {check.hint}"] if check.hint else [])):
            terminal.show(hanging(text, terminal.out.width, " " * (8 + width + 2)))
    counts = Counter(str(c.status) for c in checks)
    terminal.note(", ".join(_how_many(s, counts[s]) for s in STYLES if counts[s]))


def _how_many(status: str, count: int) -> str:
    return counted(count, status) if status in ("warning", "error") else f"{count} {status}"
