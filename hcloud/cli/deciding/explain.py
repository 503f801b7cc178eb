"""``hcloud explain``: why this, why not that, why so many, why a job waited, and what would turn each round."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.deciding.plan import PlanFormat
from hcloud.cli.flags import Now
from hcloud.cli.main import session
from hcloud.errors import UsageError
from hcloud.units import counted
from hcloud.usecases.asked import moment

if TYPE_CHECKING:
    from datetime import datetime

    from hcloud.views.console import Terminal
    from hcloud.views.explanations.explanation import Explanation


app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def explain(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(help="A plan file, a purchase plan or, with --job, a journal.")],
    address: Annotated[
        str | None, typer.Argument(help="The same as --why-not: a type, an option, a plan or a full address.")
    ] = None,
    why_not: Annotated[
        str | None,
        typer.Option(
            "--why-not", help="A type, option, term, other plan or strategy: m7i.4xlarge, 3y, 'all on demand'."
        ),
    ] = None,
    commitment: Annotated[
        str | None, typer.Option(help="Why the plan buys so many of this commitment (address or part of it).")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Why this job of a journal waited, and why it ran where it did.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="All rejected options with their margins, and all assumptions.")
    ] = False,
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="What to print.")] = PlanFormat.TABLE,
    json_: Annotated[bool, typer.Option("--json", help="Short for -o json.")] = False,
    now: Now = None,
) -> None:
    """Why this plan, why not another, why so many, why a job waited; and what would change each answer."""
    shown = PlanFormat.JSON if json_ else output
    asked = [name for name in (address, why_not, commitment, job) if name is not None]
    if len(asked) > 1:
        raise UsageError("one question at a time", hint="name one of ADDRESS, --why-not, --commitment and --job")
    if shown is PlanFormat.CSV:
        raise UsageError(
            "an explanation is no table", hint="-o table, md, json or html; 'hcloud plan -o csv' has the mix"
        )
    if shown is PlanFormat.HTML and (asked or _is_purchase(plan)):
        raise UsageError("-o html shows a plan as a whole", hint="ask one question with -o table, md or json")
    terminal = session(ctx).terminal
    if job is not None:
        _explain_job(terminal, (plan, job, moment(now)), shown, full=full)
    elif commitment is not None:
        _explain_commitment(terminal, plan, commitment, shown)
    elif asked and not full and (why_not is not None or shown is PlanFormat.TABLE):
        _explain_why_not(terminal, plan, asked[0], shown)
    else:
        _explain_plan(terminal, plan, asked[0] if asked else None, shown, full=full)


def _explain_plan(terminal: Terminal, path: Path, address: str | None, shown: PlanFormat, *, full: bool) -> None:
    from hcloud.store.plan_file import EXPLAINED, load_plan, plan_document
    from hcloud.views.deciding.plan import explained, markdown_explanation, show_explanation

    if _is_purchase(path):
        _explain_purchases(terminal, path, shown)
        return
    stored = load_plan(path)
    lines, refused = explained(stored, address)
    if address is not None and not lines and not refused and not full:
        _explain_why_not(terminal, path, address, shown)
        return
    if not lines and not refused:
        raise UsageError(
            f"{path}: knows no {address}", hint=f"'hcloud explain {path} --full' lists the addresses it knows about"
        )
    if shown is PlanFormat.JSON:
        part = plan_document(replace(stored, mix=tuple(lines), refusals=tuple(refused)))
        terminal.write_json({name: part[name] for name in EXPLAINED if name in part})
    elif shown is PlanFormat.HTML:
        from hcloud.cli.deciding.page import html_of

        terminal.write(html_of(stored))
    elif shown is PlanFormat.MD:
        terminal.write(markdown_explanation(stored, address))
    elif full:
        show_explanation(stored, address, terminal)
    else:
        from hcloud.views.explanations import explanation
        from hcloud.views.explanations.plan import explain_plan

        explanation.show_explanation(explain_plan(stored), terminal)
        terminal.note(
            f"also --why-not NAME, --commitment ADDRESS; --full lists {counted(len(stored.refusals), 'refusal')}"
        )


def _explain_why_not(terminal: Terminal, path: Path, words: str, shown: PlanFormat) -> None:
    from hcloud.planning.explanations.asked import find
    from hcloud.store.plan_file import load_plan
    from hcloud.views.explanations.plan import explain_why_not

    stored = load_plan(path)
    found = find(stored, words)
    bought = [line.address for line in stored.purchases if found.subject is line]
    if bought:
        _explain_commitment(terminal, path, bought[0], shown)
        return
    _tell(terminal, explain_why_not(stored, found, words), shown, (stored.generated_at, found.subject))


def _explain_commitment(terminal: Terminal, path: Path, words: str, shown: PlanFormat) -> None:
    from hcloud.planning.explanations.asked import find_purchase
    from hcloud.store.plan_file import load_plan
    from hcloud.views.explanations.commitment import explain_commitment

    stored = load_plan(path)
    line = find_purchase(stored, words)
    _tell(terminal, explain_commitment(stored, line), shown, (stored.generated_at, stored.sizing_of(line) or line))


def _is_purchase(path: Path) -> bool:
    from hcloud.store.files.looked_at import sort_at

    return sort_at(path) == "a purchase plan"


def _explain_purchases(terminal: Terminal, path: Path, shown: PlanFormat) -> None:
    from hcloud.store.purchase_file import load_purchase_plan
    from hcloud.views.explanations.commitment import explain_purchases

    stored = load_purchase_plan(path)
    _tell(terminal, explain_purchases(stored), shown, (stored.generated_at, None))


def _explain_job(terminal: Terminal, asked: tuple[Path, str, datetime], shown: PlanFormat, *, full: bool) -> None:
    from hcloud.control.operating.harvested import HarvestStory
    from hcloud.usecases.deciding.explain_job import explain_job
    from hcloud.views.explanations.harvested import explain_harvested
    from hcloud.views.explanations.job import explain_story
    from hcloud.views.live.decision import show_story

    journal, job, at = asked
    with terminal.busy(f"replaying {journal}"):
        story = explain_job(journal, job)
    if shown is PlanFormat.JSON:
        from hcloud.views.live.documents import story_document

        terminal.write_json(story_document(story, at))
    elif full:
        show_story(story, terminal)
    else:
        made = explain_harvested(story) if isinstance(story, HarvestStory) else explain_story(story)
        _tell(terminal, made, shown, None)


def _tell(terminal: Terminal, made: Explanation, shown: PlanFormat, ground: tuple[datetime, object] | None) -> None:
    from hcloud.views.explanations import explanation

    if shown is PlanFormat.JSON and ground is not None:
        from hcloud.store.plan_file import facts_document
        from hcloud.views.explanations.documents import AnswerDocument

        at, facts = ground[0], facts_document(ground[1])
        terminal.write_json(AnswerDocument.of({"made": made, "facts": facts}, at))
    elif shown is PlanFormat.MD:
        terminal.write(explanation.markdown(made))
    elif shown is PlanFormat.HTML:
        from hcloud.views.page.render import render

        terminal.write(render(explanation.page(made)))
    else:
        explanation.show_explanation(made, terminal)
