"""B10: what is left behind when ``hcloud apply`` of six machines is killed, up to six times, and then run in peace.

``python -m benchmarks.b10_leaks [--trials 1000] [--seed 1]`` runs that many applies over the three fake clouds: real
processes with the SDKs loaded, ended by SIGKILL at drawn moments and at every named crash point (``HYC_CRASH_AT``); a
few are whole processes from their start. The fake is made a little slow so that there is something to hit, and tells
machines late in some of the trials. It judges by its own ledger: orphans are live machines of ours that the state does
not hold, double launches machines beyond the six, ever made, and purchases there must be none. Beside it, in the same
harness, the loop that most people write first, and terraform where it is installed.

Prints a table a cloud, where the kills fell, and ``name value unit | peer x | limit y | ratio``; fails if anything was
lost or doubled, or if less than half of the kills fell between the first intent and the last record.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random

from benchmarks import terraform_loop
from benchmarks.naive_loop import FILE, TAG, known
from benchmarks.processes import CLOUDS, LAUNCH, Child, Forker, Job, Stage, fresh
from hcloud.errors import HcloudError, StaleError
from hcloud.fake.faults import FaultPlan, Kind, Rule
from hcloud.fake.server import Running
from hcloud.live import crash_points
from hcloud.model.state import Intent
from hcloud.planning.recall import unresolved
from hcloud.store.crash import ANY, KILLED_EXIT, POINTS

FLEET = {"web": 4, "batch": 2}
MACHINES = sum(FLEET.values())
KILLS, KILLS_WEIGHTS = (1, 2, 3, 4, 5, 6), (30, 22, 18, 12, 9, 9)
SLOW_ORDER_SECONDS, LATE_SECONDS = 0.15, 0.05
ORDER_SECONDS = SLOW_ORDER_SECONDS + 2 * LATE_SECONDS
LAGS = (0.5, 0.7)
MEASURED_RUNS = 3
LAGGING_EVERY, WHOLE_EVERY, LOOKED_AT_EVERY = 10, 60, 7
PEACEFUL_RUNS = 4
TOLD_EVERY = 50
NAIVE_TRIALS = 50
AIMED = ("order", "moment", "order", "order", "point")
BETWEEN_GOAL = 0.5
NAMED_POINTS = tuple(
    sorted(n for n in crash_points.NAMES if not n.startswith("terminate."))
    + [p for p in POINTS if not p.startswith("store.object.")]
    + [ANY] * 12
)


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
        """Whether nothing was lost, doubled, bought or left undone."""
        return not (self.orphans or self.doubles or self.missing or self.purchases or self.unfinished)


@dataclass(frozen=True, slots=True)
class Window:
    """Of runs without a kill, in seconds: from the start to the first order, and to the end."""

    ordered: float
    ended: float


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands on the disk, as far as it says whether a run has begun to write."""

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

    @property
    def all_in(self) -> bool:
        """Whether everything is recorded and nothing is open."""
        return self.records >= MACHINES and not self.open


def fell(before: Marks, after: Marks, live: int) -> Fell:
    """Where a kill fell, by what its run had written and what the ledger says."""
    if after.all_in:
        return Fell.AFTER
    if not after.noted or after == before:
        return Fell.BEFORE
    if live > after.records:
        return Fell.IN_AIR
    return Fell.PART if after.records else Fell.NOTED


class Lane:
    """The trials on one cloud, one after the other."""

    def __init__(self, cloud: str, stage: Stage, running: Running, seed: int) -> None:
        self.cloud, self.stage, self.running, self.seed = cloud, stage, running, seed
        self.tally = Tally(f"hcloud on {cloud}")
        self._points = 0

    def trial(self, number: int) -> None:
        """One apply: killed as often as is drawn, then run in peace, then judged."""
        chance = Random(f"{self.seed}/{self.cloud}/{number}")
        self._begin_anew(number)
        tally, stage = self.tally, self.stage
        tally.trials += 1
        for time_ in range(chance.choices(KILLS, KILLS_WEIGHTS)[0]):
            before = Marks.of(stage)
            if not self._kill_one(chance, self._arguments(time_, number), number):
                break
            tally.fell[fell(before, Marks.of(stage), len(stage.live()))] += 1
        self._in_peace(number)
        self._judge(number)

    def _begin_anew(self, number: int) -> None:
        lagging = number % LAGGING_EVERY == LAGGING_EVERY - 1
        slow = Rule(on=LAUNCH[self.cloud], answer=Kind.SLOW, seconds=SLOW_ORDER_SECONDS)
        seen, tagged = LAGS if lagging else (0.0, 0.0)
        plan = FaultPlan(rules=(slow,), visibility_delay=seen, tag_delay=tagged)
        self.running.exchange(fresh(self.cloud, plan, LATE_SECONDS, number))
        shutil.rmtree(self.stage.directory / ".hcloud", ignore_errors=True)

    def _arguments(self, time_: int, number: int) -> list[str]:
        if time_ == 0:
            return ["apply", "plan.json", "-y"]
        return ["apply", "plan.json", "--resume", "-y"] if (number + time_) % 2 else ["apply", "-y"]

    def _kill_one(self, chance: Random, arguments: Sequence[str], number: int) -> bool:
        """Start a run and end it; whether it was ended rather than over before."""
        aim = AIMED[self._points % len(AIMED)] if number % WHOLE_EVERY else "whole"
        self._points += 1
        if aim == "point":
            name = NAMED_POINTS[(self._points // len(AIMED)) % len(NAMED_POINTS)]
            at = chance.randint(1, 30) if name == ANY else chance.choice((1, 1, 1, 2))
            code = self.stage.run(*arguments, HYC_CRASH_AT=f"{name}|{at}").code
            self.tally.at_points += code == KILLED_EXIT
            self.tally.points[name] += code == KILLED_EXIT
            return code == KILLED_EXIT
        if aim == "whole":
            return self._kill_whole(chance, arguments)
        child = self.stage.start(*arguments)
        if len(self.stage.live()) >= MACHINES:
            child.over.wait(chance.uniform(self.window.ordered * 0.5, self.window.ordered))
        elif aim == "order":
            self._await_order(child)
            child.over.wait(chance.uniform(0, ORDER_SECONDS))
        else:
            child.over.wait(chance.uniform(self.window.ordered * 0.9, self.window.ended * 0.95))
        child.send(signal.SIGKILL)
        code = child.wait()
        self.tally.killed += code == -signal.SIGKILL
        return code == -signal.SIGKILL

    def _await_order(self, child: Child) -> None:
        ordered = self.stage.front.ordered
        ordered.clear()
        while not ordered.wait(0.01) and not child.over.is_set():
            pass

    def _kill_whole(self, chance: Random, arguments: Sequence[str]) -> bool:
        """The same with a process that was not forked."""
        process = self.stage.begin(*arguments)
        ordered = self.stage.front.ordered
        ordered.clear()
        while not ordered.wait(0.01) and process.poll() is None:
            pass
        time.sleep(chance.uniform(0, ORDER_SECONDS))
        process.kill()
        process.communicate()
        was_killed = process.returncode == -signal.SIGKILL
        self.tally.killed += was_killed
        self.tally.whole += was_killed
        return was_killed

    def _in_peace(self, number: int) -> None:
        """Run until it says that it is done; a plan afterwards must find nothing to do."""
        arguments = ["apply", "plan.json", "--resume", "-y"] if number % 2 else ["apply", "-y"]
        for _ in range(PEACEFUL_RUNS):
            child = self.stage.run(*arguments)
            if child.code == 0:
                break
            if child.code == StaleError.exit_code:
                # Nothing of the plan had been written when its first run was killed, and the next, without a plan,
                # began a state of its own: the plan is refused from then on, and one is made anew
                self.tally.stale += 1
                arguments = ["apply", "-y"]
        else:
            self.tally.unfinished.append(f"{self.cloud} {number}: exit {child.code}: {child.said[-500:]}")
            return
        if number % LOOKED_AT_EVERY == 0:
            looked = self.stage.run("plan", "--detailed-exitcode")
            if looked.code != 0:
                self.tally.unfinished.append(f"{self.cloud} {number}: not settled: {looked.said[-500:]}")

    def _judge(self, number: int) -> None:
        """The ledger against the state."""
        stage, tally = self.stage, self.tally
        state = stage.state()
        held = {r.id for r in state.records} if state else set()
        live = {m.id for m in stage.live()}
        orphans, ever = len(live - held), len(stage.ledger.machines)
        tally.orphans += orphans
        tally.doubles += max(ever - MACHINES, 0)
        tally.missing += max(MACHINES - len(live & held), 0)
        tally.purchases += len(stage.ledger.purchases)
        if orphans or ever != MACHINES:
            tally.unfinished.append(f"{self.cloud} trial {number}: {orphans} orphans, {ever} machines ever")

    def prepare(self) -> None:
        """Warm the parent, make the plan that every trial applies, and measure where kills should fall."""
        self._begin_anew(0)
        job = Job(["plan", "--out", "plan.json"], self.stage.environment(), self.stage.directory)
        self.stage.forker.start(job, warm=True)
        spans = []
        for _ in range(MEASURED_RUNS):
            self._begin_anew(0)
            started = time.monotonic()
            child = self.stage.start("apply", "plan.json", "-y")
            self._await_order(child)
            ordered = time.monotonic() - started
            if child.wait() != 0:
                raise HcloudError(f"without a kill: {child.said}")
            spans.append((ordered, time.monotonic() - started))
        self.window = Window(*(statistics.median(span) for span in zip(*spans, strict=True)))


def lane(cloud: str, trials: int, seed: int, kills: int | None = None) -> Tally:
    """All trials of one cloud, or as many as it takes for so many kills."""
    with (
        tempfile.TemporaryDirectory(prefix="hcloud-b10-") as scratch,
        Running(fresh(cloud, FaultPlan())) as running,
        Forker((cloud,)) as forker,
    ):
        made = Lane(cloud, Stage(running, Path(scratch) / "work", forker, FLEET), running, seed)
        made.prepare()
        for number in range(trials):
            if kills is None or made.tally.kills < kills:
                made.trial(number)
            if kills is None and number % TOLD_EVERY == TOLD_EVERY - 1:
                print(f"{made.tally.name}: {number + 1} of {trials}", file=sys.stderr, flush=True)
        return made.tally


def naive(trials: int, seed: int) -> Tally:
    """The naive loop under the same kills: orphans are live machines that its file does not name."""
    tally = Tally("naive boto3 loop")
    with (
        tempfile.TemporaryDirectory(prefix="hcloud-b10-") as scratch,
        Running(fresh("aws", FaultPlan())) as running,
        Forker(("aws",)) as forker,
    ):
        stage = Stage(running, Path(scratch), forker, FLEET)
        arguments = ("naive", str(MACHINES))
        for number in range(trials):
            chance = Random(f"{seed}/naive/{number}")
            slow = Rule(on="RunInstances", answer=Kind.SLOW, seconds=SLOW_ORDER_SECONDS)
            running.exchange(fresh("aws", FaultPlan(rules=(slow,)), LATE_SECONDS, number))
            (stage.directory / FILE).unlink(missing_ok=True)
            tally.trials += 1
            for _ in range(chance.choices(KILLS, KILLS_WEIGHTS)[0]):
                child = stage.start(*arguments)
                while not stage.front.ordered.wait(0.01) and not child.over.is_set():
                    pass
                child.over.wait(chance.uniform(0, MACHINES * (SLOW_ORDER_SECONDS + LATE_SECONDS)))
                child.send(signal.SIGKILL)
                tally.killed += child.wait() == -signal.SIGKILL
            stage.run(*arguments)
            live = {m.id for m in stage.ledger.live(0.0) if TAG in m.tags}
            tally.orphans += len(live - set(known(stage.directory / FILE)))
            tally.doubles += max(len(live) - MACHINES, 0)
    return tally


def leaks(trials: int, seed: int, kills: int | None = None, peers: int = NAIVE_TRIALS) -> tuple[list[Tally], Tally]:
    """All three clouds and the naive loop, each with processes of its own, at the same time."""
    shares = [trials // len(CLOUDS) + (number < trials % len(CLOUDS)) for number in range(len(CLOUDS))]
    enough = None if kills is None else -(-kills // len(CLOUDS))
    with ThreadPoolExecutor(len(CLOUDS) + 1) as pool:
        lanes = [pool.submit(lane, cloud, share, seed, enough) for cloud, share in zip(CLOUDS, shares, strict=True)]
        peer = pool.submit(naive, min(peers, trials), seed)
        return [found.result() for found in lanes], peer.result()


def between(tallies: Sequence[Tally]) -> float:
    """The share of kills that fell between the first intent and the last record."""
    fallen = sum((t.fell for t in tallies), Counter[Fell]())
    return sum(fallen[f] for f in BETWEEN) / max(fallen.total(), 1)


def show(tallies: Sequence[Tally], others: Sequence[Tally]) -> None:
    for t in (*tallies, *others):
        print(
            f"{t.name:18} {t.trials:5} applies {t.kills:5} kills ({t.killed} by SIGKILL, {t.whole} of them whole "
            f"processes; {t.at_points} at named points) {t.orphans:3} orphans {t.doubles:3} double launches "
            f"{t.purchases} purchases"
        )
    fallen = sum((t.fell for t in tallies), Counter[Fell]())
    most = max(fallen.values(), default=1)
    for where in Fell:
        share = fallen[where] / max(fallen.total(), 1)
        print(f"  {where:52} {fallen[where]:5} {share:6.1%} {'#' * round(40 * fallen[where] / most)}")
    struck = sum((t.points for t in tallies), Counter[str]())
    never = sorted(set(NAMED_POINTS) - set(+struck))
    print(f"  {len(+struck)} of {len(set(NAMED_POINTS))} named points struck; never: {', '.join(never) or '-'}")
    print(f"  {sum(t.stale for t in tallies)} plans were refused in the end and made anew")
    for line in [line for t in tallies for line in t.unfinished]:
        print(f"  ! {line}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started = time.monotonic()
    tallies, peer = leaks(given.trials, given.seed)
    seconds = time.monotonic() - started
    show(tallies, [peer])
    print(terraform_loop.told(MACHINES, given.seed))
    share = between(tallies)
    lost, doubled = sum(t.orphans for t in tallies), sum(t.doubles for t in tallies)
    kills = sum(t.kills for t in tallies)
    rate = peer.orphans / max(peer.killed, 1)
    print(f"b10_kills {kills} kills | peer {peer.killed} | limit - | {seconds:.0f} s")
    print(f"b10_orphans {lost} machines | peer {peer.orphans} ({rate:.2f} a kill) | limit 0 | {lost}")
    print(f"b10_double_launches {doubled} machines | peer {peer.doubles} | limit 0 | {doubled}")
    print(f"b10_double_purchases {sum(t.purchases for t in tallies)} purchases | peer - | limit 0 | 0")
    print(f"b10_between {share:.3f} of kills | peer - | limit {BETWEEN_GOAL} | {share / BETWEEN_GOAL:.2f}")
    return 0 if all(t.clean for t in tallies) and share >= BETWEEN_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
