"""B24: the controller of live work is killed 200 times at random, on each ground:
``python -m benchmarks.b24_live_kills [--ground local|slurm|cloud|memory] [--cloud aws|gcp|azure] [--kills 200]
[--seed 1]``.

``local`` is ``hcloud operate --cloud local`` with real processes, drained or stopped after every ten kills by
controllers that are killed, too; ``slurm`` a real slurmctld with machines of this machine; ``cloud`` the same with
machines that are launched over the wire at the fakes of three clouds (or of one) and join by user data; ``memory`` the
loop on fakes of three clouds in memory, killed between two of its steps, while half of all launches are refused, and
somebody asks for a drain or a stop. Jobs come all the while. It is judged by what the jobs wrote when they began and
ended, by the fake's own ledger, and by the processes that are left: never by what hcloud says. It fails where anything
is lost, begun twice, launched twice, left, or paid for a minute after all jobs ended.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from benchmarks.children import FROM_NOWHERE, KEPT, ROOT

PATIENCE = 180.0
BEGUN, STARTED = 0.8, 30.0
"""Share of the controllers that come to their work before their moment is drawn, and for how many seconds they are
waited for; the others are killed at any moment, also while they start."""
ENDS = ("", "", "drain", "stop", "stop --keep-machines", "stop --force")
"""How somebody asks work to end; empty where nobody does."""
EACH = 10
"""Kills of one work of processes of this machine, before it is drained or stopped."""
MOST_KILLS, LATE = 5, 60.0
"""Kills of one run in memory, and after how many seconds without a job or an order a machine that runs is one too
many: what strategies keep machines for ends with the work."""
MOMENTS = 150
"""About as many steps as a run in memory has between which it may be killed."""
STRATEGIES = ("HM", "SR", "OdF", "HF")
CLOUDS = ("aws", "gcp", "azure")


@dataclass(slots=True)
class Found:
    """What came of the jobs and machines of one ground."""

    kills: int = 0
    amid: int = 0
    jobs: int = 0
    lost: int = 0
    twice: int = 0
    launched: int = 0
    launched_twice: int = 0
    left: int = 0
    late: int = 0

    @property
    def wrong(self) -> int:
        """Everything that must not be."""
        return self.lost + self.twice + self.launched_twice + self.left + self.late

    def __add__(self, other: Found) -> Found:
        return Found(*(getattr(self, name) + getattr(other, name) for name in Found.__slots__))


class Ground(Protocol):
    """Where a controller works."""

    kept: Path
    longest: float

    def submit(self, chance: random.Random) -> None:
        """One more job."""

    def controller(self) -> subprocess.Popen[str]:
        """A controller in a process of its own."""

    def drain(self, chance: random.Random) -> None:
        """Let all jobs end, or stop them, and then every machine."""

    def judge(self) -> Found:
        """By the ledgers."""


def killed(ground: Ground, kills: int, chance: random.Random) -> Found:
    """Controllers that work for a moment each, and one that ends what they began."""
    amid = 0
    for _ in range(kills):
        for _ in range(chance.choice((0, 1, 1, 2))):
            ground.submit(chance)
        before = written(ground.kept)
        running = ground.controller()
        if chance.random() < BEGUN:
            wait(lambda: written(ground.kept) > before or running.poll() is not None, STARTED)  # noqa: B023 - at once
        time.sleep(chance.uniform(0.0, ground.longest))
        assert running.poll() is None, running.communicate()[0]
        running.kill()
        running.communicate()
        amid += written(ground.kept) > before
    ground.submit(chance)
    ground.drain(chance)
    found = ground.judge()
    found.kills, found.amid = kills, amid
    return found


def written(journal: Path) -> int:
    """Bytes of the journal: whether a killed controller had come to its work."""
    return journal.stat().st_size if journal.exists() else 0


def counted(names: list[str], ledger: Path) -> Found:
    """What the jobs themselves noted."""
    noted = Counter(ledger.read_text().splitlines()) if ledger.exists() else Counter[str]()
    lost = sum(not noted[f"end {name}"] for name in names)
    return Found(jobs=len(names), lost=lost, twice=sum(noted[f"begin {name}"] > 1 for name in names))


def noting(name: str, ledger: Path, seconds: float) -> str:
    """What a job runs: it notes that it begins, takes its time, and notes that it ends."""
    return f"echo begin {name} >> {ledger}; sleep {seconds:.2f}; echo end {name} >> {ledger}"


def processes(folder: Path) -> list[str]:
    """What still runs of a folder: its name is in their environment or command, or they work in it."""
    found, word = [], str(folder).encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            told = line + (entry / "environ").read_bytes() + str((entry / "cwd").readlink()).encode()
            if line and word in told and int(entry.name) != os.getpid():
                words = line.replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{entry.name}: {words[:200]}")
    return found


def rig(name: str) -> Any:
    """A module of the tests: they run real clusters."""
    tests = ROOT / "tests"
    sys.path[:0] = [p for p in (str(tests), str(tests / "rigs")) if p not in sys.path]
    return importlib.import_module(name)


@dataclass
class Local:
    """Processes of this machine; the file of jobs grows and is followed."""

    folder: Path
    strategy: str
    longest: float = 1.2
    names: list[str] = field(default_factory=list)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.kept = self.folder / ".hcloud" / "operate" / "journal.jsonl"
        self._file.write_text("id,command,cores,memory,restartable\n")

    @property
    def _file(self) -> Path:
        return self.folder / "jobs.csv"

    def submit(self, chance: random.Random) -> None:
        """It notes its begin and its end; every fourth leaves a grandchild behind, in a session of its own."""
        name, ledger = f"j{len(self.names)}", self.folder / "ledger"
        stray = "setsid sleep 600 & " if chance.random() < 0.25 else ""
        command = (
            f"{stray}echo begin {name} >> {ledger}; sleep {chance.uniform(0.05, 2):.2f}; echo end {name} >> {ledger}"
        )
        with self._file.open("a", newline="") as file:
            row = (name, f"sh -c '{command}'", chance.choice((0.25, 0.5)), "32Mi", chance.choice(("yes", "no")))
            csv.writer(file).writerow(row)
        self.names.append(name)

    def _verb(self, *words: str) -> subprocess.Popen[str]:
        kept = {n: os.environ[n] for n in KEPT if n in os.environ}
        own = {"XDG_CONFIG_HOME": str(self.folder), "HYC_PRICES": str(self.folder), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, "-m", "hcloud", "operate", *words],
            cwd=self.folder, env={**kept, **FROM_NOWHERE, **own},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def controller(self) -> subprocess.Popen[str]:
        """As a user begins it and goes on."""
        words = ("--cloud", "local", "-s", self.strategy, "--no-probe", "--plain", "--follow")
        pool = ("--pool", "1" if self.strategy in ("SR", "HM", "HF") else "0")
        return self._verb("run", "jobs.csv", *words, *pool)

    def drain(self, chance: random.Random) -> None:
        """Once all jobs came they are drained or stopped, under load; who sees to it is killed, and others go on."""
        running, end = self.controller(), chance.choice(("drain", "stop"))
        wait(lambda: self._came() or running.poll() is not None)
        asked = self._verb(end, "--no-wait")
        told, _ = asked.communicate(timeout=PATIENCE)
        assert asked.returncode == 0, told
        self.stopped = end == "stop"
        for goes_on in (end, "run", end):
            time.sleep(chance.uniform(0.0, self.longest))
            running.kill()
            running.communicate()
            running = self._verb(goes_on)
        told, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode in (0, 1), told

    def _came(self) -> bool:
        told = "".join(path.read_text() for path in self.kept.parent.glob("journal*.jsonl"))
        return all(f'"{name}"' in told for name in self.names)

    def judge(self) -> Found:
        """By the jobs' ledger and the processes that are left."""
        found = counted(self.names, self.folder / "ledger")
        found.lost = 0 if self.stopped else found.lost
        wait(lambda: not processes(self.folder), 10)
        found.left = len(processes(self.folder))
        return found


def wait(what: Any, seconds: float = PATIENCE) -> None:
    """Until it is so, or for so long."""
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.1)


@dataclass
class OnSlurm:
    """A cluster of this machine; the jobs come by sbatch. ``there`` is of the tests' rigs."""

    there: Any
    shared: Path
    words: tuple[str, ...]
    longest: float = 2.0
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kept = self.shared / ".hcloud" / "operate" / "journal.jsonl"

    @property
    def slurm(self) -> Any:
        """The cluster."""
        return getattr(self.there, "slurm", self.there)

    def submit(self, chance: random.Random) -> None:
        """Some may begin anew; none has to."""
        ledger = self.shared / "ledger"
        command = noting("$SLURM_JOB_ID", ledger, chance.uniform(0.05, 3))
        more = ("--requeue",) if chance.random() < 0.5 else ()
        words = ("--mem=64", "-t", "5", "-D", str(self.shared), "-o", "/dev/null", *more)
        self.names.append(self.slurm.submit(command, *words))

    def controller(self) -> subprocess.Popen[str]:
        """As an administrator begins it."""
        own = getattr(self.there, "environment", None) or rig("slurm.test_operate_with_slurm").environment(self.there)
        return subprocess.Popen(
            [sys.executable, "-m", "hcloud", "operate", *self.words],
            cwd=self.shared, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def drain(self, chance: random.Random) -> None:
        """A controller works until all that came has ended."""
        running = self.controller()
        wait(lambda: not counted(self.names, self.shared / "ledger").lost or running.poll() is not None)
        rig("hcloud.usecases.live.operating.asking").ask(str(self.shared / ".hcloud"), "drain")
        said, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode in (0, 1), said

    def judge(self) -> Found:
        """By the jobs' ledger, the fake's, Slurm's nodes and the processes of machines."""
        found = counted(self.names, self.shared / "ledger")
        wait(lambda: not self._left(), 30)
        found.left = len(self._left())
        if hasattr(self.there, "machines"):
            machines = self.there.machines()
            found.launched = len(machines)
            found.launched_twice = found.launched - len({m.tags["hcloud-key"] for m in machines})
            found.left += len(self.there.live())
        return found

    def _left(self) -> list[str]:
        nodes = [n for n in self.slurm.commands.nodes() if self.slurm.site.is_ours(n.name)]
        up = [n.name for n in nodes if "POWERED_DOWN" not in n.flags]
        return up + [p for p in processes(self.slurm.home) if "slurmd " in p and "-N hc" in p]


def local(kills: int, seed: int) -> Iterator[tuple[str, Found]]:
    """A quarter of the kills with each strategy; work ends after each few of them."""
    for number, strategy in enumerate(STRATEGIES):
        chance, mine, found = random.Random(f"{seed} {strategy}"), share(kills, number, 4), Found()
        works = math.ceil(mine / EACH)
        for work in range(works):
            with tempfile.TemporaryDirectory(prefix="hc-kills-") as name:
                found += killed(Local(Path(name), strategy), share(mine, work, works), chance)
        yield strategy, found


def slurm(kills: int, seed: int) -> Iterator[tuple[str, Found]]:
    """Machines are processes of this machine, reserved ones and rented ones."""
    rigs = rig("slurm.test_operate_with_slurm")
    with clean_folder() as home, rig("slurm_cluster").cluster(home, rigs.GROUPS) as grid:
        ground = OnSlurm(grid, home, rigs.RUN)
        try:
            yield "HM", killed(ground, kills, random.Random(f"{seed} slurm"))
        finally:
            host = rigs.ProcessHost(home / ".hcloud" / "local" / "running")
            host.end(host.alive())


def cloud(kills: int, seed: int, names: Sequence[str] = CLOUDS) -> Iterator[tuple[str, Found]]:
    """Machines of fakes over the wire."""
    for name in names:
        words = ("run", "--engine", "slurm", "--cloud", name, "--strategy", "OdM", "--plain", "--no-probe")
        unused = rig("slurm.controllers").Controllers(None)  # those that are killed are forks of nothing
        with clean_folder() as home, rig("slurm.fake_clouds").ground(home, unused, name) as there:
            there.fill_store()
            yield name, killed(OnSlurm(there, there.shared, words), kills, random.Random(f"{seed} cloud {name}"))


def memory(kills: int, seed: int) -> Iterator[tuple[str, Found]]:
    """On each cloud in memory; half of all launches are refused."""
    rigs, plans = rig("operating"), rig("hcloud.fake.faults")
    rules = (plans.FaultRule(on="launch", answer=plans.FaultKind.NO_CAPACITY, probability=0.5),)
    jobs = [rigs.job(f"j{n}", 1 + n % 2, 40.0 + n, 5.0 * n, restartable=n % 3 == 0) for n in range(12)]
    for name in CLOUDS:
        chance, found = random.Random(f"{seed} {name}"), Found()
        with tempfile.TemporaryDirectory() as folder:
            for number in range(kills):
                plan = plans.FaultPlan(rules=rules, seed=number)
                world = rigs.World.of(Path(folder) / f"{number}.jsonl", jobs, "HM", 1, semantics=name, plan=plan)
                found += killed_in_memory(world, chance, rig("hcloud.model.running.note").Asked)
        yield name, found


def killed_in_memory(world: Any, chance: random.Random, request: Any) -> Found:
    """Killed once or several times, also soon after an end was asked for; and judged by the ledgers of the cloud and
    of the engine. Who asked, asks again until it is noted, as the file of a request is there until then."""
    what, at, began = chance.choice(ENDS), chance.randrange(MOMENTS), world.now
    world.kill_number = chance.randrange(1, MOMENTS + 1)
    kills, asked_at, kept = 1, math.inf, False

    def after_a_pass(loop: Any) -> bool:
        nonlocal kills, asked_at
        if len(world.course) >= world.kill_number and kills < MOST_KILLS and chance.random() < 0.5:
            kills, world.kill_number = kills + 1, len(world.course) + chance.randrange(1, 30)
        if what and len(world.course) >= at and not (loop.fold.asked or loop.fold.is_finished):
            asked_at = min(asked_at, world.now)
            world.asked = [request(0.0, what)]
        return False

    world.run(until=after_a_pass)
    if world.standing():  # they were to be kept: the next controller ends them
        kept, world.kill_number = True, len(world.course) + chance.randrange(1, 10)
        world.start()
        world.run()
    world.close()
    engine, fold = world.engine, world.loop.fold
    done, attempts = engine.ends_well(), Counter(ran.job for ran in engine.ran)
    ends = [engine._end(ran) for ran in engine.ran]
    over, made = max([*ends, began]), world.launched()
    over = max(over, *(m.made_at for m in world.cloud.ledger.machines.values()), asked_at if kept else began)
    came = (
        [n for n, job in fold.jobs.items() if job.result != "cancelled"]
        if what
        else [o.id for o in world.source.orders]
    )
    lost = sum(not done[name] for name in came)
    late = [m for m in world.cloud.ledger.machines.values() if (m.asked_to_end or world.now) > over + LATE and not kept]
    return Found(
        kills, kills - (len(world.course) < world.kill_number), len(came), lost, sum(n > 1 for n in attempts.values()),
        made.total(), sum(n - 1 for n in made.values()), len(world.standing()), len(late),
    )  # fmt: skip


@contextlib.contextmanager
def clean_folder() -> Iterator[Path]:
    """A folder that Slurm's users may enter."""
    with tempfile.TemporaryDirectory(prefix="hc-kills-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def share(kills: int, number: int, parts: int) -> int:
    """This part of all kills."""
    return kills * (number + 1) // parts - kills * number // parts


GROUNDS: dict[str, Callable[[int, int], Iterator[tuple[str, Found]]]] = {
    "local": local,
    "slurm": slurm,
    "cloud": cloud,
    "memory": memory,
}


def main() -> int:
    """Print a line for each ground and strategy; 1 where anything is lost, doubled or left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ground", choices=GROUNDS, action="append")
    parser.add_argument("--cloud", choices=CLOUDS, action="append")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong, grounds = 0, dict(GROUNDS)
    grounds["cloud"] = partial(cloud, names=given.cloud or CLOUDS)
    for ground in given.ground or grounds:
        for what, found in grounds[ground](given.kills, given.seed):
            launched = f", {found.launched} machines, launched twice {found.launched_twice}" if found.launched else ""
            told = f"{found.kills} kills, {found.amid} of them amid work, {found.jobs} jobs"
            print(
                f"b24 {ground} {what} | {told}: lost {found.lost}, begun twice {found.twice}{launched}, "
                f"left {found.left}, paid after all jobs {found.late}",
                flush=True,
            )
            wrong += found.wrong
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
