"""A report on whatever is named: a plan, a journal, or else what runs in a cloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.plans.plan import Plan
from hcloud.planning.reports.report import Report
from hcloud.usecases.reports.report import ReportRequest, is_journal, report_of_made, report_of_plan


@dataclass(frozen=True, slots=True)
class ReportSelection:
    """Which cloud is reported on, with its state, or how a journal is priced: as of which provider and region, its pool
    bought as what."""

    cloud: str | None = None
    state: str | None = None
    provider: str | None = None
    region: str | None = None
    commitment: str | None = None


def report_on(
    source: Path | Plan | None,
    asked: ReportRequest,
    where: ReportSelection,
    note: Callable[[str], object] = lambda text: None,
) -> Report:
    """The report of a plan or a journal, or of what runs in the cloud where neither is named; ``note`` hears what is
    waited for.

    Raises InputError for a file that is neither, UsageError for what cannot be asked of it.
    """
    of_cloud = {"--cloud": where.cloud, "--state": where.state}
    pricing = {"--provider": where.provider, "--region": where.region, "--commitment": where.commitment}
    if source is None:
        _refuse(pricing, "for a journal; --cloud names the cloud")
        return _of_cloud(asked, where, note)
    if isinstance(source, Path) and is_journal(source):
        _refuse(of_cloud, "for the machines rented now, not for a journal")
        from hcloud.usecases.reports.of_journal import JournalPricing, report_of_journal

        return report_of_journal(source, asked, JournalPricing(where.provider, where.region, where.commitment))
    _refuse(of_cloud, "for the machines rented now, not for a plan")
    _refuse(pricing, "for a journal, not for a plan, which has its own prices")
    if isinstance(source, Path):
        return report_of_plan(source, asked)
    return report_of_made(source, source.workload.name, asked)


def _refuse(flags: Mapping[str, str | None], why: str) -> None:
    given = [flag for flag, value in flags.items() if value]
    if given:
        raise UsageError(f"{', '.join(given)}: {why}")


def _of_cloud(asked: ReportRequest, where: ReportSelection, note: Callable[[str], object]) -> Report:
    from hcloud.usecases.live.ground import opened
    from hcloud.usecases.live.places import CloudSelection
    from hcloud.usecases.reports.of_live import report_of_live

    with opened(asked.loaded, CloudSelection(where.cloud, where.state), asked.at, note) as here:
        report = report_of_live(here, asked)
    if asked.span.start or asked.span.end:
        return report
    return replace(report, notes=("this month so far; --from/--month for another", *report.notes))
