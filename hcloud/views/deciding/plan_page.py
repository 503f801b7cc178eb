"""A plan as a page: the decision and its dollars first, then what it rests on; what a plan lacks is left out."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.plans.held import begun_later, held_now
from hcloud.model.plans.operation import Operation
from hcloud.model.plans.plan import OWNED, Plan
from hcloud.planning.fleets.history import glimpsed, said_of_history
from hcloud.units import SECONDS_PER_HOUR, counted, format_age, format_money, format_span, some_of
from hcloud.views.charts import figure
from hcloud.views.deciding import plan_tables as tables
from hcloud.views.deciding.operation import fleet_line, missed, monthly_of, said_of, simulated_lines
from hcloud.views.deciding.plan import derived_note, proof, said_of_risk, too_short_to_save
from hcloud.views.deciding.plan_charts import demand_picture, falls_picture, horizon, use_picture
from hcloud.views.deciding.plan_charts_costs import cost_picture, front_picture, quality_pictures
from hcloud.views.live.change import changes_section
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.parts import KeyFigure, Page, PageSection
from hcloud.views.workloads.window import mean_window_line

SHOWN = 3
ALL_ON_DEMAND = "all on demand"
_RENTED = {PurchaseOption.ON_DEMAND: "on demand", PurchaseOption.SPOT: "as spot"}


def plan_page(plan: Plan) -> Page:
    """The page of a plan."""
    made = plan.generated_at.strftime("%Y-%m-%d %H:%M UTC")
    digests = plan.digests
    foot = (
        f"Made by hcloud {plan.tool_version} on {made}, seed {plan.seed}. This file loads nothing and runs no script.",
        f"Made from prices {digests.prices[:12]}, settings {digests.policy[:12]}, workload {digests.workload[:12]}.",
    )
    sections = [_cost(plan), _demand(plan), _falls(plan)]
    sections += [] if plan.operation is None else [_front(plan.operation), _quality(plan.operation)]
    sections += [_mix(plan), _changes(plan), _why_not(plan), _rests_on(plan), _how_to_read(plan)]
    title = f"Plan for {plan.workload.name}"
    shown = tuple(s for s in sections if s is not None)
    return Page(title, tuple(_lead(plan)), shown, tuple(_key(plan)), foot, said_of_history(plan.history))


def pictures(plan: Plan) -> dict[str, Drawn]:
    """Every picture of the page by a name for its file."""
    drawn = {"cost": cost_picture(plan), "demand": demand_picture(plan)}
    maybe = {"use": use_picture(plan), "falls": falls_picture(plan)}
    drawn |= {name: picture for name, picture in maybe.items() if picture is not None}
    if plan.operation is not None:
        drawn["front"] = front_picture(plan.operation)
        drawn |= {f"quality-{n}": picture for n, picture in enumerate(quality_pictures(plan.operation), 1)}
    return drawn


def _before(plan: Plan) -> str:
    owned = any(line.address.startswith(OWNED) for line in plan.mix)
    return "with what is owned already" if owned else ALL_ON_DEMAND


def _lead(plan: Plan) -> Iterator[str]:
    """The decision in one sentence with its dollars, then what it was made for."""
    before, after = monthly_of(plan)
    saved = before - after
    share = abs(float(saved / before)) if before else 0.0
    verb = "saves" if saved >= 0 else "costs more by"
    if plan.operation is not None:
        yield from missed(plan.operation)
    how = "" if plan.operation is None else f", run as {plan.operation.strategy},"
    if (glimpse := glimpsed(plan.history)) is not None:
        yield f"{_decision(plan)}{how}. {_capital(too_short_to_save(plan, glimpse))}."
    elif not (plan.purchases or saved):
        yield f"{_decision(plan)}{how} costs {format_money(after)} a month: no commitment is worth buying."
    else:
        rented = _before(plan) == ALL_ON_DEMAND
        rival = ALL_ON_DEMAND if rented else "buying nothing beside what is owned already"
        yield f"{_decision(plan)}{how} {verb} {format_money(abs(saved))} a month ({share:.1%}) against {rival}."
    yield from (f"{_capital(line)}." for line in simulated_lines(plan))
    w = plan.workload
    places = ", ".join(sorted({f"{m.provider} {m.region}" for m in plan.mix if not m.covers_nothing}))
    hours = "" if w.window is not None else f" over {format_span(w.hours * SECONDS_PER_HOUR)}"
    yield (
        f"Planned for {horizon(plan)} in {places}, from {counted(w.rows, 'row')}{hours} of {w.name}: "
        f"{figure(w.mean_cores)} vCPUs on average, {figure(w.peak_cores)} at the peak."
        + (f" Window: {mean_window_line(w.window, w.hours)}." if w.window is not None else "")
    )


def _decision(plan: Plan) -> str:
    bought, after = tables.grouped(held_now(plan.purchases)), begun_later(plan.purchases)
    later = f" ({counted(len(after), 'purchase')} later)" if after else ""
    if not bought:
        how = _how_rented(plan) or "on demand"
        return f"Committing to nothing {'now ' if later else ''}and renting {how}{later}"
    parts = [f"{tables.instances(line.count)} × {line.instance_type} {label}" for label, line in bought]
    how = _how_rented(plan)
    return f"Reserving {some_of(parts, SHOWN)}" + (f" and renting the rest {how}" if how else "") + later


def _how_rented(plan: Plan) -> str:
    """On demand, as spot, or both; empty where nothing is rented."""
    rented = {m.option for m in plan.mix if not m.option.is_commitment}
    named = [words for option, words in _RENTED.items() if option in rented]
    return " and ".join(named)


def _key(plan: Plan) -> Iterator[KeyFigure]:
    before, after = (format_money(each) for each in monthly_of(plan))
    how = "" if plan.operation is None else ", simulated"
    yield KeyFigure("now, a month", before, f"{_before(plan)}{how}")
    yield KeyFigure("after, a month", after, f"this plan{how}")
    if plan.operation is not None:
        yield KeyFigure("by use alone, a month", format_money(plan.after.monthly), "as in the mix")
    elif (simulated := plan.prediction) is not None and simulated.monthly is not None:
        yield KeyFigure("simulated, a month", format_money(simulated.monthly), f"as {simulated.strategy}")
    upfront, later = tables.due_upfront(plan)
    terms = sorted({line.term_years for line in plan.purchases})
    years = " and ".join(counted(term, "year") for term in terms)
    bound = f"bound for {years}" if years else "nothing is bound"
    due, said = ("due upfront now", f"{later}; {bound}") if later else ("due upfront", bound)
    yield KeyFigure(due, format_money(upfront), said)
    if plan.operation is not None:
        kept, target = plan.operation.chosen.kept_qos, plan.operation.qos_target
        half = f" ± {100 * kept.half:.1f}" if kept.half else ""
        yield KeyFigure("jobs that keep 95%", f"{100 * kept.mean:.1f}{half}%", f"{target:.0%} asked for")
    yield KeyFigure("oldest price", counted(plan.price_age_days, "day"), f"old, of {plan.price_day}")


def _cost(plan: Plan) -> PageSection:
    if plan.operation is None:
        note = (
            "These are sums over the demand; they know no queue, no start of an instance and no neighbour. 'hcloud plan"
            " --strategy auto' simulates the strategies on the trace and adds quality, waiting and intervals."
        )
    else:
        note = (
            "The alternatives are arithmetic, which packs demand without gaps, starts or idle instances; simulated,"
            f" this plan costs {format_money(plan.operation.chosen.monthly)} a month."
        )
    said = plan.reasons[:1] if plan.operation is None else plan.operation.reasons[:1]
    return PageSection(
        "What it costs",
        figures=(cost_picture(plan).figure(),),
        points=said,
        tables=(tables.alternatives_table(plan),),
        notes=(note, *(f"{_capital(line)}." for line in (*fleet_line(plan), "; ".join(proof(plan))))),
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _demand(plan: Plan) -> PageSection:
    drawn = [demand_picture(plan), use_picture(plan)]
    return PageSection(
        "Demand against the reserve",
        figures=tuple(d.figure() for d in drawn if d is not None),
        points=plan.reasons if plan.operation is not None else plan.reasons[1:],
    )


def _falls(plan: Plan) -> PageSection | None:
    drawn = falls_picture(plan)
    if drawn is None:
        return None
    words = ["The commitment is paid for whether it is used or not; this is what that costs where the forecast fails."]
    if not plan.purchases:
        words = ["Nothing is bought: what is rented follows demand, in whole machines."]
    if plan.operation is not None:
        words.append("These figures are arithmetic; simulated ones lie higher.")
    if plan.risk is not None:
        words.append(f"{said_of_risk(plan.risk)}.")
    by_regret = plan.risk is None or plan.risk.sized_at is not None
    notes = () if by_regret else ("'hcloud plan --regret-quantile 0.9' sizes the reserve by its regret over them.",)
    return PageSection("If demand falls", tuple(words), (drawn.figure(),), notes=notes)


def _front(operation: Operation) -> PageSection:
    return PageSection(
        "Dollars and quality", figures=(front_picture(operation).figure(),), points=operation.reasons[1:]
    )


def _quality(operation: Operation) -> PageSection:
    figures = tuple(drawn.figure() for drawn in quality_pictures(operation))
    about = [line for line in said_of(operation) if line not in operation.reasons]
    return PageSection("Quality and waiting", (), figures, (tables.points_table(operation),), points=tuple(about))


def _mix(plan: Plan) -> PageSection:
    words = (
        "What to buy and what to rent. Break-even is the utilisation above which a commitment is cheaper than renting.",
    )
    return PageSection("The mix", (*words, *derived_note(plan)), tables=(tables.mix_table(plan),))


def _changes(plan: Plan) -> PageSection:
    if plan.changes is None:
        words = (
            "This plan was made without --cloud. 'hcloud plan --cloud aws --out plan.json' lists what would change.",
        )
        return PageSection("Changes", words)
    return changes_section(plan.changes)


def _why_not(plan: Plan) -> PageSection:
    near = [r for r in plan.refusals if r.margin is not None and r.margin > 0]
    close = sorted(near, key=lambda r: r.margin or Decimal(0))[:SHOWN]
    points = tuple(
        f"{r.address}: {format_money(r.margin or Decimal(0))} dearer, {r.reason}"
        + (f"; unless {r.flips_if}" if r.flips_if else "")
        for r in close
    )
    words = f"{counted(len(plan.refusals), 'option')} refused" if plan.refusals else "Nothing was refused"
    words += "; the nearest:" if points else "."
    listed = (tables.refusals_table(plan),) if plan.refusals else ()
    return PageSection("Why not something else", (words,), tables=listed, points=points)


def _rests_on(plan: Plan) -> PageSection:
    age = f"The oldest price is of {plan.price_day}, {format_age(plan.price_age_days)}"
    words = [f"{age}."]
    w = plan.workload
    for what, counts in (("Repaired in the trace", w.repaired), ("Left out of it", w.left_out)):
        told = {kind: count for kind, count in counts.items() if not any(kind in line for line in plan.warnings)}
        words += [f"{what}: " + ", ".join(f"{count:,} {kind}" for kind, count in told.items()) + "."] if told else []
    listed = (tables.assumptions_table(plan), tables.prices_table(plan))
    return PageSection("What it rests on", tuple(words), tables=listed, points=plan.warnings)


def _how_to_read(plan: Plan) -> PageSection:
    points = [
        "A commitment is paid for around the clock; on demand is paid for while an instance runs. So the base of demand"
        " is worth a commitment and its peaks are not; where the line lies is decided by how much of the time the last"
        " reserved instance is needed.",
        "The lower bound allows fractions of instances and perfect foresight. No plan can be cheaper; a plan close to"
        " it leaves little to gain by planning better.",
        "Dollars include upfront payments spread over the horizon; amounts due at once are shown separately.",
    ]
    if plan.operation is not None:
        points += [
            "A job keeps 95% when it reaches 95% of its performance in isolation, its waiting included.",
            "± is half of the 95% interval over the seeds of the simulation: how much chance moves a figure. How far"
            " the trace resembles the future is not in it.",
        ]
    points.append("'hcloud explain PLAN' explains each line and what would change it.")
    return PageSection("How to read this", points=tuple(points))
