"""Machines and zones as a plan found them in the configuration, compared with what it says when that is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hcloud.planning.changes.slots import is_decided
from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.model.holdings.change import ChangeSet, Slot
    from hcloud.readers.configuration.config import Config
    from hcloud.readers.configuration.live_sections import FleetSection


def fleet_differences(config: Config, planned: ChangeSet) -> Iterator[str]:
    """How the machines that a plan keeps running differ from those that the configuration names now. One whose
    machines were decided differs only where section live names other zones: zones it no longer restricts still hold."""
    if config.fleet or not all(map(is_decided, planned.slots)):
        yield from _differences(config, planned)
    elif config.live.zones:
        zones = tuple(config.live.zones)
        for then in sorted({slot.zones for slot in planned.slots} - {zones}):
            yield f"live.zones: {', '.join(then)} in the plan, {', '.join(zones)} now"


def _differences(config: Config, planned: ChangeSet) -> Iterator[str]:
    then = {slot.address: slot for slot in planned.slots}
    now = {section.address: section for section in config.fleet}
    for address in sorted({*then, *now}):
        slot, section = then.get(address), now.get(address)
        if slot is None or section is None:
            yield f"fleet {address}: {_there(slot)} in the plan, {_there(section)} now"
        elif (was := _of_slot(slot)) != (found := _of_section(section, _zones(config, section, slot))):
            yield f"fleet {address}: {_told(was, found)} in the plan, {_told(found, was)} now"


def _there(entry: object) -> str:
    return "not named" if entry is None else "named"


def _zones(config: Config, section: FleetSection, slot: Slot) -> tuple[str, ...]:
    """Where neither the entry nor section live names zones, the plan asked the cloud."""
    return section.zones or tuple(config.live.zones) or slot.zones


def _of_slot(slot: Slot) -> tuple[str, ...]:
    fallbacks = tuple(shape.instance_type for shape in slot.fallbacks)
    return _facts(slot.count, slot.instance_type, str(slot.option), fallbacks, slot.zones)


def _of_section(section: FleetSection, zones: tuple[str, ...]) -> tuple[str, ...]:
    return _facts(section.count, section.instance_type, str(section.option), section.fallbacks, zones)


def _facts(count: int, name: str, option: str, fallbacks: tuple[str, ...], zones: tuple[str, ...]) -> tuple[str, ...]:
    others = f"fallbacks {', '.join(fallbacks)}" if fallbacks else "no fallbacks"
    return (counted(count, "machine"), name, option, others, f"zones {', '.join(zones)}")


def _told(facts: tuple[str, ...], others: tuple[str, ...]) -> str:
    """What differs from the others."""
    return ", ".join(fact for fact, other in zip(facts, others, strict=True) if fact != other)
