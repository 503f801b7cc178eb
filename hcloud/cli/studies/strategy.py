"""``hcloud strategy``: list and show the provisioning strategies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from hcloud.cli.main import session
from hcloud.cli.options import Output, moment

app = typer.Typer(
    help="The provisioning strategies and where each of their numbers comes from",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="What to print.")]
JsonOption = Annotated[bool, typer.Option("--json", help="The same as -o json.")]
NowOption = Annotated[str | None, typer.Option(help="The time to state in JSON (ISO 8601), for reproducible output.")]


def known_names(incomplete: str) -> Iterator[str]:
    """Strategy names for shell completion."""
    from hcloud.readers.strategies import strategy_names

    yield from (n for n in strategy_names() if n.lower().startswith(incomplete.lower()))


@app.command("list")
def list_(
    ctx: typer.Context, output: OutputOption = Output.TABLE, json_: JsonOption = False, now: NowOption = None
) -> None:
    """The bundled strategies, a line each."""
    from hcloud.usecases.studies.strategy import list_strategies
    from hcloud.views.studies.strategy import show_list

    terminal, at = session(ctx).terminal, moment(now)
    if json_ or output is Output.JSON:
        from hcloud.views.studies.documents import StrategiesDocument

        terminal.write_json(StrategiesDocument.of({"strategies": list_strategies()}, at))
    else:
        show_list(list_strategies(), terminal)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="SR, OdF, OdM, HF, HM or the path of a file.", autocompletion=known_names)
    ],
    output: OutputOption = Output.TABLE,
    json_: JsonOption = False,
    now: NowOption = None,
) -> None:
    """Every rule and number of one strategy, and where it comes from; checks a file of your own."""
    from hcloud.usecases.studies.strategy import show_strategy
    from hcloud.views.studies.strategy import show_one

    terminal, at = session(ctx).terminal, moment(now)
    strategy = show_strategy(name)
    if json_ or output is Output.JSON:
        from hcloud.views.studies.documents import StrategyDocument

        terminal.write_json(StrategyDocument.of(strategy, at))
    else:
        show_one(strategy, terminal)
