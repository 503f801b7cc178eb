"""What the functions for notebooks return: each is a page, a table and a document of its verb."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from hcloud.model.bill_figures import BillFigures
from hcloud.model.plans.bill_plan import BillPlan
from hcloud.model.plans.plan import Plan
from hcloud.model.workload import Summary, Workload
from hcloud.notebook.frames import Amounts, frame_of, frame_of_rows
from hcloud.planning.reports.report import Dimension, Report
from hcloud.readers.configuration.config import Loaded, WorkloadSection
from hcloud.sim.outcomes.comparison import StrategyComparison
from hcloud.units import counted, format_money

if TYPE_CHECKING:
    import pandas as pd

    from hcloud.views.document import Content
    from hcloud.views.page.parts import Page, PageSection


class Result(ABC):
    """A result in a notebook. Its display is the page of the verb; nothing in it runs or loads anything."""

    @abstractmethod
    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """The result's table as a DataFrame (extra ``notebook``); its dollars as Decimal, or as ``"float"``.

        Raises MissingExtraError without pandas, UsageError for other ``amounts``.
        """

    def _rows(self, amounts: Amounts) -> pd.DataFrame:
        """The rows of the document."""
        from hcloud.views.rows import rows_of

        return frame_of_rows(rows_of(self._document()), amounts)

    def to_json(self) -> str:
        """The document that the verb prints with ``-o json``, byte for byte; docs/schemas has its schema."""
        from hcloud.views.escaped import json_document

        return json_document(self._document())

    def _repr_html_(self) -> str:
        from hcloud.views.page.render import embedded

        return embedded(self._page())

    def __repr__(self) -> str:
        return f"<hcloud {self._said()}>"

    @abstractmethod
    def _document(self) -> Content: ...

    @abstractmethod
    def _page(self) -> Page: ...

    @abstractmethod
    def _said(self) -> str: ...


@dataclass(frozen=True, repr=False, eq=False)
class DemandResult(Result):
    """What ran: a table of jobs, or a series of vCPUs, as :func:`hcloud.read` found it.

    ``workload`` holds it in the window that was asked for, as arrays: seconds, vCPUs and GiB.
    """

    workload: Workload
    whole: Workload
    section: WorkloadSection
    at: datetime

    @cached_property
    def summary(self) -> Summary:
        """Its figures: mean and peak in vCPUs, core-hours, memory in GiB."""
        from hcloud.usecases.workloads.workload import summarise

        return summarise(self.workload)

    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """Its jobs or steps as ``hcloud workload convert`` writes them: times in seconds, ``cores`` in vCPUs,
        ``memory`` in GiB. It holds no dollars.

        >>> hcloud.read("trace.csv").to_frame().groupby("app").cores.sum()
        """
        from hcloud.usecases.workloads.workload import workload_table

        table = workload_table(self.workload)
        return frame_of(table.column_names, zip(*(c.to_pylist() for c in table.columns), strict=True), amounts)

    def _document(self) -> Content:
        from hcloud.views.workloads.documents import WorkloadDocument

        return WorkloadDocument.of(self.summary, self.at)

    def _page(self) -> Page:
        from hcloud.views.workloads.page import workload_page

        return workload_page(self.summary)

    def _said(self) -> str:
        of = self.workload.provenance
        found = self.summary
        return f"demand: {of.name}, {counted(of.rows, 'row')}, {found.mean_cores:,.1f} vCPUs mean"


@dataclass(frozen=True, repr=False, eq=False)
class BillResult(Result):
    """What a provider's bill says of compute, as :func:`hcloud.read` found it: ``figures`` has its sums, and ``bill``
    in it every hour."""

    figures: BillFigures
    section: WorkloadSection
    at: datetime

    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """Its usage, a row for each kind of machine in each account and region: instance-hours, and dollars.

        >>> hcloud.read("cur/").to_frame("float").groupby("family").cost.sum()
        """
        return self._rows(amounts)

    def _document(self) -> Content:
        from hcloud.views.workloads.documents import BillDocument

        return BillDocument.of(self.figures, self.at)

    def _page(self) -> Page:
        from hcloud.views.workloads.page import bill_page

        return bill_page(self.figures)

    def _said(self) -> str:
        bill = self.figures.bill
        return f"bill: {bill.name}, {counted(bill.rows, 'row')}, {format_money(bill.total, 2)}"


@dataclass(frozen=True, repr=False, eq=False)
class PlanResult(Result):
    """What to reserve and what to rent: ``plan`` has every figure, dollars as Decimal."""

    plan: Plan
    loaded: Loaded
    demand: DemandResult | None = None

    @property
    def is_missed(self) -> bool:
        """Whether no simulated strategy keeps the target or the budget, where the verb ends with exit code 3."""
        return self.plan.operation is not None and self.plan.operation.is_missed

    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """The mix: a row for what is bought or rented, in dollars (``hourly``, ``monthly``; ``upfront`` and ``total``
        over the horizon), the columns of ``hcloud plan -o csv``.

        >>> hcloud.plan("trace.csv").to_frame("float")[["instance_type", "option", "count", "monthly"]]
        """
        from hcloud.views.deciding.plan_tables import COLUMNS

        rows = ([getattr(line, name) for name in COLUMNS] for line in self.plan.mix)
        return frame_of(COLUMNS, rows, amounts, ("price_day",))

    def _document(self) -> Content:
        from hcloud.store.plan_file import plan_document, plan_schema
        from hcloud.views.document import stored_content

        return stored_content(plan_document(self.plan), plan_schema)

    def _page(self) -> Page:
        from hcloud.views.deciding.plan_page import plan_page

        return plan_page(self.plan)

    def _said(self) -> str:
        now, after = (format_money(side.monthly) for side in (self.plan.now, self.plan.after))
        return f"plan: {self.plan.workload.name}, {after} a month against {now} all on demand"


@dataclass(frozen=True, repr=False, eq=False)
class BillPlanResult(Result):
    """What to buy for each kind of machine in a bill: ``plan`` has every figure, dollars as Decimal."""

    plan: BillPlan

    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """A row a kind of machine, the largest first: dollars a month, but ``upfront``.

        >>> hcloud.plan("cur/").to_frame("float").head()
        """
        return self._rows(amounts)

    def _document(self) -> Content:
        from hcloud.views.deciding.documents import BillPlanDocument

        return BillPlanDocument.of(self.plan, self.plan.generated_at)

    def _page(self) -> Page:
        from hcloud.views.deciding.bill_plan import bill_page

        return bill_page(self.plan)

    def _said(self) -> str:
        made = self.plan
        now, after = format_money(made.now), format_money(made.after)
        return f"plan: {made.name}, {after} a month against {now} as things are"


@dataclass(frozen=True, repr=False, eq=False)
class SimulationResult(Result):
    """What strategies cost and do on a workload: ``comparison`` has every run."""

    comparison: StrategyComparison
    at: datetime

    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """A row for each strategy and seed: dollars, dollars an hour, times in seconds, shares from 0 to 1.

        >>> runs = hcloud.simulate("trace.csv", ["HM", "SR"]).to_frame("float")
        >>> runs.set_index("name")[["cost_per_ideal_hour", "kept_qos"]]
        """
        return self._rows(amounts)

    def _document(self) -> Content:
        from hcloud.views.studies.documents import SimulationDocument

        return SimulationDocument.of(self.comparison, self.at)

    def _page(self) -> Page:
        from hcloud.views.studies.simulation_page import comparison_page

        return comparison_page(self.comparison, self.at)

    def _said(self) -> str:
        of, names = self.comparison, ", ".join(one.name for one in self.comparison.strategies)
        return f"simulation: {of.workload}, {counted(of.jobs, 'job')}, {names}, {counted(len(of.seeds), 'seed')}"


@dataclass(frozen=True, repr=False, eq=False)
class ReportResult(Result):
    """What was (or will be) spent: ``report`` has every charge, dollars as Decimal."""

    report: Report
    kind: str
    by: Sequence[Dimension]
    at: datetime

    def to_frame(self, amounts: Amounts = "decimal") -> pd.DataFrame:
        """Of costs a row a group, of savings a row a comparison, of commitments a row each; in dollars.

        >>> hcloud.report("plan.json", by=["type"]).to_frame()
        """
        return self._rows(amounts)

    def _document(self) -> Content:
        from hcloud.views.reports import documents

        if self.kind == "cost":
            return documents.cost_document(self.report, self.by, self.at)
        made = documents.savings_document if self.kind == "savings" else documents.commitments_document
        return made(self.report, self.at)

    def _sections(self) -> tuple[PageSection, ...]:
        from hcloud.views.reports import report as view

        if self.kind == "cost":
            return view.cost_sections(self.report, self.by)
        if self.kind == "savings":
            return view.savings_sections(self.report)
        return view.commitments_sections(self.report, self.at)

    def _page(self) -> Page:
        from hcloud.views.reports.page import report_page

        return report_page(self.report, self._sections())

    def _said(self) -> str:
        return f"report: {self.kind} of {self.report.name}, {format_money(self.report.costs.effective, 2)} effective"
