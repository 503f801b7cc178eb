"""The root command: lists the verbs, and loads only the one that was asked for."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hcloud.cli.examples import give_examples, root_epilog
from hcloud.cli.verb_groups import GROUPS, VERBS, group_of, module_of, name_no_type_of_flags

LISTING = "hcloud.listing"
"""In a context: verbs are listed, not run."""


class LazyGroup(TyperGroup):
    """Lists the verbs from a table and imports a verb's module when it runs, so that help stays fast."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        ordered = [verb for verbs in GROUPS.values() for verb in verbs]
        self.commands = {name: TyperCommand(name, help=VERBS[name], rich_help_panel=group_of(name)) for name in ordered}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb's command; a name and a line of help stand in for it while verbs are listed."""
        if (ctx is not None and LISTING in ctx.meta) or cmd_name not in VERBS:
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
        ctx.meta[LISTING] = True
        name_no_type_of_flags(self, ctx)
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The names of verbs (or root options) without importing a single verb."""
        ctx.meta[LISTING] = True
        return super().shell_complete(ctx, incomplete)


@cache  # who runs many in one process: a notebook, a test
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
    ctx.find_root().obj.begun()


@cache
def build() -> Any:
    """The root command with its lazy verbs and the options that print or install shell completion."""
    app = typer.Typer(name="hcloud", cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback(cls=LazyGroup, epilog=root_epilog())(root)
    return typer.main.get_command(app)
