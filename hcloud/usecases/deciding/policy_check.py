"""``hcloud policy check``: a plan file against a file of rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from hcloud.model.plans.gate import Verdict
from hcloud.planning.gates.gate import Around, check_plan
from hcloud.readers.rules import load_rules
from hcloud.usecases.deciding.diff import is_missing, read_figures


@dataclass(frozen=True, slots=True)
class PlanBefore:
    """The plan that increases are measured from; a first pull request may have none."""

    base: Path | None = None
    may_be_missing: bool = False


def policy_check(plan: Path, rules: Path, today: date, before: PlanBefore = PlanBefore()) -> Verdict:
    """What comes of every rule for a plan.

    Raises InputError for files that are no plans or no rules, UsageError for one that is not there.
    """
    checked = load_rules(rules)
    figures, base, first = read_figures(plan), None, False
    if before.base is not None:
        first = is_missing(before.base, allowed=before.may_be_missing)
        base = None if first else read_figures(before.base)
    findings = check_plan(figures, checked, Around(today, base, first))
    return Verdict(plan.name, rules.name, findings)
