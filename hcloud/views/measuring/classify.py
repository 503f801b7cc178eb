"""Estimates on a screen: what was measured, what is predicted, how sure that is, what to measure next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from hcloud.classify.judgement import ApplicationEstimate
from hcloud.model.measured.profile import RESOURCES, UNKNOWN_SCORE, Aspect, CompletedRow, Predicted
from hcloud.policy.codes import SCALE
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.lines import point
from hcloud.views.tables import Figures

WORDS = {
    Aspect.SCALE_UP: "size",
    Aspect.SCALE_OUT: "nodes",
    Aspect.TYPES: "type",
    Aspect.TOLERATED: "tolerated",
    Aspect.CAUSED: "caused",
}
_BAR, _FULL = 10, 100.0
_MOST_ROWS = 12


def show_answers(answers: Sequence[ApplicationEstimate], terminal: Terminal) -> None:
    """Every application in turn; what should be known beforehand goes to stderr."""
    for answer in answers:
        for line in answer.surprises:
            terminal.note(f"{answer.profile.app}: {line}")
        _show(answer, terminal)


def _show(answer: ApplicationEstimate, terminal: Terminal) -> None:
    profile, estimate = answer.profile, answer.estimate
    head = f"{profile.app}: {profile.kind.name.lower()}, {profile.metric.name} in {profile.metric.unit}"
    terminal.show(f"{head} · beside {counted(answer.known_apps, 'application')} seen before", "")
    known = {**{a: row.columns for a, row in estimate.rows.items()}, **answer.measured}
    interference = {a: columns for a, columns in known.items() if a.is_interference}
    if interference:
        terminal.show(_scores(interference), "")
    for aspect, columns in known.items():
        if not aspect.is_interference:
            terminal.show(_performance(answer, aspect, columns), "")
    for line in _said(answer):
        terminal.show(point(line))
    terminal.show("")


def _scores(rows: Mapping[Aspect, Mapping[str, Predicted]]) -> Figures:
    names = ("resource", *(word for aspect in rows for word in (WORDS[aspect], "range", "")))
    cells = []
    for resource in RESOURCES:
        if any(resource in row for row in rows.values()):
            parts = [_score(row.get(resource)) for row in rows.values()]
            cells.append([resource, *(cell for part in parts for cell in part)])
    return Figures(names, cells)


def _score(predicted: Predicted | None) -> tuple[str, str, str]:
    if predicted is None:
        return "", "", "not known"
    filled = round(predicted.value / _FULL * _BAR)
    bar = "█" * filled + "░" * (_BAR - filled)
    return f"{bar} {predicted.value:3.0f}", f"{predicted.low:.0f}-{predicted.high:.0f}", _how(predicted)


def _how(predicted: Predicted) -> str:
    return "measured" if predicted.measured else "predicted"


def _performance(answer: ApplicationEstimate, aspect: Aspect, columns: Mapping[str, Predicted]) -> Figures:
    """Sizes and node counts in their order, types from best to worst where they are compared."""
    order = [r.column for r in answer.types] if aspect is Aspect.TYPES and answer.types else list(columns)
    shown = order[:_MOST_ROWS]
    metric = answer.profile.metric
    names = (WORDS[aspect], f"{metric.name}, {metric.unit}", "from", "to", "")
    cells = [
        [column, *(f"{v:,.4g}" for v in (p.value, p.low, p.high)), _how(p)]
        for column, p in ((c, columns[c]) for c in shown)
    ]
    if len(order) > len(shown):
        cells.append([f"{len(order) - len(shown)} more", "", "", "", ""])
    return Figures(names, cells, frozenset({1, 2, 3}))


def _said(answer: ApplicationEstimate) -> Iterator[str]:
    if answer.quality is not None:
        yield f"quality it needs: {answer.quality / SCALE:.2f} of 1, {_set_by(answer)}"
    yield from _type_said(answer)
    if answer.target is not None:
        asked = f"the target of {answer.target:,.4g} {answer.profile.metric.unit} for sure"
        sizes = {**answer.estimate.rows, **answer.measured}.get(Aspect.SCALE_UP)
        none = f"no known size reaches {asked}" if sizes else f"no size is known that could reach {asked}"
        yield f"smallest size that reaches {asked}: {answer.size}" if answer.size else none
    for aspect, row in answer.estimate.rows.items():
        alike = ", ".join(f"{n.app} {n.likeness:+.2f}" for n in row.neighbours)
        yield f"{WORDS[aspect]}: {_error(row)}{f'; most similar (-1 to 1): {alike}' if alike else ''}"
    for aspect, failed in answer.profile.failures.items():
        for column, failure in failed.items():
            yield f"{WORDS[aspect]} {column}: it did not run there ({failure.why}, {failure.at:%Y-%m-%d})"
    yield from _mixed(answer)
    if answer.profile.unmeasurable:
        names = ", ".join(answer.profile.unmeasurable)
        yield f"not measurable on the profiled machine: {names} ('hcloud profile show' says why)"
    for probe in answer.estimate.probes:
        yield f"too little is known of {WORDS[probe.aspect]}: measure {probe.column} next ({probe.why})"
    if missing := dict.fromkeys(p.column for p in answer.estimate.probes if p.aspect.is_interference):
        yield f"'hcloud profile run --resources {','.join(missing)}' with the same command and file adds them"
    if not (answer.estimate.rows or answer.estimate.probes):
        yield "nothing is predicted: the applications seen before were measured in no other column"


def _mixed(answer: ApplicationEstimate) -> Iterator[str]:
    """Where numbers that are compared with each other come from different machines."""
    for aspect in (Aspect.SCALE_UP, Aspect.TOLERATED, Aspect.CAUSED):
        entries = answer.profile.entries.get(aspect, {}).values()
        machines = dict.fromkeys(m.machine.partition(", Linux")[0] for m in entries)
        if len(machines) > 1:
            yield (
                f"{WORDS[aspect]}: measured on {len(machines)} kinds of machine ({'; '.join(machines)}); what is due to"
                " the machine counts as due to the column. Measure all of it on one"
            )


def _set_by(answer: ApplicationEstimate) -> str:
    """Which resource decides the quality, by how much, and which are not known but counted."""
    vector = dict(zip(RESOURCES, answer.vector or (), strict=True))
    first = max(vector, key=lambda resource: vector[resource])
    unknown = [r for r in RESOURCES if not any(r in known for known in _interference(answer))]
    said = f"set by {first} at {vector[first]} of 100 (tolerated counts as 100 less the score)"
    if first in unknown:
        said = "an assumption"
    counts = f"; not known and counted as {UNKNOWN_SCORE} of 100: {', '.join(unknown)}"
    return f"{said}{counts}" if unknown else said


def _interference(answer: ApplicationEstimate) -> Iterator[Collection[str]]:
    """The resources that have a score, measured or predicted."""
    for aspect in (a for a in Aspect if a.is_interference):
        yield answer.profile.entries.get(aspect, {})
        if aspect in answer.estimate.rows:
            yield answer.estimate.rows[aspect].columns


def _type_said(answer: ApplicationEstimate) -> Iterator[str]:
    """The fastest type and the one that does the work for the least money."""
    if not answer.types:
        return
    fastest = answer.types[0].column
    if not answer.worth:
        yield f"fastest type: {fastest}; the price book has none of these types, so costs are not compared"
        return
    best, prices = answer.worth[0], answer.prices
    where = f"on demand in {', '.join(prices.regions)}, prices of {prices.oldest}"
    yield f"cheapest type for the work: {best.column} at ${prices.hourly[best.column]:.4f} an hour ({where})"
    merit = next((r.merit for r in answer.worth if r.column == fastest), None)
    if merit is None:
        yield f"fastest type: {fastest}, which has no price"
    elif fastest != best.column:
        yield f"fastest type: {fastest}; the same work costs {best.merit / merit - 1:.0%} more there"
    if missing := len(answer.types) - len(answer.worth):
        yield f"{counted(missing, 'type')} without a price {'is' if missing == 1 else 'are'} not compared by money"


def _error(row: CompletedRow) -> str:
    if row.held_out_error is None:
        return "all columns are measured, none predicted"
    points = row.aspect.is_interference
    error = f"{row.held_out_error:.1f} points" if points else f"{row.held_out_error:.1%}"
    return f"error {error} on applications held out"
