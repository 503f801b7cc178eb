"""What of a plan the simulator takes as its fleet."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.model.plans.plan import OWNED, MixLine, Plan
from hcloud.planning.strategies.own_fleet import fleet_of


def line(option: PurchaseOption, name: str, count: str, vcpus: int, **more: Any) -> MixLine:
    years = 1 if option.is_commitment else 0
    key = OfferKey(Provider.AWS, "us-east-1", name, option, years, Payment.ALL if years else Payment.NONE)
    number = Decimal(count)
    made = MixLine(
        str(key), key.provider, key.region, name, option, years, key.payment, number, 9, number * vcpus, number, number,
        number, Decimal(0), number, None, 0, date(2026, 1, 1), "",
    )  # fmt: skip
    return replace(made, **more)


def plan(*mix: MixLine, strategy: str = "") -> Plan:
    operation = SimpleNamespace(strategy=strategy) if strategy else None
    return cast("Plan", SimpleNamespace(mix=mix, operation=operation, harvest=None))


RI, SP = PurchaseOption.RESERVED, PurchaseOption.INSTANCE_SAVINGS_PLAN
RENTED = line(PurchaseOption.ON_DEMAND, "m5.xlarge", "2.5", 4)


def test_the_reserve_is_its_own_servers_and_the_rest_is_rented() -> None:
    found = fleet_of(plan(line(RI, "m5.4xlarge", "12", 16), RENTED))
    assert (found.servers, found.strategy, found.on_demand.instance_type) == (12, "HC", "m5.4xlarge")
    assert found.commitment == line(RI, "m5.4xlarge", "12", 16).key
    assert (found.notes, found.beside) == ((), ())
    assert fleet_of(plan(line(RI, "m5.4xlarge", "12", 16), strategy="HF")).strategy == "HF"


def test_every_reserved_type_keeps_its_own_servers_beside_the_largest() -> None:
    small, other, large = (
        line(RI, "m5.xlarge", "50", 4),
        line(SP, "r5.2xlarge", "3", 8),
        line(RI, "m5.4xlarge", "2", 16),
    )
    found = fleet_of(plan(small, other, large))
    assert (found.on_demand.instance_type, found.servers) == ("m5.4xlarge", 2)
    assert found.beside == ((other.key, 3), (small.key, 50))
    assert found.reserved == {"m5.4xlarge": 2, "r5.2xlarge": 3, "m5.xlarge": 50}


def test_of_types_with_as_many_vcpus_the_one_with_more_memory_is_the_large_one() -> None:
    narrow = replace(line(RI, "c5a.4xlarge", "3", 16), memory_gib=Decimal(3 * 32))
    wide = replace(line(RI, "m5a.4xlarge", "6", 16), memory_gib=Decimal(6 * 64))
    found = fleet_of(plan(narrow, wide))
    assert found.on_demand.instance_type == "m5a.4xlarge"
    assert found.reserved == {"m5a.4xlarge": 6, "c5a.4xlarge": 3}


def test_all_that_the_plan_rents_is_for_rent_in_its_fleet() -> None:
    elsewhere = replace(line(PurchaseOption.ON_DEMAND, "r5.large", "1", 2), region="eu-west-1")
    found = fleet_of(plan(line(RI, "c5a.4xlarge", "3", 16), line(RI, "c5a.large", "1", 2), RENTED, elsewhere))
    assert found.others == ["c5a.large", "m5.xlarge"]


def test_what_is_owned_counts_and_parts_of_servers_of_a_type_add_up() -> None:
    owned = line(SP, "m5.4xlarge", "3.6", 16)
    owned = replace(owned, address=OWNED + owned.address)
    more, later = line(RI, "m5.4xlarge", "5.75", 16), line(RI, "m5.4xlarge", "7", 16, starts_hour=4380)
    found = fleet_of(plan(more, owned, later))
    assert found.reserved == {"m5.4xlarge": 9}
    assert found.servers + sum(servers for _, servers in found.beside) == 9
    assert found.notes == (
        "of 9.35 x m5.4xlarge that are paid for, the simulation rents 0.35",
        "what the plan reserves on later days is not simulated",
    )


def test_a_plan_without_reserve_is_run_as_one_with_it_and_one_without_machines_is_refused() -> None:
    found = fleet_of(plan(RENTED))
    assert (found.servers, found.commitment, found.strategy) == (0, None, "HC")
    assert found.rivals == ["OdF", "OdM", "HC"]
    with pytest.raises(InputError, match="no machines"):
        fleet_of(plan())


def test_a_key_is_read_back_from_its_address() -> None:
    for system, tenancy in (("linux", "shared"), ("windows", "shared"), ("linux", "dedicated"), ("rhel", "dedicated")):
        key = OfferKey(Provider.AWS, "us-east-1", "m5.xlarge", RI, 1, Payment.ALL, system, tenancy)
        assert line(RI, "m5.xlarge", "1", 4, address=str(key)).key == key
