"""``hcloud report``: what a plan will cost, what a journal or the live machines have cost, and what commitments did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.acting import StatePlace, WhichCloud
from hcloud.cli.flags import AsJson, Configuration, Now, OneProvider, OneRegion
from hcloud.cli.main import session
from hcloud.cli.options import moment
from hcloud.cli.reports.span import span_of_flags
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hcloud.planning.reports.report import Dimension, Report
    from hcloud.usecases.reports.report import ReportRequest
    from hcloud.views.escaped import Written
    from hcloud.views.page.parts import PageSection

app = typer.Typer(
    help="Costs, savings and the utilisation of commitments: of a plan, a journal or the running machines",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
# Further reports stand in modules of their own beside this one and are added at its end.


class ReportFormat(StrEnum):
    """How a report is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"
    HTML = "html"
    FOCUS = "focus"


class By(StrEnum):
    """What costs are grouped by."""

    APP = "app"
    TEAM = "team"
    TYPE = "type"
    OPTION = "option"
    DAY = "day"


SourceFile = Annotated[
    Path | None, typer.Argument(help="A plan of 'hcloud plan --out' or a journal; else what is rented now.")
]
Format = Annotated[ReportFormat, typer.Option("--output", "-o", help="What to print; focus is a FOCUS 1.2 CSV.")]
Month = Annotated[str | None, typer.Option("--month", help="A calendar month (UTC), for example 2026-11.")]
From = Annotated[str | None, typer.Option("--from", help="The first day, for example 2026-11-01.")]
To = Annotated[str | None, typer.Option("--to", help="The end date, exclusive.")]
TeamTag = Annotated[str | None, typer.Option("--team-tag", help="The tag that names teams; else report.team_tag.")]
Reserve = Annotated[
    str | None,
    typer.Option(
        "--commitment", help="What a journal's pool is bought as, for example reserved-instance-1y-no-upfront."
    ),
]


@dataclass(frozen=True, slots=True)
class ReportFlags:
    """What the command line says is to be reported on."""

    source: Path | None
    file: Path | None
    live: tuple[str | None, str | None]
    time: tuple[str | None, str | None, str | None]
    place: tuple[str | None, str | None, str | None]
    team_tag: str | None


@app.command()
def cost(
    ctx: typer.Context,
    source: SourceFile = None,
    by: Annotated[list[By] | None, typer.Option("--by", help="Group by this, or several; else app and option.")] = None,
    month: Month = None,
    from_: From = None,
    to: To = None,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    provider: OneProvider = None,
    region: OneRegion = None,
    commitment: Reserve = None,
    team_tag: TeamTag = None,
    output: Format = ReportFormat.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """What was (or will be) spent, in four costs.

    At list price, as contracted, effective (commitments spread over what they cover) and as billed.
    """
    from hcloud.planning.reports.report import Dimension
    from hcloud.views.reports.report import cost_sections

    time, place = (month, from_, to), (provider, region, commitment)
    chosen = ReportFlags(source, file, (cloud, state), time, place, team_tag)
    at, dimensions = moment(now), [Dimension(one) for one in dict.fromkeys(by or (By.APP, By.OPTION))]
    report = _reported(ctx, chosen, at)
    shown = _Shown("cost", ReportFormat.JSON if json_ else output, at, dimensions)
    _print(ctx, report, cost_sections(report, dimensions), shown)


@app.command()
def savings(
    ctx: typer.Context,
    source: SourceFile = None,
    month: Month = None,
    from_: From = None,
    to: To = None,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    provider: OneProvider = None,
    region: OneRegion = None,
    commitment: Reserve = None,
    output: Format = ReportFormat.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """What commitments, spot and discounts saved, and what the same use would have cost otherwise."""
    from hcloud.views.reports.report import savings_sections

    time, place = (month, from_, to), (provider, region, commitment)
    shown = _Shown("savings", ReportFormat.JSON if json_ else output, moment(now), ())
    report = _reported(ctx, ReportFlags(source, file, (cloud, state), time, place, None), shown.at)
    _print(ctx, report, savings_sections(report), shown)


@app.command()
def commitments(
    ctx: typer.Context,
    source: SourceFile = None,
    month: Month = None,
    from_: From = None,
    to: To = None,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    provider: OneProvider = None,
    region: OneRegion = None,
    commitment: Reserve = None,
    output: Format = ReportFormat.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """How much of the use commitments covered, how much of each was used, and when it ends."""
    from hcloud.views.reports.report import commitments_sections

    time, place = (month, from_, to), (provider, region, commitment)
    shown = _Shown("commitments", ReportFormat.JSON if json_ else output, moment(now), ())
    report = _reported(ctx, ReportFlags(source, file, (cloud, state), time, place, None), shown.at)
    _print(ctx, report, commitments_sections(report, shown.at), shown)


@dataclass(frozen=True, slots=True)
class _Shown:
    """Which report is printed, how, and made when."""

    kind: str
    output: ReportFormat
    at: datetime
    by: Sequence[Dimension]


def _reported(ctx: typer.Context, chosen: ReportFlags, at: datetime) -> Report:
    with session(ctx).terminal.busy("adding up costs"):
        return _added_up(chosen, at)


def _added_up(chosen: ReportFlags, at: datetime) -> Report:
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.reports.report import ReportRequest, is_journal, report_of_plan

    loaded = load_config(chosen.file)
    asked = ReportRequest(loaded, at, span_of_flags(chosen.time), chosen.team_tag or loaded.config.report.team_tag)
    if chosen.source is None:
        return _live(chosen, asked)
    if is_journal(chosen.source):
        from hcloud.usecases.reports.of_journal import JournalPricing, report_of_journal

        return report_of_journal(chosen.source, asked, JournalPricing(*chosen.place))
    return report_of_plan(chosen.source, asked)


def _live(chosen: ReportFlags, asked: ReportRequest) -> Report:
    from hcloud.usecases.live.ground import CloudSelection, opened
    from hcloud.usecases.reports.of_live import report_of_live

    if any(chosen.place):
        raise UsageError("--provider, --region and --commitment are about a journal; name the cloud: --cloud")
    with opened(asked.loaded, CloudSelection(*chosen.live), asked.at) as here:
        report = report_of_live(here, asked)
    if asked.span.start or asked.span.end:
        return report
    return replace(report, notes=("this month so far; --from/--month for another", *report.notes))


def _print(ctx: typer.Context, report: Report, sections: Sequence[PageSection], shown: _Shown) -> None:
    terminal = session(ctx).terminal
    if shown.output is ReportFormat.TABLE:
        from hcloud.views.reports.report import show_sections

        show_sections(sections, terminal)
    elif shown.output is ReportFormat.JSON:
        terminal.write_json(_document(report, shown))
    else:
        terminal.write(_text(report, sections, shown))


def _document(report: Report, shown: _Shown) -> Mapping[str, object]:
    from hcloud.views.reports import documents as view

    if shown.kind == "cost":
        return view.cost_document(report, shown.by, shown.at)
    made = view.savings_document if shown.kind == "savings" else view.commitments_document
    return made(report, shown.at)


def _text(report: Report, sections: Sequence[PageSection], shown: _Shown) -> Written:
    if shown.output is ReportFormat.MD:
        from hcloud.views.reports.markdown import markdown

        return markdown(sections)
    if shown.output is ReportFormat.HTML:
        from hcloud.views.page.render import render
        from hcloud.views.reports.page import report_page

        return render(report_page(report, sections))
    if shown.output is ReportFormat.FOCUS:
        from hcloud.views.reports.focus import focus_csv

        return focus_csv(report)
    from hcloud.views.reports import documents as view

    if shown.kind == "cost":
        return view.cost_csv(report, shown.by)
    return view.savings_csv(report) if shown.kind == "savings" else view.commitments_csv(report, shown.at)


def _add_further_reports() -> None:
    from hcloud.cli.reports.report_quality import accuracy, quality

    app.command()(quality)
    app.command()(accuracy)


_add_further_reports()
