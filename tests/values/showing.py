"""A directory in which verbs run one after the other in this process, and what they said, made the same every time."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from drawing import Fan

from hcloud import __version__
from hcloud.at_once import in_parallel
from hcloud.cli.main import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOW = "2026-11-20T12:00:00Z"
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINEAGE = re.compile(r"\b[0-9a-f]{32}\b")
_SHORT = re.compile(r"(?<=state[ \n])[0-9a-f]{8}\b|(?<=state\n  )[0-9a-f]{8}\b")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_KEY = re.compile(r"(?<!-)\b(?!111122223333\b)[0-9a-f]{12}\b")  # no UUID, and not the account of the examples

FAULTS = """\
clock: {start: 2026-11-20T12:00:00Z, speed: 0}
"""
LIVE = """\
live: {cloud: fake:faults.yaml, project: demo}
commitments: {enabled: true, ceiling: 100000000}
fleet:
  - {address: web, instance_type: m5.large, count: 4}
  - {address: batch-of-the-night-shift, instance_type: m5.xlarge, count: 2, fallbacks: [m6i.large]}
"""
SMALL = """\
workload: {path: small.csv}
planning: {step: 1h}
"""
JOBS = """\
id,submit,duration,cores,memory,kind,app
j1,0,3600,2,8,batch,sort
j2,600,5400,4,16,batch,sort
j3,1200,7200,8,32,service,shop
j4,2400,1800,2,8,batch,index
j5,3600,3600,16,64,batch,sort
j6,4000,2400,1,4,service,shop
j7,5400,3600,4,16,batch,index
j8,7200,3600,2,8,batch,sort
"""
EVENTS = """\
{"at": 0, "event": "arrival", "job": "a", "cores": 2, "memory_gib": 4}
{"at": 60, "event": "completion", "job": "a"}
"""
USE = """\
timestamp,cpu_percent,memory_percent
2026-11-01T00:00:00Z,20,30
2026-11-01T01:00:00Z,35,32
2026-11-01T02:00:00Z,50,41
2026-11-01T03:00:00Z,45,40
"""
PRICES = """\
instance_type,usd_per_hour
m5.large,0.091
m5.xlarge,0.192
"""

RULES = """\
rules:
  - {name: budget, monthly: 1000, why: what the team may spend}
  - {regions: [us-east-1]}
  - {types: ["m5.*", "m6i.*"]}
  - {longest_term: 1y}
"""
OWN_PRICES = """\
provider,region,instance_type,os,tenancy,option,term_years,payment,hourly,upfront,source,date
aws,us-east-1,m5.large,linux,shared,on-demand,0,none,0.091,0,made up,2026-11-01
aws,us-east-1,m5.xlarge,linux,shared,on-demand,0,none,0.192,0,made up,2026-11-01
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a verb said, and how it ended."""

    out: str
    err: str
    code: int

    @property
    def shown(self) -> str:
        """All of it as a snapshot holds it."""
        parts = [self.out, f"--- stderr\n{self.err}" if self.err else "", f"--- exit {self.code}\n"]
        return "".join(part for part in parts if part)


def laid_out(directory: Path) -> None:
    """The files that the screens are made from."""
    for name, text in {
        "faults.yaml": FAULTS, "hcloud.yaml": LIVE, "small.yaml": SMALL, "small.csv": JOBS, "use.csv": USE,
        "prices.csv": PRICES, "rules.yaml": RULES, "own-prices.csv": OWN_PRICES,
    }.items():  # fmt: skip
        (directory / name).write_text(text, encoding="utf-8")
    for name in ("trace.csv", "overlay.yaml"):
        shutil.copy(EXAMPLES / "own-trace" / name, directory / name)
    shutil.copy(EXAMPLES / "own-trace" / "hcloud.yaml", directory / "trace.yaml")
    shutil.copy(EXAMPLES.parent / "tests" / "cases" / "bills" / "cur_legacy.csv", directory / "bill.csv")


@contextmanager
def standing_in(directory: Path, columns: int) -> Iterator[None]:
    """The environment that screens are made in: nothing of this machine, so many columns, nobody to ask,
    the simulator compiled."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith(("HYC_", "AWS_", "GOOGLE_", "AZURE_"))]:
            patch.delenv(name)
        for name in ("CI", "NO_COLOR", "FORCE_COLOR", "TERMINAL_WIDTH", "GITHUB_ACTIONS"):
            patch.delenv(name, raising=False)
        patch.setenv("HYC_PRICES", str(directory / "user-prices"))
        patch.setenv("HYC_ALLOW_PURCHASE", "1")
        patch.setenv("XDG_CONFIG_HOME", str(directory / "config"))
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "dumb")
        patch.setattr(
            "hcloud.sim.machine_code.compiled.is_first_use", lambda: False
        )  # what the last run left in the cache
        patch.setattr(  # in threads it is chance which address gets which ids
            "hcloud.live.applying.apply.in_parallel", lambda ask, wanted, _: in_parallel(ask, wanted, 1)
        )
        patch.chdir(directory)
        yield


def said(words: Sequence[str], given: str = "") -> Said:
    """What a verb says, with ``given`` on its stdin."""
    out, err = io.StringIO(), io.StringIO()
    return Said(code=_ended(words, given, out, err), out=out.getvalue(), err=err.getvalue())


def said_for(widths: Sequence[int], words: Sequence[str], given: str = "") -> dict[int, Said]:
    """The same for terminals of several widths."""
    out, err = Fan(widths), Fan(widths)
    code = _ended(words, given, out, err)
    return {width: Said(out.kept[width].getvalue(), err.kept[width].getvalue(), code) for width in widths}


def _ended(words: Sequence[str], given: str, out: io.StringIO, err: io.StringIO) -> int:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8"))
        return run(words)


def steady(text: str, directory: Path) -> str:
    """A screen without what is another every time: random lineages and what follows from them, this version's number,
    this directory. Every stand-in is as long as what it stands for, so that no table moves."""
    text = _ANSI.sub("", text).replace(str(directory), "DIRECTORY").replace(__version__, "0" * len(__version__))
    for pattern, stand_in in ((_DIGEST, "d" * 64), (_LINEAGE, "0" * 32), (_SHORT, "0" * 8), (_KEY, "k" * 12)):
        text = pattern.sub(stand_in, text)
    return text
