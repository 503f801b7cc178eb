"""Every verb and sub-verb, found by walking the command tree, so that a new one cannot be forgotten."""

from __future__ import annotations

from typing import Any

from hcloud.cli.main import VERBS, build

Path = tuple[str, ...]


def every_command() -> tuple[Path, ...]:
    """The root, every verb and every sub-verb."""
    root: Any = build()
    found: list[Path] = [()]
    for verb in VERBS:
        found += _below((verb,), root.get_command(None, verb))
    return tuple(found)


def _below(path: Path, command: Any) -> list[Path]:
    inner = getattr(command, "commands", {})
    return [path, *(deeper for name in inner for deeper in _below((*path, name), inner[name]))]


def every_leaf() -> tuple[Path, ...]:
    """The commands that do something themselves."""
    paths = every_command()
    return tuple(p for p in paths if p and not any(len(q) > len(p) and q[: len(p)] == p for q in paths))
