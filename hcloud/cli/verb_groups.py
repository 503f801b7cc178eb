"""The verbs by what one comes for, as the root's help shows them, and flags without the name of a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Begin": ("demo", "init", "validate", "doctor", "fake", "iam"),
    "Decide": ("plan", "explain", "page", "diff", "policy", "simulate", "compare", "sweep", "decide"),
    "Run": ("apply", "commit", "destroy", "gc", "recover"),
    "Look": ("status", "drift", "report", "state"),
    "Measure": ("profile", "classify", "workload", "pricing"),
    "Research": ("strategy", "reproduce"),
}
"""Every verb is in one group; a test holds that."""


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
