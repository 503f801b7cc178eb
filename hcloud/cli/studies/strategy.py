"""``hcloud strategy``: list and show the provisioning strategies."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.groups import Printed, Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError

app = Verb("The provisioning strategies and where each of their numbers comes from")


@app.command("list")
def list_(
    ctx: typer.Context,
    *,
    shown: Printed,
) -> None:
    """List the bundled strategies."""
    from hcloud.readers.strategies import STRATEGIES, load_strategy
    from hcloud.views.studies.documents import StrategiesDocument
    from hcloud.views.studies.strategy import show_list

    found = tuple(map(load_strategy, STRATEGIES))
    shown.tell_result(session(ctx).terminal, found, StrategiesDocument.of, show_list)


@app.command()
def show(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(help="SR, OdF, OdM, HF, HM, HC, harvest or the path of a file.")],
    placement: Annotated[str | None, typer.Option(help="With another placement, for example tarcil.")] = None,
    shown: Printed,
) -> None:
    """Show every rule and number of a strategy with its source; also checks your own file."""
    from hcloud.readers.harvest.policy import HARVEST, stated_harvest
    from hcloud.readers.strategies import load_strategy, with_part
    from hcloud.views.studies.documents import StrategyDocument
    from hcloud.views.studies.strategy import show_one

    terminal = session(ctx).terminal
    is_harvest = name.lower() == HARVEST
    if is_harvest and placement is not None:
        raise UsageError("harvest is no strategy, and has no placement")
    strategy = stated_harvest() if is_harvest else load_strategy(name)
    if placement is not None:
        strategy = with_part(strategy, "placement", placement)
    shown.tell_result(terminal, strategy, StrategyDocument.of, show_one)
