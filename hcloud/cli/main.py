"""The root command: loads only the verb that was asked for, and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from hcloud import __version__
from hcloud.cli.examples import give_examples, root_epilog
from hcloud.cli.verb_groups import GROUPS, group_of, module_of, name_no_type_of_flags
from hcloud.readers.typed import typed

if TYPE_CHECKING:
    from hcloud.views.console import Terminal

USAGE_EXIT = 64
INTERRUPTED_EXIT, BROKEN_PIPE_EXIT = 130, 141
COMMANDS = ("hcloud", "hyc")
SHELLS = ("bash", "zsh", "fish")

VERBS = {
    "demo": "All of it in a minute on a cloud in memory: measure, plan, apply, a month, the report, the end",
    "plan": "How much to reserve, where and for which term, and what stays on demand",
    "size": "Which servers meet a target (requests within a tail, a deadline, a rate), and what they cost",
    "explain": "Why this plan, why not another, why so many, why a job waited, and what would change it",
    "page": "A plan as one page of HTML to read, print and send, and its pictures",
    "diff": "What changes from one plan to the next, and why; as the comment on a pull request",
    "export": "A plan in the form that other tools obey: karpenter",
    "policy": "Check a plan against your rules: check",
    "simulate": "What each strategy would have cost and done on your own trace",
    "compare": "The strategies side by side over several seeds: cost, quality, and which are Pareto-optimal",
    "sweep": "Sensitivity analysis: vary numbers of a strategy, the cloud or the prices",
    "decide": "Decide where each job of a live event stream goes, and say why",
    "operate": "Run jobs live: the policy places them, rents machines and releases them",
    "apply": "Launch and terminate machines exactly as a plan shows",
    "commit": "Commitments: what to buy and why, buy it once, list and cancel",
    "slurm": "Connect a Slurm cluster: config, check, and the programs that slurmctld calls",
    "status": "The running machines, and what they cost an hour",
    "drift": "Changes made outside hcloud",
    "report": "Costs, savings, and the utilisation of commitments",
    "destroy": "Terminate every machine of a state",
    "gc": "Find orphaned machines; with --delete terminate them",
    "recover": "Rebuild a lost or damaged state from the tags of its machines",
    "state": "The state: list, show, pull, push, force-unlock",
    "profile": "What an application needs, tolerates and causes: run, show, list, compare, import",
    "classify": "What size, type and neighbours applications need, from few measurements",
    "workload": "Traces and utilisation histories: show, validate, convert",
    "pricing": "Offers and their prices: list, show, diff, verify, import, refresh",
    "strategy": "The provisioning strategies and where each of their numbers comes from",
    "placement": "How many servers of a large pool to sample for each job: size",
    "harvest": "Use idle reserved capacity: types, plan, simulate, replicas, audit",
    "reproduce": "The published studies run again with the frozen model: what holds and what does not",
    "fake": "Fake clouds on this machine, for rehearsals: up, wait",
    "iam": "The minimal permissions for one plan: print",
    "init": "Write a commented hcloud.yaml to start from",
    "validate": "Check a configuration and everything it points to",
    "doctor": "Check this installation",
}
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


class LazyGroup(TyperGroup):
    """Lists the verbs from a table and imports a verb's module when it runs, so that help stays fast."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        ordered = [verb for verbs in GROUPS.values() for verb in verbs]
        self.commands = {name: TyperCommand(name, help=VERBS[name], rich_help_panel=group_of(name)) for name in ordered}
        self.listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb's command; a name and a line of help stand in for it while verbs are listed."""
        if self.listing or cmd_name not in VERBS:
            return self.commands.get(cmd_name)
        command = command_of(cmd_name)
        if ctx is not None:
            name_no_type_of_flags(command, ctx)
        if ctx is not None and ctx.resilient_parsing:  # somebody pressed Tab
            from hcloud.cli.completing import offer_names

            offer_names(command, cmd_name)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Root help without importing a single verb."""
        self.listing = True
        name_no_type_of_flags(self, ctx)
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The names of verbs (or root options) without importing a single verb."""
        self.listing = True
        return super().shell_complete(ctx, incomplete)


@cache  # a notebook runs many
def command_of(verb: str) -> Any:
    """A verb with its options and examples."""
    module = importlib.import_module(module_of(verb))
    command = typer.main.get_command(module.app)
    command.params = [p for p in command.params if p.name not in ("install_completion", "show_completion")]
    give_examples(command, verb)
    return command


def root(
    ctx: typer.Context,
    *,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only results, warnings and errors."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Show a plan's assumptions."),
    no_color: bool = typer.Option(False, "--no-color", help="No colour (as NO_COLOR=1)."),
    no_input: bool = typer.Option(False, "--no-input", help="Never ask; fail instead."),
    debug: bool = typer.Option(False, "--debug", help="Show stack traces."),
    unsafe_store: bool = typer.Option(
        False,
        "--unsafe-store",
        help="Accept a bucket that ignores conditional writes; warns each time.",
    ),
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Decide how much cloud capacity to reserve and how much to rent on demand, with a proof."""
    session(ctx).begun()


def build() -> Any:
    """The root command with its lazy verbs and the options that print or install shell completion."""
    app = typer.Typer(name="hcloud", cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback(cls=LazyGroup, epilog=root_epilog())(root)
    return typer.main.get_command(app)


def run(arguments: Sequence[str], begun: Callable[[], None] = lambda: None) -> int:
    """Run the command line and return its exit code; nothing but the result reaches stdout. ``begun`` is called when
    the verb is there, before its work."""
    words, flags = split_flags(arguments)
    write_all_of_it()
    forgive_glyphs()
    tell_below(flags)
    try:
        with typed([called_as(), *arguments]):
            code = code_of(words, CliSession(flags, begun))
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
            return report_error(error, words, debug="debug" in flags)
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
    return build().main(words, prog_name=called_as(), standalone_mode=False, obj=session)


def tell_below(flags: frozenset[str]) -> None:
    """Hand on the flags that reach further than the terminal, and let a store be heard that one of them takes."""
    os.environ.update({SET_BELOW[flag]: "1" for flag in sorted(flags & SET_BELOW.keys())})
    if os.environ.get(SET_BELOW["unsafe_store"]) == "1":
        import logging

        heard = logging.StreamHandler()
        heard.setFormatter(logging.Formatter("warning: %(message)s"))
        logging.getLogger("hcloud").handlers[:] = [heard]


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
