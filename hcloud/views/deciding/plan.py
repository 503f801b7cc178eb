"""A plan on one screen, as Markdown, or as an explanation of one address."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from rich.table import Table
from rich.text import Text

from hcloud.model.catalog import Payment
from hcloud.model.plans.held import HOURS_PER_DAY
from hcloud.model.plans.plan import Alternative, MixLine, Plan, Refusal, Risk, WhatIf
from hcloud.planning.fleets.history import glimpsed, said_of_history
from hcloud.units import (
    HOURS_PER_YEAR,
    SECONDS_PER_HOUR,
    counted,
    format_age,
    format_duration,
    format_figure,
    format_hourly,
    format_money,
    format_span,
    percent,
)
from hcloud.views.charts import figure
from hcloud.views.comment import LONGEST_LINE, LONGEST_TEXT
from hcloud.views.console import Terminal, plain_of
from hcloud.views.deciding.operation import (
    fleet_line,
    markdown_points,
    missed,
    monthly_of,
    points_table,
    said_of,
    simulated_lines,
    verdicts,
)
from hcloud.views.deciding.plan_tables import (
    DERIVED,
    grouped,
    instances,
    mix_on_screen,
    price_of,
    spread_out,
    told_alternatives,
)
from hcloud.views.escaped import BLANK, Written, markdown_document, md
from hcloud.views.lines import point
from hcloud.views.live.change import changes_markdown
from hcloud.views.markdown import PER_HOUR, PER_MONTH, points, table, warned
from hcloud.views.tables import Figures
from hcloud.views.workloads.window import mean_window_line

BLOCKS = "▁▂▃▄▅▆▇█"
SHOWN_REFUSALS = 3


def show_plan(plan: Plan, terminal: Terminal, *, frontier: bool = False) -> None:
    """Print the plan on one screen; warnings go to stderr, that of too short a history before all. With strategies
    simulated their figures stand where the arithmetic's alternatives would (``frontier``: of every point)."""
    first = said_of_history(plan.history)
    for warning in first:
        terminal.warn(warning)
    terminal.show(*_first_lines(plan), "", *_demand(plan, terminal.out.width), "")
    terminal.show(mix_on_screen(plan), "")
    reasons = (*proof(plan), *plan.reasons, *derived_note(plan), *spread_out(plan), *_if_less(plan))
    if plan.operation is None:
        terminal.show(_alternatives_table(plan), "")
        told = [*fleet_line(plan), *reasons, *_risk(plan), *_refused(plan)]
    else:
        terminal.show(points_table(plan.operation, every=frontier), "")
        told = [*said_of(plan.operation), *reasons, *_refused(plan)[-1:]]
    terminal.show(*map(point, told))
    for warning in plan.warnings:
        if warning not in first:
            terminal.warn(warning)


def _first_lines(plan: Plan) -> list[Text]:
    """What is missed, if anything is; dollars; what they are by simulation, where there was one, or by use."""
    told = () if plan.operation is None else missed(plan.operation)
    lost = [Text(line, style="bold red" if not at else "") for at, line in enumerate(told)]
    return [*lost, _headline(plan), *map(Text, simulated_lines(plan))]


def _headline(plan: Plan) -> Text:
    before, after = monthly_of(plan)
    saved = before - after
    share = saved / before if before else Decimal(0)
    if (glimpse := glimpsed(plan.history)) is not None:
        return Text(too_short_to_save(plan, glimpse))
    text = Text()
    text.append(f"{_start(plan)} ", style="dim")
    text.append(f"{format_money(before)}/month")
    text.append("  →  this plan ", style="dim")
    text.append(f"{format_money(after)}/month", style="bold green")
    verb, size = ("saves", saved) if saved >= 0 else ("costs more:", -saved)
    text.append(f"   {verb} {format_money(size)}/month ({abs(float(share)):.1%})", style="bold")
    return text


def _start(plan: Plan) -> str:
    return "with what you own" if any(line.is_owned for line in plan.mix) else plan.now.name


def too_short_to_save(plan: Plan, glimpse: str) -> str:
    """the dollars of a plan of some minutes, without a saving: nobody knows yet how long the demand stays so."""
    before, after = format_money(plan.now.monthly), format_money(plan.after.monthly)
    return (
        f"{glimpse} of demand is too short to estimate savings; if it stayed the same all month: {before} on"
        f" demand and {after} with this plan"
    )


def _demand(plan: Plan, width: int) -> list[str | Text]:
    w = plan.workload
    places = ", ".join(sorted({f"{m.provider} {m.region}" for m in plan.mix if not m.covers_nothing}))
    age = format_age(plan.price_age_days)
    machines = f" of {counted(w.machines, 'machine')}" if w.machines else ""
    hours = "" if w.window is not None else f", {format_span(w.hours * SECONDS_PER_HOUR)}"
    lost = f" ({sum(w.left_out.values()):,} left out)" if w.left_out else ""
    trace = f"{w.name}: {counted(w.rows, 'row')}{lost}{machines}{hours}"
    mean, peak, memory = map(figure, (w.mean_cores, w.peak_cores, w.mean_memory_gib))
    demand = f"vCPU {mean} mean, {peak} peak (means of {format_duration(w.step_seconds)}) · {memory} GiB mean"
    window = [f"window: {mean_window_line(w.window, w.hours)}"] if w.window is not None else []
    terms = f"{places} · planned for {horizon(plan)} · prices of {plan.price_day} ({age})"
    return [f"{trace} · {demand}", *window, terms, *_drawn(plan, width)]


def _drawn(plan: Plan, width: int) -> list[str | Text]:
    w = plan.workload
    drawn = Text(sparkline(w.profile, width), style="cyan")
    if not drawn:
        return []
    seconds = w.hours * SECONDS_PER_HOUR / len(w.profile)
    span = format_span(seconds) if seconds % w.step_seconds else format_duration(int(seconds))
    return [f"vCPUs over time, means of {span}, from 0 to {figure(max(w.profile))}:", drawn]


def sparkline(values: Sequence[float], width: int) -> str:
    """Values as a row of block characters from zero to their maximum; with fewer characters, each shows the highest
    of the values it stands for."""
    top = max(values, default=0.0)
    if not values or top <= 0 or width < 1:
        return ""
    ends = [i * len(values) / width for i in range(width + 1)]
    picked = [max(values[int(a) : max(math.ceil(b), int(a) + 1)]) for a, b in pairwise(ends)]
    return "".join(BLOCKS[min(int(v / top * len(BLOCKS)), len(BLOCKS) - 1)] for v in picked)


def derived_note(plan: Plan) -> list[str]:
    """What the mark of derived prices means, where the mix has one."""
    if not any(line.derived for line in plan.mix):
        return []
    return [f"{DERIVED} marks a derived price, not a published one: hcloud explain PLAN --full shows its sources"]


def _count(line: MixLine) -> str:
    if line.option.is_commitment:
        return instances(line.count)
    return f"{instances(line.count)} mean, {line.peak:,} peak"


def _alternatives_table(plan: Plan) -> Figures:
    names = ("alternatives", "$/h", "$/month", f"$ over {horizon(plan)}", "against plan")
    told = told_alternatives(plan)
    rows = [
        (name, format_hourly(o.hourly), format_figure(o.monthly), format_figure(o.total), _against(plan, o))
        for name, o in told
    ]
    own = frozenset(number for number, (_, option) in enumerate(told) if option.name == plan.after.name)
    return Figures(names, rows, frozenset(range(1, 5)), bold=own)


def horizon(plan: Plan) -> str:
    """The span that a plan's totals are over, short."""
    years, rest = divmod(plan.horizon_hours, HOURS_PER_YEAR)
    return f"{years} y" if not rest else f"{plan.horizon_hours:,} h"


def _against(plan: Plan, option: Alternative) -> str:
    if option.name == plan.after.name or not plan.after.total:
        return ""
    return percent(option.versus_plan / plan.after.total, sign="+")


def proof(plan: Plan) -> Iterable[str]:
    """How near the plan is to the best there is."""
    shown = plan.certificate
    least = plan.after.total - shown.gap
    gap = float(shown.gap / least) if least else 0.0
    exact = "proven optimal" if not shown.gap else f"within {max(gap, 0.0001):.2%} of the optimum"
    yield f"{exact} for whole instances of its types ({shown.method}; gap {format_money(shown.gap, 2)})"
    bound = plan.alternatives[-1].total
    below = float(1 - bound / plan.after.total) if plan.after.total else 0.0
    yield f"lower bound: no mix of the allowed types in one region is more than {below:.1%} cheaper than this plan"


def _if_less(plan: Plan) -> list[str]:
    """What the purchases cost at less demand, where there are any."""
    if not plan.purchases:
        return []
    asked = [w for w in plan.what_if if w.all_on_demand]
    if not asked:
        return ["no falls of demand to compare (planning.falls)"]
    falls = " / ".join(f"{-float(w.change):.0%}" for w in asked)
    costs = " / ".join(beside(w) for w in asked)
    by_use = "by use alone, " * (plan.operation is not None)
    return [f"{by_use}if demand falls by {falls}: {costs} than {plan.unbought}"]


def beside(case: WhatIf) -> str:
    """What commitments cost at another demand beside renting everything: ``8.4% cheaper``."""
    share = float(case.planned / case.all_on_demand - 1)
    if share >= 0 and f"{share:.1%}" == "0.0%":
        return "no cheaper"
    return f"{abs(share):.1%} {'dearer' if share > 0 else 'cheaper'}"


def _risk(plan: Plan) -> list[str]:
    return [] if plan.risk is None else [said_of_risk(plan.risk)]


def said_of_risk(risk: Risk) -> str:
    """What the plan costs over the futures, and of which demand they are."""
    spread = f"{format_money(risk.cost_p10)} to {format_money(risk.cost_p90)}"
    less, more = (f"{part - 1:+.0%}" for part in (risk.demand_p10, risk.demand_p90))
    demand = f" (demand {less} to {more}{_beyond(risk.demand_p10, risk.demand_p90)})"
    regret = f"p90 regret {format_money(risk.regret_p90)}"
    return f"80% of {risk.futures} simulated futures cost {spread}{demand}; {regret}"


def _beyond(less: Decimal, more: Decimal) -> str:
    """That the plan's own forecast lies outside what most futures need."""
    if less <= 1 <= more:
        return ""
    return f": 9 of 10 need {'more' if less > 1 else 'less'} than the forecast"


def _refused(plan: Plan) -> list[str]:
    """The nearest refusals of different kinds: one a type, and one an option and term of the chosen type."""
    kinds: set[str] = {m.address.removesuffix(f"-{m.payment}") for m in plan.mix}
    kinds |= {s.address.removesuffix(f"-{p}") for s in plan.sizing for p in Payment}
    close: list[Refusal] = []
    for refusal in plan.refusals:
        kind = next(
            (refusal.address.removesuffix(f"-{p}") for p in Payment if refusal.address.endswith(p)), refusal.address
        )
        if refusal.margin is not None and kind not in kinds and refusal.margin > 0:
            close.append(refusal)
        kinds.add(kind)
    lines = [
        f"rejected {r.address}: +{format_money(r.margin or Decimal(0))}, {r.reason}" for r in close[:SHOWN_REFUSALS]
    ]
    hidden = len(plan.refusals) - len(lines)
    return [*lines, f"{hidden} more rejected: hcloud explain PLAN"] if hidden > 0 else lines


def markdown(plan: Plan) -> Written:
    """The plan as Markdown, for a pull request or a ticket."""
    lost, simulated = [] if plan.operation is None else list(missed(plan.operation)), list(simulated_lines(plan))
    window, ends = plan.workload.window, md("  ") if simulated else md("")
    dollars = [format_money(each) for each in monthly_of(plan)]
    rows = [
        *(md("{}  ", line, longest=LONGEST_LINE) for line in lost),
        md("**{}/month** {} → **{}/month**{}", dollars[0], _start(plan), dollars[1], ends)
        if (glimpse := glimpsed(plan.history)) is None
        else md("{}{}", too_short_to_save(plan, glimpse), ends, longest=LONGEST_LINE),
        *(md("{}", line, longest=LONGEST_LINE) for line in simulated),
        BLANK,
        *warned(plan.warnings),
        *(
            [md("window: {}", mean_window_line(window, plan.workload.hours), longest=LONGEST_LINE), BLANK]
            if window is not None
            else []
        ),
        *table(_mix_in_full(plan)),
        BLANK,
        *table(_alternatives_in_full(plan)),
    ]
    said = [] if plan.operation is None else list(said_of(plan.operation))
    if plan.operation is not None:
        rows += [BLANK, *markdown_points(plan.operation)]
    said = [*said, *fleet_line(plan)]
    told = [*said, *proof(plan), *plan.reasons, *derived_note(plan), *_if_less(plan), *_risk(plan)]
    rows += [BLANK, *points(told)]
    if plan.changes is not None:
        rows += [BLANK, *changes_markdown(replace(plan.changes, warnings=()))]
    return markdown_document(rows)


def _mix_in_full(plan: Plan) -> Figures:
    names = ("mix", "type", "region", "price of", "count", PER_HOUR, PER_MONTH, "upfront")
    rows = [
        (label, m.instance_type, m.region, price_of(m), _count(m), *map(str, (m.hourly, m.monthly, m.upfront)))
        for label, m in grouped(plan.mix)
    ]
    return Figures(names, rows, frozenset({4, 5, 6, 7}))


def _alternatives_in_full(plan: Plan) -> Figures:
    name = "alternative" if plan.operation is None else "alternative, by use alone"
    names = (name, PER_MONTH, md("$ over {}", horizon(plan)), "against plan")
    rows = [(name, str(a.monthly), str(a.total), _against(plan, a)) for name, a in told_alternatives(plan)]
    return Figures(names, rows, frozenset({1, 2, 3}))


def explained(plan: Plan, address: str | None) -> tuple[list[MixLine], list[Refusal]]:
    """The lines and refusals an address names (all of them without one): a full address, or provider/region/type."""
    if address is None:
        return list(plan.mix), list(plan.refusals)
    lines = [m for m in plan.mix if address in (m.address, f"{m.provider}/{m.region}/{m.instance_type}")]
    refused = [r for r in plan.refusals if r.address == address or r.address.startswith(f"{address}/")]
    return lines, refused


def show_explanation(plan: Plan, address: str | None, terminal: Terminal) -> None:
    """Print why an address was taken or refused; without one the whole mix, every refusal and every assumption."""
    lines, refused = explained(plan, address)
    for line in lines:
        terminal.show(*_explain_line(line))
    terminal.show(*map(point, plan.reasons if lines else ()), *_refused_lines(refused))
    if address is None:
        if plan.operation is not None:
            terminal.show("", points_table(plan.operation, every=True))
            terminal.show(*map(point, verdicts(plan.operation)))
        terminal.show("", plain_of(_assumptions(plan)))


def markdown_explanation(plan: Plan, address: str | None) -> Written:
    """The same as Markdown tables."""
    lines, refused = explained(plan, address)
    what = ((m.address, _in_all(m)) for m in lines)
    rows = [md("**{}**: {}  ", address, said) for address, said in what]
    options = [(r.address, _margin(r), r.reason, r.flips_if) for r in refused]
    rows += [BLANK, *table(Figures(("rejected", "margin", "why", "unless"), options, frozenset({1})), LONGEST_TEXT)]
    if address is None:
        if plan.operation is not None:
            rows += [BLANK, *markdown_points(plan.operation)]
        rows += [BLANK, *table(_assumptions(plan), LONGEST_TEXT)]
    return markdown_document(rows)


def _margin(refusal: Refusal) -> str:
    return "by rule" if refusal.margin is None else f"+{format_money(refusal.margin)}"


def _in_all(line: MixLine) -> str:
    """Its number and dollars, and when it is held where that is not from now on."""
    begins = f" from day {line.starts_hour // HOURS_PER_DAY:,}" if line.begins_later else ""
    return f"{_count(line)}{begins}, ${line.hourly}/h, {format_money(line.total, 2)} in all"


def _explain_line(line: MixLine) -> list[Table | Text]:
    bought = _in_all(line)
    said = [f"price of {line.price_day}, " + (f"derived: {line.derived}" if line.derived else "published")]
    if line.break_even is not None:
        said.append(f"pays where an instance is in use more than {line.break_even:.1%} of the time")
    return [Text.assemble((line.address, "bold"), "  ", bought), *map(point, said)]


def _refused_lines(refused: Sequence[Refusal]) -> list[Table | Text]:
    """Each refusal in two lines: the address with its margin, then the reason and what would flip it."""
    lines: list[Table | Text] = []
    for r in refused:
        lines.append(Text.assemble((r.address, "bold"), "  ", (_margin(r), "red")))
        lines.append(point(f"{r.reason}" + (f"; unless {r.flips_if}" if r.flips_if else "")))
    return lines


def _assumptions(plan: Plan) -> Figures:
    return Figures(("assumption", "value", "why"), [(a.key, a.value, a.why) for a in plan.assumptions])
