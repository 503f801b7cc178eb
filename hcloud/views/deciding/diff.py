"""A difference of plans as tables and sentences, and how a terminal and a page show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from rich.text import Text

from hcloud.model.plans.difference import Effects, PartShift, PlanDifference, QualityShift, Shift
from hcloud.units import counted, format_money, percent, signed_money
from hcloud.views.console import Terminal
from hcloud.views.lines import point
from hcloud.views.page.parts import KeyFigure, Page, PageSection
from hcloud.views.tables import Figures

_NUMBERS = frozenset((1, 2, 3))
HOURS_PER_DAY = 24
_CHANGES = "What changes (+ added, $ to buy, ~ changed, - removed)"
_SAME = "offers that cost the same"
LEAST_COUNT = Decimal("0.1")
"""Mean instances below this are not told apart: one decimal is shown."""


def headline(found: PlanDifference) -> str:
    """The difference in a sentence."""
    monthly, how = found.monthly, ""
    if found.simulated_monthly is not None:
        monthly, how = found.simulated_monthly, " as simulated"
    if found.is_empty:
        return f"no difference: {format_money(monthly.after)} a month{how}"
    if found.base is None:
        return f"a first plan: {format_money(monthly.after)} a month{how}"
    before, after = (format_money(amount) for amount in (monthly.before, monthly.after))
    more = monthly.difference
    share = f", {percent(more / monthly.before, sign='+')}" if monthly.before and more else ""
    moved = f"{signed_money(more)}{share}" if more else "the same"
    return f"{before} → {after} a month{how} ({moved})"


def totals(found: PlanDifference) -> Figures:
    """The plans' own headlines, what is due upfront, the longest commitment and the demand."""
    rows = [
        ["$/h", *_shifted(found.hourly, 4)],
        ["$/month", *_shifted(found.monthly, 2)],
        *([["$/month, simulated", *_shifted(found.simulated_monthly, 2)]] if found.simulated_monthly else []),
        *_upfront(found),
        ["longest commitment, years", *_shifted(found.longest_term_years, 0)],
    ]
    if found.mean_cores is not None and found.peak_cores is not None:
        rows += [["vCPUs, mean", *_shifted(found.mean_cores, 1)], ["vCPUs, peak", *_shifted(found.peak_cores, 1)]]
    return Figures(("", "before", "after", "difference"), rows, _NUMBERS)


def _upfront(found: PlanDifference) -> Iterator[list[str]]:
    """In one line where all of it is due now in both plans."""
    if found.upfront == found.upfront_now:
        yield ["$ upfront", *_shifted(found.upfront, 2)]
        return
    yield ["$ upfront, due now", *_shifted(found.upfront_now, 2)]
    yield ["$ upfront, later ones too", *_shifted(found.upfront, 2)]


def why(found: PlanDifference) -> str:
    """The three effects in a sentence, in dollars an hour, which add up to the difference."""
    parts = found.effects
    prices, demand, rest = (signed(e, 4) for e in (parts.prices, parts.demand, parts.decisions))
    return f"{signed(found.hourly.difference, 4)} $/h in all: prices {prices}, demand {demand}, decisions {rest}"


def changed_parts(found: PlanDifference) -> Figures:
    """What is added (+), to be bought ($), changed (~) and removed (-), the largest difference first."""
    rows = []
    for part in _by_size(found):
        dollars = f"{_figure(part.hourly.before, 4)} → {_figure(part.hourly.after, 4)}"
        counts = f"{_count(part.count.before)} → {_count(part.count.after)}"
        rows.append([part.mark.value, _offer(part), counts, dollars, signed(part.hourly.difference, 4)])
    names = ("", "offer", "instances", "$/h", "difference")
    return Figures(names, rows, frozenset((2, 3, 4)), _CHANGES)


def effects(found: PlanDifference) -> Figures:
    """The effects by offer, with what is left of the sums: offers that cost the same, as effects on them cancel.
    Nothing where neither prices nor demand moved: decisions explain all then."""
    parts = [(_offer(part), part.effects) for part in _by_size(found)]
    left = _less(found.effects, [effects for _, effects in parts])
    rows = []
    if found.effects.prices or found.effects.demand:
        lines = [*parts, *([(_SAME, left)] if left.prices or left.demand else [])]
        for name, effects in lines:
            three = (effects.prices, effects.demand, effects.decisions)
            rows.append([name, *(signed(e, 4) for e in three), signed(effects.total, 4)])
    names = ("offer", "prices", "demand", "decisions", "together")
    return Figures(names, rows, frozenset(range(1, 5)), "Why, in dollars an hour by offer")


def _less(whole: Effects, parts: list[Effects]) -> Effects:
    """What parts leave of a sum."""
    names = ("prices", "demand", "decisions")
    return Effects(*(getattr(whole, n) - sum((getattr(p, n) for p in parts), Decimal()) for n in names))


def _by_size(found: PlanDifference) -> list[PartShift]:
    return sorted(found.parts, key=lambda p: (-abs(p.hourly.difference), p.address, p.starts_hour))


def _offer(part: PartShift) -> str:
    return part.address + (f", from day {part.starts_hour // HOURS_PER_DAY}" if part.starts_hour else "")


def options(found: PlanDifference) -> Figures:
    """Every purchase option before and after."""
    names = ("option", "instances", "$/h before", "after", "difference", "upfront")
    rows = []
    for o in found.options:
        counts = f"{_count(o.count.before)} → {_count(o.count.after)}"
        rows.append([str(o.option), counts, *_shifted(o.hourly, 4), signed(o.upfront.difference, 2)])
    return Figures(names, rows, frozenset(range(1, 6)), "By purchase option")


def prices(found: PlanDifference) -> Figures:
    """Offers whose price moved, for one instance, with the days the prices are of."""
    rows = []
    for move in found.prices:
        share = percent(move.price.difference / move.price.before, sign="+") if move.price.before else ""
        days = " → ".join(dict.fromkeys(day or "-" for day in (move.day_before, move.day_after)))
        rows.append([move.address, _figure(move.price.before, 6), _figure(move.price.after, 6), share, days])
    names = ("offer", "$/h before", "after", "moved", "prices of")
    return Figures(names, rows, frozenset((1, 2, 3, 4)), "Prices that moved")


def quality(found: PlanDifference) -> Figures:
    """Predicted figures that moved, with half of their interval."""
    rows = []
    for q in found.quality:
        name = q.name if q.unit == "share" else f"{q.name}, {q.unit}"
        rows.append([name, _predicted(q, after=False), _predicted(q, after=True), _moved(q)])
    return Figures(("predicted", "before", "after", "difference"), rows, _NUMBERS, "Predicted quality")


def texts(found: PlanDifference) -> Figures:
    """Settings and inputs that are not the same."""
    rows = [[t.key, t.before or "-", t.after or "-"] for t in (*found.settings, *found.inputs)]
    return Figures(("setting or input", "before", "after"), rows, frozenset(), "Settings and inputs that changed")


def tables(found: PlanDifference) -> Iterator[Figures]:
    """Every table but the totals that has a row, most telling first."""
    made = (changed_parts(found), effects(found), prices(found), quality(found), options(found), texts(found))
    told = made[-1:] if found.is_empty else made  # what is the same need not be told by option
    yield from (table for table in told if table.rows)


def warnings(found: PlanDifference) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """How many warnings are new and gone, in words, and both."""
    new, gone = found.new_warnings, found.gone_warnings
    return counted(len(new), "new warning"), counted(len(gone), "warning") + " gone", new, gone


def _shifted(moved: Shift, places: int) -> list[str]:
    return [_figure(moved.before, places), _figure(moved.after, places), signed(moved.difference, places)]


def _figure(amount: Decimal, places: int) -> str:
    return f"{amount:,.{places}f}"


def signed(amount: Decimal, places: int) -> str:
    """A figure with its sign; zero has none."""
    text = f"{amount:+,.{places}f}"
    return text if any(c in "123456789" for c in text) else "0"


def _count(count: Decimal) -> str:
    if 0 < count < LEAST_COUNT:
        return f"<{LEAST_COUNT}"
    return (f"{count:,.1f}" if count % 1 else f"{count:,.0f}") if count else "-"


def _predicted(moved: QualityShift, *, after: bool) -> str:
    mean, half = (moved.after, moved.half_after) if after else (moved.before, moved.half_before)
    if mean is None:
        return "-"
    return f"{_of_unit(mean, moved.unit)}" + ("" if half is None else f" ±{_of_unit(half, moved.unit)}")


def _moved(moved: QualityShift) -> str:
    if moved.difference is None:
        return "-"
    sign = "+" if moved.difference > 0 else ""
    return f"{sign}{_of_unit(moved.difference, moved.unit)}"


def _of_unit(value: float, unit: str) -> str:
    if unit == "share":
        return percent(value)
    return f"{value:,.0f}" if unit == "$" else f"{value:,.2f}"


def show_difference(found: PlanDifference, terminal: Terminal) -> None:
    """The headline, why dollars moved, and every table that has something to say; new warnings go to stderr."""
    terminal.show(Text(headline(found), style="bold"))
    for note in found.notes:
        terminal.show(point(note))
    if not found.is_empty:
        terminal.show("", totals(found))
    if not found.is_empty and found.base is not None:
        terminal.show("", Text(why(found)))
    for table in tables(found):
        terminal.show("", table)
    _, said, new, gone = warnings(found)
    for warning in new:
        terminal.warn(f"new: {warning}")
    if gone:
        terminal.note(said)


def difference_page(found: PlanDifference) -> Page:
    """The difference as a page: the headline, why dollars moved, and every table that has something to say."""
    lead = (_sentence(headline(found)), *map(_sentence, found.notes))
    return Page("What changes from one plan to the next", lead, tuple(_sections(found)), tuple(_key(found)))


def _sections(found: PlanDifference) -> Iterator[PageSection]:
    if not found.is_empty:
        words = (_sentence(why(found)),) if found.base is not None else ()
        yield PageSection("Before and after", words, tables=(totals(found),))
    for table in tables(found):
        yield PageSection(table.title, tables=(replace(table, title=""),))
    said_new, said_gone, new, gone = warnings(found)
    for said, told in ((said_new, new), (said_gone, gone)):
        if told:
            yield PageSection(_sentence(said).removesuffix("."), points=told)


def _key(found: PlanDifference) -> Iterator[KeyFigure]:
    if found.base is not None and not found.is_empty:
        effects = found.effects
        for name, effect in (("prices", effects.prices), ("demand", effects.demand), ("decisions", effects.decisions)):
            yield KeyFigure(name, signed(effect, 4), "dollars an hour of the difference")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
