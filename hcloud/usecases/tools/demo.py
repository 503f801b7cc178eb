"""``hcloud demo``: the verbs themselves, run one after the other on a cloud in memory, and what its ledger says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hcloud.model.json_text import parsed
from hcloud.model.rehearsal import DemoStep, DemoTotals, RehearsedStep
from hcloud.planning.changes.slots import RESERVED
from hcloud.store.files.crash import KILLED_EXIT
from hcloud.units import cents, plain
from hcloud.usecases.progress import Progress
from hcloud.usecases.tools.demo_files import (
    PLAN,
    PROGRAM,
    PURCHASE,
    is_measured,
    take_stand_in,
    walk,
    write_inputs,
    write_program,
)
from hcloud.usecases.tools.demo_ledger import LEDGER, DemoError, facts_of, first_day
from hcloud.usecases.tools.neighbours import pressing

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
        """Put the program to measure there."""
        write_program(self.folder)

    def measure(self, progress: Progress) -> tuple[RehearsedStep, bool]:
        """Measure the program on this machine, and whether that gave enough to go on with."""
        shown = self.run(walk()["measuring"][0], progress)
        return shown, is_measured(self.folder / "profiles" / f"{PROGRAM}.profile.yaml")

    def begin(self, *, measured: bool, tried: bool) -> Sequence[DemoStep]:
        """Write trace and configuration for the profile there is, where none was measured the bundled one; the steps
        that follow."""
        self.app = PROGRAM if measured else take_stand_in(self.folder)
        write_inputs(self.folder, self.app)
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
