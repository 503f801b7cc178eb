"""``hcloud diff``: two plan files read and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from hcloud.errors import InputError, UsageError
from hcloud.model.plans.difference import PlanDifference, TextShift
from hcloud.model.plans.figures import PlanFigures
from hcloud.planning.explanations.plan_diff import difference_of
from hcloud.planning.explanations.plan_figures import figures_of
from hcloud.readers.configuration.config import Config
from hcloud.store.plan_file import load_made

NO_PLAN = Path("-")
"""What stands for a plan that is not there."""


def compare(base: Path, head: Path, *, base_may_be_missing: bool = False) -> PlanDifference:
    """What is different from one plan file to another; a first pull request has no plan before (``-``).

    Raises InputError for files that are no plans, were altered, or are in different currencies.
    """
    before = None if is_missing(base, allowed=base_may_be_missing) else read_figures(base)
    try:
        found = difference_of(before, read_figures(head))
    except ValueError as error:
        raise InputError(f"{base} and {head}: {error}") from None
    return replace(found, settings=tuple(_stated(found.settings)))


def _stated(settings: Iterable[TextShift]) -> Iterator[TextShift]:
    """Settings with the default where a plan does not say it, but for those that are the same then."""
    defaults = Config()
    for one in settings:
        section, _, key = one.key.partition(".")
        value = getattr(getattr(defaults, section, None), key, None)
        default = f"{value:g}" if isinstance(value, float) else ""
        stated = replace(one, before=one.before or default, after=one.after or default)
        if stated.before != stated.after:
            yield stated


def is_missing(base: Path, *, allowed: bool) -> bool:
    """Whether there is no plan before; UsageError where a file that is named is not there and that is not allowed."""
    if base == NO_PLAN:
        return True
    if base.exists():
        return False
    if not allowed:
        hint = "if no plan exists yet, as in a first pull request, add --base-missing-ok"
        raise UsageError(f"{base}: no such plan file", hint=hint)
    return True


def read_figures(path: Path) -> PlanFigures:
    """The figures of a plan file; InputError where it is none, or does not add up."""
    made = load_made(path)
    try:
        return figures_of(made)
    except (ValueError, ArithmeticError) as error:
        raise InputError(f"{path}: was altered after it was made: {error}", hint="plan again") from None
