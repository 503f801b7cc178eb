"""``hcloud report quality`` and ``accuracy``: what jobs got, and whether what a plan predicted came true."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import CloudFlags, PagePrinted
from hcloud.cli.main import session
from hcloud.errors import UsageError
from hcloud.usecases.reports.span import span_of_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hcloud.cli.groups import FormAndTime
    from hcloud.planning.reports.accuracy import Accuracy
    from hcloud.planning.reports.report import Report
    from hcloud.usecases.reports.report import ReportRequest
    from hcloud.views.console import Terminal
    from hcloud.views.document import Content
    from hcloud.views.escaped import Written
    from hcloud.views.page.parts import Page, PageSection


def quality(
    ctx: typer.Context,
    *,
    source: Annotated[Path, typer.Argument(help="A journal, or a plan made with --strategy (its predictions).")],
    shown: PagePrinted,
) -> None:
    """Quality of service of jobs: performance, waits, violations, moves and interruptions.

    As HTML with a picture of a journal: demand, machines, queue and decisions over time.
    """
    from hcloud.usecases.reports.quality import report_quality
    from hcloud.views.reports import documents
    from hcloud.views.reports.quality import quality_sections, report_page

    report, terminal = report_quality(source), session(ctx).terminal
    sections = quality_sections(report)

    def page() -> Page:
        return report_page(f"Quality of {report.name}", (*sections, *(_course(source) if report.groups else ())))

    made = partial(documents.QualityDocument.of, report, shown.at), partial(documents.quality_csv, report)
    tell_report(terminal, shown, sections, made, page)


def _course(journal: Path) -> tuple[PageSection, ...]:
    """Demand, machines, queue and decisions over time, as a picture."""
    from hcloud.usecases.reports.quality import course_of_journal
    from hcloud.views.page.parts import PageSection
    from hcloud.views.reports.course import course_picture

    drawn = course_picture(course_of_journal(journal), "Demand, machines, queue and decisions")
    return (PageSection("Over time", figures=(drawn.figure(),)),)


def accuracy(
    ctx: typer.Context,
    *,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", help="Compare with this plan's predictions (default: those in a live journal)."),
    ] = None,
    journal: Annotated[
        Path | None, typer.Option("--journal", help="What happened (default: the machines rented now).")
    ] = None,
    month: Annotated[str | None, typer.Option("--month", help="A calendar month (UTC) of the rented machines.")] = None,
    where: CloudFlags,
    shown: PagePrinted,
) -> None:
    """A plan's predictions beside what happened, with the error split into prices, demand and mix.

    For live work also the waits, run times and quality expected at each decision.
    """
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.reports.report import ReportRequest
    from hcloud.views.reports import documents
    from hcloud.views.reports.quality import accuracy_sections, report_page

    if journal is not None and (month or where.cloud or where.state):
        raise UsageError("--month, --cloud and --state are about what is rented; a journal is judged as a whole")
    asked = ReportRequest(load_config(where.file), shown.at, span_of_flags((month, None, None)), "team")
    terminal = session(ctx).terminal
    made = _compared(plan, journal, (where.cloud, where.state), asked, terminal.note)
    sections = accuracy_sections(made)
    page = partial(report_page, f"Accuracy of {made.plan or made.source}", sections)
    forms = partial(documents.AccuracyDocument.of, made, asked.at), partial(documents.accuracy_csv, made)
    tell_report(terminal, shown, sections, forms, page)


def _compared(
    plan: Path | None,
    journal: Path | None,
    live: tuple[str | None, str | None],
    asked: ReportRequest,
    note: Callable[[str], None],
) -> Accuracy:
    from hcloud.usecases.reports.accuracy import accuracy_of_decisions, accuracy_of_journal, accuracy_of_live
    from hcloud.usecases.reports.report import RequestedPeriod

    if plan is None and journal is None:
        raise UsageError(
            "nothing to judge: no journal or plan given", hint="--plan PLAN, --journal JOURNAL of live work, or both"
        )
    if plan is None:
        assert journal is not None
        return accuracy_of_decisions(journal)
    if journal is not None:
        return accuracy_of_journal(plan, journal, asked)
    from hcloud.usecases.live.ground import opened
    from hcloud.usecases.live.places import CloudSelection
    from hcloud.usecases.reports.of_live import report_of_live

    def rented() -> Report:
        with opened(asked.loaded, CloudSelection(*live), asked.at, note) as here:
            return report_of_live(here, asked)

    return accuracy_of_live(plan, rented, replace(asked, span=RequestedPeriod()))


def tell_report(
    terminal: Terminal,
    shown: FormAndTime,
    sections: Sequence[PageSection],
    made: tuple[Callable[[], Content], Callable[[], Written]],
    page: Callable[[], Page],
    **written: Callable[[], Written],
) -> None:
    """Print a report of sections, ``made`` as a document and as CSV, in the form that is asked for."""
    from hcloud.views.markdown import markdown
    from hcloud.views.page.render import render
    from hcloud.views.reports.report import show_sections

    document, csv = made
    shown.tell(
        terminal,
        document,
        lambda: show_sections(sections, terminal),
        csv=csv,
        md=lambda: markdown(sections),
        html=lambda: render(page()),
        **written,
    )
