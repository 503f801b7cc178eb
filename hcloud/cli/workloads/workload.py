"""``hcloud workload``: show a trace, check traces, write them in our own schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.flags import TraceColumns, TraceDecimal, TraceWindow, reader_keys
from hcloud.cli.groups import Printed, Verb
from hcloud.cli.main import session
from hcloud.cli.options import draw
from hcloud.errors import UsageError
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.units import counted
from hcloud.usecases.asked import moment, seconds_named

if TYPE_CHECKING:
    from hcloud.model.workload import Workload
    from hcloud.usecases.workloads.workload import WorkloadRequest
    from hcloud.views.console import Terminal

NAMES = ", ".join(FORMATS)
KEYS = ", ".join(field.name for field in fields(WorkloadOptions))
WHERE = "docs/reference/formats.md describes each format and its keys."
FETCHED = (
    "The minimal permissions: hcloud iam print --cloud CLOUD --for fetch. To continue an interrupted fetch, run the "
    "same command again. AWS charges for what is asked: about a cent for 1,000 machines, and a cent for each page of "
    "Cost Explorer. Memory in use is not fetched: AWS measures it with the CloudWatch agent alone, Google with the Ops "
    "Agent."
)
EPILOG = f"Keys for --set: 'hcloud workload --help'. {WHERE}"

app = Verb(
    "Traces and utilisation histories: show, validate, convert, fetch",
    epilog=f"Formats (recognised by content, else --format): {NAMES}.\n\n"
    f"Keys (--set KEY=VALUE, or workload.options in hcloud.yaml): {KEYS}.\n\n{WHERE}",
)

Name = Annotated[
    str, typer.Argument(metavar="FILE|scenario:NAME", help="A trace, a history, a folder, - or a scenario.")
]
Format = Annotated[str, typer.Option("--format", help=f"The format (default: detected): {NAMES}.")]
Keys = Annotated[
    list[str] | None, typer.Option("--set", help="Option of the format's reader, KEY=VALUE; may be repeated.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of a scenario.")]


@app.command(epilog=EPILOG)
def show(
    ctx: typer.Context,
    *,
    name: Name,
    workload_format: Format = "auto",
    keys: Keys = None,
    columns: TraceColumns = None,
    decimal: TraceDecimal = None,
    window: TraceWindow = None,
    seed: Seed = 42,
    step: Annotated[str | None, typer.Option(help="Step of the demand, for example 5min.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also draw the demand to FILE.png, .svg or .html.")] = None,
    shown: Printed,
) -> None:
    """Show a workload: rows read, repaired and left out, and demand over time.

    For a bill (file or folder): lines by kind, usage, and commitments.
    """
    from hcloud.usecases.workloads.bills import names_bill
    from hcloud.usecases.workloads.workload import summarise
    from hcloud.views.charts import series_picture
    from hcloud.views.pictures import check_picture
    from hcloud.views.workloads import documents
    from hcloud.views.workloads import workload as view

    terminal = session(ctx).terminal
    check_picture(out)
    request, every = _request(name, workload_format, reader_keys(keys, columns, decimal), seed, window), _step(step)
    if names_bill(request.name, request.format, request.keys or ()):
        _show_bill(request, out, shown, terminal)
        return
    workload = _opened(request, terminal)
    with terminal.busy("adding up the demand"):
        summary = summarise(workload, every)
    draw(out, terminal, lambda: series_picture(view.chart_of(summary)))
    shown.tell_result(terminal, summary, documents.WorkloadDocument.of, view.show_summary, csv=documents.demand_csv)


def _show_bill(request: WorkloadRequest, out: Path | None, shown: Printed, terminal: Terminal) -> None:
    from hcloud.model.bill_figures import figures_of
    from hcloud.usecases.workloads.bills import open_bill
    from hcloud.views.charts import series_picture
    from hcloud.views.workloads import bills as view
    from hcloud.views.workloads.documents import BillDocument

    with terminal.progress(f"reading {request.name}", 1.0) as advance:
        figures = figures_of(open_bill(request.name, request.keys or {}, request.window, advance))
    draw(out, terminal, lambda: series_picture(view.chart_of(figures.bill)))
    shown.tell_result(terminal, figures, BillDocument.of, view.show_bill)


@app.command(epilog=EPILOG)
def validate(
    ctx: typer.Context,
    *,
    names: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files to check.")],
    workload_format: Format = "auto",
    keys: Keys = None,
    columns: TraceColumns = None,
    decimal: TraceDecimal = None,
    shown: Printed,
) -> None:
    """Check files; shows each problem with line and column. Exit 1 if there are any."""
    from hcloud.usecases.workloads.workload import validate as check
    from hcloud.views.workloads import documents
    from hcloud.views.workloads import workload as view

    terminal = session(ctx).terminal
    request = _request("", workload_format, reader_keys(keys, columns, decimal), 42)
    with terminal.progress("checking files", len(names)) as advance:
        verdicts = check(names, request, advance)
    shown.tell_result(terminal, verdicts, documents.VerdictsDocument.of, view.show_verdicts)
    if any(verdict.workload is None for verdict in verdicts):
        raise typer.Exit(1)


@app.command(epilog=EPILOG)
def convert(
    ctx: typer.Context,
    name: Name,
    to: Annotated[Path, typer.Option("--to", "--out", help="The file to write: .csv, or .parquet for jobs.")],
    workload_format: Format = "auto",
    keys: Keys = None,
    columns: TraceColumns = None,
    decimal: TraceDecimal = None,
    window: TraceWindow = None,
    seed: Seed = 42,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a workload in our own schema, with every modelled column filled in."""
    from hcloud.usecases.workloads.workload import convert as write
    from hcloud.usecases.workloads.workload import not_in_a_file

    terminal = session(ctx).terminal
    workload = _opened(_request(name, workload_format, reader_keys(keys, columns, decimal), seed, window), terminal)
    with terminal.busy(f"writing {to}"):
        rows = write(workload, to, force=force)
    terminal.note(f"{counted(rows, 'row')} written to {to}")
    if lost := not_in_a_file(workload):
        terminal.warn(lost)


@app.command(epilog=FETCHED)
def fetch(
    ctx: typer.Context,
    *,
    cloud: Annotated[str, typer.Option(help="aws, gcp or azure.")],
    since: Annotated[str, typer.Option(help="How far back, for example 60d.")] = "60d",
    region: Annotated[list[str] | None, typer.Option(help="A region; may be repeated (default: all).")] = None,
    account: Annotated[
        str, typer.Option(help="Google project or Azure subscription (default: from the environment).")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="The file to write (default: CLOUD-machines.csv).")] = None,
    endpoint: Annotated[str, typer.Option(help="Use this URL instead of the cloud's.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    now: Annotated[str | None, typer.Option(help="Fetch until this time (ISO 8601) instead of now.")] = None,
) -> None:
    """Fetch machines and their CPU utilisation from a cloud's monitoring, for 'hcloud plan FILE'; only reads."""
    from hcloud.cli.acting import stopping, told
    from hcloud.usecases.live.fetch import PERCENT, FetchRequest, FetchRun, home_settings
    from hcloud.usecases.live.fetch import fetch as fetched
    from hcloud.views.workloads.fetched import show_fetched

    terminal, seconds = session(ctx).terminal, seconds_named(since, "--since")
    settings = home_settings(cloud, account, endpoint, tuple(region or ()))
    request = FetchRequest(
        settings, seconds, tuple(region or ()), out or Path(f"{cloud}-machines.csv"), moment(now), force
    )
    with stopping(terminal) as stop, told(terminal, f"fetching from {cloud}", PERCENT) as progress:
        found = fetched(request, FetchRun(stop, progress))
    show_fetched(found, terminal)


def _request(
    name: str, workload_format: str, keys: Sequence[str], seed: int, window: str | None = None
) -> WorkloadRequest:
    from hcloud.usecases.workloads.workload import WorkloadRequest

    pairs = dict[str, str]()
    for text in keys:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {text}: write KEY=VALUE")
        pairs[key] = value
    return WorkloadRequest(name, workload_format, pairs, seed, window)


def _opened(request: WorkloadRequest, terminal: Terminal) -> Workload:
    from hcloud.usecases.workloads.workload import open_request

    with terminal.progress(f"reading {request.name}", 1.0) as advance:
        return open_request(request, advance)


def _step(text: str | None) -> int | None:
    return None if text is None else seconds_named(text, "--step")
