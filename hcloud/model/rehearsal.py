"""A walk through the verbs: its steps, what each showed, and what the ledger of the cloud says at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class RehearsedStep:
    """What came of a step: the command line as a person types it, the lines that matter, and its exit code."""

    command: str
    lines: tuple[str, ...]
    exit_code: int


@dataclass(frozen=True, slots=True)
class DemoTotals:
    """What the ledger says when all is over: machines that a plan wanted, that ever were, and that stand; commitments
    that were bought; requests that changed something; dollars that hcloud reported and those of the fake's own bill."""

    wanted: int
    launched: int
    standing: int
    bought: int
    changes: int
    reported: Decimal
    billed: Decimal


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One verb: ``why`` says in a sentence or two what it is for, ``keep`` are patterns of the lines that are shown,
    ``codes`` the exit codes that are as it should be, ``seconds`` what it takes about. Between lines in which two
    patterns of ``pressed`` find something, neighbours press on this machine."""

    title: str
    why: str
    words: tuple[str, ...]
    keep: tuple[str, ...]
    codes: tuple[int, ...] = (0,)
    seconds: float = 2.0
    environment: Mapping[str, str] = field(default_factory=dict)
    pressed: tuple[str, str] | None = None
