"""The root command: loads only the verb that was asked for, and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from hcloud import __version__
from hcloud.errors import HcloudError

if TYPE_CHECKING:
    from hcloud.views.console import Terminal

USAGE_EXIT = 64

VERBS = {
    "plan": "How much to reserve, where and for which term, and what stays on demand",
    "explain": "Why a plan chose what it chose, and what each refused option would have cost",
    "pricing": "Offers and their prices: list, show, diff, verify, import, refresh",
    "workload": "Traces and utilisation histories: show, validate, convert",
    "strategy": "The provisioning strategies and where each of their numbers comes from",
    "init": "Write a commented hcloud.yaml to start from",
    "validate": "Check a configuration and everything it points to",
    "doctor": "Check this installation",
}
FLAGS = {
    "--quiet": "quiet", "-q": "quiet", "--verbose": "verbose", "-v": "verbose",
    "--no-color": "no_color", "--no-input": "no_input", "--debug": "debug",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """What every verb gets: the terminal and the flags that may stand anywhere on the command line."""

    terminal: Terminal
    flags: frozenset[str]

    @classmethod
    def open(cls, flags: frozenset[str]) -> Session:
        """A session on the process's own streams."""
        from hcloud.views.console import Terminal

        return cls(Terminal.open(color="no_color" not in flags, quiet="quiet" in flags), flags)


def session(ctx: typer.Context) -> Session:
    """The session of the running command."""
    return cast("Session", ctx.find_root().obj)


class LazyGroup(TyperGroup):
    """Lists the verbs from a table and imports a verb's module when it runs, so that help stays fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs in the order users meet them."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb's command; a name and a line of help stand in for it while help is shown."""
        if cmd_name not in VERBS:
            return None
        if getattr(self, "listing", False):
            return TyperCommand(cmd_name, help=VERBS[cmd_name])
        module = importlib.import_module(f"hcloud.cli.{cmd_name}")
        return typer.main.get_command(module.app)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Root help without importing a single verb."""
        self.listing = True
        super().format_help(ctx, formatter)


def root(
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only results, warnings and errors."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Say more about what is done."),
    no_color: bool = typer.Option(False, "--no-color", help="No colour (as NO_COLOR=1)."),
    no_input: bool = typer.Option(False, "--no-input", help="Never ask; fail instead."),
    debug: bool = typer.Option(False, "--debug", help="Show stack traces."),
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Decide how much cloud capacity to reserve and how much to rent on demand, with a proof."""


def build() -> Any:
    """The root command with its lazy verbs."""
    app = typer.Typer(name="hcloud", cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback(cls=LazyGroup)(root)
    return typer.main.get_group(app)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; nothing but the result reaches stdout."""
    words, flags = split_flags(arguments)
    if "--version" in words[:1]:
        sys.stdout.write(f"hcloud {__version__}\n")
        return 0
    try:
        code = build().main(words, prog_name="hcloud", standalone_mode=False, obj=Session.open(flags))
    except Exception as error:
        return report_error(error, debug="debug" in flags)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    return code if isinstance(code, int) else 0


def split_flags(arguments: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """The words without the flags that may stand anywhere (up to ``--``), and those flags by name."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = [a for i, a in enumerate(arguments) if i >= end or a not in FLAGS]
    return words, frozenset(FLAGS[a] for a in arguments[:end] if a in FLAGS)


def report_error(error: Exception, *, debug: bool) -> int:
    """Print an error in full sentences on stderr and return the exit code it stands for."""
    if debug:
        raise error
    if isinstance(error, HcloudError):
        sys.stderr.write(f"error: {error}\n")
        if error.hint:
            sys.stderr.write(f"hint: {error.hint}\n")
        return error.exit_code
    if isinstance(error, typer.Exit):
        return error.exit_code
    if isinstance(error, typer.Abort):
        sys.stderr.write("aborted\n")
        return 1
    show = getattr(error, "show", None)
    if show is not None:
        show()
        return USAGE_EXIT
    if isinstance(error, OSError):
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stderr.write(f"error: this is a bug in hcloud: {type(error).__name__}: {error}\nhint: --debug shows where\n")
    return 1
