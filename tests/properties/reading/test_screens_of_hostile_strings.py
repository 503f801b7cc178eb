"""Whatever a string holds that a cloud, a file or a person gave: on a screen it is text on the line it was put."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from hostile import FORGED, HOSTILE, STRINGS, begins_no_line
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hcloud.errors import InputError, Problem
from hcloud.units import harmless
from hcloud.views.console import Terminal, plain_table
from hcloud.views.lines import Shown, hanging
from hcloud.views.refusal import refusal_text
from hcloud.views.tables import Figures, fitted


def printed(*shown: Shown, width: int = 80, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, force_terminal=colour, no_color=not colour)
    Terminal(console, console).show(*shown)
    return out.getvalue()


def cell(text: str) -> Table:
    table = plain_table(text, "n", wrap=(text,))
    table.add_row(text, text)
    return table


def padded(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))


def styled(text: str) -> Text:
    return Text.assemble(("said", "bold"), ": ", (text, "red"), " end")


MAKERS: list[Callable[[str], Shown]] = [
    lambda text: f"name {text}",
    styled,
    padded,
    cell,
    lambda text: Group(Text(f"a {text}"), cell(text)),
    lambda text: hanging(f"name {text}", 80, "· "),
    lambda text: hanging(f"name {text}", 80),
    lambda text: fitted(Figures((f"h {text}", "n"), [(f"a {text}", "1"), (f"a {text}", text)], frozenset({1})), 80),
    lambda text: fitted(Figures(("h", "n", "m"), [(f"a {text}", text, text)], title=f"t {text}"), 60),
]


@given(st.sampled_from(MAKERS), STRINGS, st.sampled_from([20, 60, 80, 100]))
@example(MAKERS[3], "[/]", 80)
@example(MAKERS[-1], f"web{' ' * 90}0 machines to launch, 0 to end", 60)
def test_nothing_from_outside_begins_a_line_steers_or_is_markup(
    make: Callable[[str], Shown], text: str, width: int
) -> None:
    assert begins_no_line(printed(make(text), width=width))


@given(STRINGS)
def test_what_was_said_can_be_read(text: str) -> None:
    shown = " ".join(printed(f"name {text} end", width=100).split())
    assert "".join(shown.split()) == "".join(f"name {harmless(text)} end".split())


@pytest.mark.parametrize("text", HOSTILE)
def test_colour_is_only_ours(text: str) -> None:
    shown = printed(styled(text), colour=True)
    assert shown.startswith("\x1b[1msaid\x1b[0m: ")
    assert {part.split("m")[0] for part in shown.split("\x1b[")[1:]} <= {"1", "0", "31"}


@given(STRINGS, STRINGS)
def test_what_goes_to_stderr_is_clean_too(text: str, hint: str) -> None:
    err = io.StringIO()
    console = Console(file=err, width=80, highlight=False, no_color=True)
    terminal = Terminal(console, console)
    terminal.warn(text, text)
    terminal.note(f"note {text}")
    terminal.say(f"ok {text}")
    error = InputError(f"{text}: cannot be used", [Problem(text, text, text, text)], hint=hint)
    err.write(refusal_text(error.lines(), error.hint))
    told = err.getvalue()
    assert not any(line.startswith(FORGED) for line in told.split("\n") if line != harmless(text))
    assert begins_no_line(told.replace(FORGED, "") if text.startswith(FORGED) else told)


def test_only_lines_and_tables_can_be_shown() -> None:
    with pytest.raises(TypeError, match="lines and tables"):
        printed(object())  # type: ignore[arg-type]
