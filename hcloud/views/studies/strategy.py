"""Strategies on a terminal and as documents: a line each, or all mechanisms with the origin of every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from hcloud.model.running.strategy import Mechanism, Parameter, ParameterOrigin, Strategy, Value
from hcloud.views.console import Terminal, plain_table
from hcloud.views.tables import Figures

NOTHING = "-"
VALUE_WIDTH, ORIGIN_WIDTH = 22, 10


def show_list(strategies: Sequence[Strategy], terminal: Terminal) -> None:
    """What each strategy reserves and rents and how it divides jobs, then each in a sentence."""
    names = ("name", "reserves", "rents", "mapping")
    rows = [(s.name, *(_rule(s, name) for name in ("reserved", "on_demand", "mapping"))) for s in strategies]
    terminal.show(Figures(names, rows), "")
    sentences = Table.grid(padding=(0, 2))
    for strategy in strategies:
        sentences.add_row(strategy.name, strategy.summary)
    terminal.show(sentences)
    terminal.note("hcloud strategy show NAME: every rule and number, and where it comes from")


def show_one(strategy: Strategy, terminal: Terminal) -> None:
    """Every mechanism of a strategy with its numbers, where they come from and why they are what they are."""
    counts = Counter(p.origin for m in strategy.mechanisms for p in m.parameters)
    origins = ", ".join(f"{counts[o]} {o.label} ({o.value})" for o in ParameterOrigin if counts[o])
    terminal.show(Text(f"{strategy.name}: {strategy.title}", style="bold"), Text(strategy.summary))
    terminal.show(Text(f"{strategy.source} · {sum(counts.values())} numbers and choices: {origins}", style="dim"))
    for mechanism in strategy.mechanisms:
        terminal.show("", *_mechanism(mechanism))


def _mechanism(mechanism: Mechanism) -> Iterable[Text | Table]:
    title = Text.assemble((mechanism.name, "bold"), ": ", mechanism.rule, (f"  {_origin(mechanism)}", "dim"))
    yield title
    yield Text(f"  {mechanism.why}")
    if mechanism.parameters:
        table = plain_table("  key", "value", "from", "why", right=(1,), wrap=("value", "from", "why"))
        for p in mechanism.parameters:
            amount = value_text(p.value) + (f" {p.unit}" if p.unit else "")
            table.add_row(f"  {p.key}", amount, _origin(p), p.why)
        table.columns[1].max_width, table.columns[2].max_width = VALUE_WIDTH, ORIGIN_WIDTH
        yield table


def value_text(value: Value) -> str:
    """A value as a person writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value_text(v) for v in value)
    if isinstance(value, int | float):
        return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return value


def _rule(strategy: Strategy, name: str) -> str:
    rule = strategy.mechanism(name).rule
    return NOTHING if rule == "none" else rule


def _origin(stated: Mechanism | Parameter) -> str:
    return f"{stated.origin.value} {stated.source}".rstrip()
