"""F. Identity: credentials that end, that are of another account, and that are not there at all; real processes."""

from __future__ import annotations

import socket
from contextlib import ExitStack

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
OTHER = {"aws": "999999999999", "gcp": "somebody-else", "azure": "00000000-0000-4000-8000-00000000000f"}


@pytest.mark.parametrize(
    ("cloud", "call"), [*(("aws", n) for n in (1, 3, 4, 5, 6, 7)), ("gcp", 3), ("gcp", 6), ("azure", 4), ("azure", 7)]
)
def test_F1_credentials_that_end_at_any_call_stop_it_and_fresh_ones_finish(
    cloud: str, call: int, staged: Staging
) -> None:
    stage = staged(cloud, rules=[{"on": "*", "answer": "expired-credentials", "from_call": call}])
    child = stage.run("apply", "-y")
    if len(stage.requests()) < call:
        assert child.code == 0, "it was over before they ended"
        return
    assert len(stage.requests()) < call + 2 * len(FLEET), "each order hears of it, and asks no more"
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


@pytest.mark.parametrize(
    ("cloud", "verb"), [*((cloud, ("plan",)) for cloud in CLOUDS), ("aws", ("apply", "-y")), ("aws", ("status",))]
)
def test_F5_without_credentials_there_is_a_clear_word(cloud: str, verb: tuple[str, ...], staged: Staging) -> None:
    stage = staged(cloud)
    child = stage.alone(*verb, HYC_LIVE__CLOUD=cloud, **NOBODY[cloud])
    code = child.wait()
    assert code == 1, child.said
    assert "credentials" in child.stderr.lower(), child.said
    assert "Traceback" not in child.said
    assert GUARD not in child.said, "it looked for credentials beyond this machine"
    assert not stage.requests()


def test_F5_half_of_a_key_is_no_credentials(staged: Staging) -> None:
    child = staged("aws").alone("plan", HYC_LIVE__CLOUD="aws", AWS_ACCESS_KEY_ID="half")
    assert child.wait() == 1
    assert "credentials" in child.stderr.lower()


def asked(silent: socket.socket) -> int:
    """How often somebody connected."""
    silent.setblocking(False)
    with ExitStack() as made:
        for count in range(100):
            try:
                made.enter_context(silent.accept()[0])
            except BlockingIOError:
                return count
    raise AssertionError("it never leaves off")


def test_F5_a_metadata_server_that_never_answers_does_not_hold_anybody(staged: Staging) -> None:
    """The machine says it is in a cloud, and nothing comes back from there."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        stage = staged("aws")
        child = stage.alone(
            "plan",
            HYC_LIVE__CLOUD="aws",
            AWS_EC2_METADATA_DISABLED="false",
            AWS_EC2_METADATA_SERVICE_ENDPOINT=f"http://{place}",
        )
        assert child.wait() == 1, child.said
        assert 0 < asked(silent) <= 4, "the SDK gives up each after a second"
