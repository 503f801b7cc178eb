"""``hcloud demo``: ``examples/demo``, whose verbs are run one after the other on a cloud in memory, and what its ledger
says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hcloud.errors import HcloudError
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.json_text import parsed
from hcloud.model.measured.profile import Aspect
from hcloud.model.rehearsal import DemoStep, DemoTotals, RehearsedStep
from hcloud.planning.changes.slots import RESERVED
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled
from hcloud.readers.safe_yaml import load_yaml
from hcloud.store.files.crash import KILLED_EXIT
from hcloud.units import cents, plain
from hcloud.usecases.progress import Progress

PLAN, PURCHASE = "plan.json", "buy.json"
PROGRAM = "nightly"
"""The program that is measured, and the application that the trace's reports belong to."""
STAND_IN = "sort"
"""The bundled profile that stands in where nothing can be measured: of a program that does much what ours does."""
CLOUD = CLOUDS[Provider.AWS]
"""The cloud that is rehearsed, as the configuration says."""


def is_measured(profile: Path) -> bool:
    """Whether a profile holds what classify starts from: the pressure that the program bears."""
    return profile.is_file() and bool(load_profile(profile).entries.get(Aspect.TOLERATED))


def take_stand_in(folder: Path) -> str:
    """Put a bundled profile in the place of one that could not be measured; returns its application."""
    for found in (folder / "profiles").glob("*.yaml"):
        found.unlink()
    shutil.copy(bundled("profiles") / f"{STAND_IN}.profile.yaml", folder / "profiles")
    return STAND_IN


@cache
def walk() -> Mapping[str, tuple[DemoStep, ...]]:
    """The steps: ``measuring``, what stands in for it (``looking``), and all that follow (``steps``)."""
    path = _demo() / "steps.yaml"
    read = load_yaml(path.read_text(encoding="utf-8"), str(path))
    return TypeAdapter(dict[str, tuple[DemoStep, ...]]).validate_python(read)


def _demo() -> Path:
    return bundled("examples") / "demo"


LEDGER = Path(".hcloud") / "fake-aws.json"


class DemoError(HcloudError):
    """A step did not do what it should; carries what it said."""

    def lines(self) -> list[str]:
        """What it should have done, then its screen."""
        return str(self).split("\n")


def facts_of(folder: Path, changes: Mapping[str, Any], report: Mapping[str, Any]) -> DemoTotals:
    """What the ledger of a walk says; DemoError where it does not fit what was planned and reported."""
    ledger = parsed((folder / LEDGER).read_text(encoding="utf-8"))
    machines = ledger["machines"]
    found = DemoTotals(
        wanted=sum(int(slot["count"]) for slot in changes["slots"]),
        launched=len(machines),
        standing=sum(machine["ended_at"] is None for machine in machines),
        bought=len(ledger["purchases"]),
        changes=sum(bool(request["mutating"]) for request in ledger["requests"]),
        reported=cents(Decimal(report["costs"]["billed"])),
        billed=cents(_bill(folder / LEDGER, report["period"])),
    )
    if found.launched != found.wanted or found.standing:
        raise DemoError(
            f"the ledger of the fake cloud has {found.launched} machines, {found.standing} of them standing; the plan "
            f"wanted {found.wanted} and all were ended",
            hint="this is a bug in hcloud",
        )
    if found.reported != found.billed:
        raise DemoError(f"${found.reported} were reported, and the fake cloud's own bill says ${found.billed}")
    return found


def first_day(folder: Path) -> str:
    """The day of the first machine, by the fake's clock."""
    machines = parsed((folder / LEDGER).read_text(encoding="utf-8"))["machines"]
    made = min((float(machine["made_at"]) for machine in machines), default=0.0)
    return datetime.fromtimestamp(made, UTC).date().isoformat()


def _bill(path: Path, period: Mapping[str, str]) -> Decimal:
    """The fake's own bill of a period, made without anything that the report is made with."""
    from hcloud.fake.bill import bill
    from hcloud.fake.in_memory.file import go_on_from
    from hcloud.fake.tariffs import MemoryTariff
    from hcloud.readers.prices.shipped.bundled import load_bundled
    from hcloud.usecases.live.connect import CloudSettings, in_memory

    book = load_bundled(providers={CLOUD.name}, regions={CLOUD.home_region}, systems={"linux"})
    hourly = {o.key.instance_type: o.hourly for o in book.select(CLOUD.name, PurchaseOption.ON_DEMAND)}
    world = in_memory(CloudSettings(CLOUD.name, CLOUD.home_region, hourly=hourly)).world
    go_on_from(world, path)
    start, end = (int(datetime.fromisoformat(period[name]).timestamp()) for name in ("start", "end"))
    return bill(world.ledger, MemoryTariff(world), start, end).total


A_CORE = 8
"""Ours: processes on each core. With as many, a machine that is measured beside them got a quarter to two fifths."""
_PROGRAM = """
import os, sys
parent = os.getpid()
for _ in range(int(sys.argv[1])):
    if not os.fork():
        os.setsid()  # Linux may share cores between sessions, not processes
        source, target = bytearray(1 << 22), bytearray(1 << 22)
        while os.getppid() == parent:
            target[:] = source
            for _ in range(20000):
                pass
        os._exit(0)
sys.stdin.read()
"""


@contextmanager
def pressing() -> Iterator[None]:
    """Neighbours on all cores; they end with the context, and also where this process is killed."""
    count = A_CORE * len(os.sched_getaffinity(0))
    words = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(count)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as found:
        try:
            yield
        finally:
            found.kill()  # its children see that it is gone


LOOK_SECONDS = 0.1
SCREENS = "screens"
DEEP = 8  # ours: columns of blanks by which figures below a name are told from a new line
OWN = ".own"
"""Where settings and prices of the demo's own are looked for, so that nobody's own settings change what is shown."""


@dataclass(slots=True)
class Demo:
    """One walk in one folder; ``width`` is that of the screens of its verbs."""

    folder: Path
    width: int
    app: str = PROGRAM
    done: int = 0

    def prepare(self) -> None:
        """Put the program to measure there, and the folder that its profile goes to."""
        (self.folder / "profiles").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_demo() / f"{PROGRAM}.py", self.folder / f"{PROGRAM}.py")

    def measure(self, progress: Progress) -> tuple[RehearsedStep, bool]:
        """Measure the program on this machine, and whether that gave enough to go on with."""
        shown = self.run(walk()["measuring"][0], progress)
        return shown, is_measured(self.folder / "profiles" / f"{PROGRAM}.profile.yaml")

    def begin(self, *, measured: bool, tried: bool) -> Sequence[DemoStep]:
        """Write trace and configuration for the profile there is, where none was measured the bundled one; the steps
        that follow."""
        self.app = PROGRAM if measured else take_stand_in(self.folder)
        trace = (_demo() / "trace.csv").read_text(encoding="utf-8")
        (self.folder / "trace.csv").write_text(trace.replace(f",{PROGRAM}\n", f",{self.app}\n"), encoding="utf-8")
        for name in ("hcloud.yaml", "jobs.csv", "probe.csv"):
            shutil.copyfile(_demo() / name, self.folder / name)
        return (*(() if tried else walk()["looking"]), *walk()["steps"])

    def run(self, step: DemoStep, progress: Progress) -> RehearsedStep:
        """Run a step's command line as its own process; DemoError where it ends otherwise than it should."""
        words = [word.format_map(self._known()) if "{" in word else word for word in step.words]
        added = dict(step.environment)
        command = shlex.join(["hcloud", *words])
        began = time.monotonic()
        with self._screen(command).open("w+", encoding="utf-8") as screen:
            process = subprocess.Popen(
                [sys.executable, "-m", "hcloud", *words],
                cwd=self.folder,
                env=self._environment(added),
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=subprocess.STDOUT,
            )
            try:
                with ExitStack() as neighbours:
                    waiting = list(step.pressed or ())
                    while process.poll() is None:
                        progress(min((time.monotonic() - began) / step.seconds, 0.98))
                        time.sleep(LOOK_SECONDS)
                        if waiting and re.search(waiting[0], Path(screen.name).read_text(encoding="utf-8")):
                            waiting.pop(0)
                            neighbours.enter_context(pressing()) if waiting else neighbours.close()
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
            screen.seek(0)
            told = screen.read().splitlines()
        typed = shlex.join([*(f"{name}={value}" for name, value in added.items()), "hcloud", *words])
        return _judged(step, RehearsedStep(typed, tuple(told), process.returncode), self.width)

    def told(self, step: DemoStep) -> DemoStep:
        """The step with the numbers in what is said of it."""
        return replace(step, why=step.why.format_map(self._known())) if "{" in step.why else step

    def facts(self) -> DemoTotals:
        """What the ledger says; DemoError where it does not fit what was shown."""
        told = next((self.folder / SCREENS).glob("*report-cost*")).read_text(encoding="utf-8")
        report = parsed(told[told.index("{") : told.rindex("}") + 1])
        return facts_of(self.folder, self._changes(), report)

    def _changes(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = parsed((self.folder / PLAN).read_text(encoding="utf-8"))["changes"]
        return found

    def _known(self) -> Mapping[str, str]:
        """What a command line takes from what an earlier step wrote."""
        from hcloud.store.purchase_file import load_purchase_plan

        known = {"app": self.app}
        if (self.folder / PURCHASE).is_file():
            plan = load_purchase_plan(self.folder / PURCHASE)
            known |= {"digest": plan.digest, "amount": plain(cents(plan.amount))}
        if (self.folder / PLAN).is_file():
            counts = {slot["address"]: int(slot["count"]) for slot in self._changes()["slots"]}
            known["machines"] = str(sum(counts.values()))
            known["reserved"] = str(sum(n for address, n in counts.items() if address.startswith(RESERVED)))
        if (self.folder / LEDGER).is_file():
            known["day"] = first_day(self.folder)
        return known

    def _screen(self, command: str) -> Path:
        self.done += 1
        name = re.sub(r"[^a-z]+", "-", " ".join(command.split()[1:3]).lower()).strip("-")
        folder = self.folder / SCREENS
        folder.mkdir(exist_ok=True)
        return folder / f"{self.done:02d}-{name}.txt"

    def _environment(self, added: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HYC_")}
        own = self.folder / OWN
        places = {"HYC_PRICES": str(own / "prices"), "XDG_CONFIG_HOME": str(own)}
        return {**kept, **places, "COLUMNS": str(self.width), "NO_COLOR": "1", **added}


def _judged(step: DemoStep, shown: RehearsedStep, width: int) -> RehearsedStep:
    said = "\n".join(shown.lines[-20:])
    if shown.exit_code not in step.codes:
        raise DemoError(f"{shown.command} ended with exit code {shown.exit_code}:\n{said}")
    lines = tuple(_short(step.keep, shown.lines, width))
    if not lines and shown.exit_code != KILLED_EXIT:
        raise DemoError(f"{shown.command} did not show what it should:\n{said}")
    return replace(shown, lines=lines)


def _short(keep: Sequence[str], lines: Sequence[str], width: int) -> Iterator[str]:
    """The lines that one of the patterns finds something in, each with those that it was folded into."""
    wanted = [re.compile(pattern) for pattern in keep]
    whole: list[str] = []
    first_column = 0
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        first_column = 0 if not line.strip() else _first_column(line) if _is_rule(following) else first_column
        whole.append(line)
        if not _is_same_row(line, following, first_column) and not _is_folded(line, following, width):
            if any(pattern.search(part) for part in whole for pattern in wanted):
                yield from whole
            whole = []


def _is_rule(line: str) -> bool:
    return line.strip().startswith("──")


def _first_column(header: str) -> int:
    """Where the second column begins: what is shorter than that below a row is the rest of its first cell."""
    found = re.match(r"\s*\S+(?: \S+)*\s{2,}", header)
    return found.end() if found else 0


def _is_same_row(line: str, following: str, first_column: int) -> bool:
    """Whether a line is the rest of a row's first cell, or on a narrow screen the figures below its name."""
    text = following.rstrip()
    return bool(text) and not _is_rule(line) and (len(text) < first_column or text.startswith(" " * DEEP))


def _is_folded(line: str, following: str, width: int) -> bool:
    """Whether a line may have been folded: the first word of the next would not have fitted behind it. What is longer
    than the screen never was."""
    words, length = following.split(), len(line.rstrip())
    return bool(words) and not words[0].startswith("─") and length <= width < length + 1 + len(words[0])
