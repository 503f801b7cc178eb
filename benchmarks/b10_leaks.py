"""B10: what is left behind when ``hcloud apply`` of six machines is killed, up to six times, and then run in peace.

``python -m benchmarks.b10_leaks [--trials 1000] [--seed 1]`` runs that many applies over the three fake clouds: real
processes with the SDKs loaded, ended by SIGKILL at drawn requests (lost on their way; done, with the answer kept back;
or answered, and a drawn moment later) and at every named crash point (``HYC_CRASH_AT``); a few are whole processes from
their start. The fake is made a little slow so that there is something to hit. In a fifth of the trials its lists are up
to two minutes behind, each by another while; then one machine fewer is wanted, with kills in that, too, then as many as
before, and in the end every list shows the one that has ended. It judges by its own ledger: orphans are live machines
of ours that the state does not hold, double launches machines beyond those wanted, ever made, ended unasked those that
ended beyond the one; purchases there must be none. Beside it, in the same harness, the loop that most people write
first, and terraform where it is installed. Nothing is given up or judged by the clock, so a busy machine takes longer
and says the same.

Prints a table a cloud, where the kills fell, and ``name value unit | peer x | limit y | ratio``; fails if anything was
lost or doubled, or if less than half of the kills fell between the first intent and the last record.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks import terraform_loop
from benchmarks.children import Child, Forker, Job
from benchmarks.kills import Marks, Tally, between, fell, show
from benchmarks.late_lists import SETTLED_SECONDS, ended_again, late_lists
from benchmarks.naive_loop import FILE, TAG, known
from benchmarks.processes import CLOUDS, LAUNCH, Fate, Mark, Stage, fresh
from hcloud.errors import HcloudError, StaleError
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, Faults
from hcloud.fake.server import FakeServer
from hcloud.live.applying import crash_points
from hcloud.store.files.crash import ANY, KILLED_EXIT, POINTS

FLEET = {"web": 4, "batch": 2}
MACHINES = sum(FLEET.values())
FEWER = 1  # below a fifth of them: nobody has to type the number
KILLS, KILLS_WEIGHTS = (1, 2, 3, 4, 5, 6), (30, 22, 18, 12, 9, 9)
SLOW_ORDER_SECONDS, LATE_SECONDS = 0.15, 0.05
ORDER_SECONDS = SLOW_ORDER_SECONDS + 2 * LATE_SECONDS
LAGS = (0.5, 0.7)
FIRST_REQUESTS = 3  # ours: of so many from the first order on, a drawn one is lost or its answer held
LAGGING_EVERY, WHOLE_EVERY, LOOKED_AT_EVERY = 5, 60, 7
PEACEFUL_RUNS = 4
LAGGING_RUNS = 30  # ours: where two lists of one run differ nothing is done, and the run is made again
TOLD_EVERY = 50
POLL_SECONDS = 0.01
NAIVE_TRIALS = 50
FATES = {"lost": Fate.LOST, "held": Fate.HELD}
ORDERING = (*FATES, "order")
AIMED = ("lost", "moment", "held", "order", "point")
BETWEEN_GOAL = 0.5
NAMED_POINTS = tuple(
    sorted(n for n in crash_points.NAMES if not n.startswith("terminate."))
    + [p for p in POINTS if not p.startswith("store.object.")]
    + [ANY] * 12
)


@dataclass(frozen=True, slots=True)
class Window:
    """Of a run without a kill, in requests: so many before the first order, and in all."""

    ordered: int
    all: int


class Lane:
    """The trials on one cloud, one after the other."""

    def __init__(self, cloud: str, stage: Stage, running: FakeServer, seed: int) -> None:
        self.cloud, self.stage, self.running, self.seed = cloud, stage, running, seed
        self.tally = Tally(f"hcloud on {cloud}")
        self._points = 0

    def trial(self, number: int) -> None:
        """One apply: killed as often as is drawn, then run in peace, then judged."""
        chance = Random(f"{self.seed}/{self.cloud}/{number}")
        self._begin_anew(number)
        self.tally.trials += 1
        try:
            self._kill(chance, number)
            self.stage.front.settle()
            self._in_peace(number)
            if is_lagging(number):
                self._scale_down(chance, number)
        except TimeoutError as error:
            self.tally.unfinished.append(f"{self.cloud} {number}: {error}")
            return
        self._judge(number)

    def _kill(self, chance: Random, number: int) -> None:
        tally, stage = self.tally, self.stage
        for time_ in range(chance.choices(KILLS, KILLS_WEIGHTS)[0]):
            before = Marks.of(stage)
            if not self._kill_one(chance, self._arguments(time_, number), number):
                break
            live, ordered = len(stage.live()), stage.front.ordered.is_set()
            tally.fell[fell(before, Marks.of(stage), live, MACHINES, ordered=ordered)] += 1

    def _begin_anew(self, number: int) -> None:
        lagging = is_lagging(number)
        slow = FaultRule(on=LAUNCH[self.cloud], answer=FaultKind.SLOW, seconds=SLOW_ORDER_SECONDS)
        late = late_lists(self.cloud) if lagging else ()
        seen, tagged = LAGS if lagging else (0.0, 0.0)
        plan = FaultPlan(rules=(slow, *late), visibility_delay=seen, tag_delay=tagged, seed=number)
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
        everything_lives = len(self.stage.live()) >= MACHINES
        if aim == "point" or (everything_lives and aim in ORDERING):
            return self._kill_at_point(chance, arguments, ANY if everything_lives else self._point())
        mark = self.stage.front.mark(self._aimed(chance, aim))
        if aim == "whole":
            was_killed = self._kill_whole(chance, arguments, mark)
            self.tally.whole += was_killed
        else:
            child = self.stage.start(*arguments)
            was_killed = struck(child, mark, chance)
        self.tally.killed += was_killed
        return was_killed

    def _aimed(self, chance: Random, aim: str) -> Mark:
        """The request at which a run is to end."""
        if aim in FATES:
            return Mark(chance.randrange(FIRST_REQUESTS), FATES[aim], of_order=True)
        if aim == "moment":
            return Mark(chance.randrange(self.window.all))
        return Mark(0, of_order=True)

    def _point(self) -> str:
        return NAMED_POINTS[(self._points // len(AIMED)) % len(NAMED_POINTS)]

    def _kill_at_point(self, chance: Random, arguments: Sequence[str], name: str) -> bool:
        """The run ends itself at a named point, as the kernel would have ended it."""
        at = chance.randint(1, 30) if name == ANY else chance.choice((1, 1, 1, 2))
        self.stage.front.ordered.clear()
        was_killed = self.stage.run(*arguments, HYC_CRASH_AT=f"{name}|{at}").code == KILLED_EXIT
        self.tally.at_points += was_killed
        self.tally.points[name] += was_killed
        return was_killed

    def _kill_whole(self, chance: Random, arguments: Sequence[str], mark: Mark) -> bool:
        """The same with a process that was not forked."""
        process = self.stage.begin(*arguments)
        while not mark.reached.wait(POLL_SECONDS) and process.poll() is None:
            pass
        time.sleep(chance.uniform(0, ORDER_SECONDS))
        process.kill()
        process.communicate()
        mark.let_go.set()
        return process.returncode == -signal.SIGKILL

    def _scale_down(self, chance: Random, number: int) -> None:
        """One machine fewer is wanted, killed now and then; then as many as before; and once more when every list shows
        the one that has ended: it is older than the new one, and the youngest of too many would go."""
        stage = self.stage
        stage.front.clock.advance(SETTLED_SECONDS)
        stage.want({**FLEET, "web": FLEET["web"] - FEWER})
        try:
            for _ in range(chance.randrange(3)):
                mark = stage.front.mark(Mark(chance.randrange(self.window.all)))
                self.tally.killed += struck(stage.start("apply", "-y"), mark, chance)
            stage.front.settle()
            self._in_peace(number, ["apply", "-y"])
        finally:
            stage.want(FLEET)
        self._in_peace(number, ["apply", "-y"])
        stage.front.faults = Faults(FaultPlan(rules=ended_again(self.cloud)), stage.front.clock.now())
        self._in_peace(number, ["apply", "-y"])

    def _in_peace(self, number: int, arguments: list[str] | None = None) -> None:
        """Run until it says that it is done; a plan afterwards must find nothing to do."""
        arguments = arguments or (["apply", "plan.json", "--resume", "-y"] if number % 2 else ["apply", "-y"])
        for _ in range(LAGGING_RUNS if is_lagging(number) else PEACEFUL_RUNS):
            child = self.stage.start(*arguments)
            child.wait()
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
        if number % LOOKED_AT_EVERY == 0 and not is_lagging(number):
            looked = self.stage.start("plan", "--detailed-exitcode")
            if looked.wait() != 0:
                self.tally.unfinished.append(f"{self.cloud} {number}: not settled: {looked.said[-500:]}")

    def _judge(self, number: int) -> None:
        """The ledger against the state."""
        stage, tally = self.stage, self.tally
        state = stage.state()
        held = {r.id for r in state.records} if state else set()
        live = {m.id for m in stage.live()}
        orphans, ever = len(live - held), len(stage.ledger.machines)
        asked = FEWER if is_lagging(number) else 0
        ended = sum(m.asked_to_end is not None for m in stage.ledger.machines.values())
        tally.orphans += orphans
        tally.doubles += max(ever - MACHINES - asked, 0)
        tally.missing += max(MACHINES - len(live & held), 0)
        tally.unasked += max(ended - asked, 0)
        tally.purchases += len(stage.ledger.purchases)
        if orphans or ever != MACHINES + asked or ended != asked:
            said = f"{orphans} orphans, {ever} machines ever, {ended} ended, {asked} asked to"
            tally.unfinished.append(f"{self.cloud} trial {number}: {said}")

    def prepare(self) -> None:
        """Warm the parent, make the plan that every trial applies, and count where kills should fall."""
        self._begin_anew(0)
        job = Job(["plan", "--out", "plan.json"], self.stage.environment(), self.stage.directory)
        planned = self.stage.forker.warm(job)
        if planned.code != 0:
            raise HcloudError(f"no plan: {planned.said}")
        self._begin_anew(0)
        first = self.stage.front.mark(Mark(0, Fate.HELD, of_order=True))
        child = self.stage.start("apply", "plan.json", "-y")
        await_mark(first, child)
        ordered = len(self.stage.requests()) - 1
        first.let_go.set()
        if child.wait() != 0:
            raise HcloudError(f"without a kill: {child.said}")
        self.window = Window(ordered, len(self.stage.requests()))


def is_lagging(number: int) -> bool:
    """Whether the lists of a trial are behind."""
    return number % LAGGING_EVERY == LAGGING_EVERY - 1


def await_mark(mark: Mark, child: Child) -> None:
    """Until a run is at the mark, or over."""
    while not mark.reached.wait(POLL_SECONDS) and not child.over.is_set():
        pass


def struck(child: Child, mark: Mark, chance: Random) -> bool:
    """End a run at the mark, or a drawn moment later; whether it was ended rather than over before."""
    await_mark(mark, child)
    if mark.fate is Fate.ANSWERED:
        child.over.wait(chance.uniform(0, ORDER_SECONDS))
    child.send(signal.SIGKILL)
    code = child.wait()
    mark.let_go.set()
    return code == -signal.SIGKILL


def lane(forker: Forker, cloud: str, trials: int, seed: int, kills: int | None = None) -> Tally:
    """All trials of one cloud, or as many as it takes for so many kills."""
    with (
        tempfile.TemporaryDirectory(prefix="hcloud-b10-") as scratch,
        FakeServer(fresh(cloud, FaultPlan())) as running,
    ):
        made = Lane(cloud, Stage(running, Path(scratch) / "work", forker, FLEET), running, seed)
        made.prepare()
        for number in range(trials):
            if kills is None or made.tally.kills < kills:
                made.trial(number)
            if kills is None and number % TOLD_EVERY == TOLD_EVERY - 1:
                print(f"{made.tally.name}: {number + 1} of {trials}", file=sys.stderr, flush=True)
        return made.tally


def naive(forker: Forker, trials: int, seed: int) -> Tally:
    """The naive loop under the same kills: orphans are live machines that its file does not name."""
    tally = Tally("naive boto3 loop")
    with (
        tempfile.TemporaryDirectory(prefix="hcloud-b10-") as scratch,
        FakeServer(fresh("aws", FaultPlan())) as running,
    ):
        stage = Stage(running, Path(scratch), forker, FLEET)
        arguments = ("naive", str(MACHINES))
        for number in range(trials):
            chance = Random(f"{seed}/naive/{number}")
            slow = FaultRule(on="RunInstances", answer=FaultKind.SLOW, seconds=SLOW_ORDER_SECONDS)
            running.exchange(fresh("aws", FaultPlan(rules=(slow,)), LATE_SECONDS, number))
            (stage.directory / FILE).unlink(missing_ok=True)
            tally.trials += 1
            for _ in range(chance.choices(KILLS, KILLS_WEIGHTS)[0]):
                fate = chance.choice((Fate.HELD, Fate.ANSWERED))
                mark = stage.front.mark(Mark(chance.randrange(MACHINES), fate, of_order=True))
                tally.killed += struck(stage.start(*arguments), mark, chance)
            stage.start(*arguments).wait()
            live = {m.id for m in stage.ledger.live(0.0) if TAG in m.tags}
            tally.orphans += len(live - set(known(stage.directory / FILE)))
            tally.doubles += max(len(live) - MACHINES, 0)
    return tally


def leaks(
    forker: Forker, trials: int, seed: int, kills: int | None = None, peers: int = NAIVE_TRIALS
) -> tuple[list[Tally], Tally]:
    """All three clouds and the naive loop at the same time."""
    shares = [trials // len(CLOUDS) + (number < trials % len(CLOUDS)) for number in range(len(CLOUDS))]
    enough = None if kills is None else -(-kills // len(CLOUDS))
    with ThreadPoolExecutor(len(CLOUDS) + 1) as pool:
        lanes = [
            pool.submit(lane, forker, cloud, share, seed, enough) for cloud, share in zip(CLOUDS, shares, strict=True)
        ]
        peer = pool.submit(naive, forker, min(peers, trials), seed)
        return [found.result() for found in lanes], peer.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started = time.monotonic()
    with Forker(CLOUDS) as forker:
        tallies, peer = leaks(forker, given.trials, given.seed)
    seconds = time.monotonic() - started
    show(tallies, [peer], NAMED_POINTS)
    print(terraform_loop.told(MACHINES, given.seed))
    share = between(tallies)
    lost, doubled = sum(t.orphans for t in tallies), sum(t.doubles for t in tallies)
    kills = sum(t.kills for t in tallies)
    rate = peer.orphans / max(peer.killed, 1)
    print(f"b10_kills {kills} kills | peer {peer.killed} | limit - | {seconds:.0f} s")
    print(f"b10_orphans {lost} machines | peer {peer.orphans} ({rate:.2f} a kill) | limit 0 | {lost}")
    print(f"b10_double_launches {doubled} machines | peer {peer.doubles} | limit 0 | {doubled}")
    unasked = sum(t.unasked for t in tallies)
    print(f"b10_ended_unasked {unasked} machines | peer - | limit 0 | {unasked}")
    print(f"b10_double_purchases {sum(t.purchases for t in tallies)} purchases | peer - | limit 0 | 0")
    print(f"b10_between {share:.3f} of kills | peer - | limit {BETWEEN_GOAL} | {share / BETWEEN_GOAL:.2f}")
    return 0 if all(t.clean for t in tallies) and share >= BETWEEN_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
