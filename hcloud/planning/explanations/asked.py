"""What somebody means who asks about a part of a plan: an address, a type, an option, another plan or a strategy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from hcloud.errors import UsageError
from hcloud.model.catalog import Provider
from hcloud.model.plans.operation import OperatingPoint, Operation
from hcloud.model.plans.plan import OWNED, Alternative, MixLine, Plan, Refusal

SPOKEN = {"ri": "reserved-instance", "sp": "savings-plan", "cud": "committed-use", "standard": "", "od": "on-demand"}
"""What people say for a part of an option's name."""
_SIZE = re.compile(r"\.[\w-]+$|-\d+$|(?<=[a-z])\d+(?=[a-z]*_v\d)")
"""The part of a type's name that is its size: m5a.4xlarge, n2-standard-8, Standard_D16s_v5."""
Subject = MixLine | Refusal | Alternative | OperatingPoint


@dataclass(frozen=True, slots=True)
class SubjectMatch:
    """What was asked about, the nearest to being chosen first, and how many more fit the words."""

    subject: Subject
    others: int


BestOf = Callable[[Operation, str], OperatingPoint | None]
"""The point to speak of where a strategy is named, of all that were simulated of it."""


def find(plan: Plan, words: str, best_of: BestOf) -> SubjectMatch:
    """The part of a plan that words name; raises UsageError with what comes near where there is none."""
    for look in (_exactly, _by_type, partial(_other_plans, best_of), _by_family, _by_parts, _by_size):
        if found := list(look(plan, words.strip())):
            return SubjectMatch(found[0], len(found) - 1)
    _check_asked(words.strip().lower())
    names = sorted(_names(plan))
    close = get_close_matches(words.lower(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"for example {', '.join(names[:3])}; --full lists all"
    raise UsageError(f"the plan has no {words}", hint=hint)


def _check_asked(words: str) -> None:
    """Raises UsageError where words name a cloud or a way of renting that the plan was not asked to look at."""
    if words == "spot":
        raise UsageError(
            "the plan was not asked for spot, or found no use for it",
            hint="planning.spot_share_of_batch in hcloud.yaml asks for it",
        )
    if words in {p.value for p in Provider}:
        raise UsageError(f"the plan was not asked for {words}", hint=f"hcloud plan --provider {words} asks for it")


def find_purchase(plan: Plan, words: str) -> MixLine:
    """The commitment of a plan that words name, ``all`` or an empty text for the largest, those that are bought now
    before later ones; UsageError where none is."""
    bought = sorted(plan.purchases, key=lambda m: (m.begins_later, -m.total))
    if not bought:
        raise UsageError("this plan buys no commitment", hint="hcloud explain PLAN says why")
    named = [m for m in bought if words == m.address or _fits(words, m.address) or words in ("", "all")]
    if not named:
        listed = ", ".join(dict.fromkeys(m.address for m in bought))
        raise UsageError(f"the plan buys no {words}", hint=f"it buys {listed}")
    return named[0]


def _exactly(plan: Plan, words: str) -> Iterator[Subject]:
    yield from (line for line in plan.mix if line.address == words)
    yield from (r for r in plan.refusals if r.address == words)


def _by_type(plan: Plan, words: str) -> Iterator[Subject]:
    """A type by its name, with or without provider and region: its own line or refusal before those of its options."""
    yield from (m for m in plan.mix if _is_type(words, m.address))
    yield from (r for r in plan.refusals if r.address.count("/") == 2 and _is_type(words, r.address))


def _is_type(words: str, address: str) -> bool:
    return f"/{_place(address)}".endswith(f"/{words.lower()}")


def _place(address: str) -> str:
    """Provider, region and type of an address."""
    return "/".join(address.lower().removeprefix(OWNED).split("/")[:3])


def _other_plans(best_of: BestOf, plan: Plan, words: str) -> Iterator[Subject]:
    """Another plan by its name or the beginning of it, or a strategy that was simulated."""
    wanted = " ".join(words.lower().replace("-", " ").split())
    for plain, told in zip(plan.alternatives, plan.told_alternatives, strict=True):
        if wanted and any(a.name.startswith(wanted) for a in (plain, told)):
            yield told
    if plan.operation is not None:
        best = best_of(plan.operation, wanted)
        points = sorted(plan.operation.points, key=lambda p: (p is not best, p.hourly))
        yield from (p for p in points if wanted in (p.strategy.lower(), f"{p.strategy.lower()} with {p.reserve}"))


def _by_family(plan: Plan, words: str) -> Iterator[Subject]:
    """The types of a family by its exact name, those with a price first; then what else has the words in it."""
    mine = [r for r in plan.refusals if r.address.count("/") == 2 and _family(r.address) == words.lower()]
    lines = [m for m in plan.mix if _family(m.address) == words.lower()]
    if lines or mine:
        yield from lines
        yield from sorted(mine, key=lambda r: r.margin is None)
        yield from (found for found in _by_parts(plan, words) if found not in mine and found not in lines)


def _family(address: str) -> str:
    return _place(address).split("/")[-1].split(".")[0]


def _by_parts(plan: Plan, words: str) -> Iterator[Subject]:
    """Whatever has all of the words in its address, the nearest to being chosen first."""
    yield from (r for r in plan.refusals if _fits(words, r.address))
    yield from (m for m in plan.mix if _fits(words, m.address))


def _by_size(plan: Plan, words: str) -> Iterator[Subject]:
    """The size of the same family that the plan counts in, where another one is named."""
    name = words.lower().split("/")[-1]
    family = _SIZE.sub("", name)
    if family != name:
        yield from (m for m in plan.mix if _SIZE.sub("", _place(m.address).split("/")[-1]) == family)
        types = [r for r in plan.refusals if r.address.count("/") == 2]
        yield from (r for r in types if _SIZE.sub("", _place(r.address).split("/")[-1]) == family)


def _fits(words: str, address: str) -> bool:
    spoken = (SPOKEN.get(word, word) for word in re.split(r"[\s/]+", words.lower()))
    parts = [part for part in spoken if part]
    text = re.sub(r"[-/]", " ", f" {address.lower()} ")
    return bool(parts) and all(f" {part.replace('-', ' ')} " in text for part in parts)


def _names(plan: Plan) -> set[str]:
    addresses = [*(m.address for m in plan.mix), *(r.address for r in plan.refusals)]
    types = {a.removeprefix(OWNED).split("/")[2] for a in addresses}
    options = {a.removeprefix(OWNED).split("/")[3] for a in addresses if a.count("/") > 2}
    strategies = {p.strategy for p in plan.operation.points} if plan.operation else set()
    return types | options | strategies | {a.name for a in plan.told_alternatives}
