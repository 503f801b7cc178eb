"""Prices on a terminal and as CSV: listings, one type in all its options, comparisons, checks and intakes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from rich.text import Text

from hcloud.catalog.intake import Intake
from hcloud.catalog.table import COLUMNS, offer_cells
from hcloud.model.catalog import InstanceType, Offer, OfferKey, QuarantinedPrice
from hcloud.model.prices import PriceChange, PriceComparison, PriceLine, PriceWarning, TypeScreen, Verification
from hcloud.units import counted, counted_vcpus, percent, plain, rate
from hcloud.views.console import Terminal
from hcloud.views.deciding.plan_tables import SHORT
from hcloud.views.escaped import Written, csv_document
from hcloud.views.tables import Figures

SHOWN_REFUSED = 5
DERIVED = "~"
_SHOWN_RATIO = Decimal("0.0005")
_FIGURES = ("$/h", "upfront $", "eff. $/h")


def show_listing(lines: Sequence[PriceLine], terminal: Terminal, limit: int) -> None:
    """A table of offers, at most ``limit`` rows of it; what is the same in every row stands above it, once."""
    shown = lines[:limit]
    clouds = {line.offer.key.provider for line in shown}
    places = {line.offer.key.zone or line.offer.key.region for line in shown}
    leading = [*(["cloud"] if len(clouds) > 1 else []), *(["region"] if len(places) > 1 else [])]
    names = (*leading, "type", "purchase option", *_FIGURES, "off", "age", "")
    title = " ".join(next(iter(same)) for same in (clouds, places) if len(same) == 1)
    rows = []
    for line in shown:
        key = line.offer.key
        cells = {"cloud": str(key.provider), "region": key.zone or key.region}
        words = (*(cells[name] for name in leading), f"{key.instance_type}{_special(key)}", _purchase(key))
        rows.append((*words, *_figures(line), percent(line.discount, none=""), *_age(line)))
    numbers = frozenset(range(len(leading) + 2, len(names)))
    terminal.show(Figures(names, rows, numbers, title))
    if any(line.offer.origin.derived for line in shown):
        terminal.note(f"{DERIVED} derived, not published; 'pricing show TYPE' shows its sources")
    if len(lines) > limit:
        rest = f"{len(lines) - limit:,} of {counted(len(lines), 'offer')}"
        terminal.note(f"{rest} not shown; narrow the filters, or --limit, or -o csv")


def show_type_screen(screen: TypeScreen, terminal: Terminal) -> None:
    """All purchase options of one type on one screen, and which of its prices are in quarantine."""
    lines = screen.lines
    key, machine = lines[0].offer.key, lines[0].machine
    terminal.show(Text(f"{key.instance_type} in {key.provider} {key.region}{_size(machine)}"), "")
    names = ("purchase option", *_FIGURES, "off", "break even", "age", "")
    rows = [
        (_purchase(o.key) + _special(o.key), *_figures(line), percent(line.discount, none=""),
         percent(line.break_even, none=""), *_age(line))
        for line in lines if (o := line.offer)
    ]  # fmt: skip
    terminal.show(Figures(names, rows, frozenset(range(1, len(names)))))
    for refused in screen.quarantined:
        label = "" if refused.key is None else _purchase(refused.key) + _special(refused.key)
        terminal.show(Text(f"{label}  quarantined: {refused.reason} ({refused.row})", style="yellow"))
    beside = " than on demand with its sustained-use discount" if any(line.sustained for line in lines) else ""
    even = "break-even: the share of the term's hours an instance must run for the commitment to be cheaper"
    terminal.show("", even + beside, "")
    sources = dict.fromkeys(f"{line.offer.origin.source}, {line.offer.origin.day}" for line in lines)
    notes = dict.fromkeys(f"{DERIVED} {line.offer.origin.derived}" for line in lines if line.offer.origin.derived)
    terminal.show(*(Text(note, style="dim") for note in (*(f"source: {s}" for s in sources), *notes)))


def show_comparison(comparison: PriceComparison, terminal: Terminal, limit: int) -> None:
    """Changes between two books, and a line that counts them."""
    rows = [
        (_symbol(c), str(c.key), _effective(c.old), _effective(c.new), _percent(c))
        for c in sorted(comparison.changes, key=lambda c: "~+-".index(_symbol(c)))[:limit]
    ]
    if rows:
        names = ("", "offer", "old $/h", "new $/h", "change")
        terminal.show(Figures(names, rows, frozenset((2, 3, 4))))
    added = sum(c.old is None for c in comparison.changes)
    removed = sum(c.new is None for c in comparison.changes)
    terminal.show(
        f"{added:,} added, {removed:,} removed, {len(comparison.changes) - added - removed:,} changed, "
        f"{comparison.unchanged:,} unchanged"
    )
    if comparison.within:
        aside = counted(comparison.left_aside, "other offer")
        terminal.show(Text(f"compared: what {comparison.within} covers ({comparison.scope}); {aside} ignored"))
    if len(comparison.changes) > limit:
        rest = counted(len(comparison.changes) - limit, "change")
        terminal.note(f"{rest} not shown; --limit shows more, -o json all")


def show_verification(verified: Verification, terminal: Terminal) -> None:
    """Whether the bundled files and all prices are sound."""
    for damage in verified.damaged:
        terminal.warn(damage)
    _show_refused(verified.quarantined, terminal)
    _show_warnings(verified.warnings, terminal)
    files = f"{counted(verified.files, 'bundled file')}: " + ("damaged" if verified.damaged else "as the manifest says")
    terminal.show(
        files,
        f"{counted(verified.offers, 'offer')}: {len(verified.quarantined):,} in quarantine, "
        f"{counted(len(verified.warnings), 'warning')}",
    )


def show_intake(intake: Intake, terminal: Terminal) -> None:
    """What was taken in: counts by source, the first refused rows, where it went."""
    columns = ("source", "format", "good rows", "quarantined", "warnings", "oldest")
    rows = []
    for taken in intake.sources:
        oldest = taken.book.oldest()
        counts = (len(taken.book.offers), len(taken.refused), len(taken.warnings))
        rows.append((taken.name, taken.format, *map(str, counts), oldest.isoformat() if oldest else ""))
    terminal.show(Figures(columns, rows, frozenset((2, 3, 4, 5))))
    for taken in intake.sources:
        _show_refused(taken.refused, terminal, taken.name if len(intake.sources) > 1 else "")
        _show_warnings(taken.warnings, terminal)
        if taken.replaced_newer:
            terminal.warn(f"{taken.name}: {taken.replaced_newer} of its prices are older than those they replace")
        if taken.left_out:
            left = counted(taken.left_out, "price")
            terminal.note(f"{taken.name}: {left} of other clouds or regions left out (--provider, --region)")
    terminal.note("nothing was stored" if intake.stored is None else f"stored in {intake.stored}")


def listing_csv(lines: Iterable[PriceLine]) -> Written:
    """Offers in hcloud's own CSV: what is printed can be imported."""
    return csv_document(COLUMNS, (list(map(str, offer_cells(line.offer, line.machine))) for line in lines))


def comparison_csv(comparison: PriceComparison) -> Written:
    """Changes as CSV."""
    names, rows = ("change", "offer", "old_effective_hourly", "new_effective_hourly", "percent"), []
    for change in comparison.changes:
        old, new = (plain(rate(o.effective_hourly)) if o else "" for o in (change.old, change.new))
        percent = "" if change.ratio is None else plain(round(change.ratio * 100, 4))
        rows.append((_symbol(change), str(change.key), old, new, percent))
    return csv_document(names, rows)


def _purchase(key: OfferKey) -> str:
    """The purchase in the field's short terms: ``EC2 Instance SP 1y all upfront``."""
    name = SHORT.get(key.option, str(key.option))
    return f"{name} {key.term_years}y {key.payment.replace('-', ' ')}" if key.term_years else name


def _size(machine: InstanceType | None) -> str:
    if machine is None:
        return ""
    gpus = f", {counted(machine.gpus, 'GPU')}" if machine.gpus else ""
    return f": {counted_vcpus(float(machine.vcpus))}, {plain(machine.memory_gib)} GiB{gpus}, {machine.arch}"


def _special(key: OfferKey) -> str:
    return "".join(f" {word}" for word, usual in ((key.os, "linux"), (key.tenancy, "shared")) if word != usual)


def _figures(line: PriceLine) -> tuple[str, str, str]:
    offer = line.offer
    upfront = f"{offer.upfront:,.2f}" if offer.upfront else ""
    return f"{offer.hourly:.4f}" if offer.hourly else "", upfront, f"{offer.effective_hourly:.4f}"


def _age(line: PriceLine) -> tuple[str, str]:
    return f"{line.age_days}d", DERIVED if line.offer.origin.derived else ""


def _symbol(change: PriceChange) -> str:
    return {"added": "+", "removed": "-", "changed": "~"}[change.action]


def _effective(offer: Offer | None) -> str:
    return "" if offer is None else f"{offer.effective_hourly:.4f}"


def _percent(change: PriceChange) -> str:
    if change.ratio is None:
        return ""
    return percent(change.ratio, sign="+") if abs(change.ratio) >= _SHOWN_RATIO else "<0.1%"


def _show_refused(refused: Sequence[QuarantinedPrice], terminal: Terminal, file: str = "") -> None:
    for row in refused[:SHOWN_REFUSED]:
        terminal.note(f"quarantined: {row.row}: {row.reason}{f' ({file})' if file else ''}")
    if len(refused) > SHOWN_REFUSED:
        more = counted(len(refused) - SHOWN_REFUSED, "more quarantined row")
        terminal.note(f"... and {more}; -o json lists all")


def _show_warnings(warnings: Sequence[PriceWarning], terminal: Terminal) -> None:
    for warning in warnings[:SHOWN_REFUSED]:
        terminal.warn(str(warning))
    if len(warnings) > SHOWN_REFUSED:
        terminal.note(f"... and {counted(len(warnings) - SHOWN_REFUSED, 'more warning')}; -o json lists all")
