"""B14: ten thousand machines in ten addresses: seconds, processor seconds, memory and requests of each verb.

``python -m benchmarks.b14_ten_thousand [--machines 10000] [--clouds aws,gcp,azure] [--rounds 3]`` prints ``name value
unit | peer x | limit y | ratio``. Each fake cloud listens in a process of its own, each verb is a whole process from
its start. The peer is a process that does nothing but list the same machines with the cloud's own SDK (boto3,
google-cloud-compute, azure-mgmt-compute), in the same round. Of verbs that change nothing the best round counts.

Limits of seconds and memory are those of the defaults on two cores; with another number of machines none are judged.
Processor seconds and memory are of hcloud alone, seconds include the fake's. It fails where a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.children import FROM_NOWHERE, KEPT, ROOT
from benchmarks.many_listed import PEERS
from benchmarks.processes import CLOUDS, PROJECT, TYPES
from hcloud.errors import HcloudError
from hcloud.usecases.tools.fake import environment

MANY, ADDRESSES = 10_000, 10
SECONDS = {"apply": 30.0, "status": 3.0, "plan": 3.0, "apply_again": 5.0}
MEBIBYTES = 300
VERBS: Mapping[str, Sequence[str]] = {
    "apply": ("apply", "-y"),
    "status": ("status",),
    "plan": ("plan", "--detailed-exitcode"),
    "apply_again": ("apply", "-y"),
    "destroy": ("destroy", "-y", "--ends"),
}
LOOKS = ("status", "plan", "apply_again")
CALLS = {
    "aws": {"apply": 25, "status": 11, "plan": 12, "apply_again": 22},
    "gcp": {"status": 21, "plan": 22, "apply_again": 42},
    "azure": {"status": 41, "plan": 42, "apply_again": 82},
}
"""For ten thousand: the pages that a cloud makes of one list (1,000, 500 and 250 machines each), who we are, which
zones there are, and an order for each address. Apply lists before it begins and when it is over."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took."""

    seconds: float
    processor: float
    mebibytes: float
    calls: int


class Fake:
    """A fake cloud in a process of its own, and a directory whose configuration wants many machines of it."""

    def __init__(self, cloud: str, url: str, directory: Path, machines: int) -> None:
        self.cloud, self.url, self.directory, self.machines = cloud, url, directory, machines
        kept = {n: os.environ[n] for n in KEPT if n in os.environ}
        own = {"XDG_CONFIG_HOME": str(directory), "HYC_PRICES": str(directory), "PYTHONPATH": str(ROOT)}
        compiled = {"PYTHONDONTWRITEBYTECODE": ""}
        self.environment = {**kept, **FROM_NOWHERE, **own, **compiled, **environment(cloud, url)}
        each, more = divmod(machines, ADDRESSES)
        fleet = [
            {"address": f"web-{n}", "instance_type": TYPES[cloud], "count": each + (n < more)}
            for n in range(min(ADDRESSES, machines))
        ]
        document = {"markets": [{"provider": cloud}], "live": {"project": PROJECT}, "fleet": fleet}
        (directory / "hcloud.yaml").write_text(json.dumps(document))

    def calls(self) -> int:
        """Requests that arrived so far."""
        with urllib.request.urlopen(f"{self.url}/_hcloud/requests") as answer:
            return int(json.load(answer)["requests"])

    def run(self, *arguments: str) -> Cost:
        """A whole process to its end; HcloudError where it fails."""
        before, begun = self.calls(), time.perf_counter()
        out = self.directory / "out"
        with out.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
            _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise HcloudError(f"{self.cloud} {' '.join(arguments)}: {out.read_text(errors='replace')[-2000:]}")
        return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, self.calls() - before)


@contextmanager
def fake(cloud: str, machines: int) -> Iterator[Fake]:
    """A fake that listens as long as the context lasts."""
    kept = {n: os.environ[n] for n in KEPT if n in os.environ}
    with tempfile.TemporaryDirectory(prefix=f"hcloud-b14-{cloud}-") as scratch:
        process = subprocess.Popen(
            [sys.executable, "-m", "hcloud", "fake", "up", cloud],
            cwd=scratch,
            env={**kept, **FROM_NOWHERE, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            said = process.stderr.readline()  # aws at http://127.0.0.1:PORT (ledger: ...)
            if " at " not in said:
                raise HcloudError(f"the fake {cloud} does not listen: {said}{process.stderr.read()}")
            yield Fake(cloud, said.split(" at ")[1].split()[0], Path(scratch), machines)
        finally:
            process.terminate()
            process.wait(30)
            process.stderr.close()


def measured(cloud: str, machines: int, rounds: int) -> Iterator[tuple[str, Cost, Cost]]:
    """Every verb on one cloud with its cost and the peer's, as soon as they are known."""
    with fake(cloud, machines) as place:
        place.run("hcloud", "plan")  # compiles what it imports, as whoever installs a package has it compiled
        applied = place.run("hcloud", *VERBS["apply"])
        peer: Cost | None = None
        found: dict[str, Cost] = {}
        for _ in range(rounds):
            listed = place.run("benchmarks.many_listed", cloud, place.url, str(machines))
            peer = listed if peer is None else least(peer, listed)
            for verb in LOOKS:
                took = place.run("hcloud", *VERBS[verb])
                found[verb] = least(found[verb], took) if verb in found else took
        assert peer is not None
        for verb, took in {"apply": applied, **found}.items():
            yield verb, took, peer
        yield "destroy", place.run("hcloud", *VERBS["destroy"], str(machines)), peer


def least(one: Cost, other: Cost) -> Cost:
    """The less of each, but of requests, which have to be the same each time, the more."""
    return Cost(
        min(one.seconds, other.seconds),
        min(one.processor, other.processor),
        min(one.mebibytes, other.mebibytes),
        max(one.calls, other.calls),
    )


def told(cloud: str, verb: str, took: Cost, peer: Cost) -> Iterator[str]:
    """The lines of a verb."""
    name, limit = f"b14_{cloud}_{verb}", SECONDS.get(verb)
    for what, unit, mine, theirs, most in (
        ("time", "s", took.seconds, peer.seconds, "-" if limit is None else f"{limit:g}"),
        ("processor", "s", took.processor, peer.processor, "-"),
        ("memory", "MiB", took.mebibytes, peer.mebibytes, str(MEBIBYTES)),
    ):
        yield f"{name}_{what} {mine:.4g} {unit} | peer {theirs:.4g} | limit {most} | {mine / theirs:.2f}"
    most_calls = CALLS.get(cloud, {}).get(verb, "-")
    yield f"{name}_calls {took.calls} calls | peer {peer.calls} | limit {most_calls} | {took.calls / peer.calls:.1f}"


def missed(cloud: str, verb: str, took: Cost) -> Iterator[str]:
    """The limits that a verb misses."""
    name = f"{cloud} {verb}"
    if took.seconds > SECONDS.get(verb, took.seconds):
        yield f"{name}: {took.seconds:.1f} s, {SECONDS[verb]:g} are allowed"
    if took.mebibytes > MEBIBYTES:
        yield f"{name}: {took.mebibytes:.0f} MiB, {MEBIBYTES} are allowed"
    if took.calls > CALLS.get(cloud, {}).get(verb, took.calls):
        yield f"{name}: {took.calls} requests, {CALLS[cloud][verb]} are allowed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=MANY)
    parser.add_argument("--clouds", default=",".join(CLOUDS))
    parser.add_argument("--rounds", type=int, default=3, help="rounds of what changes nothing; the best of each counts")
    asked = parser.parse_args()
    failed: list[str] = []
    for cloud in asked.clouds.split(","):
        print(f"b14 {cloud}: {asked.machines} machines in {ADDRESSES} addresses; peer: {PEERS[cloud]}", flush=True)
        for verb, took, peer in measured(cloud, asked.machines, max(asked.rounds, 1)):
            print("\n".join(told(cloud, verb, took, peer)), flush=True)
            failed += missed(cloud, verb, took) if asked.machines == MANY else ()
    for line in failed:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
