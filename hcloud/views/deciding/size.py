"""Sizes for a target: each server with what it adds, what all of them cost, and what the walk by quality would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby

from hcloud.model.target import GoalKind, JobTarget, reached_share
from hcloud.planning.forecasting.needs import RateSpan
from hcloud.planning.forecasting.targeted import SizedAnswer, SizedApp, SizedServer, in_whole_runs
from hcloud.units import (
    HOURS_PER_MONTH,
    SECONDS_PER_HOUR,
    counted,
    counted_vcpus,
    format_money,
    format_span,
    machines,
    some_of,
)
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

_NAMED = 5
_MANY = 1e6
_NUMBERS = frozenset({1, 2, 3, 4, 5, 6})


def size_sections(found: SizedApp) -> tuple[PageSection, ...]:
    """The answer first, then its servers, then what it rests on."""
    tables = () if found.sized is None else (_table(found.sized.cheapest, found),)
    return (PageSection(f"Size of {found.name}", (headline(found),), tables=tables, notes=tuple(notes(found))),)


def headline(found: SizedApp) -> str:
    """What has to be taken for the target, and what that costs."""
    name, target = found.name, found.target
    if found.sized is None:
        return f"{name}: best effort. It uses spare capacity and is evicted first; no machine is rented for it."
    answer = found.sized.cheapest
    if answer.met:
        return f"{name}: {_stated(target)} takes {_taken(answer, found)}{_price(answer, found)}."
    share = reached_share(answer.reached / found.sized.needed)
    measured = f"as many servers as it was measured on ({found.sized.scaled_to}) do not"
    who = measured if found.sized.is_cut else "no servers at hand"
    return (
        f"{name}: {who} reach {_stated(target)}. The best reachable is {share} of it, with"
        f" {_taken(answer, found)}{_price(answer, found)}."
    )


def _counted(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= _MANY else f"{amount:,.6g}"


def _stated(target: JobTarget) -> str:
    match target.kind:
        case GoalKind.SERVICE:
            return f"{_counted(target.amount)} requests a second within {target.limit:g} ms"
        case GoalKind.DEADLINE:
            return f"{_counted(target.amount)} of work within {format_span(target.limit)}"
        case _:
            return f"{target.amount:.0%} of the best rate of one server"


def _taken(answer: SizedAnswer, found: SizedApp) -> str:
    if found.market is not None:
        counts: dict[str, int] = {}
        for server in answer.servers:
            counts[server.type] = counts.get(server.type, 0) + 1
        return f"{machines(counts) or 'nothing'} ({counted_vcpus(answer.vcpus)})"
    return f"{counted_vcpus(answer.vcpus)} of {counted(len(answer.servers), 'free server')}"


def _price(answer: SizedAnswer, found: SizedApp) -> str:
    hourly = found.hourly(answer)
    if hourly is None:
        return ""
    span = f"{format_money(hourly * HOURS_PER_MONTH)} a month"
    if found.target.kind is GoalKind.DEADLINE:
        hours = Decimal(repr(found.target.limit)) / SECONDS_PER_HOUR
        span = f"{format_money(hourly * hours, 2)} for {format_span(found.target.limit)}"
    return f", {format_money(hourly, 4)} an hour ({span})"


def _table(answer: SizedAnswer, found: SizedApp) -> Figures:
    """A row for servers that are alike, in the order in which the walk adds them."""
    sold = found.market is not None
    alike = groupby(answer.servers, key=lambda one: (one.type if sold else one.name, one.part))
    rows = [_row(list(servers), found) for _, servers in alike]
    names = ("server", "servers", "vCPUs", "GiB", f"each alone, {found.unit}", "added", "together")
    last = () if found.market is None else ("$/h",)
    return Figures((*names, *last), rows, _NUMBERS | ({7} if last else set()), "What each step adds")


def _row(alike: Sequence[SizedServer], found: SizedApp) -> list[str]:
    first, adds = alike[0], sum(server.adds for server in alike)
    label = first.name if found.market is not None else f"{first.name} ({first.type})"
    memory = f"{first.part.gib:g}" if first.part.gib else ""
    rates = [_rate(rate) for rate in (first.alone, adds, alike[-1].total)]
    cells = [label, f"{len(alike):,}", f"{first.part.vcpus:g}", memory, *rates]
    if found.market is not None:
        cells.append(f"{found.market.hourly[first.type] * len(alike):.4f}")
    return cells


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"


def notes(found: SizedApp) -> Iterator[str]:
    """What was compared, and what the answer rests on."""
    if found.sized is None:
        return
    yield _by_quality(found)
    yield from _how_sure(found)
    target = found.target
    if target.kept_share < 1:
        yield (
            f"{target.own_ms:g} ms pass even when nothing else waits, so a server keeps {target.kept_share:.0%} of its"
            f" throughput within {target.limit:g} ms (M/M/1): {_rate(found.sized.needed)} {found.unit} are needed."
        )
    elif target.kind is GoalKind.SERVICE:
        yield f"The profile's rate is taken as kept within {target.limit:g} ms; state own_ms where it is not."
    if target.linear:
        yield "Assumed, not measured: n servers do n times the work of one."
        yield from _whole_runs(found)
    if found.sized.is_cut:
        yield (
            f"How it scales out is known up to {counted(found.sized.scaled_to, 'server')}: measure it on more"
            " (scale_out of its profile), or state scale_out: linear in the target."
        )
    if found.sized.left_out:
        names = some_of(sorted(found.sized.left_out), _NAMED)
        yield f"Left out, since the application was not measured there: {names}."
    if found.market is not None:
        yield f"Prices on demand in {found.market.place}; the oldest is of {found.market.priced}."
    yield f"From {found.basis}."


def _how_sure(found: SizedApp) -> Iterator[str]:
    """How well the performance on the types of the answer is known, and whether it is enough where it is at its worst.

    What was chosen as the cheapest is more often predicted too high than too low, so this is no formality.
    """
    assert found.sized is not None
    if not found.sized.cheapest.met:
        return
    told = [f"of one whole server: {types}"] if (types := "; ".join(_types(found))) else []
    told += _together(found)
    if not told:
        return
    least = found.least_reached
    kept = "the target is kept" if least >= found.sized.needed else "the target is missed"
    yield (
        f"95% interval {'; '.join(told)}. At the low end these servers do {_rate(least)}"
        f" {found.unit}, and {_rate(found.sized.needed)} are needed: {kept}."
    )


def _types(found: SizedApp) -> Iterator[str]:
    for name in found.unsure:
        span = found.spans[name]
        yield f"{name} {_rate(span.low)} to {_rate(span.high)} {found.unit}, {_how(span)}"


def _together(found: SizedApp) -> Iterator[str]:
    """How well it is known what the servers of an answer do together, where that is no certainty."""
    assert found.sized is not None
    scaling, count = found.scaling, len(found.sized.cheapest.servers)
    if scaling.low == scaling.high:
        return
    how = _how(scaling)
    if count not in found.node_spans:
        below, above = max(n for n in found.node_spans if n < count), min(n for n in found.node_spans if n > count)
        how = f"between what is known of {counted(below, 'server')} and of {above}"
    yield f"of {count} servers together: {scaling.low:.0%} to {scaling.high:.0%} of what they do alone, {how}"


def _how(span: RateSpan) -> str:
    return "measured" if span.measured else "predicted, not measured there"


def _whole_runs(found: SizedApp) -> Iterator[str]:
    """What is said where the servers of an answer do less by a deadline in runs that none of them shares."""
    assert found.sized is not None
    target, answer = found.target, found.sized.cheapest
    done = in_whole_runs(target, answer) if found.counts_runs else None
    if done is not None:
        slowest = f"{1 / min(server.alone for server in answer.servers):,.6g} s"
        yield (
            f"Only if a run can be divided among servers: in whole runs (of up to {slowest} each) these do"
            f" {_counted(done)} of {_counted(target.amount)} within {format_span(target.limit)}. State a deadline that"
            " whole runs fill."
        )


def _by_quality(found: SizedApp) -> str:
    """The answer of the walk down the ranking, compared with ours in dollars, or in vCPUs of servers that are there."""
    assert found.sized is not None
    text, ours = found.sized.by_quality, found.sized.cheapest
    told = f"The fastest servers first (by quality) would take {_taken(text, found)}{_price(text, found)}"
    if text.servers == ours.servers:
        return f"{told}: the same."
    here, there = found.hourly(ours), found.hourly(text)
    ratio = there / here if here and there else Decimal(text.vcpus / ours.vcpus if ours.vcpus else 1)
    return f"{told}: {ratio:.2f} times as much. {'The lower price decides' if here else 'Fewer vCPUs decide'}."
