"""``hcloud strategy``: list and show the provisioning strategies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from hcloud.cli.groups import Printed, grouped
from hcloud.cli.main import session

app = typer.Typer(
    help="The provisioning strategies and where each of their numbers comes from",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@dataclass(frozen=True)
class StatedPrinted(Printed):
    """How strategies are printed."""

    now: Annotated[
        str | None, typer.Option(help="Use this as the current time (ISO 8601), for reproducible output.")
    ] = None


def known_names(incomplete: str) -> Iterator[str]:
    """Strategy names for shell completion."""
    from hcloud.readers.strategies import strategy_names

    yield from (n for n in strategy_names() if n.lower().startswith(incomplete.lower()))


@app.command("list")
@grouped
def list_(
    ctx: typer.Context,
    *,
    shown: StatedPrinted,
) -> None:
    """List the bundled strategies."""
    from hcloud.readers.strategies import load_strategy, strategy_names
    from hcloud.views.studies.documents import StrategiesDocument
    from hcloud.views.studies.strategy import show_list

    terminal, at = session(ctx).terminal, shown.at
    found = tuple(map(load_strategy, strategy_names()))
    shown.tell(terminal, lambda: StrategiesDocument.of({"strategies": found}, at), lambda: show_list(found, terminal))


@app.command()
@grouped
def show(
    ctx: typer.Context,
    *,
    name: Annotated[
        str,
        typer.Argument(help="SR, OdF, OdM, HF, HM, harvest or the path of a file.", autocompletion=known_names),
    ],
    placement: Annotated[str | None, typer.Option(help="With another placement, for example tarcil.")] = None,
    shown: StatedPrinted,
) -> None:
    """Show every rule and number of a strategy with its source; also checks your own file."""
    from hcloud.errors import UsageError
    from hcloud.readers.harvest.policy import HARVEST, stated_harvest
    from hcloud.readers.strategies import load_strategy, with_part
    from hcloud.views.studies.documents import StrategyDocument
    from hcloud.views.studies.strategy import show_one

    terminal, at = session(ctx).terminal, shown.at
    is_harvest = name.lower() == HARVEST
    if is_harvest and placement is not None:
        raise UsageError("harvest is no strategy, and has no placement")
    strategy = stated_harvest() if is_harvest else load_strategy(name)
    if placement is not None:
        strategy = with_part(strategy, "placement", placement)
    shown.tell(terminal, lambda: StrategyDocument.of(strategy, at), lambda: show_one(strategy, terminal))
