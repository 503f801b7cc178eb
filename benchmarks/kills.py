"""What B10 counts: where kills fell, what was lost or doubled, and how that is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.processes import Stage
from hcloud.model.holdings.state import Intent
from hcloud.planning.changes.recall import unresolved


class Fell(StrEnum):
    """Where in its own run a kill fell."""

    BEFORE = "before the first intent"
    NOTED = "between: asked for, or about to be"
    IN_AIR = "between: machines live that the state does not hold"
    PART = "between: a part is recorded"
    AFTER = "after the last record"


BETWEEN = (Fell.NOTED, Fell.IN_AIR, Fell.PART)


@dataclass(slots=True)
class Tally:
    """What came out of the trials of one contender on one cloud."""

    name: str
    trials: int = 0
    killed: int = 0
    at_points: int = 0
    whole: int = 0
    orphans: int = 0
    doubles: int = 0
    missing: int = 0
    unasked: int = 0
    purchases: int = 0
    stale: int = 0
    unfinished: list[str] = field(default_factory=list)
    fell: Counter[Fell] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)

    @property
    def kills(self) -> int:
        """All ends that nobody had planned."""
        return self.killed + self.at_points

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, doubled, bought, ended unasked or left undone."""
        wrong = self.orphans or self.doubles or self.missing or self.unasked or self.purchases
        return not (wrong or self.unfinished)


@dataclass(frozen=True, slots=True)
class Marks:
    """What is on the disk, as far as it says whether a run has begun to write."""

    serial: int
    entries: int
    records: int
    open: int
    noted: bool

    @classmethod
    def of(cls, stage: Stage) -> Marks:
        """As it is now; a state that cannot be read is a fault of ours."""
        state, entries = stage.state(), stage.entries()
        records = len(state.records) if state else 0
        noted = records > 0 or any(isinstance(e, Intent) for e in entries)
        return cls(state.serial if state else 0, len(entries), records, len(unresolved(entries)), noted)


def fell(before: Marks, after: Marks, live: int, wanted: int, *, ordered: bool) -> Fell:
    """Where a kill fell, by what its run had written and asked for and what the ledger says."""
    if after.records >= wanted and not after.open:
        return Fell.AFTER
    if not after.noted or (after == before and not ordered):
        return Fell.BEFORE
    if live > after.records:
        return Fell.IN_AIR
    return Fell.PART if after.records else Fell.NOTED


def between(tallies: Sequence[Tally]) -> float:
    """The share of kills that fell between the first intent and the last record."""
    fallen = sum((t.fell for t in tallies), Counter[Fell]())
    return sum(fallen[f] for f in BETWEEN) / max(fallen.total(), 1)


def show(tallies: Sequence[Tally], others: Sequence[Tally], points: Collection[str]) -> None:
    for t in (*tallies, *others):
        print(
            f"{t.name:18} {t.trials:5} applies {t.kills:5} kills ({t.killed} by SIGKILL, {t.whole} of them whole "
            f"processes; {t.at_points} at named points) {t.orphans:3} orphans {t.doubles:3} double launches "
            f"{t.unasked} ended unasked {t.purchases} purchases"
        )
    fallen = sum((t.fell for t in tallies), Counter[Fell]())
    most = max(fallen.values(), default=1)
    for where in Fell:
        share = fallen[where] / max(fallen.total(), 1)
        print(f"  {where:52} {fallen[where]:5} {share:6.1%} {'#' * round(40 * fallen[where] / most)}")
    struck = sum((t.points for t in tallies), Counter[str]())
    never = sorted(set(points) - set(+struck))
    print(f"  {len(+struck)} of {len(set(points))} named points struck; never: {', '.join(never) or '-'}")
    print(f"  {sum(t.stale for t in tallies)} plans were refused in the end and made anew")
    for line in [line for t in tallies for line in t.unfinished]:
        print(f"  ! {line}")
