"""L8, C4. Lists that go on elsewhere, never end, or lack a part: no token goes along, nothing is taken for empty."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from contract.rig import LINEAGE, order
from contract.rigs.azure import AzureRig
from contract.rigs.gcp import GoogleRig

from benchmarks.processes import Front
from hcloud.errors import UnavailableError, UnreachableError
from hcloud.fake.azure.cloud import FakeAzure
from hcloud.fake.server import FakeCloud, FakeServer, HttpAnswer, Received, json_answer
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.http import Fetcher, HttpLimits, same_host

Change = Callable[[Received, Any], object]


class Altering(Front):
    """A cloud whose lists are changed on their way."""

    def __init__(self, cloud: FakeCloud, of: str, change: Change) -> None:
        super().__init__(cloud)
        self.of, self.change, self.asked = of, change, 0

    def answer(self, received: Received) -> HttpAnswer:
        found = super().answer(received)
        if received.method != "GET" or self.of not in received.path or found.status != 200:
            return found
        self.asked += 1
        return json_answer(self.change(received, json.loads(found.body)))


@pytest.fixture
def azure() -> Iterator[AzureRig]:
    rig = AzureRig()
    rig.open()
    rig.reset()
    yield rig
    rig.close()


@pytest.fixture
def google() -> Iterator[GoogleRig]:
    rig = GoogleRig()
    rig.open()
    rig.reset()
    yield rig
    rig.close()


def altered(rig: AzureRig | GoogleRig, of: str, change: Change) -> Altering:
    """From now on lists whose path holds ``of`` are changed."""
    found = Altering(rig.fake, of, change)
    assert rig._running is not None
    rig._running.exchange(found)
    return found


@pytest.mark.parametrize("of", ["/virtualMachines", "/skus", "/usages"])
def test_L8_a_list_of_azures_that_goes_on_at_another_host_is_not_followed(azure: AzureRig, of: str) -> None:
    with FakeServer(FakeAzure()) as other:
        altered(azure, of, lambda received, said: {**said, "nextLink": f"{other.url}{received.path}?api-version=1"})
        cloud = azure.cloud()
        with pytest.raises(UnavailableError, match="another host"):
            cloud.machines(LINEAGE) if of == "/virtualMachines" else cloud.quotas(azure.type_name)
        assert isinstance(other.cloud, FakeAzure)
        assert not other.cloud.ledger.requests


def test_V8_a_list_of_azures_without_an_end_is_an_error(azure: AzureRig) -> None:
    def again(received: Received, said: Any) -> object:
        return {**said, "nextLink": f"{azure._running.url}{received.path}?api-version=1&$skiptoken=0"}  # type: ignore[union-attr]

    front = altered(azure, "/virtualMachines", again)
    with pytest.raises(UnavailableError, match="no end"):
        azure.cloud().machines(LINEAGE)
    assert front.asked < 10


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://management.azure.com:443/subscriptions?x=1", True),
        ("https://MANAGEMENT.azure.com/subscriptions", True),
        ("https://management.azure.com:444/", False),
        ("http://management.azure.com/", False),
        ("https://management.azure.com.evil.example/", False),
        ("https://management.azure.com@evil.example/", False),
        ("https://management.azure.com:port/", False),
        ("https://[::1/", False),
    ],
)
def test_L8_an_address_of_azures_own_is_told_by_scheme_host_and_port(url: str, own: bool) -> None:
    assert Arm(AzureSettings("0" * 8 + "-0000-0000-0000-" + "0" * 12, "eastus")).is_own(url) is own


def test_an_outage_in_another_region_of_googles_keeps_nobody_from_looking(google: GoogleRig) -> None:
    made = google.cloud().launch(order(google)).machines
    outage = {"warning": {"code": "UNREACHABLE", "message": "zone is down"}}

    def elsewhere(received: Received, said: Any) -> object:
        items = {**said.get("items", {}), "zones/asia-east1-a": outage}
        return {**said, "items": items, "unreachables": ["projects/p/zones/asia-east1-b"]}

    altered(google, "/aggregated/instances", elsewhere)
    assert {m.id for m in google.cloud().machines(LINEAGE)} == {m.id for m in made}


@pytest.mark.parametrize("place", ["zones/us-central1-a", "regions/us-central1", "somewhere"])
def test_C4_an_outage_in_our_region_is_no_empty_list(google: GoogleRig, place: str) -> None:
    outage = {"warning": {"code": "UNREACHABLE", "message": "zone is down"}}
    altered(google, "/aggregated/instances", lambda received, said: {**said, "items": {place: outage}})
    with pytest.raises(UnavailableError, match="could not ask"):
        google.cloud().machines(LINEAGE)
    altered(google, "/aggregated/instances", lambda received, said: {**said, "unreachables": [place]})
    with pytest.raises(UnavailableError, match="could not ask"):
        google.cloud().machines(LINEAGE)


@pytest.mark.parametrize("url", ["https://prices.example:port/x", "https://prices.example:99999/", "https://[::1/"])
def test_L8_an_address_that_is_none_is_another_hosts(url: str) -> None:
    assert not same_host(url, "https://prices.example")
    with pytest.raises(UnreachableError, match="another host"):
        Fetcher("https://prices.example", limits=HttpLimits(attempts=1)).get(url)


def test_L8_the_standard_port_is_no_other_host() -> None:
    assert same_host("https://prices.example:443/page/2", "https://prices.example")
    assert not same_host("https://prices.example:444/page/2", "https://prices.example")
