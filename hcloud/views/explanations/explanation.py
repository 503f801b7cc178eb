"""An explanation in under ten lines: a sentence that answers, then labelled clauses, the last of which make room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from textwrap import wrap

from rich.text import Text

from hcloud.units import harmless, percent
from hcloud.views.comment import LONGEST_TEXT
from hcloud.views.console import Terminal
from hcloud.views.escaped import BLANK, Written, markdown_document, md
from hcloud.views.lines import INDENT, wrapped

MOST_LINES = 9


@dataclass(frozen=True, slots=True)
class ExplanationLine:
    """What is said about one thing; the clauses are in order of weight. Lines of less ``weight`` give way first."""

    about: str
    clauses: tuple[str, ...]
    weight: int = 1

    @property
    def text(self) -> str:
        """The clauses as one sentence."""
        return "; ".join(self.clauses)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer in a sentence and what it rests on. Lines without a clause are not shown."""

    question: str
    answer: str
    lines: tuple[ExplanationLine, ...]

    @property
    def said(self) -> tuple[ExplanationLine, ...]:
        """The lines that say something."""
        return tuple(line for line in self.lines if line.clauses)


def show_explanation(explanation: Explanation, terminal: Terminal) -> None:
    """Print it in at most nine lines of the terminal's width."""
    said = fitted(explanation, terminal.out.width)
    gutter = _gutter(said)
    terminal.show(Text(said.answer, style="bold"))
    for line in said.said:
        for at, part in enumerate(_parts(line, terminal.out.width - gutter)):
            label = line.about if at == 0 else ""
            terminal.show(Text.assemble((f"{' ' * INDENT}{label:<{gutter - INDENT}}", "dim"), part))


def fitted(explanation: Explanation, width: int) -> Explanation:
    """The explanation without as many last clauses, and then lines, of the lightest and longest as it takes to fit into
    nine lines."""
    while _height(explanation, width) > MOST_LINES and explanation.said:
        several = [line for line in explanation.said if len(line.clauses) > 1]
        if several:
            out = max(several, key=lambda line: (-line.weight, len(line.text)))
        else:
            out = min(reversed(explanation.said), key=lambda line: line.weight)
        lines = tuple(replace(x, clauses=out.clauses[:-1]) if x is out else x for x in explanation.lines)
        explanation = replace(explanation, lines=lines)
    return explanation


def _height(explanation: Explanation, width: int) -> int:
    room = width - _gutter(explanation)
    return len(wrapped(harmless(explanation.answer), width, INDENT)) + sum(
        len(_parts(x, room)) for x in explanation.said
    )


def _gutter(explanation: Explanation) -> int:
    return INDENT + max((len(line.about) for line in explanation.said), default=0) + 2


def _parts(line: ExplanationLine, room: int) -> Sequence[str]:
    return wrap(harmless(line.text), max(room, 20), break_on_hyphens=False)


def markdown(explanation: Explanation) -> Written:
    """The explanation as Markdown: the answer, then a list; names from files cannot end or begin anything in it."""
    rows = [md("**{}**", explanation.answer, longest=LONGEST_TEXT), BLANK]
    rows += [md("- *{}*: {}", line.about, line.text, longest=LONGEST_TEXT) for line in explanation.said]
    return markdown_document(rows)


def share(part: Decimal, whole: Decimal) -> str:
    """The size of a part as a share of a whole."""
    return percent(abs(part / whole)) if whole else "-"


def listed(clauses: Iterator[str]) -> tuple[str, ...]:
    """The clauses that say something."""
    return tuple(c for c in clauses if c)
