"""F. Identity: credentials that end, that are of another account, and that are not there at all; real processes."""

from __future__ import annotations

import signal
import time

import pytest
from staging import FLEET, Staging
from verdict import converges, judge

from benchmarks.before_forks import GUARD
from benchmarks.processes import CLOUDS, Front, Stage, fresh
from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.faults import FaultPlan
from hcloud.fake.gcp.catalog import GcpProject
from hcloud.fake.gcp.cloud import FakeGoogle

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
STOPS_WITHIN = 5.0
ANSWERS_WITHIN = 2.0
OTHER = {"aws": "999999999999", "gcp": "somebody-else", "azure": "00000000-0000-4000-8000-00000000000f"}


@every_cloud
@pytest.mark.parametrize("call", [1, 3, 4, 5, 6, 7])
def test_F1_credentials_that_end_at_any_call_stop_it_in_five_seconds_and_fresh_ones_finish(
    cloud: str, call: int, staged: Staging
) -> None:
    stage = staged(cloud, rules=[{"on": "*", "answer": "expired-credentials", "from_call": call}])
    started = time.monotonic()
    child = stage.run("apply", "-y")
    assert time.monotonic() - started < STOPS_WITHIN, child.said
    if len(stage.requests()) < call:
        assert child.code == 0, "it was over before they ended"
        return
    assert child.code in (1, 6), child.said
    assert "credentials" in child.stderr.lower(), child.said
    if child.code == 6:
        assert stage.requests(mutating=True), "unknown is said only where something was asked for"
    judge(stage, FLEET)
    stage.faults()
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())


@every_cloud
def test_F2_another_account_is_refused_with_nothing_done(cloud: str, staged: Staging) -> None:
    stage = staged(cloud)
    assert stage.run("apply", "-y").code == 0
    other = moved(stage)
    for arguments in (("plan",), ("apply", "-y"), ("destroy", "-y", "--ends", "5")):
        child = stage.run(*arguments)
        assert child.code == 4, f"{arguments}: {child.said}"
        assert OTHER[cloud] in child.stderr
    assert not [r for r in other.ledger.requests if r.mutating]
    assert not other.ledger.machines


def moved(stage: Stage) -> Front:
    """Another account behind the same address, and credentials of it."""
    other = OTHER[stage.cloud]
    if stage.cloud == "aws":
        front = Front(FakeAws(account=other))
    elif stage.cloud == "gcp":
        front = Front(FakeGoogle(place=GcpProject(project=other)))
    else:
        front = fresh(stage.cloud, FaultPlan())
    stage.exchange(front)
    stage.extra["HYC_LIVE__ACCOUNT"] = other
    return front


NOBODY = {
    "aws": {},
    "gcp": {"HYC_LIVE__ACCOUNT": "some-project"},
    "azure": {"HYC_LIVE__ACCOUNT": "00000000-0000-4000-8000-000000000001"},
}


@every_cloud
@pytest.mark.parametrize("verb", [("plan",), ("apply", "-y"), ("status",)])
def test_F5_without_credentials_there_is_a_clear_word_in_two_seconds(
    cloud: str, verb: tuple[str, ...], staged: Staging
) -> None:
    stage = staged(cloud)
    started = time.monotonic()
    child = stage.alone(*verb, HYC_LIVE__CLOUD=cloud, **NOBODY[cloud])
    code = child.wait(30)
    assert time.monotonic() - started < ANSWERS_WITHIN, child.said
    assert code == 1, child.said
    assert "credentials" in child.stderr.lower(), child.said
    assert "Traceback" not in child.said
    assert GUARD not in child.said, "it looked for credentials beyond this machine"
    assert not stage.requests()


def test_F5_half_of_a_key_is_no_credentials(staged: Staging) -> None:
    child = staged("aws").alone("plan", HYC_LIVE__CLOUD="aws", AWS_ACCESS_KEY_ID="half")
    assert child.wait(30) == 1
    assert "credentials" in child.stderr.lower()


def test_F5_a_metadata_server_that_never_answers_does_not_hold_anybody(staged: Staging) -> None:
    """The machine says it is in a cloud, and nothing comes back from there."""
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        stage = staged("aws")
        started = time.monotonic()
        child = stage.alone(
            "plan",
            HYC_LIVE__CLOUD="aws",
            AWS_EC2_METADATA_DISABLED="false",
            AWS_EC2_METADATA_SERVICE_ENDPOINT=f"http://{place}",
        )
        assert child.wait(30) == 1, child.said
        assert time.monotonic() - started < STOPS_WITHIN, child.said
        child.send(signal.SIGKILL)
