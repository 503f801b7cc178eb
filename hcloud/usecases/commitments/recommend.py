"""``hcloud commit recommend``: what a plan would commit to and why, what is held already, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import CommitmentNeed
from hcloud.model.plans.plan import Plan
from hcloud.planning.fleets.history import said_of_history
from hcloud.planning.purchases.answers import Recommendation
from hcloud.planning.purchases.purchase import expiring, still_to_buy, unplanned
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.exit_terms import exit_terms
from hcloud.store.plan_file import load_plan
from hcloud.units import counted
from hcloud.usecases.commitments.ground import CommitSelection, opened, place_in
from hcloud.usecases.live.held import with_held


def plan_of(loaded: Loaded, file: Path | None, where: CommitSelection, at: datetime) -> Plan:
    """The plan in a file, else one made from the configuration now, with what the cloud holds used up first."""
    if file is not None:
        return load_plan(file)
    from hcloud.usecases.deciding.make import make_plan

    if where.cloud_in(loaded) is None:
        return make_plan(loaded, at).plan
    with opened(loaded, where, None, at) as ground:
        there, said = with_held(ground.here, at)
    plan = make_plan(replace(loaded, config=there.config), at).plan
    return replace(plan, warnings=(*plan.warnings, *said))


def recommend(loaded: Loaded, file: Path | None, where: CommitSelection, at: datetime) -> Recommendation:
    """What to commit to; a cloud is asked (and only asked) where one is named."""
    plan = plan_of(loaded, file, where, at)
    held: tuple[Commitment, ...] = ()
    scope = None
    if where.cloud_in(loaded) is not None:
        with opened(loaded, where, place_in(plan, loaded, where), at) as ground:
            scope, held = ground.live.ask(ground.cloud.scope), ground.live.ask(ground.cloud.commitments)
    needs = tuple(
        n
        for n in still_to_buy(plan, held, at)
        if scope is None or (n.wanted.cloud, n.wanted.region) == (scope.cloud, scope.region)
    )
    terms = exit_terms()
    return Recommendation(
        plan=plan,
        needs=needs,
        ways_out=tuple(terms.get((n.wanted.cloud, n.wanted.option)) for n in needs),
        scope=scope,
        expiring=expiring(held, at),
        unplanned=unplanned(plan, held, at),
        warnings=tuple(_warnings(loaded, plan, needs, at)),
    )


def _warnings(loaded: Loaded, plan: Plan, needs: tuple[CommitmentNeed, ...], at: datetime) -> list[str]:
    section, found = loaded.config.commitments, list(said_of_history(plan.history))
    days = (at.date() - plan.price_day).days
    if days * 86_400 > section.max_price_age:
        found.append(
            f"the oldest price is {counted(days, 'day')} old; 'hcloud commit plan' accepts prices at"
            f" most {counted(section.max_price_age // 86_400, 'day')}"
        )
    if derived := sorted({n.wanted.address for n in needs if n.wanted.derived}):
        found.append(f"derived, not published: the price of {', '.join(derived[:3])}")
    return found
