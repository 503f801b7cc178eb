"""Section ``fleet`` as a plan found it, compared with what it says when the plan is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hcloud.errors import StaleError
from hcloud.planning.changes.slots import is_decided
from hcloud.units import counted

if TYPE_CHECKING:
    from hcloud.model.holdings.change import ChangeSet, Slot
    from hcloud.readers.configuration.config import Config
    from hcloud.readers.configuration.live_sections import FleetSection


def check_fleet(config: Config, planned: ChangeSet) -> None:
    """Refuse to apply a plan of other machines than section ``fleet`` names now."""
    if not config.fleet and all(map(is_decided, planned.slots)):
        return
    if differs := "; ".join(_differences(config, planned)):
        raise StaleError(
            f"the configuration changed since the plan was made: {differs}; nothing was applied",
            hint="plan again, or undo the change in section fleet of hcloud.yaml",
        )


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
