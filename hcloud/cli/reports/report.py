"""``hcloud report``: what a plan will cost, what a journal or the live machines have cost, and what commitments did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hcloud.cli.flags import CloudState, Configuration, OneMarket, OneRegion, WhichCloud
from hcloud.cli.groups import FormAndTime, Verb
from hcloud.cli.main import session
from hcloud.cli.reports.report_quality import accuracy, quality, tell_report
from hcloud.planning.reports.report import Dimension
from hcloud.usecases.reports.span import span_of_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hcloud.planning.reports.report import Report
    from hcloud.views.document import Content
    from hcloud.views.escaped import Written
    from hcloud.views.page.parts import PageSection

app = Verb("Costs, savings and the utilisation of commitments: of a plan, a journal or the running machines")


SourceFile = Annotated[Path | None, typer.Argument(help="A plan file or a journal (default: the machines rented now).")]
Format = Annotated[
    Literal["table", "json", "csv", "md", "html", "focus"],
    typer.Option("--output", "-o", help="What to print; focus is a FOCUS 1.2 CSV."),
]
Month = Annotated[str | None, typer.Option("--month", help="A calendar month (UTC), for example 2026-11.")]
From = Annotated[str | None, typer.Option("--from", help="The first day, for example 2026-11-01.")]
To = Annotated[str | None, typer.Option("--to", help="The end date, exclusive.")]
TeamTag = Annotated[
    str | None, typer.Option("--team-tag", help="The tag with the team's name (default: report.team_tag).")
]
Reserve = Annotated[
    str | None,
    typer.Option("--commitment", help="Commitment of a journal's pool, for example reserved-instance-1y-no-upfront."),
]


@dataclass(frozen=True)
class ReportFlags:
    """What is to be reported on: a time, and what is rented there or how a journal is priced."""

    month: Month = None
    from_: From = None
    to: To = None
    file: Configuration = None
    cloud: WhichCloud = None
    state: CloudState = None
    provider: OneMarket = None
    region: OneRegion = None
    commitment: Reserve = None


@dataclass(frozen=True)
class ReportPrinted(FormAndTime):
    """How a report is printed, and the time it is made at."""

    output: Format = "table"


@app.command()
def cost(
    ctx: typer.Context,
    *,
    source: SourceFile = None,
    by: Annotated[
        list[Dimension] | None, typer.Option("--by", help="Group by these (default: app and option).")
    ] = None,
    flags: ReportFlags,
    team_tag: TeamTag = None,
    shown: ReportPrinted,
) -> None:
    """Cost at list price, contracted, effective and billed.

    Effective cost spreads commitments over the usage that they cover.
    """
    from hcloud.views.reports.documents import cost_csv, cost_document
    from hcloud.views.reports.report import cost_sections

    dimensions = [*dict.fromkeys(by or (Dimension.APP, Dimension.OPTION))]
    report = _reported(ctx, source, flags, shown.at, team_tag)
    document = partial(cost_document, report, dimensions, shown.at)
    _print(ctx, report, cost_sections(report, dimensions), shown, (document, partial(cost_csv, report, dimensions)))


@app.command()
def savings(ctx: typer.Context, *, source: SourceFile = None, flags: ReportFlags, shown: ReportPrinted) -> None:
    """Savings by commitments, spot and discounts, and the cost of alternatives for the same use."""
    from hcloud.views.reports.documents import savings_csv, savings_document
    from hcloud.views.reports.report import savings_sections

    report = _reported(ctx, source, flags, shown.at)
    document = partial(savings_document, report, shown.at)
    _print(ctx, report, savings_sections(report), shown, (document, partial(savings_csv, report)))


@app.command()
def commitments(ctx: typer.Context, *, source: SourceFile = None, flags: ReportFlags, shown: ReportPrinted) -> None:
    """Coverage, utilisation and end date of each commitment."""
    from hcloud.views.reports.documents import commitments_csv, commitments_document
    from hcloud.views.reports.report import commitments_sections

    report = _reported(ctx, source, flags, shown.at)
    made = partial(commitments_document, report, shown.at), partial(commitments_csv, report, shown.at)
    _print(ctx, report, commitments_sections(report, shown.at), shown, made)


def _reported(
    ctx: typer.Context, source: Path | None, flags: ReportFlags, at: datetime, team_tag: str | None = None
) -> Report:
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.reports.opened import ReportSelection, report_on
    from hcloud.usecases.reports.report import ReportRequest

    with session(ctx).terminal.busy("adding up costs"):
        loaded = load_config(flags.file)
        span = span_of_flags((flags.month, flags.from_, flags.to))
        asked = ReportRequest(loaded, at, span, team_tag or loaded.config.report.team_tag)
        where = ReportSelection(flags.cloud, flags.state, flags.provider, flags.region, flags.commitment)
        return report_on(source, asked, where, session(ctx).terminal.note)


def _print(
    ctx: typer.Context,
    report: Report,
    sections: Sequence[PageSection],
    shown: ReportPrinted,
    made: tuple[Callable[[], Content], Callable[[], Written]],
) -> None:
    from hcloud.views.reports.focus import focus_csv
    from hcloud.views.reports.page import report_page

    page = partial(report_page, report, sections)
    tell_report(session(ctx).terminal, shown, sections, made, page, focus=partial(focus_csv, report))


app.command()(quality)
app.command()(accuracy)
