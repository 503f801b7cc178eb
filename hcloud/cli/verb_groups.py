"""The verbs by what one comes for, as the root's help shows them, and flags without the name of a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ROOMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tools": ("Tools", ("demo", "init", "validate", "doctor", "fake", "iam")),
    "deciding": ("Decide", ("plan", "size", "explain", "page", "diff", "export", "policy")),
    "studies": ("Study", ("simulate", "compare", "sweep", "strategy", "placement")),
    "harvesting": ("Study", ("harvest",)),
    "live": ("Live", ("decide", "operate", "slurm", "apply", "status", "drift", "destroy", "gc", "recover", "state")),
    "commitments": ("Commitments", ("commit",)),
    "reports": ("Reports", ("report",)),
    "measuring": ("Measure", ("profile", "classify")),
    "prices": ("Prices and workloads", ("pricing",)),
    "workloads": ("Prices and workloads", ("workload",)),
    "research": ("Research", ("reproduce",)),
}
"""The packages of this one with the title of their verbs, and the verbs; use cases and views have the same packages."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    title: tuple(verb for other, verbs in ROOMS.values() if other == title for verb in verbs)
    for title, _ in ROOMS.values()
}
"""Every verb is in one group; a test holds that."""


def module_of(verb: str) -> str:
    """The module that has a verb."""
    return next(f"hcloud.cli.{room}.{verb}" for room, (_, verbs) in ROOMS.items() if verb in verbs)


def group_of(verb: str) -> str | None:
    """The title a verb is shown under."""
    return next((title for title, verbs in GROUPS.items() if verb in verbs), None)


def name_no_type_of_flags(command: Any, ctx: Any) -> None:
    """A flag is given or not: help shows no type beside it, here and for the verbs of a group."""
    for option in (*command.params, command.get_help_option(ctx)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for below in (getattr(command, "commands", None) or {}).values():
        name_no_type_of_flags(below, ctx)
