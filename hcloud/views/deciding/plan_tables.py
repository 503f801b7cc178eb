"""The tables of a plan's page and which dollars they hold: mix, alternatives, refusals, assumptions; mix as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.facts import purchases_in_words
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.held import HOURS_PER_DAY, NAMED_DAYS, begun_later, by_day, held_now, most_held, said_days
from hcloud.model.plans.operation import Band, OperatingPoint, Operation
from hcloud.model.plans.plan import Alternative, MixLine, Plan, Refusal
from hcloud.units import HOURS_PER_MONTH, and_last, format_figure, format_hourly, format_money, percent, plain
from hcloud.views.escaped import Written, csv_document
from hcloud.views.tables import Figures

NONE = "–"
DERIVED = "~"
BOUND = "lower bound"
SHORT = {
    PurchaseOption.RESERVED: "Standard RI",
    PurchaseOption.CONVERTIBLE: "Convertible RI",
    PurchaseOption.INSTANCE_SAVINGS_PLAN: "EC2 Instance SP",
    PurchaseOption.COMPUTE_SAVINGS_PLAN: "Compute SP",
    PurchaseOption.COMMITTED_USE: "CUD",
    PurchaseOption.FLEXIBLE_COMMITTED_USE: "Flexible CUD",
    PurchaseOption.RESERVATION: "Reservation",
    PurchaseOption.SAVINGS_PLAN: "Savings plan",
}
COLUMNS = (
    "address", "provider", "region", "instance_type", "option", "term_years", "payment", "count", "peak",
    "hourly", "monthly", "upfront", "total", "break_even", "starts_hour", "price_day", "derived",
)  # fmt: skip


def mix_table(plan: Plan) -> Figures:
    """What is bought and rented, and what each part costs."""
    names = ("part of the mix", "region", "price of", "instances", "peak", "break-even", "$/hour", "$/month", "upfront")
    *rows, total = _mix_rows(plan)
    upfront = "" if not any(line.upfront for line in plan.mix) else total[-1]
    return Figures(names, [*rows, [*total[:-1], upfront]], frozenset(range(3, len(names))))


def mix_on_screen(plan: Plan) -> Figures:
    """The same without a column of regions, which are told where there are several."""
    names = ("mix", "price of", "instances", "peak", "break-even", "$/h", "$/month", "upfront")
    spread = len({line.region for line in plan.mix}) > 1
    *rows, total = (
        [name + (f" in {region}" if spread and region else ""), *rest] for name, region, *rest in _mix_rows(plan)
    )
    return Figures(names, [*rows, [""] * len(names), total], frozenset(range(2, 8)), bold=frozenset({len(rows) + 1}))


def _mix_rows(plan: Plan) -> Iterator[list[str]]:
    for label, line in grouped(plan.mix):
        yield [
            f"{line.instance_type} {label}",
            line.region,
            price_of(line),
            instances(line.count),
            "" if line.option.is_commitment else f"{line.peak:,}",
            percent(line.break_even, none=""),
            format_hourly(line.hourly),
            format_figure(line.monthly),
            format_figure(line.upfront) if line.upfront else "",
        ]
    dollars = (format_hourly(plan.after.hourly), format_figure(plan.after.monthly))
    yield ["total", *[""] * 5, *dollars, format_figure(sum((line.upfront for line in plan.mix), Decimal(0)))]


def price_of(line: MixLine) -> str:
    """The day of a line's price, with a mark where nobody published it."""
    return f"{line.price_day}{DERIVED}" if line.derived else str(line.price_day)


def instances(count: Decimal) -> str:
    """A number of instances: whole, or with as many digits as it takes."""
    whole = count == count.to_integral_value()
    return f"{count:,.0f}" if whole else f"{count:,.1f}" if count >= 1 else f"{count:.2g}"


def grouped(mix: Sequence[MixLine]) -> list[tuple[str, MixLine]]:
    """The lines with their labels. Purchases of one offer on later days are one line, its dollars those of all of them,
    its count the most of them that are held at one time."""
    groups: dict[tuple[str, bool], list[MixLine]] = {}
    for line in mix:
        groups.setdefault((line.address, line.begins_later), []).append(line)
    return [(_label(lines), _sum(lines)) for lines in groups.values()]


def _sum(lines: Sequence[MixLine]) -> MixLine:
    def total(name: str) -> Decimal:
        return sum((getattr(line, name) for line in lines), Decimal(0))

    return replace(
        lines[0],
        count=most_held(lines, lambda line: line.count),
        hourly=total("hourly"),
        monthly=total("monthly"),
        upfront=total("upfront"),
        total=total("total"),
    )


def option_name(line: MixLine) -> str:
    """An option in the field's short terms: ``Standard RI 1y all upfront``."""
    years = f" {line.term_years}y" if line.term_years else ""
    paid = f" {line.payment.replace('-', ' ')}" if line.term_years and CLOUDS[line.provider].shows_payment else ""
    return f"{SHORT.get(line.option, str(line.option))}{years}{paid}"


def _label(lines: Sequence[MixLine]) -> str:
    """The purchase in the field's short terms: ``EC2 Instance SP 1y all upfront``, with the days of later ones."""
    line, text = lines[0], option_name(lines[0])
    if line.is_owned:
        return f"owned: {text}{_until(lines)}"
    return f"{text}, {_bought_on(lines)}" if line.begins_later else text


def _until(lines: Sequence[MixLine]) -> str:
    """When what is owned ends within the horizon: the last of it."""
    ends = [line.expires_hour for line in lines if line.expires_hour is not None]
    return f", until day {max(ends) // HOURS_PER_DAY:,}" if len(ends) == len(lines) else ""


def _bought_on(lines: Sequence[MixLine]) -> str:
    """The days, with the number that is bought on each where it is not the same."""
    counts = {day: sum((line.count for line in on), Decimal(0)) for day, on in by_day(lines).items()}
    if len(set(counts.values())) == 1 or len(counts) > NAMED_DAYS:
        return f"on {said_days(lines)}"
    return ", ".join(f"{instances(count)} on day {day:,}" for day, count in counts.items())


def due_upfront(plan: Plan) -> tuple[Decimal, str]:
    """What is due now, and in words what is due later; empty where nothing is."""
    later = [line for line in begun_later(plan.purchases) if line.upfront]
    due, rest = (sum((m.upfront for m in lines), Decimal(0)) for lines in (held_now(plan.purchases), later))
    return due, f"{format_money(rest)} more on {said_days(later)}" if later else ""


def told_alternatives(plan: Plan) -> list[tuple[str, Alternative]]:
    """The dearest first, each under its name; one that costs what the plan does is named beside it and not again."""
    same = [a.name for a in plan.told_alternatives if not a.versus_plan and a.name not in (plan.after.name, BOUND)]
    own = f"{plan.after.name} = {' = '.join(same)}" if same else plan.after.name
    told = sorted((a for a in plan.told_alternatives if a.name not in same), key=lambda a: (-a.total, a.name))
    return [(own if a.name == plan.after.name else a.name, a) for a in told]


def alternatives_table(plan: Plan) -> Figures:
    """Other ways to serve the same demand."""
    names = ("alternative", "what it is", "$/month", "$ in all", "against this plan")
    rows = [
        [name, a.description, format_figure(a.monthly), format_figure(a.total), _against(plan, a.versus_plan)]
        for name, a in told_alternatives(plan)
    ]
    return Figures(names, rows, frozenset({2, 3, 4}), "Alternatives by arithmetic")


def _against(plan: Plan, more: Decimal) -> str:
    if not more or not plan.after.total:
        return ""
    return f"{'+' if more > 0 else '-'}{format_money(abs(more))} ({float(more / plan.after.total):+.1%})"


def points_table(operation: Operation) -> Figures:
    """Every simulated point, and why it was not chosen."""
    names = (
        "strategy", "reserved", "$/month", "jobs that keep 95%, %", "batch p5, %", "tail p95, ×", "wait p95, s",
        "reserve in use, %", "not chosen because",
    )  # fmt: skip
    rows = [_point(p) for p in sorted(operation.points, key=lambda p: (-p.hourly, p.strategy))]
    return Figures(names, rows, frozenset(range(1, len(names) - 1)), "Every simulated point")


def _point(point: OperatingPoint) -> list[str]:
    half = "" if not point.hourly_half else f" ± {point.hourly_half * HOURS_PER_MONTH:,.0f}"
    return [
        point.strategy,
        f"{point.reserve:,}",
        f"{format_figure(point.monthly)}{half}",
        _band(point.kept_qos, 100, 1),
        _band(point.batch_p5, 100, 0),
        _band(point.tail_p95, 1, 1),
        _band(point.wait_p95, 1, 0),
        _band(point.utilisation, 100, 0),
        point.verdict or ("chosen; Pareto-optimal" if point.on_front else "chosen"),
    ]


def _band(band: Band | None, factor: float, digits: int) -> str:
    if band is None:
        return NONE
    half = "" if not band.half else f" ± {band.half * factor:.{digits}f}"
    return f"{band.mean * factor:,.{digits}f}{half}"


def refusals_table(plan: Plan) -> Figures:
    """What was not taken, the nearest first, with its reason and what would flip it."""
    names = ("option", "dearer by", "why not", "would be taken if")
    ranked = sorted(plan.refusals, key=lambda r: (r.margin is None, r.margin or Decimal(0)))
    return Figures(names, [_refused(r) for r in ranked], frozenset({1}), "Every option that was refused")


def _refused(refusal: Refusal) -> list[str]:
    margin = "by rule" if refusal.margin is None else f"+{format_money(refusal.margin)}"
    return [refusal.address, margin, refusal.reason, refusal.flips_if]


def assumptions_table(plan: Plan) -> Figures:
    """The rules and defaults the plan rests on."""
    rows = [[a.key, a.value, a.why] for a in plan.assumptions]
    return Figures(("setting", "value", "why"), rows, title="Assumptions")


def prices_table(plan: Plan) -> Figures:
    """How old the price of each part of the mix is, and where it comes from."""
    rows = [*_prices(plan)]
    return Figures(("price", "from", "days old", "origin"), rows, frozenset({2}), "Prices")


def _prices(plan: Plan) -> Iterator[list[str]]:
    today = plan.generated_at.date()
    seen: set[str] = set()
    for line in plan.mix:
        if line.address not in seen:
            seen.add(line.address)
            origin = f"derived: {line.derived}" if line.derived else "published"
            yield [line.address, str(line.price_day), f"{(today - line.price_day).days:,}", origin]


def mix_csv(plan: Plan) -> Written:
    """One row a line of the mix; dollars and shares as decimals, empty where there is none."""
    return csv_document(
        COLUMNS, [["" if (v := getattr(line, name)) is None else str(v) for name in COLUMNS] for line in plan.mix]
    )


def spread_out(plan: Plan) -> list[str]:
    """Which dollars these are: commit, status and changes show others."""
    if not any(line.option.is_commitment for line in plan.mix):
        return []
    by_hand = [
        line
        for line in plan.purchases
        if CLOUDS[line.provider].is_by_hand(line.option, line.special, line.instance_type)
    ]
    bought = [line for line in plan.purchases if line not in by_hand]
    now = _paid(line for line in bought if not line.begins_later)
    coming = [(CLOUDS[line.provider].queues, _paid([line])) for line in begun_later(bought)]
    queued, later = (sum((dollars for queues, dollars in coming if queues is can), Decimal(0)) for can in (True, False))
    buys = f"; 'commit plan' buys {format_money(now)}{_less(bought)}" if plan.purchases else ""
    more = f", and with --later {format_money(queued)} more" if queued else ""
    more += f", and on later days {format_money(later)} more" if later else ""
    if by_hand:
        more += f", and not {format_money(_paid(by_hand))}{_less(by_hand)} of {_systems(by_hand)}"
    return [f"reserved $/h is amortised{buys}{more}; apply and status show list prices", *in_resources(plan.purchases)]


def in_resources(lines: Iterable[MixLine]) -> list[str]:
    """What committed use comes to as Google sells it: vCPUs and memory of a series in a region, not machines."""
    sums: dict[tuple[str, str, int], tuple[Decimal, Decimal]] = {}
    for line in lines:
        if line.option is PurchaseOption.COMMITTED_USE:
            key = line.instance_type.partition("-")[0], line.region, line.term_years
            vcpus, memory = sums.get(key, (Decimal(0), Decimal(0)))
            sums[key] = vcpus + line.vcpus, memory + line.memory_gib
    told = [
        f"{plain(vcpus)} vCPUs and {plain(memory)} GB of {series} in {region} ({years}y)"
        for (series, region, years), (vcpus, memory) in sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))
    ]
    return [f"in Google's console, committed use is {and_last(told)}"] if told else []


def _paid(lines: Iterable[MixLine]) -> Decimal:
    """Dollars of purchases, without licences that are told apart."""
    return sum((line.total * line.without_licences for line in lines), Decimal(0))


def _less(lines: Sequence[MixLine]) -> str:
    """That the prices of purchases hold licences that are no part of them, where they do."""
    held = any(line.licences is None and CLOUDS[line.provider].has_licence(line.special) for line in lines)
    return " less the licences in it" if held else ""


def _systems(by_hand: Sequence[MixLine]) -> str:
    """What is bought in a cloud's console alone: ``reserved instances of windows (buy these in the console)``."""
    of = sorted({purchases_in_words(m.option, m.special, m.instance_type) for m in by_hand})
    return f"{', '.join(of)} (buy these in the cloud's console)"
