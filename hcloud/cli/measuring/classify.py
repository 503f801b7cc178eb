"""``hcloud classify``: from few measurements to what an application needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hcloud.cli.flags import Corpus
from hcloud.cli.groups import Printed, Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError, did_you_mean

ABSTAINED = 9

app = Verb()


@app.command()
def classify(
    ctx: typer.Context,
    *,
    apps: Annotated[
        list[str] | None,
        typer.Argument(metavar="[APP...]", help="Names or profile files (default: all here, else all bundled)."),
    ] = None,
    profiles: Annotated[Path | None, typer.Option(help="The folder to find names in.")] = None,
    corpus: Corpus = "bundled",
    solver: Annotated[Literal["ridge", "sgd"], typer.Option(help="Closed form, or the published iteration.")] = "ridge",
    aspect: Annotated[
        list[str] | None, typer.Option(help="scale_up, scale_out, types, tolerated or caused; may be repeated.")
    ] = None,
    target: Annotated[float | None, typer.Option(help="Performance to reach, in the metric's unit.")] = None,
    largest_error: Annotated[
        float | None, typer.Option(min=0, max=1, help="Abstain above this expected error [0.25, scores 0.15].")
    ] = None,
    observed: Annotated[
        list[str] | None,
        typer.Option(help="A newer measurement, ASPECT.COLUMN=NUMBER or =failed; replaces the profile's."),
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Compare performance to this ASPECT.COLUMN, measured first.")
    ] = None,
    save_matrices: Annotated[Path | None, typer.Option(help="Also write the corpus to FILE.json or .npz.")] = None,
    shown: Printed,
) -> None:
    """Predict size, type and neighbours of applications from few measurements; exit 9 if there are too few."""
    from hcloud.model.measured.profile import Aspect
    from hcloud.usecases.measuring.classify import (
        ClassificationRequest,
        Solver,
        classify_apps,
        open_corpus,
        parse_observed,
        parse_reference,
    )
    from hcloud.views.measuring.classify import show_answers
    from hcloud.views.measuring.documents import ClassificationDocument

    known = [a.value for a in Aspect]
    for name in aspect or ():
        if name not in known:
            raise UsageError(f"--aspect {name}: must be one of {', '.join(known)}{did_you_mean(name, known)}")
    terminal, at = session(ctx).terminal, shown.at
    request = ClassificationRequest(
        apps=tuple(apps or ()),
        folder=profiles,
        corpus=corpus,
        solver=Solver(solver),
        aspects=tuple(map(Aspect, aspect or known)),
        largest_error=largest_error,
        target=target,
        observed=tuple(map(parse_observed, observed or ())),
        references=dict(map(parse_reference, reference or ())),
    )
    if save_matrices is not None:
        from hcloud.store.matrices import save_matrices as save

        save(open_corpus(corpus), save_matrices)
        terminal.note(f"matrices written to {save_matrices}")
    with terminal.busy("comparing with what was seen before"):
        answers = classify_apps(request, at)
    shown.tell_result(terminal, answers, ClassificationDocument.of, show_answers)
    if any(answer.estimate.probes for answer in answers):
        raise typer.Exit(ABSTAINED)
