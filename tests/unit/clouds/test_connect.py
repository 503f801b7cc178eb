"""One place where clouds are opened: by name, lazily, and never by accident."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.errors import InputError, UsageError
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.model.catalog import Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.providers.azure.provider import AzureCloud
from hcloud.providers.gcp.provider import GoogleCloud
from hcloud.usecases.live.connect import CloudSettings, _price, connect

LOCAL = "http://127.0.0.1:9"


def test_a_fake_stands_in_the_region_and_knows_the_types_that_are_asked_for() -> None:
    settings = CloudSettings("aws", "eu-west-3", hourly={"m9.huge": Decimal("4.2")})
    cloud = connect("fake", settings)
    assert isinstance(cloud, MemoryCloud)
    assert cloud.scope().region == "eu-west-3"
    assert cloud.zones("m9.huge") == ("eu-west-3a", "eu-west-3b", "eu-west-3c")
    assert cloud.world.on_demand("m9.huge") == Decimal("4.2")


def test_a_fault_plan_may_be_named(tmp_path: Path) -> None:
    plan = tmp_path / "faults.yaml"
    plan.write_text("price_factor: 2\n", encoding="utf-8")
    cloud = connect(f"fake:{plan}", CloudSettings("gcp", "europe-west1"))
    assert isinstance(cloud, MemoryCloud)
    assert cloud.faults.plan.price_factor == 2
    with pytest.raises(InputError, match="cannot be read"):
        connect(f"fake:{tmp_path}/nowhere.yaml", CloudSettings("gcp", "europe-west1"))


@pytest.mark.parametrize("selection", ["ibm", "AWS", "", "aws:faults.yaml", "hcloud"])
def test_another_name_is_refused(selection: str) -> None:
    with pytest.raises(UsageError, match="no such cloud"):
        connect(selection, CloudSettings("aws", "eu-west-3"))
    with pytest.raises(UsageError, match="is for aws"):
        connect("gcp", CloudSettings("aws", "eu-west-3"))


@pytest.mark.slow
def test_an_account_is_named_by_the_configuration_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, variable in (("gcp", "GOOGLE_CLOUD_PROJECT"), ("azure", "AZURE_SUBSCRIPTION_ID")):
        settings = CloudSettings(name, "somewhere", endpoint=LOCAL)
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv("CLOUDSDK_CORE_PROJECT", raising=False)
        with pytest.raises(UsageError, match=r"no (project|subscription) is configured"):
            connect(name, settings)
        monkeypatch.setenv(variable, "mine")
        assert isinstance(connect(name, settings), GoogleCloud | AzureCloud)


def test_google_is_told_what_a_commitment_costs_by_the_price_book() -> None:
    key = OfferKey(Provider.GCP, "r", "n2-standard-4", PurchaseOption.COMMITTED_USE, 1)
    offer = Offer(key, Decimal("0.1"), Decimal(0), Origin("a table", date(2026, 11, 1)))
    order = CommitmentOrder("k" * 32, key.option, key.instance_type, 1, Payment.NONE, 3)
    told = _price(CloudSettings("gcp", "r", sold=lambda asked: offer if asked == order else None), order)
    assert (told.hourly, told.source) == (Decimal("0.1"), "a table of 2026-11-01")  # type: ignore[attr-defined]
    assert _price(CloudSettings("gcp", "r"), order) is None
