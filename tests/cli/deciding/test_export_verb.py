"""``hcloud export karpenter``: objects of exactly the fields that Karpenter's published definitions allow."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hcloud.cli.main import run
from hcloud.errors import UsageError
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.plans.plan import Plan
from hcloud.store.plan_file import load_plan, save_plan
from hcloud.usecases.deciding.export_karpenter import karpenter, left_out

PLAN = ("plan", "scenario:static", "--family", "m6i", "--now", "2026-11-20T12:00:00Z")
NAME = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"}
REQUIREMENT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["key", "operator", "values"],
    "properties": {
        "key": {"enum": [
            "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type", "karpenter.sh/nodepool",
            "kubernetes.io/os",
        ]},
        "operator": {"const": "In"},
        "values": {
            "type": "array", "minItems": 1,
            "items": {"type": "string", "pattern": "^[A-Za-z0-9][-A-Za-z0-9_.]{0,61}[A-Za-z0-9]$"},
        },
    },
}  # fmt: skip


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


POOL = closed(
    apiVersion={"const": "karpenter.sh/v1"},
    kind={"const": "NodePool"},
    metadata=closed(name=NAME),
    spec={
        **closed(
            weight={"type": "integer", "minimum": 1, "maximum": 100},
            limits=closed(
                cpu={"type": "string", "pattern": "^[0-9]+$"}, memory={"type": "string", "pattern": "^[0-9]+Mi$"}
            ),
            template=closed(
                spec=closed(
                    nodeClassRef=closed(
                        group={"enum": ["karpenter.k8s.aws", "karpenter.azure.com"]},
                        kind={"enum": ["EC2NodeClass", "AKSNodeClass"]},
                        name=NAME,
                    ),
                    requirements={"type": "array", "items": REQUIREMENT, "minItems": 1},
                )
            ),
            disruption={
                "type": "object",
                "additionalProperties": False,
                "required": ["consolidateAfter"],
                "properties": {
                    "consolidateAfter": {"type": "string", "pattern": "^([0-9]+s|Never)$"},
                    "consolidationPolicy": {"enum": ["WhenEmpty", "WhenEmptyOrUnderutilized"]},
                },
            },
        ),
        "required": ["weight", "limits", "template"],
    },
)
OVERLAY = closed(
    apiVersion={"const": "karpenter.sh/v1alpha1"},
    kind={"const": "NodeOverlay"},
    metadata=closed(name=NAME),
    spec=closed(
        weight={"type": "integer", "minimum": 1, "maximum": 10000},
        requirements={"type": "array", "items": REQUIREMENT, "minItems": 1},
        price={"type": "string", "pattern": r"^\d+(\.\d+)?$"},
    ),
)


def check(objects: list[Any]) -> list[Any]:
    for found in objects:
        jsonschema.Draft202012Validator(POOL if found["kind"] == "NodePool" else OVERLAY).validate(found)
    names = [(o["kind"], o["metadata"]["name"]) for o in objects]
    assert len(set(names)) == len(names)
    return objects


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.setenv("HYC_PRICES", str(folder / "prices"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        assert run([*PLAN, "-q", "--out", str(folder / "plan.json")]) == 0
    return folder / "plan.json"


@pytest.fixture(scope="module")
def plan(planned: Path) -> Plan:
    return load_plan(planned)


def test_the_reserve_comes_first_and_costs_nothing_more(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "karpenter", str(planned)]) == 0
    printed = capsys.readouterr()
    assert "NodeOverlay=true" in printed.err
    *pools, overlay = check(list(yaml.safe_load_all(printed.out)))
    reserved = [p for p in pools if p["metadata"]["name"].startswith("hcloud-reserved-")]
    others = [p for p in pools if p not in reserved]
    assert reserved
    assert [p["metadata"]["name"] for p in others] == ["hcloud-on-demand"]
    weights = [p["spec"]["weight"] for p in pools]
    assert weights[0] == 100
    assert weights == sorted(weights, reverse=True)
    assert overlay["spec"]["price"] == "0"
    assert overlay["spec"]["requirements"][0]["values"] == [p["metadata"]["name"] for p in reserved]
    assert all(p["spec"]["disruption"]["consolidateAfter"] == "Never" for p in reserved)


def test_limits_are_what_is_reserved_and_the_peak_of_what_is_rented(plan: Plan) -> None:
    def line(option: PurchaseOption, name: str, count: str, peak: int = 0) -> Any:
        number = Decimal(count)
        return replace(
            plan.mix[0], option=option, instance_type=name, count=number, peak=peak, region="us-east-1",
            vcpus=(number * 4).quantize(Decimal("0.0001")), memory_gib=(number * 16).quantize(Decimal("0.0001")),
        )  # fmt: skip

    mix = (
        line(PurchaseOption.RESERVED, "m6i.xlarge", "3"),
        line(PurchaseOption.COMPUTE_SAVINGS_PLAN, "m6i.xlarge", "2.5"),
        line(PurchaseOption.RESERVED, "m7i-flex.xlarge", "9"),
        line(PurchaseOption.RESERVED, "m5.xlarge", "0.4"),
        line(PurchaseOption.SPOT, "m5.xlarge", "0.0313", 7),
        line(PurchaseOption.ON_DEMAND, "m6i.xlarge", "0.0031", 2),
        line(PurchaseOption.ON_DEMAND, "m7i.xlarge", "1.5", 3),
    )
    objects = check(list(karpenter(replace(plan, mix=mix), "gpu-nodes")))
    found = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "NodePool"}
    assert {name: (spec["weight"], spec["limits"]) for name, spec in found.items()} == {
        "hcloud-reserved-m7i-flex-xlarge": (100, {"cpu": "36", "memory": "147456Mi"}),
        "hcloud-reserved-m6i-xlarge": (99, {"cpu": "20", "memory": "81920Mi"}),
        "hcloud-spot": (50, {"cpu": "28", "memory": "114688Mi"}),
        "hcloud-on-demand": (10, {"cpu": "20", "memory": "81920Mi"}),
    }
    spot = found["hcloud-spot"]["template"]["spec"]
    assert spot["requirements"][1]["values"] == ["spot"]
    assert spot["nodeClassRef"]["name"] == "gpu-nodes"


def test_a_plan_without_a_reserve_needs_no_prices(plan: Plan) -> None:
    mix = tuple(line for line in plan.mix if not line.option.is_commitment)
    assert [o["kind"] for o in check(list(karpenter(replace(plan, mix=mix))))] == ["NodePool"]


def test_sixty_types_stay_within_the_weights(plan: Plan) -> None:
    first = next(line for line in plan.mix if line.option.is_commitment)
    mix = tuple(replace(first, instance_type=f"m{n}i.xlarge") for n in range(60))
    objects = check(list(karpenter(replace(plan, mix=mix))))
    assert {o["spec"]["weight"] for o in objects if o["kind"] == "NodePool"} == set(range(51, 101))


def test_azure_has_nodes_of_its_own(plan: Plan) -> None:
    mix = tuple(replace(line, provider=Provider.AZURE, instance_type="Standard_D4s_v5") for line in plan.mix[:1])
    [pool, *_] = check(list(karpenter(replace(plan, mix=mix))))
    assert pool["metadata"]["name"] == "hcloud-reserved-standard-d4s-v5"
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["kind"] == "AKSNodeClass"


def test_windows_has_pools_of_its_own(plan: Plan) -> None:
    """Nodes of Linux were made for it, at its number."""
    mix = (*plan.mix, *(replace(line, address=f"{line.address}/windows") for line in plan.mix))
    objects = check(list(karpenter(replace(plan, mix=mix))))
    found = {o["metadata"]["name"]: o["spec"]["template"]["spec"] for o in objects if o["kind"] == "NodePool"}
    systems = {name: spec["requirements"][2]["values"] for name, spec in found.items()}
    assert {tuple(system) for system in systems.values()} == {("linux",), ("windows",)}
    assert all((system == ["windows"]) == name.endswith("-windows") for name, system in systems.items())
    limits = [o["spec"]["limits"] for o in objects if o["kind"] == "NodePool"]
    alone = [o["spec"]["limits"] for o in karpenter(plan) if o["kind"] == "NodePool"]  # type: ignore[index]
    assert sorted(map(str, limits)) == sorted(map(str, (*alone, *alone)))


def test_what_the_plan_has_in_another_cloud_is_said_to_be_left_out(plan: Plan) -> None:
    both = replace(plan, mix=(*plan.mix, replace(plan.mix[0], provider=Provider.GCP)))
    assert list(left_out(both)) == ["what the plan has in gcp is not among the pools"]
    assert list(left_out(plan)) == []


@pytest.mark.parametrize("name", ["", "Mine", "a b", 'odd: "name"', "-a", "a."])
def test_a_class_that_kubernetes_cannot_have_is_refused(plan: Plan, name: str) -> None:
    with pytest.raises(UsageError, match="no name of an object in Kubernetes"):
        karpenter(plan, name)


def test_what_karpenter_cannot_have_is_refused(plan: Plan) -> None:
    elsewhere = tuple(replace(line, provider=Provider.GCP) for line in plan.mix)
    with pytest.raises(UsageError, match="the plan is for gcp; Karpenter pools are written for aws and azure"):
        karpenter(replace(plan, mix=elsewhere))
    with pytest.raises(UsageError, match="the plan is for no cloud"):
        karpenter(replace(plan, mix=()))
    two = (*plan.mix, replace(plan.mix[0], region="eu-west-1"))
    with pytest.raises(UsageError) as error:
        karpenter(replace(plan, mix=two))
    assert "--region" in error.value.hint
    assert check(list(karpenter(replace(plan, mix=two), region="eu-west-1")))
    with pytest.raises(UsageError, match="nothing in mars-1"):
        karpenter(plan, region="mars-1")


def test_what_is_no_plan_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text(json.dumps({"format_version": "1.0"}))
    assert run(["export", "karpenter", str(tmp_path / "other.json")]) == 1
    assert "other.json" in capsys.readouterr().err


def test_a_reserve_that_is_renewed_is_held_once(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two machines, bought anew after one year and after two, are two machines of 4 vCPUs at any time; a third that is
    bought on the first day, and one that is owned, are held now with them."""
    four: dict[str, Any] = {
        "count": Decimal(2),
        "vcpus": Decimal(8),
        "memory_gib": Decimal(32),
        "instance_type": "m6i.xlarge",
    }
    bought = replace(next(line for line in plan.mix if line.option.is_commitment), **four)
    one = replace(bought, count=Decimal(1), vcpus=Decimal(4), memory_gib=Decimal(16), instance_type="m6i.xlarge")
    mix = (
        replace(one, address=f"owned/{one.address}"),
        *(replace(bought, starts_hour=8760 * year) for year in range(3)),
        replace(one, starts_hour=7),
    )
    renewed = replace(plan, mix=mix)
    [pool, _] = check(list(karpenter(renewed)))
    assert pool["spec"]["limits"] == {"cpu": str(4 + 2 * 4 + 4), "memory": f"{(16 + 2 * 16 + 16) * 1024}Mi"}
    save_plan(renewed, tmp_path / "renewed.json")
    assert run(["export", "karpenter", str(tmp_path / "renewed.json")]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "2 later purchases of the plan, on day 365 and 730, not among the pools: plan and export again then" in told
