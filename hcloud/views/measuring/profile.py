"""Profiles on one screen: what an application bears and causes by resource, with bars, intervals and reasons."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from hcloud.model.measured.profile import RESOURCES, Aspect, ComparedNumber, Measured, Profile, ProfileComparison
from hcloud.units import counted
from hcloud.views.console import Terminal, plain_of, plain_table
from hcloud.views.lines import hanging
from hcloud.views.tables import Figures

BAR = 10
SCORE = 17  # the longest is a blank and "100 (100 to 100)"
FULL = 100.0
WITH_BARS = 70  # columns of a terminal that hold both bars and their intervals
NOT_HERE = "not measurable here"
NOT_YET = "not known yet or less well; another run adds to it (--resources, --time-cap)"
_GAPS = ("not measured", "no score", "not known", "tolerated is")
_EIGHTHS = " ▏▎▍▌▋▊▉"
_VERDICTS = {None: "", True: "differs", False: "may be equal"}


def show_profile(profile: Profile, terminal: Terminal) -> None:
    """Print a profile on one screen."""
    width = terminal.out.width
    terminal.show(*_headline(profile), "", _interference(profile, with_bars=width >= WITH_BARS))
    reasons = [(r, profile.unmeasurable[r]) for r in RESOURCES if r in profile.unmeasurable]
    if reasons:
        terminal.show("", Text(NOT_HERE, style="bold"), *(_reason(r, why, width) for r, why in reasons))
    if gaps := [n for n in profile.notes if n.partition(": ")[2].startswith(_GAPS) or n.startswith(_GAPS)]:
        terminal.show("", Text(NOT_YET, style="bold"), *(hanging(note, width, "  ") for note in gaps))
    terminal.show("", _performance(profile))
    failed = [(c, f.why) for columns in profile.failures.values() for c, f in columns.items()]
    if failed:
        terminal.show("", Text("did not run", style="bold"), *(_reason(c, why, width) for c, why in failed))


def show_list(profiles: Sequence[Profile], terminal: Terminal) -> None:
    """Print a line a profile."""
    rows = []
    for p in profiles:
        counts = (str(len(p.entries.get(a, {}))) for a in (Aspect.TOLERATED, Aspect.CAUSED, Aspect.SCALE_UP))
        rows.append((p.app, p.kind.name.lower(), f"{p.metric.name}, {p.metric.unit}", *counts))
    names = ("app", "kind", "metric", "tolerated", "caused", "shapes")
    terminal.show(plain_of(Figures(names, rows, frozenset({3, 4, 5})), ("app", "metric")))
    terminal.note(f"{counted(len(profiles), 'application')}; 'hcloud profile show FILE' shows the numbers of one")


def show_comparison(comparison: ProfileComparison, terminal: Terminal) -> None:
    """Print two profiles side by side."""
    left, right = comparison.left.app, comparison.right.app
    table = plain_table("", left, right, "", right=(1, 2), wrap=(left, right))
    aspect = None
    for line in comparison.lines:
        if line.aspect is not aspect:
            aspect = line.aspect
            table.add_row(Text(aspect.value.replace("_", " "), style="bold"), "", "", "")
        table.add_row(f"  {line.column}", *_cells(line, comparison), _VERDICTS[line.differs])
    one, other = (_headline(profile)[1].plain for profile in (comparison.left, comparison.right))
    if one != other:
        lines = (f"left: {one}", f"right: {other}")
        terminal.show(*(hanging(line, terminal.out.width, "  ") for line in lines), "")
    terminal.show(table)


def bar(score: float) -> str:
    """A score as a bar of ten cells."""
    eighths = round(score / FULL * BAR * 8)
    whole, part = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[part] if part else "")).ljust(BAR)


def _reason(resource: str, why: str, width: int) -> Text:
    return hanging(f"{resource}: {why}", width, "  ")


def _headline(profile: Profile) -> tuple[Text, Text]:
    text = Text()
    text.append(profile.app, style="bold")
    better = "higher" if profile.metric.rising else "lower"
    text.append(f" · {profile.kind.name.lower()} · {profile.metric.name} in {profile.metric.unit}, {better} is better")
    machines = sorted({m.machine for columns in profile.entries.values() for m in columns.values()})
    days = sorted({m.at.date().isoformat() for columns in profile.entries.values() for m in columns.values()})
    measured = f"{'; '.join(machines)}{' · ' if days else ''}{' to '.join(dict.fromkeys(days[:1] + days[-1:]))}"
    return text, Text(measured, style="dim")


def _interference(profile: Profile, *, with_bars: bool) -> Table:
    table = plain_table("0 to 100", "tolerated", "caused")
    for resource in RESOURCES:
        if resource in profile.unmeasurable:
            table.add_row(resource, Text(NOT_HERE, style="dim"), "")
            continue
        cells = []
        for aspect, style in ((Aspect.TOLERATED, "green"), (Aspect.CAUSED, "yellow")):
            found = profile.entries.get(aspect, {}).get(resource)
            drawn = bar(found.value) if found is not None and with_bars else ""
            cells.append(
                Text("-") if found is None else Text(drawn, style).append(f"{_score(found):>{SCORE}}", "default")
            )
        table.add_row(resource, *cells)
    return table


def _score(found: Measured) -> str:
    return f"{found.value:.0f} ({found.low:.0f} to {found.high:.0f})"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _performance(profile: Profile) -> Figures:
    rows = []
    for aspect in (a for a in Aspect if not a.is_interference):
        for column, found in profile.entries.get(aspect, {}).items():
            interval = f"{_figure(found.low)} to {_figure(found.high)}"
            value, day = f"{_figure(found.value)} {profile.metric.unit}", f"{found.at:%Y-%m-%d}"
            rows.append((column, value, interval, str(found.samples), day))
        for column, failed in profile.failures.get(aspect, {}).items():
            rows.append((column, "did not run", "-", "-", f"{failed.at:%Y-%m-%d}"))
    names = ("shape", profile.metric.name, "95% interval", "samples", "measured")
    return Figures(names, rows, frozenset({1, 2, 3}))


def _cells(line: ComparedNumber, comparison: ProfileComparison) -> list[str]:
    cells = []
    for found, profile in ((line.left, comparison.left), (line.right, comparison.right)):
        if found is not None:
            cells.append(
                _score(found) if line.aspect.is_interference else f"{_figure(found.value)} {profile.metric.unit}"
            )
        else:
            cells.append(NOT_HERE if line.column in profile.unmeasurable else "-")
    return cells
