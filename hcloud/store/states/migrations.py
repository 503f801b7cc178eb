"""How states of earlier formats become states of this one, a step a version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Migration = Callable[[Mapping[str, Any]], Mapping[str, object]]


def from_0_9(old: Mapping[str, Any]) -> Mapping[str, object]:
    """The format before the first release: the scope in three keys of the top level, machines as an object by id, spot
    as a yes or no, and no generations. Every plan wrote the state at least once, so that its serial is a generation no
    order of that time can have had."""
    scope = {"cloud": old["provider"], "account": old["account"], "region": old["region"], "endpoint": ""}
    return {
        "format_version": "1.0",
        "tool_version": old["tool_version"],
        "lineage": old["lineage"],
        "serial": old["serial"],
        "generation": old["serial"],
        "project": old["project"],
        "scope": scope if old["provider"] else None,
        "records": [_record_0_9(name, machine) for name, machine in sorted(old["machines"].items())],
    }


def _record_0_9(name: str, old: Mapping[str, Any]) -> Mapping[str, object]:
    return {
        "id": name,
        "address": old["address"],
        "key": old["key"],
        "instance_type": old["type"],
        "zone": old["zone"],
        "option": "spot" if old["spot"] else "on-demand",
        "generation": 0,
        "intended": old["created"],
        "ending": old["ending"],
        "protected": False,
        "missed_since": None,
    }


MIGRATIONS: Mapping[str, Migration] = {"0.9": from_0_9}
