"""Runs a command line, and turns errors into messages and exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, cast

from hcloud import __version__
from hcloud.readers.typed import typed

if TYPE_CHECKING:
    import typer

    from hcloud.views.console import Terminal

USAGE_EXIT = 64
INTERRUPTED_EXIT, BROKEN_PIPE_EXIT = 130, 141
COMMANDS = ("hcloud", "hyc")
SHELLS = ("bash", "zsh", "fish")

FLAGS = {
    "--quiet": "quiet", "-q": "quiet", "--verbose": "verbose", "-v": "verbose",
    "--no-color": "no_color", "--no-input": "no_input", "--debug": "debug",
    "--unsafe-store": "unsafe_store",
}  # fmt: skip

SET_BELOW = {"no_color": "NO_COLOR", "unsafe_store": "HYC_UNSAFE_STORE"}
"""Flags that reach further than the terminal: help is not written through it, and a store is opened below any verb."""


@dataclass(frozen=True)
class CliSession:
    """What every verb gets: the terminal and the flags that may stand anywhere on the command line; ``begun`` hears
    that the verb is there and its work begins."""

    flags: frozenset[str]
    begun: Callable[[], None] = lambda: None

    @cached_property
    def terminal(self) -> Terminal:
        """The process's own streams, opened when a verb first has something to say."""
        from hcloud.views.console import Terminal

        return Terminal.open(color="no_color" not in self.flags, quiet="quiet" in self.flags)


def session(ctx: typer.Context) -> CliSession:
    """The session of the running command."""
    return cast("CliSession", ctx.find_root().obj)


def run(arguments: Sequence[str], begun: Callable[[], None] = lambda: None) -> int:
    """Run the command line and return its exit code; nothing but the result reaches stdout. ``begun`` is called when
    the verb is there, before its work."""
    words, flags = split_flags(arguments)
    write_all_of_it()
    forgive_glyphs()
    with told_below(flags):
        return outcome(arguments, words, CliSession(flags, begun))


def outcome(arguments: Sequence[str], words: list[str], session: CliSession) -> int:
    """Do what is asked for and say why not; the exit code."""
    try:
        with typed([called_as(), *arguments]):
            code = code_of(words, session)
        sys.stdout.flush()
    except BrokenPipeError:
        return reader_left()
    except SystemExit as leaving:  # Typer leaves so after completion, and when the reader of a pipe is gone
        if isinstance(leaving.__context__, BrokenPipeError):
            return reader_left()
        code = leaving.code
    except Exception as error:
        from hcloud.cli.refusal import report_error, was_interrupted

        if not was_interrupted(error):
            return report_error(error, words, debug="debug" in session.flags)
        code = INTERRUPTED_EXIT
    except KeyboardInterrupt:
        code = INTERRUPTED_EXIT
    if code == INTERRUPTED_EXIT:
        sys.stderr.write("interrupted\n")
    return code if isinstance(code, int) else 0


def code_of(words: list[str], session: CliSession) -> Any:
    """Do what is asked for; its exit code, if it is no 0."""
    if "--version" in words[:1]:
        sys.stdout.write(f"hcloud {__version__}\n")
        return 0
    if words[:1] in (["--show-completion"], ["--install-completion"]) and len(words) == 2:
        return completion(words[0], words[1])
    match words:  # slurmctld calls these for each machine that it wakes or puts to sleep; typer alone takes 0.3 s
        case ["slurm", "resume" | "suspend" | "resume-failed" as verb, "--site", *named] if all(map(_is_plain, named)):
            if len(named) > 1:
                session.begun()
                return call_program(session, verb, Path(named[0]), named[1:])
    from hcloud.cli.root import build

    return build().main(words, prog_name=called_as(), standalone_mode=False, obj=session)


def _is_plain(word: str) -> bool:
    return word.isascii() and word[:1] not in ("", "-")


def call_program(session: CliSession, verb: str, site: Path, nodes: Sequence[str]) -> None:
    """Do what slurmctld's power saving calls ``verb``, and say what was done."""
    from hcloud.providers.slurm.power import called

    for line in called(verb, site.absolute(), nodes):
        session.terminal.note(line)


@contextmanager
def told_below(flags: frozenset[str]) -> Iterator[None]:
    """Hand on the flags that reach further than the terminal, for this command line alone."""
    given = {name: "1" for flag, name in SET_BELOW.items() if flag in flags}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def write_all_of_it() -> None:
    """Where nothing buffers stdout (PYTHONUNBUFFERED), Python drops what a disk that becomes full has not taken, and
    says nothing; a buffer of a line writes on, and is told why not."""
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(sys.stdout.fileno(), "w", 1, encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115


def forgive_glyphs() -> None:
    """A terminal that has not our arrows and blocks shows question marks instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def called_as() -> str:
    """The name the user typed, which help shows and shell completion listens to: hcloud, or its alias hyc."""
    name = PurePath(sys.argv[0]).stem
    return name if name in COMMANDS else COMMANDS[0]


def completion(option: str, shell: str) -> int:
    """Print or install completion for a named shell; without a name Typer's own options look which shell is running."""
    from typer._completion_shared import get_completion_script, install

    if shell not in SHELLS:
        sys.stderr.write(f"error: {option} {shell}: no such shell\nhint: shells: {', '.join(SHELLS)}\n")
        return USAGE_EXIT
    name = called_as()
    variable = f"_{name.upper()}_COMPLETE"
    if option == "--show-completion":
        sys.stdout.write(get_completion_script(prog_name=name, complete_var=variable, shell=shell) + "\n")
    else:
        _, path = install(shell=shell, prog_name=name, complete_var=variable)
        sys.stderr.write(f"completion for {shell} written to {path}; it works in the next shell you open\n")
    return 0


def reader_left() -> int:
    """Exit as a process that SIGPIPE ended, with nothing left that Python would try to flush on its way out."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return BROKEN_PIPE_EXIT


def split_flags(arguments: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """The words without the flags that may stand anywhere (up to ``--``), and those flags by name."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = [a for i, a in enumerate(arguments) if i >= end or a not in FLAGS]
    return words, frozenset(FLAGS[a] for a in arguments[:end] if a in FLAGS)
