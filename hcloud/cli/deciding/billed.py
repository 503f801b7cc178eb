"""``hcloud plan`` of a provider's bill: shown, printed and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hcloud.model.plans.bill_plan import BillPlan
    from hcloud.views.console import Terminal


def tell_bill_plan(made: BillPlan, form: str, out: Path | None, terminal: Terminal) -> None:
    """Print the plan of a bill in a form (``table``, ``json``, ``md``, ``html``, ``csv``), and write its document to
    ``out``."""
    from hcloud.views.deciding.bill_plan import bill_csv, bill_markdown, bill_page, show_bill_plan
    from hcloud.views.deciding.bill_plan_documents import BillPlanDocument

    if out is not None:
        from hcloud.model.json_text import written as as_text
        from hcloud.store.files.whole import write_whole

        write_whole(out, [as_text(BillPlanDocument.of(made, made.generated_at), indent=2) + "\n"])
        terminal.note(f"plan of the bill written to {out}; the plan of one kind (--set kind=) can be acted on")
    if form == "json":
        terminal.write_json(BillPlanDocument.of(made, made.generated_at))
        return
    if form == "table":
        show_bill_plan(made, terminal)
        return
    if form == "md":
        terminal.write(bill_markdown(made))
    elif form == "html":
        from hcloud.views.page.render import render

        terminal.write(render(bill_page(made)))
    else:
        terminal.write(bill_csv(made))
        for warning in made.warnings:
            terminal.warn(warning)
