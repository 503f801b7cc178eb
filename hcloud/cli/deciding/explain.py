"""``hcloud explain``: why this, why not that, why so many, why a job waited, and what would turn each round."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import PagePrinted, Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError
from hcloud.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from hcloud.views.console import Terminal
    from hcloud.views.document import Content
    from hcloud.views.explanations.explanation import Explanation


app = Verb()


@app.command()
def explain(
    ctx: typer.Context,
    *,
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
    shown: PagePrinted,
) -> None:
    """Why this plan, why not another, why so many, why a job waited; and what would change each answer."""
    asked = [name for name in (address, why_not, commitment, job) if name is not None]
    if len(asked) > 1:
        raise UsageError("one question at a time", hint="name one of ADDRESS, --why-not, --commitment and --job")
    if shown.form == "csv":
        raise UsageError(
            "an explanation is no table", hint="-o table, md, json or html; 'hcloud plan -o csv' has the mix"
        )
    if shown.form == "html" and (asked or _is_purchase(plan)):
        raise UsageError("-o html shows a plan as a whole", hint="ask one question with -o table, md or json")
    terminal = session(ctx).terminal
    if job is not None:
        _explain_job(terminal, plan, job, shown, full=full)
    elif commitment is not None:
        _explain_commitment(terminal, plan, commitment, shown)
    elif asked and not full and (why_not is not None or shown.form == "table"):
        _explain_why_not(terminal, plan, asked[0], shown)
    else:
        _explain_plan(terminal, plan, asked[0] if asked else None, shown, full=full)


def _explain_plan(terminal: Terminal, path: Path, address: str | None, shown: PagePrinted, *, full: bool) -> None:
    from hcloud.cli.deciding.page import html_of
    from hcloud.store.plan_file import EXPLAINED, explanation_schema, load_plan, plan_document
    from hcloud.store.purchase_file import load_purchase_plan
    from hcloud.views.deciding.plan import explained, markdown_explanation, show_explanation
    from hcloud.views.document import stored_content
    from hcloud.views.explanations import explanation
    from hcloud.views.explanations.commitment import explain_purchases
    from hcloud.views.explanations.plan import explain_plan

    if _is_purchase(path):
        purchases = load_purchase_plan(path)
        _tell(terminal, explain_purchases(purchases), shown, (purchases.generated_at, None))
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
    part = plan_document(replace(stored, mix=tuple(lines), refusals=tuple(refused)))

    def screen() -> None:
        if full:
            show_explanation(stored, address, terminal)
            return
        explanation.show_explanation(explain_plan(stored), terminal)
        terminal.note(
            f"also --why-not NAME, --commitment ADDRESS; --full lists {counted(len(stored.refusals), 'refusal')}"
        )

    shown.tell(
        terminal,
        lambda: stored_content({name: part[name] for name in EXPLAINED if name in part}, explanation_schema),
        screen,
        md=lambda: markdown_explanation(stored, address),
        html=lambda: html_of(stored),
    )


def _explain_why_not(terminal: Terminal, path: Path, words: str, shown: PagePrinted) -> None:
    from hcloud.planning.explanations.asked import find
    from hcloud.planning.strategies.flips_of_target import best_of
    from hcloud.readers.strategies import STRATEGIES
    from hcloud.store.plan_file import load_plan
    from hcloud.views.explanations.plan import explain_why_not

    stored = load_plan(path)
    named = [name for name in STRATEGIES if name.lower() == words.strip().lower()]
    if named and stored.operation is None:
        raise UsageError(
            f"the plan compared no strategies, so it cannot say why not {named[0]}",
            hint="plan again with --strategy auto, which simulates all of them",
        )
    found = find(stored, words, best_of)
    bought = [line.address for line in stored.purchases if found.subject is line]
    if bought:
        _explain_commitment(terminal, path, bought[0], shown)
        return
    _tell(terminal, explain_why_not(stored, found, words), shown, (stored.generated_at, found.subject))


def _explain_commitment(terminal: Terminal, path: Path, words: str, shown: PagePrinted) -> None:
    from hcloud.planning.explanations.asked import find_purchase
    from hcloud.store.plan_file import load_plan
    from hcloud.views.explanations.commitment import explain_commitment

    stored = load_plan(path)
    line = find_purchase(stored, words)
    _tell(terminal, explain_commitment(stored, line), shown, (stored.generated_at, stored.sizing_of(line) or line))


def _is_purchase(path: Path) -> bool:
    from hcloud.store.files.looked_at import sort_at

    return sort_at(path) == "a purchase plan"


def _explain_job(terminal: Terminal, journal: Path, job: str, shown: PagePrinted, *, full: bool) -> None:
    from hcloud.control.operating.harvested import HarvestStory
    from hcloud.usecases.deciding.explaining.job import explain_job
    from hcloud.views.explanations.job import explain_harvested, explain_story
    from hcloud.views.live.decision import show_story
    from hcloud.views.live.documents import story_document

    with terminal.busy(f"replaying {journal}"):
        story = explain_job(journal, job)
    if full and shown.form != "json":
        show_story(story, terminal)
        return
    made = explain_harvested(story) if isinstance(story, HarvestStory) else explain_story(story)
    _print(terminal, made, shown, lambda: story_document(story, shown.at))


def _tell(terminal: Terminal, made: Explanation, shown: PagePrinted, ground: tuple[datetime, object]) -> None:
    from hcloud.store.plan_file import facts_document
    from hcloud.views.explanations.documents import AnswerDocument

    at, facts = ground
    _print(terminal, made, shown, lambda: AnswerDocument.of({"made": made, "facts": facts_document(facts)}, at))


def _print(terminal: Terminal, made: Explanation, shown: PagePrinted, document: Callable[[], Content]) -> None:
    from hcloud.views.explanations.explanation import markdown, show_explanation

    shown.tell(terminal, document, lambda: show_explanation(made, terminal), md=lambda: markdown(made))
