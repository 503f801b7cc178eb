"""What Tab offers where a name is wanted: files by their ending, and names from the bundled tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hcloud.errors import HcloudError
from hcloud.model.clouds import known
from hcloud.model.json_text import parsed

YAML, JSON, TABLES = (".yaml", ".yml"), (".json",), (".csv", ".parquet", ".swf", ".tsv", ".txt", ".gz")
PICTURES = (".png", ".svg", ".html")
SCENARIOS = tuple(
    f"scenario:{name}"
    for name in (
        "static", "low-variability", "high-variability",
        "local-40", "local-40-medium", "local-40-bell", "local-40-phases", "local-40-oversubscribed",
        "ec2-1000", "ec2-1000-high", "ec2-1000-oversubscribed",
        "tarcil-110", "tarcil-110-mixed", "tarcil-110-durations",
        "tarcil-110-residents", "tarcil-110-mixed-residents",
        "tarcil-110-queries", "tarcil-110-queries-residents", "tarcil-110-mixed-queries-residents", "quasar-200",
        "quasar-200-hadoop", "quasar-200-frameworks",
        "quasar-200-web-flat", "quasar-200-web-fluctuating", "quasar-200-web-spike", "quasar-200-day",
        "tarcil-200-short", "tarcil-200-medium", "tarcil-200-long", "tarcil-400", "fleet-10000",
    )
)  # fmt: skip
CLOUDS = tuple(sorted(known.CLOUDS))
RENTED_FROM = (*CLOUDS, "local", "fake", *(f"fake:{name}" for name in CLOUDS))
LARGEST = 64 << 20
"""Bytes of a plan or a state that is still looked into while somebody waits for a Tab."""

Offer = Callable[[Mapping[str, Any], str], Iterable[str]]
"""What may stand where: from what was typed before, by parameter, and the beginning that was typed."""


def offer_names(command: Any, path: str) -> None:
    """Give every parameter of a verb (and of those below it) what completes it, where something here does."""
    for parameter in command.params:
        name = max(parameter.opts, key=len).lstrip("-").replace("-", "_")
        found = OFFERS.get(f"{path} {name}") or OFFERS.get(name)
        if found is not None:
            parameter._custom_shell_complete = _completer(found)
    for name, below in (getattr(command, "commands", None) or {}).items():
        offer_names(below, f"{path} {name}")


def _completer(offer: Offer) -> Callable[[Any, Any, str], list[str]]:
    def complete(ctx: Any, parameter: Any, incomplete: str) -> list[str]:
        try:
            return [name for name in offer(ctx.params, incomplete) if name.startswith(incomplete)]
        except (HcloudError, OSError, ValueError, KeyError, TypeError, AttributeError):
            return []  # a broken file is told of by the verb, not by Tab

    return complete


def files(*endings: str) -> Offer:
    """Files with one of these endings, and folders on the way to them; folders alone without any."""

    def offer(before: Mapping[str, Any], incomplete: str) -> Iterator[str]:
        head, slash, start = incomplete.rpartition("/")
        folder = Path(head + slash) if slash else Path()
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith(".") and not start.startswith("."):
                continue
            if entry.is_dir():
                yield f"{head}{slash}{entry.name}/"
            elif entry.suffix in endings:
                yield f"{head}{slash}{entry.name}"

    return offer


def either(*offers: Offer) -> Offer:
    """What any of them offers."""
    return lambda before, incomplete: (name for offer in offers for name in offer(before, incomplete))


def words(*names: str) -> Offer:
    """A fixed choice."""
    return lambda before, incomplete: names


def _clouds_named(before: Mapping[str, Any]) -> tuple[str, ...]:
    named = before.get("provider") or before.get("cloud") or ()
    chosen = (named,) if isinstance(named, str) else tuple(named)
    return tuple(word for name in chosen for word in str(name).split(":") if word in CLOUDS) or CLOUDS


def _priced(which: str) -> Offer:
    def offer(before: Mapping[str, Any], incomplete: str) -> Iterator[str]:
        from hcloud.readers.prices.shipped import names

        for cloud in _clouds_named(before):
            yield from getattr(names, which)(cloud)

    return offer


def _strategies(before: Mapping[str, Any], incomplete: str) -> tuple[str, ...]:
    from hcloud.readers.strategies import STRATEGIES

    return STRATEGIES


def _after_comma(offer: Offer) -> Offer:
    """One more of a list with commas."""

    def more(before: Mapping[str, Any], incomplete: str) -> Iterator[str]:
        head, comma, start = incomplete.rpartition(",")
        return (f"{head}{comma}{name}" for name in offer(before, start))

    return more


def _cloud_models(before: Mapping[str, Any], incomplete: str) -> list[str]:
    from hcloud.readers.bundle import bundled

    return sorted(path.stem for path in (bundled("policies") / "clouds").glob("*.yaml"))


def _profiled(before: Mapping[str, Any], incomplete: str) -> list[str]:
    from hcloud.readers.bundle import bundled

    folder = Path(before["profiles"]) if before.get("profiles") else bundled("profiles")
    return sorted(path.name.removesuffix(".profile.yaml") for path in folder.glob("*.profile.yaml"))


def _resources(before: Mapping[str, Any], incomplete: str) -> tuple[str, ...]:
    from hcloud.model.measured.profile import RESOURCES

    return (*RESOURCES, "none")


def _aspects(before: Mapping[str, Any], incomplete: str) -> list[str]:
    from hcloud.model.measured.profile import Aspect

    return [aspect.value for aspect in Aspect]


def _options(before: Mapping[str, Any], incomplete: str) -> list[str]:
    from hcloud.model.catalog import PurchaseOption

    return [option.value for option in PurchaseOption]


def _document(path: Path) -> Mapping[str, Any]:
    if path.stat().st_size > LARGEST:
        return {}
    found = parsed(path.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}


def _plan_addresses(before: Mapping[str, Any], incomplete: str) -> list[str]:
    plan = _document(Path(before["plan"]))
    rows = [*plan.get("mix", ()), *plan.get("refusals", ())]
    made = {"/".join(str(row[part]) for part in ("provider", "region", "instance_type")) for row in plan.get("mix", ())}
    return sorted(made | {str(row["address"]) for row in rows if "address" in row})


def _machines(before: Mapping[str, Any], incomplete: str) -> list[str]:
    state = _document(Path(before.get("state") or ".hcloud") / "state.json")
    return sorted({str(record[key]) for record in state.get("records", ()) for key in ("id", "address")})


WORKLOAD = either(words(*SCENARIOS), files(*TABLES))
OFFERS: Mapping[str, Offer] = {
    "plan": files(*JSON),
    "explain plan": files(*JSON, ".jsonl", ".journal"),
    "diff base": files(*JSON),
    "diff head": files(*JSON),
    "explain address": _plan_addresses,
    "state show machine": _machines,
    "file": files(*YAML),
    "config": files(*YAML),
    "faults": files(*YAML),
    "policy": files(*YAML),
    "policies": files(*YAML),
    "types": files(*YAML, *JSON),
    "pricing import files": files(*JSON, *TABLES, *YAML),
    "profile show file": files(*YAML),
    "profile compare left": files(*YAML),
    "profile compare right": files(*YAML),
    "profile import file": files(*JSON, *TABLES),
    "state push source": files(*JSON),
    "picture": files(*PICTURES),
    "workload": WORKLOAD,
    "workload show name": WORKLOAD,
    "workload convert name": WORKLOAD,
    "workload validate names": files(*TABLES),
    "folder": files(),
    "profiles": files(),
    "state": files(),
    "dir": files(),
    "corpus": either(words("bundled"), files(*JSON, ".npz")),
    "cloud": words(*RENTED_FROM),
    "iam print cloud": words(*CLOUDS),
    "cloud_model": either(_cloud_models, files(*YAML)),
    "provider": words(*CLOUDS),
    "fake up clouds": words(*CLOUDS),
    "region": _priced("regions"),
    "family": _priced("families"),
    "instance_type": _priced("types"),
    "option": _options,
    "strategy": either(_strategies, files(*YAML)),
    "plan strategy": either(words("auto"), _strategies, files(*YAML)),
    "simulate strategy": either(words("all"), _strategies, files(*YAML)),
    "compare strategy": either(words("all"), _strategies, files(*YAML)),
    "sweep strategy": _after_comma(_strategies),
    "strategy show name": either(_strategies, files(*YAML)),
    "resources": _after_comma(_resources),
    "aspect": _aspects,
    "classify apps": either(_profiled, files(*YAML)),
    "kind": words("batch", "service"),
    "require": words(*known.CLOUDS, "fake"),
    "reproduce system": words("hcloud"),
}
"""What completes an argument or an option: of one verb (``plan strategy``), else of any by its name."""
