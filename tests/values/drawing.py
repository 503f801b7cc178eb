"""A verb that does its work once, and what it says laid out for terminals of several widths, or as rows too."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from hcloud.cli.groups import FormOfResult
from hcloud.model.holdings.change import ChangeSet
from hcloud.views import console as consoles
from hcloud.views.console import Terminal
from hcloud.views.live import change

_drawn: list[int] = []
"""The width that is drawn for; none while what is said is the same for all."""


class Fan(io.StringIO):
    """A stream that keeps what is written for each width."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.kept = {width: io.StringIO() for width in widths}

    def write(self, text: str) -> int:
        """Keep it, for the width that is drawn or for all."""
        for width in _drawn[-1:] or self.kept:
            self.kept[width].write(text)
        return len(text)


@contextmanager
def _drawing(width: int, *wide: Console) -> Iterator[None]:
    usual = [console.width for console in wide]
    _drawn.append(width)
    for console in wide:
        console.width = width
    try:
        yield
    finally:
        _drawn.pop()
        for console, before in zip(wide, usual, strict=True):
            console.width = before


@contextmanager
def drawn_for(widths: Sequence[int]) -> Iterator[None]:
    """Whatever a verb says on the way, and its result at the end, is laid out for each of the widths."""
    put, tell, show_changes = consoles._put, FormOfResult.tell, change.show_changes

    def each(draw: Callable[[], None], *wide: Console) -> None:
        for width in _drawn[-1:] or widths:
            with _drawing(width, *wide):
                draw()

    def put_each(console: Console, shown: Any) -> None:
        each(lambda: put(console, shown), console)

    def tell_each(form: FormOfResult, terminal: Terminal, document: Any, screen: Any, **written: Any) -> None:
        tell(form, terminal, document, lambda: each(screen, terminal.out, terminal.err), **written)

    def show_each(changes: ChangeSet, terminal: Terminal) -> None:
        """A person is shown them before the work is done."""
        each(lambda: show_changes(changes, terminal), terminal.out, terminal.err)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consoles, "_put", put_each)
        patch.setattr(FormOfResult, "tell", tell_each)
        patch.setattr(change, "show_changes", show_each)
        yield


@contextmanager
def told_also(*forms: str) -> Iterator[dict[str, str]]:
    """What a verb would have printed of the same result in other forms, by form; nothing where it came to none."""
    tell, found = FormOfResult.tell, dict[str, str]()

    def all_of_them(form: FormOfResult, terminal: Terminal, document: Any, screen: Any, **written: Any) -> None:
        tell(form, terminal, document, screen, **written)
        for other in forms:
            kept = io.StringIO()
            tell(FormOfResult(other), replace(terminal, out=Console(file=kept)), document, screen, **written)
            found[other] = kept.getvalue()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FormOfResult, "tell", all_of_them)
        yield found
