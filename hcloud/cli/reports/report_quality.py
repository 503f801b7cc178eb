"""``hcloud report quality`` and ``accuracy``: what jobs got, and whether what a plan predicted came true."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.acting import StatePlace, WhichCloud
from hcloud.cli.flags import AsJson, Configuration, Now
from hcloud.cli.main import session
from hcloud.cli.options import moment
from hcloud.cli.reports.span import span_of_flags
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hcloud.planning.reports.accuracy import Accuracy
    from hcloud.usecases.reports.report import ReportRequest
    from hcloud.views.console import Terminal
    from hcloud.views.escaped import Written
    from hcloud.views.page.parts import PageSection


class QualityFormat(StrEnum):
    """How these reports are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"
    HTML = "html"


Format = Annotated[QualityFormat, typer.Option("--output", "-o", help="What to print.")]


def quality(
    ctx: typer.Context,
    source: Annotated[Path, typer.Argument(help="A journal, or a plan made with --strategy: what it predicts.")],
    output: Format = QualityFormat.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """What jobs got: performance kept, waits, violations, moves and interruptions, in all, by kind and application."""
    from hcloud.usecases.reports.quality import report_quality
    from hcloud.views.reports import documents
    from hcloud.views.reports.quality import quality_sections

    report, terminal = report_quality(source), session(ctx).terminal
    if json_ or output is QualityFormat.JSON:
        terminal.write_json(documents.QualityDocument.of(report, moment(now)))
    else:
        _print(
            terminal,
            (f"Quality of {report.name}", quality_sections(report)),
            output,
            lambda: documents.quality_csv(report),
        )


def accuracy(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Option("--plan", help="The plan whose predictions are judged.")],
    journal: Annotated[Path | None, typer.Option("--journal", help="What happened; else what is rented now.")] = None,
    month: Annotated[str | None, typer.Option("--month", help="A calendar month (UTC) of what is rented.")] = None,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    output: Format = QualityFormat.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """What a plan predicted beside what happened, with the error; other prices, demand and mix told apart."""
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.reports.report import ReportRequest
    from hcloud.views.reports import documents
    from hcloud.views.reports.quality import accuracy_sections

    if journal is not None and (month or cloud or state):
        raise UsageError("--month, --cloud and --state are about what is rented; a journal is judged as a whole")
    asked = ReportRequest(load_config(file), moment(now), span_of_flags((month, None, None)), "team")
    made, terminal = _compared(plan, journal, (cloud, state), asked), session(ctx).terminal
    if json_ or output is QualityFormat.JSON:
        terminal.write_json(documents.AccuracyDocument.of(made, asked.at))
    else:
        _print(
            terminal,
            (f"Accuracy of {made.plan}", accuracy_sections(made)),
            output,
            lambda: documents.accuracy_csv(made),
        )


def _compared(plan: Path, journal: Path | None, live: tuple[str | None, str | None], asked: ReportRequest) -> Accuracy:
    from dataclasses import replace

    from hcloud.usecases.reports.accuracy import accuracy_of_journal, accuracy_of_live
    from hcloud.usecases.reports.report import RequestedPeriod

    if journal is not None:
        return accuracy_of_journal(plan, journal, asked)
    from hcloud.usecases.live.ground import CloudSelection, opened
    from hcloud.usecases.reports.of_live import report_of_live

    with opened(asked.loaded, CloudSelection(*live), asked.at) as here:
        return accuracy_of_live(plan, report_of_live(here, asked), replace(asked, span=RequestedPeriod()))


def _print(
    terminal: Terminal, titled: tuple[str, tuple[PageSection, ...]], output: QualityFormat, csv: Callable[[], Written]
) -> None:
    title, sections = titled
    if output is QualityFormat.CSV:
        terminal.write(csv())
    elif output is QualityFormat.MD:
        from hcloud.views.reports.markdown import markdown

        terminal.write(markdown(sections))
    elif output is QualityFormat.HTML:
        from hcloud.views.page.render import render
        from hcloud.views.reports.quality import report_page

        terminal.write(render(report_page(title, sections)))
    else:
        from hcloud.views.reports.report import show_sections

        for at, section in enumerate(sections):
            terminal.show(*([""] if at else []))
            show_sections((section,), terminal)
