"""``workload fetch`` of AWS through boto3: CloudWatch, EC2 and Cost Explorer as the fake account tells them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fetching import DAY, HOUR, NOW, PastCloud, demand_in, listening, ran, ruled, standing_still

from hcloud.cli.main import run
from hcloud.errors import CredentialsError, DeniedError, EvidenceError, InputError, UsageError
from hcloud.fake.aws import history as behind
from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.faults import FaultKind, FaultRule
from hcloud.fake.world import MachineLoad
from hcloud.live.patience import StoppedError
from hcloud.model.fetched import SamplingWindow
from hcloud.providers.aws import history
from hcloud.readers.permissions import load_permissions
from hcloud.store.fetched import FetchRecord, FetchScope
from hcloud.usecases.live.fetch import FetchRun

STEADY, DAILY = MachineLoad(30.0, 30.0), MachineLoad(10.0, 60.0, 8, 18)
TYPES = (("m5.large", 2), ("c5.xlarge", 4))
PAGES_OF = 100


@pytest.fixture
def past(monkeypatch: pytest.MonkeyPatch) -> Iterator[PastCloud]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    fake = FakeAws(standing_still())
    fake.home = "eu-central-1"
    with listening(PastCloud("aws", fake, fake.home, TYPES)) as found:
        yield found


def test_the_demand_is_what_the_fake_was_given_in_small_pages_and_throttled(past: PastCloud, tmp_path: Path) -> None:
    past.fake.largest_page = PAGES_OF
    for number in range(7):
        past.rent(number, DAILY if number % 2 else STEADY, kind=number % 2)
    ruled(past, FaultRule(answer=FaultKind.THROTTLED, calls=(2, 9, 30), retry_after=0))
    found = past.fetch(tmp_path / "machines.csv")

    assert found.window.seconds == 300
    assert found.window.start % DAY == 0
    assert past.fake.ledger.calls(["GetMetricData"]) > 7 * 3 * 288 / PAGES_OF
    provisioned, used = demand_in(found.out), demand_in(found.out, "used")
    assert (provisioned.start, provisioned.step_seconds) == (found.window.start, HOUR)
    np.testing.assert_allclose(provisioned.cores, past.wanted(found, ran))
    np.testing.assert_allclose(used.cores, past.wanted(found, past.in_use))
    assert sum(r.outcome == FaultKind.THROTTLED for r in past.fake.ledger.requests) == 3


def test_more_machines_than_a_request_takes_come_in_several(
    past: PastCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for side in (history, behind):
        monkeypatch.setattr(side, "MOST_QUERIES", side.MOST_QUERIES // 10)
    assert history.MOST_QUERIES == behind.MOST_QUERIES == 50
    for number in range(51):
        past.rent(number, STEADY, days=1)
    past.fake.largest_page = 20
    ruled(past, FaultRule(on="GetCostAndUsage", answer=FaultKind.NOT_FOUND))
    found = past.fetch(tmp_path / "machines.csv", days=2 / 24)
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0 * 51)
    assert past.fake.ledger.calls(["DescribeInstances"]) == past.fake.ledger.calls(["ListMetrics"]) == 3


@pytest.mark.parametrize("hourly", [True, False])
def test_ended_machines_come_from_the_bill(past: PastCloud, tmp_path: Path, hourly: bool) -> None:
    past.fake.has_hourly_costs = hourly
    past.rent(1, STEADY)
    past.rent(2, DAILY, kind=1, ended=2 + 10 / 24)  # at midnight
    found = past.fetch(tmp_path / "machines.csv")

    wanted = past.wanted(found, ran)
    counted = len(wanted) if hourly else len(wanted) // 24 * 24
    np.testing.assert_allclose(demand_in(found.out).cores[:counted], wanted[:counted])
    assert found.rows.typeless == 1
    assert found.rows.billed_hours == pytest.approx(24)
    assert found.rows.spend["USD"] > 0


def test_without_the_bill_it_says_what_is_not_counted(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    past.rent(2, DAILY, kind=1, ended=1)
    ruled(past, roles={"reader": ("Describe*", "List*", "GetMetricData")})
    found = past.fetch(tmp_path / "machines.csv")

    said = "\n".join(found.unknown)
    for part in ("ce:GetCostAndUsage", "1 machine that has ended", "two weeks"):
        assert part in said
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0)


def test_a_bill_that_nobody_tells_stops_nothing(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    ruled(past, FaultRule(on="GetCostAndUsage", answer=FaultKind.NOT_FOUND))
    found = past.fetch(tmp_path / "machines.csv")
    assert any("ResourceNotFoundException" in said for said in found.unknown)
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0)


def test_a_missing_permission_is_named(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    ruled(past, roles={"reader": ("Describe*", "List*")})
    with pytest.raises(DeniedError) as refused:
        past.fetch(tmp_path / "machines.csv")
    assert "cloudwatch:GetMetricData" in refused.value.hint


def test_a_region_that_is_denied_is_left_out_unless_it_was_named(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    past.rent(2, DAILY, zone="us-west-2a")
    denied = FaultRule(on="DescribeInstances", answer=FaultKind.DENIED, calls=(2, 3))
    ruled(past, denied)
    found = past.fetch(tmp_path / "machines.csv")
    assert found.regions == ("eu-central-1",)
    [(region, why)] = found.refused
    assert region == "us-west-2"
    assert "ec2:DescribeInstances" in why
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0)
    with pytest.raises(DeniedError):
        past.fetch(tmp_path / "more.csv", regions=("us-west-2",))


def test_a_region_that_there_is_not_is_not_asked(past: PastCloud, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no region eu-centrall-1; did you mean eu-central-1"):
        past.fetch(tmp_path / "machines.csv", regions=("eu-centrall-1",))
    assert past.fake.ledger.calls() == 0


def test_all_regions_are_one_demand(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    past.rent(2, DAILY, zone="us-west-2a", kind=1)
    found = past.fetch(tmp_path / "machines.csv")
    assert found.regions == ("eu-central-1", "us-west-2")
    np.testing.assert_allclose(demand_in(found.out, "used").cores, past.wanted(found, past.in_use))


def test_what_was_fetched_before_an_end_is_not_asked_for_again(past: PastCloud, tmp_path: Path) -> None:
    for number, region in enumerate(("eu-central-1", "eu-west-1", "us-east-2", "us-west-2")):
        past.rent(number, STEADY, kind=number % 2, zone=f"{region}a")
    stops = iter([False] * (1 + 4 * 2 + 2))
    out = tmp_path / "machines.csv"
    with pytest.raises(StoppedError, match="interrupted") as stopped:
        past.fetch(out, run=FetchRun(stop=lambda: next(stops, True)))
    kept = out.with_name("machines.csv.part")
    assert not out.exists()
    assert f"kept in {kept}" in str(stopped.value)
    done = len(kept.read_text().splitlines()) - 1
    assert done == 2
    kept.write_bytes(kept.read_bytes() + b'{"machine": {"id": "i-')  # as a crash leaves it
    other = tmp_path / "other.csv.part"
    other.write_bytes(kept.read_bytes())
    window = SamplingWindow(**json.loads(kept.read_bytes().split(b"\n")[0])["window"])
    assert not FetchRecord(other, FetchScope("aws", "another", (), 0), window).done, "of another account"
    before = past.fake.ledger.calls(["GetMetricData"])
    found = past.fetch(out)
    assert past.fake.ledger.calls(["GetMetricData"]) - before == 4 - done
    assert not kept.exists()
    np.testing.assert_allclose(demand_in(found.out).cores, past.wanted(found, ran))


def test_longer_than_anything_is_kept_is_said_and_shortened(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY, days=600)
    found = past.fetch(tmp_path / "machines.csv", days=500)
    assert found.window.seconds == HOUR
    assert found.window.start >= NOW.timestamp() - 455 * DAY
    assert "455d" in found.unknown[0]
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0)


def test_no_machines_no_credentials_and_a_clock_that_is_off(
    past: PastCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "machines.csv"
    with pytest.raises(EvidenceError, match="no machine of aws has a sample"):
        past.fetch(out)
    ruled(past, FaultRule(answer=FaultKind.SKEWED))
    with pytest.raises(CredentialsError) as skewed:
        past.fetch(out)
    assert "clock" in skewed.value.hint
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(CredentialsError):
        past.fetch(out)
    out.write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        past.fetch(out)


def test_the_printed_permissions_are_those_that_it_takes(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    granted = {p.name.partition(":")[2] for p in load_permissions("aws").permissions if p.is_needed(["fetch"], ())}
    ruled(past, roles={"reader": tuple(granted)})
    past.fetch(tmp_path / "machines.csv")
    assert {r.operation for r in past.fake.ledger.requests} == granted
    assert not any(r.mutating for r in past.fake.ledger.requests)


def test_the_verb_writes_what_a_plan_reads_without_a_flag(
    past: PastCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past.rent(1, STEADY)
    out = tmp_path / "machines.csv"
    asked = ["workload", "fetch", "--cloud", "aws", "--since", "4d", "--region", past.region, "--endpoint", past.url]
    assert run([*asked, "--out", str(out), "--now", NOW.isoformat()]) == 0
    told = capsys.readouterr()
    assert "30.0% of those measured" in told.out
    assert "fetched_demand=used" in told.err
    assert run(["workload", "show", str(out), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["mean_cores"] == 2.0
    assert run(["workload", "fetch", "--cloud", "asw"]) == 64
