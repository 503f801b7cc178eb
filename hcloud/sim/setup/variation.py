"""What-ifs by key path: a strategy, cloud, purchase or run with some numbers changed (``limits.hard=0.85``)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.running.cloud import CLOUD_KEYS, CloudModel, Quantiles
from hcloud.model.running.strategy import Key, Mechanism, Parameter, ParameterOrigin, Strategy, Value
from hcloud.policy.registry import RULES
from hcloud.policy.rule import OPTIONAL
from hcloud.sim.setup.shop import PricingModel
from hcloud.units import parse_decimal

Scope = Literal["strategy", "cloud", "run", "price"]

MAPPINGS: Mapping[str, tuple[str, Mapping[str, Value]]] = {
    "P1": ("random", {"reserved_share": 0.5}),
    "P2": ("quality-threshold", {"threshold": 0.8, "reading": "absolute"}),
    "P3": ("quality-threshold", {"threshold": 0.5, "reading": "job-quantile"}),
    "P4": ("quality-threshold", {"threshold": 0.2, "reading": "job-quantile"}),
    "P5": ("static-limit", {"limit": 0.5}),
    "P6": ("static-limit", {"limit": 0.7}),
    "P7": ("static-limit", {"limit": 0.9}),
    "P8": ("dynamic", {}),
}
"""The eight mapping policies of the study. Fixed thresholds of P3 and P4 can queue without bound, so they are read as
quantiles of the job mix; P8 keeps the numbers of the strategy's own dynamic mapping."""

LIST_SEPARATOR = ":"
_SPIN_UP, _SENSITIVE, _RULE = "cloud.spin_up", "sensitive_share", "rule"
_LONGEST_START = 86_400.0
_MOST_SEED, _MOST_POOL, _MOST_WEEKS = 2**31 - 1, 100_000, 5200
_WHY = "Changed by a what-if."
_PLAIN: Mapping[str, tuple[Scope, Key]] = {
    "strategy": ("run", Key("strategy", "choice")),
    "seed": ("run", Key("seed", "count", "", 0, _MOST_SEED)),
    "pool": ("run", Key("pool", "count", "servers", 0, _MOST_POOL)),
    "mapping": ("strategy", Key("mapping", "choice", choices=tuple(MAPPINGS))),
    _SPIN_UP: ("cloud", Key("spin_up", "number", "times", 0, 1000)),
    _SENSITIVE: ("cloud", Key("sensitive_share", "number", "share of batch jobs", 0, 1)),
    "price_ratio": ("price", Key("price_ratio", "number", "on demand over reserved", 1e-6, 1e6)),
    "pricing": ("price", Key("pricing", "choice", choices=get_args(PricingModel))),
    "duration_weeks": ("price", Key("duration_weeks", "count", "weeks", 1, _MOST_WEEKS)),
}


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """One key with its new value, as it is written (``label``) and as it is meant; ``more`` holds the parameters that
    were given along with a rule."""

    key: str
    label: str
    value: Value
    more: tuple[tuple[str, str], ...] = ()

    @property
    def scope(self) -> Scope:
        """What it changes; a change of scope ``price`` needs no other run."""
        if self.key in _PLAIN:
            return _PLAIN[self.key][0]
        return "cloud" if self.key.startswith("cloud.") else "strategy"

    @property
    def text(self) -> str:
        """The change in one word, the same however it was written."""
        return f"{self.key}={self.label}"


def known_keys() -> tuple[str, ...]:
    """Every key path that can be varied."""
    rules = {f"{m}.{_RULE}" for m in RULES}
    numbers = {f"{m}.{k.name}" for m, of in RULES.items() for rule in of.values() for k in rule.keys}
    cloud = {f"cloud.{s}.{k.name}" for s, keys in CLOUD_KEYS.items() for k in keys}
    return (*_PLAIN, *sorted(rules | numbers), *sorted(cloud))


def parse_axis(text: str) -> tuple[ParameterChange, ...]:
    """The changes that ``KEY=v1,v2`` stands for; an item ``NAME=VALUE`` is a parameter of the rule before it.

    Raises UsageError for an unknown key (with the closest one), a value that may not stand there, or the same twice.
    """
    key, equals, values = text.partition("=")
    if not equals or not values:
        raise UsageError(f"--vary {text}: write KEY=VALUE or KEY=VALUE,VALUE", hint="for example limits.hard=0.8,0.85")
    check_key(key)
    changes = tuple(_change(key, item, more) for item, more in _items(values, key))
    seen = set[str]()
    for change in changes:
        if change.label in seen:
            raise UsageError(f"--vary {key}: {change.label} appears twice")
        seen.add(change.label)
    return changes


def check_key(key: str) -> None:
    """Raises UsageError, with the key that was probably meant, for one that cannot be varied."""
    known = known_keys()
    if key in known:
        return
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    close = close or [k for k in known if k.rpartition(".")[2] == key.rpartition(".")[2]][:1]
    raise UsageError(
        f"--vary {key}: there is no such key{f'; did you mean {close[0]}?' if close else ''}",
        hint=f"{', '.join(_PLAIN)}, MECHANISM.KEY ('hcloud strategy show HM' lists them) or cloud.SECTION.KEY",
    )


def _items(values: str, key: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    found: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for item in (part.strip() for part in values.split(",")):
        name, equals, value = item.partition("=")
        if not equals:
            found.append((item, ()))
        elif found and key.endswith(f".{_RULE}"):
            rule, more = found.pop()
            found.append((rule, (*more, (name, value))))
        else:
            raise UsageError(f"--vary {key}: {item} is no value; parameters may only follow a rule")
    return found


def _change(key: str, text: str, more: tuple[tuple[str, str], ...]) -> ParameterChange:
    if key.endswith(f".{_RULE}"):
        rules = RULES[key.partition(".")[0]]
        if text not in rules:
            raise _refusal(key, text, f"one of {', '.join(rules)}{did_you_mean(text, rules)}")
        return ParameterChange(key, ",".join((text, *(f"{n}={v}" for n, v in more))), text, more)
    if key == "strategy":
        return ParameterChange(key, text, text)
    value = read_value(_key_of(key), text.removeprefix("x") if key == _SPIN_UP else text, key)
    return ParameterChange(key, f"x{written(value)}" if key == _SPIN_UP else written(value), value)


def _key_of(path: str) -> Key:
    """The rule for the values of a path; where rules of a mechanism share a key, that of the first."""
    if path in _PLAIN:
        return _PLAIN[path][1]
    first, _, rest = path.partition(".")
    if first == "cloud":
        section, _, name = rest.partition(".")
        return next(k for k in CLOUD_KEYS[section] if k.name == name)
    return next(k for rule in RULES[first].values() for k in rule.keys if k.name == rest)


def read_value(key: Key, text: str, path: str) -> Value:
    """A value as its key reads it; UsageError says what may stand there."""
    value = _value(key, text)
    if value is None or not key.accepts(value):
        lists = f", joined by {LIST_SEPARATOR!r}" if key.kind == "numbers" else ""
        raise _refusal(path, text, f"{key.allowed}{lists}")
    return value


def _value(key: Key, text: str) -> Value | None:
    if key.kind == "switch":
        return {"true": True, "false": False}.get(text.lower())
    if key.kind == "choice":
        return text
    if key.kind == "numbers":
        numbers = [_number(part) for part in text.split(LIST_SEPARATOR)]
        usable = tuple(n for n in numbers if n is not None)
        return usable if len(usable) == len(numbers) else None
    return _number(text)


def _number(text: str) -> int | float | None:
    try:
        number = parse_decimal(text)
    except ValueError:
        return None
    return int(number) if number == number.to_integral_value() else float(number)


def _refusal(key: str, text: str, allowed: str) -> UsageError:
    return UsageError(f"--vary {key}={text}: must be {allowed}")


def written(value: Value) -> str:
    """A value as it is read again."""
    if isinstance(value, tuple):
        return LIST_SEPARATOR.join(map(written, value))
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:g}" if f"{value:g}" == repr(value) else repr(value)


def varied_strategy(strategy: Strategy, changes: Iterable[ParameterChange]) -> Strategy:
    """The strategy with the changes made, rules before the numbers of rules.

    Raises UsageError where a rule lacks a number or a key belongs to a rule that the strategy does not follow.
    """
    mine = [c for c in changes if c.scope == "strategy"]
    for change in sorted(mine, key=lambda c: not _changes_rule(c)):
        name = change.key.partition(".")[0]
        if name in OPTIONAL and all(m.name != name for m in strategy.mechanisms):
            raise UsageError(
                f"--vary {change.key}: {strategy.name} states no {name}",
                hint=f"name it {strategy.name}+target, or +requested",
            )
        before = strategy.mechanism(name)
        after = _with_rule(before, change) if _changes_rule(change) else _with_number(before, change, strategy.name)
        strategy = replace(strategy, mechanisms=tuple(after if m is before else m for m in strategy.mechanisms))
    return strategy


def _changes_rule(change: ParameterChange) -> bool:
    return change.key == "mapping" or change.key.endswith(f".{_RULE}")


def _with_rule(mechanism: Mechanism, change: ParameterChange) -> Mechanism:
    """Another rule; of the old one's numbers those stay that the new one has too and that are not given."""
    rule, given = str(change.value), dict[str, Value]()
    if change.key == "mapping":
        rule, values = MAPPINGS[rule]
        given.update(values)
    keys = {k.name: k for k in RULES[mechanism.name][rule].keys}
    for name, text in change.more:
        if name not in keys:
            raise UsageError(f"--vary {change.text}: {rule} has no {name}", hint=f"it has {', '.join(keys) or 'none'}")
        given[name] = read_value(keys[name], text, name)
    kept = {p.key: p for p in mechanism.parameters if p.key in keys and p.key not in given}
    stated = {name: key for name, key in keys.items() if name in given or name in kept}
    if missing := [name for name, key in keys.items() if name not in stated and key.default is None]:
        values_to_give = ",".join(f"{name}=..." for name in missing)
        raise UsageError(
            f"--vary {change.text}: the rule {rule} needs {', '.join(missing)}",
            hint=f"write {mechanism.name}.rule={rule},{values_to_give}, or vary a strategy that follows the rule",
        )
    made = tuple(kept.get(name) or _parameter(key, given[name]) for name, key in stated.items())
    return Mechanism(mechanism.name, rule, ParameterOrigin.OURS, "", _WHY, made)


def _parameter(key: Key, value: Value) -> Parameter:
    return Parameter(key.name, value, key.unit, ParameterOrigin.OURS, "", _WHY)


def _with_number(mechanism: Mechanism, change: ParameterChange, strategy: str) -> Mechanism:
    name = change.key.partition(".")[2]
    key = next((k for k in RULES[mechanism.name][mechanism.rule].keys if k.name == name), None)
    if key is None:
        raise UsageError(
            f"--vary {change.key}: {strategy} follows {mechanism.name}.rule={mechanism.rule}, which has no {name}"
        )
    value = read_value(key, written(change.value), change.key)
    made = tuple(_parameter(key, value) if p.key == name else p for p in mechanism.parameters)
    if all(p.key != name for p in made):
        made = (*made, _parameter(key, value))
    return replace(mechanism, parameters=made)


def varied_cloud(model: CloudModel, changes: Iterable[ParameterChange]) -> CloudModel:
    """The cloud with the changes made. Where only the neighbours' mean load is changed, their swing is cut to what
    keeps the load within 0 and 1."""
    mine = {c.key: c for c in changes if c.scope == "cloud"}
    for change in mine.values():
        if change.key == _SPIN_UP:
            model = _scaled_spin_up(model, change)
        elif change.key == _SENSITIVE:
            model = _with_cloud_number(model, ("jobs", "batch_tolerant_share"), round(1 - _real(change), 12))
        else:
            section, _, name = change.key.removeprefix("cloud.").partition(".")
            model = _with_cloud_number(model, (section, name), change.value)
    if "cloud.neighbours.mean_load" in mine and "cloud.neighbours.amplitude" not in mine:
        mean = model.number("neighbours", "mean_load")
        swing = min(model.number("neighbours", "amplitude"), mean, round(1 - mean, 12))
        model = _with_cloud_number(model, ("neighbours", "amplitude"), swing)
    return model


def _with_cloud_number(model: CloudModel, path: tuple[str, str], value: Value) -> CloudModel:
    section, name = path
    key = next(k for k in CLOUD_KEYS[section] if k.name == name)
    rows = tuple(_parameter(key, value) if p.key == name else p for p in model.sections[section])
    return replace(model, sections={**model.sections, section: rows})


def _scaled_spin_up(model: CloudModel, change: ParameterChange) -> CloudModel:
    factor = _real(change)
    if max(s.spin_up.values[-1] for s in model.sizes) * factor > _LONGEST_START:
        raise UsageError(f"--vary {change.text}: instances would take more than a day to start")
    scaled = tuple(
        replace(s, spin_up=Quantiles(s.spin_up.probabilities, tuple(v * factor for v in s.spin_up.values)))
        for s in model.sizes
    )
    return replace(model, sizes=scaled)


def _real(change: ParameterChange) -> float:
    if isinstance(change.value, bool) or not isinstance(change.value, int | float):
        raise TypeError(f"{change.text} is no number")
    return change.value
