"""The two streams: results on stdout, warnings and progress on stderr; colour only on a terminal."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TextIO

from rich import box
from rich.console import Console, Group  # noqa: TID251 - the one place
from rich.table import Table
from rich.text import Text

from hcloud.units import harmless
from hcloud.views.escaped import Written, json_document
from hcloud.views.lines import Shown, printable
from hcloud.views.tables import Figures, fitted

PIPE_WIDTH = 100
SOON_SECONDS = 0.5  # ours: what takes less needs no sign that it is under way
_OF_A_CLOUD = re.compile(
    r"\bhcloud (?:apply|destroy|drift|gc|plan(?=')|recover|status|operate (?:run|stop|drain)|(?P<of_state>"
    r"operate (?:status|cancel|explain)|state (?:list|force-unlock)))\b"
    r"(?=(?P<given>(?: --\w+ (?:'[^']*'|[^\s'])+)*))"
)


class Advance(Protocol):
    """Moves a progress bar to ``done`` of its total."""

    def __call__(self, done: float) -> None: ...


class Watch(Protocol):
    """Shows something in place of what it showed before."""

    def __call__(self, results: Sequence[Shown | Figures]) -> None: ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a verb shows its result and says what a person should know meanwhile; ``flags`` name the cloud and the
    state that it is about, once they are known."""

    out: Console
    err: Console
    quiet: bool = False
    flags: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, *, color: bool = True, quiet: bool = False) -> Terminal:
        """The process's own streams; ``NO_COLOR`` and a pipe switch colour off."""
        plain = not color or bool(os.environ.get("NO_COLOR"))
        return cls(_console(sys.stdout, plain), _console(sys.stderr, plain), quiet)

    @property
    def lines(self) -> int:
        """How many lines a screen of it has."""
        return self.out.height

    def show(self, *results: Shown | Figures) -> None:
        """Print results for people on stdout: lines, tables of them, and figures as they fit."""
        for result in results:
            _put(self.out, self._named(result))

    def say(self, line: str, *, wrong: bool = False) -> None:
        """Put one line for people on stdout, or on stderr what is ``wrong``, not folded: other programs look for it."""
        (self.err if wrong else self.out).file.write(f"{harmless(line)}\n")

    def write(self, text: Written) -> None:
        """Write a document on stdout, byte for byte, with one final newline."""
        self.out.file.write(text if text.endswith("\n") else text + "\n")

    def flush(self) -> None:
        """Let whoever reads stdout have all that was put there."""
        self.out.file.flush()

    def write_json(self, document: Mapping[str, object]) -> None:
        """Write a JSON document on stdout in the order it was built."""
        self.write(json_document(document))

    def warn(self, message: str, *more: str) -> None:
        """Say on stderr what needs attention, in one line or ``more``; also when quiet."""
        self.tell(Text.assemble(("warning:", "yellow"), " ", self.pasteable(message)))
        for line in more:
            self.tell(line)

    def note(self, message: str) -> None:
        """Say on stderr what was done; silent when quiet."""
        if not self.quiet:
            self.tell(message)

    def pasteable(self, text: str) -> str:
        """The same with commands that do what they say where they are pasted: about this cloud and state."""
        return pasteable(text, self.flags)

    def _named(self, said: Shown | Figures) -> Shown | Figures:
        if isinstance(said, Figures) and self.flags:
            return replace(said, rows=[tuple(map(self.pasteable, row)) for row in said.rows])
        return self.pasteable(said) if isinstance(said, str) else said

    def tell(self, said: Shown | Figures) -> None:
        """Put something on stderr."""
        _put(self.err, self._named(said))

    @contextmanager
    def progress(self, title: str, total: float) -> Iterator[Advance]:
        """A progress bar on a terminal, nothing in a pipe."""
        if self.quiet or not self.err.is_terminal:
            yield lambda done: None
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task(harmless(title), total=total)
            yield lambda done: bar.update(task, completed=done)

    @contextmanager
    def screen(self) -> Iterator[Watch | None]:
        """A screen that is drawn anew in place, on a terminal; None in a pipe."""
        if not self.out.is_terminal:
            yield None
            return
        from rich.live import Live

        with Live(console=self.out, auto_refresh=False, transient=True, vertical_overflow="crop") as live:

            def watch(results: Sequence[Shown | Figures]) -> None:
                width = self.out.width
                named = map(self._named, results)
                parts = [printable(fitted(r, width) if isinstance(r, Figures) else r) for r in named]
                live.update(Group(*parts), refresh=True)

            yield watch

    @contextmanager
    def busy(self, title: str) -> Iterator[None]:
        """A turning sign on a terminal for work that cannot say how far it is; work that is soon done shows none."""
        if self.quiet or not self.err.is_terminal:
            yield
            return
        sign = self.err.status(Text(harmless(title), style="dim"))
        soon = threading.Timer(SOON_SECONDS, sign.start)
        soon.daemon = True
        soon.start()
        try:
            yield
        finally:
            soon.cancel()
            soon.join()
            sign.stop()


def pasteable(text: str, flags: Mapping[str, str]) -> str:
    """A sentence whose commands have the ``flags`` that name what they are about, those that they know and do not have
    yet: without them a state would be rebuilt where none ever was."""

    def named(command: re.Match[str]) -> str:
        known = {f: of for f, of in flags.items() if command["of_state"] is None or f != "--cloud"}
        more = (f" {flag} {of}" for flag, of in known.items() if f" {flag} " not in command["given"])
        return command[0] + "".join(more)

    return _OF_A_CLOUD.sub(named, text)


def plain_table(
    *columns: str, title: str = "", right: tuple[int, ...] = (), wrap: tuple[str, ...] = ("why", "would flip if")
) -> Table:
    """A table in the house style: one rule under the header, numbers to the right (``right`` holds column indices),
    only the columns named in ``wrap`` may break over lines."""
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        justify: Literal["left", "right"] = "right" if index in right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name not in wrap)
    return table


def plain_of(figures: Figures, wrap: tuple[str, ...] = ("why",)) -> Table:
    """The same of figures whose columns keep their widths."""
    table = plain_table(*figures.names, right=tuple(figures.numbers), wrap=wrap)
    for row in figures.rows:
        table.add_row(*row)
    return table


def _put(console: Console, shown: Shown | Figures) -> None:
    """Print; into a pipe without the blanks at the ends of lines that pad cells to their columns."""
    laid_out = fitted(shown, console.width) if isinstance(shown, Figures) else shown
    result = Group(printable(laid_out))  # Rich would join bare texts into one of its own
    if console.is_terminal:
        console.print(result)
        return
    with console.capture() as printed:
        console.print(result)
    console.file.writelines(f"{line.rstrip()}\n" for line in printed.get().removesuffix("\n").split("\n"))


def _console(stream: TextIO, plain: bool) -> Console:
    return Console(file=stream, no_color=plain, width=_width(stream.isatty()), highlight=False)


def _width(is_terminal: bool) -> int | None:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    return None if is_terminal else PIPE_WIDTH
