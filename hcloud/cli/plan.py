"""``hcloud plan``: parse, decide, show."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.interruptible import interruptible
from hcloud.cli.main import session
from hcloud.cli.options import moment
from hcloud.errors import UsageError

CHANGES = 2

app = typer.Typer(pretty_exceptions_enable=False)


class PlanFormat(StrEnum):
    """How a plan is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"


@app.command()
def plan(
    ctx: typer.Context,
    workload: Annotated[
        str | None, typer.Argument(help="A trace or history, or scenario:NAME; else what hcloud.yaml names.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", "-c", help="The configuration.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the plan to this file.")] = None,
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="What to print.")] = PlanFormat.TABLE,
    json_: Annotated[bool, typer.Option("--json", help="The same as -o json.")] = False,
    workload_format: Annotated[str | None, typer.Option("--format", help="See hcloud workload --help.")] = None,
    keys: Annotated[list[str] | None, typer.Option("--set", help="A key of the workload reader, KEY=VALUE.")] = None,
    provider: Annotated[list[str] | None, typer.Option(help="aws, gcp or azure; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Allowed region; may be repeated.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Allowed family pattern; may be repeated.")] = None,
    vcpus: Annotated[int | None, typer.Option(min=1, help="vCPUs of one instance.")] = None,
    horizon: Annotated[str | None, typer.Option(help="How far to plan, for example 1y or 3y.")] = None,
    regret_quantile: Annotated[float | None, typer.Option(help="Size the reserve by regret, for example 0.9.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of scenarios and futures.")] = None,
    max_price_age: Annotated[str | None, typer.Option(help="Refuse older prices, for example 30d.")] = None,
    now: Annotated[str | None, typer.Option(help="The time to plan at (ISO 8601), for reproducible output.")] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit 2 when it would buy something.")
    ] = False,
) -> None:
    """How much to reserve, where and for which term, and what stays on demand."""
    from hcloud.model.catalog import Provider
    from hcloud.readers.config import load_config
    from hcloud.store.plan_file import check_target, plan_document, save_plan
    from hcloud.usecases.plan import make_plan
    from hcloud.usecases.sources import Flags, with_flags
    from hcloud.views.plan import markdown, show_plan

    known = [p.value for p in Provider]
    for name in provider or ():
        if name not in known:
            raise UsageError(f"--provider {name}: must be one of {', '.join(known)}")
    flags = Flags(
        workload=workload,
        format=workload_format,
        options=tuple(keys or ()),
        providers=tuple(Provider(p) for p in provider or ()),
        regions=tuple(region or ()),
        families=tuple(family or ()),
        vcpus=vcpus,
        horizon=horizon,
        regret_quantile=regret_quantile,
        seed=seed,
        max_price_age=max_price_age,
    )
    terminal = session(ctx).terminal
    loaded, at = with_flags(load_config(file), flags), moment(now)
    if out is not None:
        check_target(out)
    with terminal.progress("planning", 1.0) as advance:
        made = interruptible(lambda: make_plan(loaded, at, advance)).plan
    if "verbose" in session(ctx).flags:
        for assumption in made.assumptions:
            terminal.note(f"{assumption.key} = {assumption.value}: {assumption.why}")
    if out is not None:
        save_plan(made, out)
        terminal.note(f"plan written to {out}")
    if json_ or output is PlanFormat.JSON:
        terminal.write_json(plan_document(made))
    elif output is PlanFormat.MD:
        terminal.write(markdown(made))
    else:
        show_plan(made, terminal)
    if detailed_exitcode and made.purchases:
        raise typer.Exit(CHANGES)
