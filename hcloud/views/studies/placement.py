"""What a number of candidates promises, in one sentence and two small tables, on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.planning.strategies.promised import AllSampled, PromisedPlacement
from hcloud.policy.placing.promise import LOOKS_A_CANDIDATE
from hcloud.units import counted, short_percent
from hcloud.views.console import Terminal
from hcloud.views.escaped import Written
from hcloud.views.lines import point
from hcloud.views.markdown import markdown
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

_PARTS = {0.5: "half", 0.75: "quarter", 0.8: "fifth", 0.9: "tenth"}
_DIGITS = 6
_LONGEST = 6
"""Digits of the decisions that a probability is told as a number of; a longer one is a percentage."""


def show_promise(found: PromisedPlacement, terminal: Terminal) -> None:
    """The sentence, the candidates that other promises take, what fewer candidates promise, and what busy servers
    change."""
    terminal.show(headline(found), "", _sizes(found))
    if found.fewer:
        terminal.show("", _fewer(found))
    if notes := tuple(_notes(found)):
        terminal.show("", *map(point, notes))


def promise_markdown(found: PromisedPlacement) -> Written:
    """The same for a ticket."""
    tables = (_sizes(found), *((_fewer(found),) if found.fewer else ()))
    return markdown(
        [
            PageSection("How many servers to look at", (headline(found), *_notes(found))),
            *(PageSection(table.title, tables=(table,)) for table in tables),
        ]
    )


def headline(found: PromisedPlacement) -> str:
    """The promise in plain words."""
    size, asked = found.size, found.asked
    missed, of = _of(asked.miss)
    sure = f"at least {of - missed:,} of {of:,} decisions" if of else f"all decisions but a share of {asked.miss:.2g}"
    return (
        f"With {counted(size.candidates, 'candidate')}, the chosen server is among the best {_part(asked.quality)} of"
        f" the free ones in {sure}. Its mean rank is {_rank(size.mean_rank)} (1 is the best, 0 the worst)."
    )


def _of(chance: float) -> tuple[int, int]:
    """A probability as so many of 10, 100, 1,000 and so on; of none where that would be a long number."""
    sign, digits, exponent = Decimal(repr(chance)).as_tuple()
    assert not sign
    assert isinstance(exponent, int)
    return (int("".join(map(str, digits))), 10**-exponent) if 0 < -exponent <= _LONGEST else (0, 0)


def _part(quality: float) -> str:
    return _PARTS.get(quality) or short_percent(1 - quality, _DIGITS - 2)


def _sizes(found: PromisedPlacement) -> Figures:
    misses = tuple(dict.fromkeys(size.miss for size in found.sizes))
    rows = []
    for quality in dict.fromkeys(size.quality for size in found.sizes):
        told = [_candidates(found, size.candidates) for size in found.sizes if size.quality == quality]
        rows.append([f"{quality:g}: the best {_part(quality)}", *told])
    title = "Candidates needed, by quality and by how often it may be missed"
    return Figures(("quality", *map(_seldom, misses)), rows, frozenset(range(1, len(misses) + 1)), title)


def _candidates(found: PromisedPlacement, candidates: int) -> str:
    return "all" if found.free is not None and candidates > found.free else f"{candidates:,}"


def _seldom(miss: float) -> str:
    times, of = _of(miss)
    return f"{times:,} in {of:,}" if of else f"{miss:.2g}"


def _fewer(found: PromisedPlacement) -> Figures:
    asked = found.asked
    names = ("candidates", f"quality in all but {_seldom(asked.miss)}", f"{asked.quality:g} missed in", "mean rank")
    rows = [
        [f"{p.candidates:,}", _rank(p.quality), f"{p.miss * 100:.2g}%", _rank(p.mean_rank)]
        for p in (*found.fewer, found.size)
    ]
    title, numbers = "Promise of fewer candidates", frozenset(range(len(names)))
    return Figures(names, rows, numbers, title, bold=frozenset({len(rows) - 1}))


def _rank(rank: float) -> str:
    return f"{rank:.3f}"


def _notes(found: PromisedPlacement) -> Iterator[str]:
    asked, free, among_all = found.asked, found.free_sampled, found.all_sampled
    if asked.busy is not None and free is not None and among_all is not None:
        share, candidates = short_percent(asked.busy, _DIGITS - 2), found.size.candidates
        yield (
            f"With {share} of the servers busy and the free ones sampled (over: free), the promise holds; it takes"
            f" {free.looks:,.0f} looks on average to find {counted(candidates, 'free candidate')}."
        )
        if free.found < candidates - 0.5:
            yield (
                f"hcloud makes at most {LOOKS_A_CANDIDATE} looks per candidate: {LOOKS_A_CANDIDATE * candidates:,}"
                f" looks find {free.found:,.0f} free servers on average, so the promise is lower."
            )
        yield _among_all(found, share, among_all)
    if any(_candidates(found, size.candidates) == "all" for size in found.sizes):
        yield "all: more candidates than free servers; looking at every server is cheaper and finds the best."
    there = "" if found.free is None else f" The figures are exact for {counted(found.free, 'free server')}."
    yield f"The promise is about ranks: it holds whatever makes one server better than another.{there}"


def _among_all(found: PromisedPlacement, share: str, sampled: AllSampled) -> str:
    quality, best = found.asked.quality, _part(found.asked.quality)
    told = f"With {share} of the servers busy and all of them sampled (over: all), a busy server is a miss:"
    if sampled.candidates is None:
        return f"{told} no number of candidates promises the best {best}, because none of it is free."
    units = found.asked.units
    many = f", more than the {counted(units, 'server')}" if units is not None and sampled.candidates > units else ""
    law = f" (the law with {of} in place of {quality:g})" if (of := f"{sampled.quality:.4g}") != f"{quality:g}" else ""
    return f"{told} {counted(sampled.candidates, 'candidate')}{many} promise the best {best} of all servers{law}."
