"""``hcloud plan`` of a provider's bill: shown, printed and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hcloud.cli.groups import PagePrinted
    from hcloud.model.plans.bill_plan import BillPlan
    from hcloud.views.console import Terminal


def tell_bill_plan(made: BillPlan, shown: PagePrinted, out: Path | None, terminal: Terminal) -> None:
    """Print the plan of a bill in the form that is asked for, and write its document to ``out``."""
    from hcloud.views.deciding.bill_plan import bill_csv, bill_markdown, bill_page, show_bill_plan
    from hcloud.views.deciding.bill_plan_documents import BillPlanDocument
    from hcloud.views.page.render import render

    document = BillPlanDocument.of(made, made.generated_at)
    if out is not None:
        from hcloud.model.json_text import written as as_text
        from hcloud.store.files.whole import write_whole

        write_whole(out, [as_text(document, indent=2) + "\n"])
        terminal.note(f"plan of the bill written to {out}; the plan of one kind (--set kind=) can be acted on")
    shown.tell(
        terminal,
        lambda: document,
        lambda: show_bill_plan(made, terminal),
        md=lambda: bill_markdown(made),
        html=lambda: render(bill_page(made)),
        csv=lambda: bill_csv(made),
    )
    if shown.form == "csv":
        for warning in made.warnings:
            terminal.warn(warning)
