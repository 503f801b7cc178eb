"""A whole life on each fake cloud, as it happens: ``python docs/make_transcripts.py`` writes research/transcripts/*.md.

init, profile, plan, apply, kill -9 in the middle, resume, drift made by hand, plan, commit, destroy, gc. Every command
is run as a process against ``hcloud fake up``, through the cloud's real SDK.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

TRANSCRIPTS = Path(__file__).parent / "research" / "transcripts"
SERVICES, STEP_HOURS, HOURS = 12, 6, 48
SETTINGS = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}
FAMILIES = {"aws": "m5", "gcp": "n2*", "azure": "Dsv5*"}
LARGER = {"aws": "m5.2xlarge", "gcp": "n2d-standard-8", "azure": "Standard_D8s_v5"}
LAUNCHES = {"aws": "RunInstances", "gcp": "instances.bulkInsert", "azure": "VirtualMachineScaleSets_CreateOrUpdate"}


def trace() -> str:
    """Services that always run, and batch work every other six hours: something to reserve, something to rent."""
    rows = ["id,submit,duration,cores,memory,kind,app"]
    rows += [f"web-{n},0,{HOURS * 3600},4,16,service,web" for n in range(SERVICES)]
    for hour in range(0, HOURS, 2 * STEP_HOURS):
        rows += [f"etl-{hour}-{n},{hour * 3600},{STEP_HOURS * 3600},4,16,batch,etl" for n in range(SERVICES)]
    return "\n".join([*rows, f"end,{HOURS * 3600 - 60},60,1,4,batch,etl"]) + "\n"


def config(cloud: str) -> str:
    """What is put on top of what init wrote."""
    return (
        "workload: {path: trace.csv}\n"
        f'markets: [{{provider: {cloud}, regions: [{SETTINGS[cloud]}], families: ["{FAMILIES[cloud]}"], vcpus: 4}}]\n'
        "live: {project: shop}\nlimits: {hourly: 20}\n"
        "commitments: {enabled: true, ceiling: 100000, max_price_age: 10y}\n"
    )


class Life:
    """One transcript: commands with what they print and the code they end with."""

    def __init__(self, cloud: str, folder: Path, environment: Mapping[str, str], lines: list[str]) -> None:
        self.cloud, self.folder, self.environment = cloud, folder, dict(environment)
        self.lines = lines

    def say(self, text: str) -> None:
        self.lines += ["", text, ""]

    def run(self, words: str, *, kill: bool = False, shown: str = "") -> str:
        """Run ``hcloud words``; where that is asked for killed with -9 when its first order is under way."""
        command = [sys.executable, "-m", "hcloud", *words.split()]
        environment = {**os.environ, **self.environment, "COLUMNS": "110", "NO_COLOR": "1"}
        with subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            if kill:
                journal = self.folder / ".hcloud" / "journal.jsonl"
                while not journal.is_file() or '"launch"' not in journal.read_text(encoding="utf-8"):
                    time.sleep(0.02)
                time.sleep(0.5)
                process.send_signal(signal.SIGKILL)
            printed = process.communicate()[0]
        code = process.returncode
        ended = "killed with -9" if code < 0 else f"exit {code}"
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", (printed or "").rstrip())
        self.lines += ["```", f"$ hcloud {shown or words}", *text.splitlines(), f"[{ended}]", "```"]
        return printed or ""

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's hand on the cloud."""
        self.lines += ["```", f"(by hand) {json.dumps(change)}", "```"]
        return self.ask("edit", change)

    def ask(self, what: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.environment['HYC_LIVE__ENDPOINT']}/_hcloud/{what}", data) as answer:
            found: dict[str, object] = json.load(answer)
        return found

    def machines(self) -> list[dict[str, object]]:
        """What really lives, by the fake's own ledger."""
        found = self.ask("ledger")["machines"]
        assert isinstance(found, list)
        return [m for m in found if m["asked_to_end"] is None]


@contextmanager
def fake(cloud: str) -> Iterator[dict[str, str]]:
    """A fake that listens, and what it says to export."""
    command = [sys.executable, "-m", "hcloud", "fake", "up", cloud, "--execute"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        exported: dict[str, str] = {}
        wanted = "AWS_SECRET_ACCESS_KEY" if cloud == "aws" else "HYC_LIVE__ACCOUNT"
        while wanted not in exported:
            name, _, value = process.stdout.readline().strip().removeprefix("export ").partition("=")
            exported[name] = value.strip("'\"")
        try:
            yield exported
        finally:
            process.terminate()
            process.wait(10)


def live(cloud: str, folder: Path) -> list[str]:
    """The life itself; an AssertionError where the ledger says that something was lost or doubled."""
    lines: list[str] = []
    try:
        _live(cloud, folder, lines)
    except Exception:
        sys.stderr.write("\n".join(lines[-60:]) + "\n")
        raise
    return lines


def _live(cloud: str, folder: Path, lines: list[str]) -> None:
    with fake(cloud) as exported:
        life = Life(
            cloud, folder, {**exported, "HYC_PRICES": str(folder / "none"), "HYC_PRICES__MAX_AGE": "10y"}, lines
        )
        (folder / "trace.csv").write_text(trace(), encoding="utf-8")
        life.run("init --workload trace.csv")
        (folder / "hcloud.yaml").write_text(config(cloud), encoding="utf-8")
        life.lines += ["", "hcloud.yaml keeps only the keys that differ from the defaults:", "", "```"]
        life.lines += [*config(cloud).splitlines(), "```"]
        life.say("hcloud measures a program on a small cloud machine, and always terminates it afterwards:")
        life.run(
            f"profile run --cloud {cloud} --max-dollars 1 --resources none --time-cap 20s --name spin -- sleep 0.2"
        )
        life.say("The plan: what to reserve, what to rent, and which changes follow:")
        life.run("plan --out plan.json")
        wanted = len_of(folder / "plan.json")
        life.say("The cloud answers the first launch three seconds late, and apply is killed while it waits:")
        slow = {"on": LAUNCHES[cloud], "answer": "slow", "seconds": 3, "first": 1}
        life.ask("faults", {"rules": [slow]})
        life.run("apply plan.json --yes", kill=True)
        time.sleep(3)
        life.run("apply plan.json --yes --resume")
        assert len(life.machines()) == wanted, (len(life.machines()), wanted)
        life.run("status")
        life.say("Somebody resizes a machine outside hcloud:")
        life.edit({"resize": life.machines()[0]["id"], "type": LARGER[cloud]})
        life.run("drift")
        life.run("plan --out plan.json -q")
        life.run("apply plan.json --yes")
        assert len(life.machines()) == wanted
        life.say("A separate command buys commitments, once, and only if you type the amount:")
        life.run("commit plan plan.json --out buy.json")
        bought(life, folder)
        life.run("commit list")
        life.say("The end: destroy terminates all machines:")
        life.run("destroy --yes")
        life.run(f"destroy --yes --ends {wanted}")
        life.run("gc")
        assert life.machines() == []


def len_of(plan: Path) -> int:
    """How many machines a plan wants."""
    changes = json.loads(plan.read_text(encoding="utf-8"))["changes"]
    return sum(int(slot["count"]) for slot in changes["slots"])


def bought(life: Life, folder: Path) -> None:
    """Buy what the purchase plan holds, where there is something to buy; a second time nothing happens."""
    path = folder / "buy.json"
    if not path.is_file():
        return
    document = json.loads(path.read_text(encoding="utf-8"))
    amount = re.search(r"amount ([0-9.]+) USD", "\n".join(life.lines))
    assert amount is not None
    life.environment["HYC_ALLOW_PURCHASE"] = "1"
    words = f"commit apply buy.json --approve-commit {document['digest']} --amount {amount[1]}"
    shown = "commit apply buy.json --approve-commit DIGEST --amount DOLLARS"
    counts = []
    for _ in range(2):
        life.run(words, shown=shown)
        purchases = life.ask("ledger")["purchases"]
        assert isinstance(purchases, list)
        counts.append(len(purchases))
    assert counts[0] == counts[1] > 0


def main() -> None:
    """Write the transcripts of the clouds that are named, of all without any."""
    for cloud in sys.argv[1:] or list(SETTINGS):
        with tempfile.TemporaryDirectory() as folder:
            lines = live(cloud, Path(folder))
        head = [
            f"# A life on the fake {cloud}",
            "",
            "Written by `python docs/make_transcripts.py`, which checks each run against the fake's own ledger.",
        ]
        head += ["Ids, digests and times differ from run to run.", ""]
        (TRANSCRIPTS / f"{cloud}.md").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
