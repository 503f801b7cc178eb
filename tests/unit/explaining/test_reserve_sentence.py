"""What a plan's page says of its reserve is counted hour by hour: a picture's columns are means over several hours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.plans.plan import Plan
from hcloud.store.plan_file import load_plan
from hcloud.views.deciding.plan_charts import demand_picture, use_picture
from hcloud.views.deciding.plan_page import plan_page

HOURS = 28 * 24
BASE, PEAK = 16, 60
OWNED = """
workload: {path: trace.csv}
markets: [{provider: aws, regions: [us-east-1], families: [m5a]}]
owned:
  - {provider: aws, region: us-east-1, instance_type: m5a.2xlarge, option: reserved-instance, term_years: 1,
     payment: no-upfront, count: 1, expires: 2027-08-15}
"""


def by_hours() -> list[int]:
    """A base, and at two hours in seven much more: within a column of a picture both are met."""
    return [PEAK if hour % 7 < 2 else BASE for hour in range(HOURS)]


def planned(folder: Path, *arguments: str) -> Plan:
    """The plan of such a trace."""
    rows = [f"{hour},{hour * 3600},3600,{n},{n * 4}" for hour, n in enumerate(by_hours())]
    trace, out = folder / "trace.csv", folder / "plan.json"
    trace.write_text("\n".join(["id,submit,duration,cores,memory", *rows]) + "\n")
    (folder / "owned.yaml").write_text(OWNED)
    asked = [str(folder / a) if a.startswith(("trace", "owned")) else a for a in arguments]
    assert run(["-q", "plan", *asked, "--now", "2026-10-01", "--out", str(out)]) == 0
    return load_plan(out)


@pytest.mark.slow
def test_the_shares_are_those_of_every_hour(tmp_path: Path) -> None:
    plan = planned(tmp_path, "trace.csv", "--provider", "aws", "--family", "m5a")
    said = demand_picture(plan).alternative
    reserve, takes, rented, busy = map(
        float, re.findall(r"(\d+) vCPUs are reserved .* (\d+)% of it; (\d+)% is .* average (\d+)%", said)[0]
    )
    taken = sum(min(n, reserve) for n in by_hours())
    assert reserve == BASE
    assert takes == round(100 * taken / sum(by_hours()))
    assert rented == 100 - takes
    assert busy == round(100 * taken / reserve / HOURS)


@pytest.mark.slow
def test_beside_what_is_owned_the_use_is_said_to_be_that_of_what_is_bought(tmp_path: Path) -> None:
    plan = planned(tmp_path, "--file", "owned.yaml")
    bought = sum(float(line.vcpus) for line in plan.purchases)
    use = use_picture(plan)
    assert use is not None
    assert use.alternative.startswith("Beside what is owned, for as long as it is, the last instance of ")
    assert f"of {bought:,.0f} more reserved vCPUs" in use.alternative
    assert "against buying nothing beside what is owned already." in plan_page(plan).lead[0]
    assert any(reason.startswith("beside what is owned, ") for reason in plan.reasons)
