"""Every verb and sub-verb, found by walking the command tree, so that a new one cannot be forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, get_args

from hcloud.cli.root import build
from hcloud.cli.verb_groups import VERBS

Path = tuple[str, ...]


def every_command() -> tuple[Path, ...]:
    """The root, every verb and every sub-verb."""
    found: list[Path] = [()]
    for verb in VERBS:
        found += _below((verb,), _verb(verb))
    return tuple(found)


@cache
def _verb(name: str) -> Any:
    """A verb, made once: to make it takes Typer longer than to ask it, and workers ask while they collect."""
    return build().get_command(None, name)


def _below(path: Path, command: Any) -> list[Path]:
    inner = getattr(command, "commands", {})
    return [path, *(deeper for name in inner for deeper in _below((*path, name), inner[name]))]


def command_of(words: Sequence[str]) -> Any:
    """The verb that some words begin with."""
    command: Any = None
    for word in words:
        if word not in (VERBS if command is None else command.commands):
            break
        command = _verb(word) if command is None else command.commands[word]
        if not getattr(command, "commands", None):
            break
    return build() if command is None else command


def forms_of(words: Sequence[str]) -> frozenset[str]:
    """The forms in which the verb that some words begin with prints its result; none where it has no choice."""
    outputs = [
        get_args(option.type_descriptor.annotation) for option in command_of(words).params if option.name == "output"
    ]
    return frozenset(map(str, outputs[0])) if outputs else frozenset()


def every_leaf() -> tuple[Path, ...]:
    """The commands that do something themselves."""
    paths = every_command()
    return tuple(p for p in paths if p and not any(len(q) > len(p) and q[: len(p)] == p for q in paths))
