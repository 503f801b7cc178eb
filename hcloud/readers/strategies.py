"""Strategy files: strict keys, every rule with all of its numbers and their origins, and rules that fit together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from hcloud.errors import Problem, UsageError
from hcloud.model.running.strategy import NONE, Key, Mechanism, Strategy
from hcloud.policy.mapping import MappingRule
from hcloud.policy.placing.placements import Sparrow, TwoLevel
from hcloud.policy.placing.searching import BucketCounters, MultiClass
from hcloud.policy.registry import RULES, rule_of
from hcloud.policy.rule import OPTIONAL
from hcloud.readers.bundle import bundled
from hcloud.readers.stated import Stated, document_bytes, document_in, find_file, read_document

STRATEGIES = ("SR", "OdF", "OdM", "HF", "HM", "HC")
"""The five of the thesis, and ours for least cost: without it, the hybrids of a trace that begins with an empty cluster
reserve its first hours, and the peak looks cheapest."""
_HEAD = ("format_version", "name", "title", "summary", "source", "mechanisms")
ADMISSIONS = ("arrival-order", "multi-class")
"""The bundled rules of how jobs wait for the reserve."""
AUTOSCALED = "autoscale"
WATCHINGS = ("off", "reactive", "sampled", "adjust-to-target", AUTOSCALED)
"""The bundled ways to watch jobs that run."""
SIZINGS = ("requested", "profiled", "target")
"""The bundled rules of how much jobs are given."""
GREEDY, WITH = "greedy", "+"
"""The placement of every bundled strategy; what joins a strategy's name to that of another placement."""
Part = Literal["placement", "sizing", "admission", "watching"]
_STATED_AS: Mapping[Part, str] = {
    "placement": "placement",
    "sizing": "sizing",
    "admission": "queueing",
    "watching": "monitoring",
}
"""The mechanism of a strategy that a part of it is stated as."""
_BUNDLED: Mapping[Part, tuple[str, ...]] = {"sizing": SIZINGS, "admission": ADMISSIONS, "watching": WATCHINGS}


def load_strategy(name: str) -> Strategy:
    """A bundled strategy by its name (in any case), or the user's own by the path of its file; ``SR+tarcil`` is one
    with another placement, ``SR+target`` with another sizing,
    ``SR+multi-class`` with another admission.

    Raises UsageError where there is no such strategy, placement or file, InputError with every problem of a file.
    """
    base, joined, parts = (name, "", "") if Path(name).is_file() else name.partition(WITH)
    found = read_strategy(find_file(base, STRATEGIES, bundled("policies"), "strategy"))
    named = [parts] if Path(parts).is_file() else parts.split(WITH)
    for part in named if joined else ():
        found = with_part(found, _part_called(part), part)
    return found


def _part_called(name: str) -> Part:
    """Which part of a strategy a bundled document of this name states, or the user's own at this path."""
    if name.lower() in WATCHINGS or _states(Path(name), "monitoring"):
        return "watching"
    return "sizing" if name.lower() in SIZINGS else "admission" if name.lower() in ADMISSIONS else "placement"


def _states(path: Path, mechanism: str) -> bool:
    """Whether a user's own file states a mechanism; what is wrong with it is told by whoever reads it."""
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, ValueError):
        return False
    return re.search(rf"^{mechanism}:", text, re.MULTILINE) is not None


def part_names(part: Part) -> tuple[str, ...]:
    """The names of the bundled ones; of the placements first the greedy one of every bundled strategy."""
    if part != "placement":
        return _BUNDLED[part]
    found = {path.stem for path in bundled("policies").glob("placements/*.yaml")}
    return GREEDY, *sorted(found - {GREEDY})


def with_parts(strategies: Sequence[Strategy], part: Part, given: Sequence[str]) -> tuple[Strategy, ...]:
    """Every strategy with every one of these parts; as they are where none is named. ``all`` are those that a strategy
    can have: one that can have none keeps its own, unless none of the strategies can have any."""
    names = dict.fromkeys(n for one in given for n in (part_names(part) if one.lower() == "all" else one.split(",")))
    is_all, made, refused = "all" in (name.lower() for name in given), list[list[Strategy]](), list[UsageError]()
    for strategy in strategies:
        made.append([])
        for name in names:
            try:
                made[-1].append(with_part(strategy, part, name))
            except UsageError as error:
                if not is_all or name not in part_names(part):
                    raise
                refused.append(error)
    if refused and not any(made):
        raise refused[0]
    return tuple(one for strategy, able in zip(strategies, made, strict=True) for one in able or [strategy])


def with_part(strategy: Strategy, part: Part, name: str) -> Strategy:
    """A strategy with one of its parts replaced by a bundled one, or by that of the user's own file.

    Raises UsageError where there is no such part or file, InputError with every problem of a file.
    """
    if part == "placement" and name.lower() == GREEDY and strategy.mechanism("placement").rule == GREEDY:
        return strategy
    path = find_file(name, part_names(part), bundled("policies") / f"{part}s", part)
    return _with_mechanism(strategy, _STATED_AS[part], path)


def _with_mechanism(strategy: Strategy, mechanism: str, path: Path) -> Strategy:
    """The strategy with one mechanism as a document of its own states it."""
    reading = _StrategyReading(str(path))
    chosen = reading.parts(read_document(path, mechanism), mechanism)
    reading.refuse(mechanism)
    others = {m.name: m for m in strategy.mechanisms} | chosen
    made = replace(strategy, name=f"{strategy.name}{WITH}{path.stem}", mechanisms=tuple(others.values()))
    found = list(misfits(made))
    own = f"mechanisms.{mechanism}.parameters."
    keys = [(where.removeprefix("mechanisms."), *said) for where, *said in found if where.startswith(own)]
    reading.problems += [Problem(str(path), where, what, why) for where, what, why in keys]
    reading.refuse(mechanism)
    if found:
        *_, (_, what, why) = found  # what the part itself says, where the strategy says it of it, too
        raise UsageError(f"{made.name} cannot be: with {what}, {why}")
    return made


def read_strategy(path: Path) -> Strategy:
    """The strategy in a file; raises InputError with everything that is wrong with it."""
    return _in(document_bytes(path, "strategy"), str(path))


@lru_cache(maxsize=32)  # a plan reads the same few up to five times, and a study for each of its runs
def _in(data: bytes, name: str) -> Strategy:
    return parse_strategy(document_in(data, name, "strategy"), name)


def parse_strategy(content: object, name: str) -> Strategy:
    """The strategy that a document states; ``name`` is the file that problems are reported for."""
    reading = _StrategyReading(name)
    strategy = reading.strategy(content)
    if not reading.problems:
        reading.problems += [Problem(name, where, what, why) for where, what, why in misfits(strategy)]
    reading.refuse("strategy")
    return strategy


def misfits(strategy: Strategy) -> Iterable[tuple[str, str, str]]:
    """Rules that cannot work together: where, what stands there and what it would need."""
    rule = {m.name: m.rule for m in strategy.mechanisms}
    mapping, has_reserve, rents = (
        rule_of(strategy, "mapping"),
        strategy.follows("reserved"),
        strategy.follows("on_demand"),
    )
    assert isinstance(mapping, MappingRule)
    used = {"reserved": (mapping.reserves, has_reserve), "on_demand": (mapping.rents, rents)}
    for needed in (name for name, (is_used, is_there) in used.items() if is_used and not is_there):
        yield "mechanisms.mapping.rule", rule["mapping"], f"needs a rule other than none for {needed}"
    if rents and not mapping.rents:
        yield "mechanisms.mapping.rule", rule["mapping"], "never uses what on_demand rents"
    if has_reserve and not mapping.reserves:
        yield "mechanisms.mapping.rule", rule["mapping"], "never uses what reserved holds"
    if has_reserve and not strategy.follows("queueing"):
        yield "mechanisms.queueing.rule", NONE, "a reserve can be full: arrival-order or late-binding"
    for needed, (rules, words) in mapping.needs.items():
        if rule[needed] not in rules:
            yield f"mechanisms.{needed}.rule", rule[needed], words
    yield from _unfit_queues(strategy, rule)
    for name in rule:
        for key, value, why in rule_of(strategy, name).misfits():
            yield f"mechanisms.{name}.parameters.{key}", value, why


def _unfit_queues(strategy: Strategy, rule: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Queues at servers that the mapping or the placement has no use for."""
    only, counted = rule["mapping"] == "reserved-only", isinstance(rule_of(strategy, "queueing"), BucketCounters)
    if isinstance(rule_of(strategy, "placement"), Sparrow) and not only:
        words = "jobs wait at reserved servers. Mapping has to be reserved-only, as in SR"
        yield "mechanisms.placement.rule", "sparrow", words
    if isinstance(rule_of(strategy, "placement"), TwoLevel) and not only:
        words = "only reserved servers are offered; it needs mapping reserved-only, as in SR"
        yield "mechanisms.placement.rule", "two-level", words
    if counted and not only:
        words = "jobs wait for units of the reserve. Mapping has to be reserved-only, as in SR"
        yield "mechanisms.queueing.rule", "bucket-counters", words
    if isinstance(rule_of(strategy, "queueing"), MultiClass):
        if not only:
            words = "jobs wait for pools of the reserve. Mapping has to be reserved-only, as in SR"
            yield "mechanisms.queueing.rule", "multi-class", words
        if rule["placement"] == "two-level":
            yield "mechanisms.queueing.rule", "multi-class", "two-level offers servers to jobs in one queue"
        if hasattr(rule_of(strategy, "placement"), "agents"):
            words = f"{rule['placement']} has agents, who know nothing of queues; take one that decides alone: paragon"
            yield "mechanisms.queueing.rule", "multi-class", words
    if counted and getattr(rule_of(strategy, "placement"), "gang", False):
        words = "units are counted for one server at a time: state gang: false"
        yield "mechanisms.placement.parameters.gang", "true", words
    if counted and rule["placement"] in (GREEDY, "sparrow", "two-level"):
        yield "mechanisms.queueing.rule", "bucket-counters", f"{rule['placement']} ranks no servers to wait at"


_DROPPED = {"examined": "leave it out: the search finds what a look at every server would find"}
"""Keys that strategies had once, and what is true instead."""


class _StrategyReading(Stated):
    """A strategy being read."""

    def instead(self, key: str, known: tuple[str, ...]) -> str:
        return _DROPPED.get(key) or Stated.instead(self, key, known)

    def strategy(self, content: object) -> Strategy:
        head = self.head(content, _HEAD)
        mechanisms = self.mapping(head.get("mechanisms", {}), "mechanisms", tuple(RULES), OPTIONAL)
        name, title, summary, source = (self.text(head, key) for key in ("name", "title", "summary", "source"))
        return Strategy(
            name,
            title,
            summary,
            source,
            tuple(
                self.mechanism(name, mechanisms[name], f"mechanisms.{name}", _keys_by_rule(name))
                for name in RULES
                if name in mechanisms
            ),
        )

    def parts(self, content: object, mechanism: str) -> dict[str, Mechanism]:
        """The one mechanism that a document of its own states, by name; also how jobs queue for a placement, where it
        says so."""
        beside = ("queueing",) if mechanism == "placement" else ()
        head = self.head(content, ("format_version", "name", "title", mechanism, *beside), beside)
        for key in ("name", "title"):
            self.text(head, key)
        stated = (mechanism, *(name for name in beside if name in head))
        return {name: self.mechanism(name, head.get(name, {}), name, _keys_by_rule(name)) for name in stated}


def _keys_by_rule(mechanism: str) -> Mapping[str, tuple[Key, ...]]:
    return {name: rule.keys for name, rule in RULES[mechanism].items()}
