"""B7: requests and seconds to see that nothing changed in 1,000 machines, to launch 100 of one type, and to end them.

``python -m benchmarks.b7_calls`` prints ``name value unit | peer x | limit y | ratio`` for each of the three fake
clouds; it fails if AWS or Google need more than five requests to launch 100 or to look at 1,000. Requests are those in
the ledger of the fake; an apply is of a plan that was made before. Seconds are of a whole process from its start, the
SDK's import and all, against a fake that answers at once. The peer is the loop that asks for one machine at a time with
boto3, measured on the fake AWS. The limit is the smallest number of requests that could do it: as many pages as the
cloud's lists have, one order and one list to see what came of it, and as many requests to end as the cloud wants
(Google one a machine).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.children import Forker
from benchmarks.naive_loop import client
from benchmarks.processes import CLOUDS, Stage, fresh
from hcloud.errors import HcloudError
from hcloud.fake.faults import FaultPlan
from hcloud.fake.server import FakeServer

MANY, SOME = 1000, 100
GOAL = 5
BOUND = ("aws", "gcp")
LEAST = {
    "aws": {"plan": 1, "apply": 2, "destroy": 2},
    "gcp": {"plan": 2, "apply": 2, "destroy": SOME + 1},
    "azure": {"plan": 4, "apply": 3, "destroy": 3},
}
DEEDS = {"plan": f"plan_{MANY}_unchanged", "apply": f"apply_{SOME}", "destroy": f"destroy_{SOME}"}


class Took(NamedTuple):
    """What something cost."""

    calls: int
    seconds: float


def measured(stage: Stage, *arguments: str) -> Took:
    """A whole process, and the requests that it made."""
    before = len(stage.requests())
    started = time.perf_counter()
    process = stage.begin(*arguments)
    out, err = process.communicate()
    seconds = time.perf_counter() - started
    if process.returncode:
        raise HcloudError(f"{stage.cloud} {' '.join(arguments)}: {out.decode()}{err.decode()}")
    return Took(len(stage.requests()) - before, seconds)


def of_cloud(cloud: str, scratch: Path, forker: Forker) -> dict[str, Took]:
    """All three deeds on one fake."""
    found = {}
    with FakeServer(fresh(cloud, FaultPlan())) as running:
        stage = Stage(running, scratch / f"{cloud}-many", forker, {"web": MANY})
        prepared = stage.run("apply", "-y", seconds=300)
        if prepared.code or len(stage.live()) != MANY:
            raise HcloudError(f"{cloud}: {len(stage.live())} of {MANY}: {prepared.said}")
        found["plan"] = measured(stage, "plan", "--detailed-exitcode")
        running.exchange(fresh(cloud, FaultPlan()))
        stage = Stage(running, scratch / f"{cloud}-some", forker, {"web": SOME})
        if (planned := stage.run("plan", "--out", "plan.json")).code:
            raise HcloudError(planned.said)
        found["apply"] = measured(stage, "apply", "plan.json", "-y")
        found["destroy"] = measured(stage, "destroy", "-y", "--ends", str(SOME))
        if stage.live():
            raise HcloudError(f"{cloud}: {len(stage.live())} are left")
    return found


def naive() -> dict[str, Took]:
    """The loop of one machine at a time, in this process: its start costs nothing here."""
    with FakeServer(fresh("aws", FaultPlan())) as running:
        ec2 = client(running.url)
        ledger = running.cloud.ledger

        def timed(work: Callable[[str], object], on: Sequence[str]) -> tuple[list[Any], Took]:
            before, started = len(ledger.requests), time.perf_counter()
            done = [work(one) for one in on]
            return done, Took(len(ledger.requests) - before, time.perf_counter() - started)

        found = {}
        some, found["apply"] = timed(lambda _: launched(ec2), [""] * SOME)
        many, _ = timed(lambda _: launched(ec2), [""] * (MANY - SOME))
        found["plan"] = timed(lambda i: ec2.describe_instances(InstanceIds=[i]), some + many)[1]
        found["destroy"] = timed(lambda i: ec2.terminate_instances(InstanceIds=[i]), some)[1]
    return found


def launched(ec2: Any) -> str:
    """One machine, looked at once."""
    order = {"ImageId": "ami-12c6146b", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
    made: str = ec2.run_instances(**order)["Instances"][0]["InstanceId"]
    ec2.describe_instances(InstanceIds=[made])
    return made


def main() -> int:
    missed = []
    peer = naive()
    with tempfile.TemporaryDirectory(prefix="hcloud-b7-") as scratch, Forker(CLOUDS) as forker:
        for cloud in CLOUDS:
            for deed, took in of_cloud(cloud, Path(scratch), forker).items():
                other = peer[deed] if cloud == "aws" else None
                least, name = LEAST[cloud][deed], f"b7_{cloud}_{DEEDS[deed]}"
                calls = "-" if other is None else str(other.calls)
                print(f"{name}_calls {took.calls} calls | peer {calls} | limit {least} | {took.calls / least:.1f}")
                seconds = "-" if other is None else f"{other.seconds:.2f}"
                print(f"{name}_time {took.seconds:.2f} s | peer {seconds} | limit - | -")
                if cloud in BOUND and deed != "destroy" and took.calls > GOAL:
                    missed.append(f"{name}: {took.calls} calls, {GOAL} are allowed")
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
