"""Committed use on Google: what is sold, for what price, under which permissions, and how it is read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest
from contract.rig import KEY, LINEAGE, order
from contract.rigs.gcp import REGION, GoogleRig

from hcloud.errors import DeniedError, NotFoundError
from hcloud.fake.gcp.wire.refusals import permission_of
from hcloud.fake.gcp.wire.routes import OPERATIONS
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder, CommitmentQuote
from hcloud.providers.gcp import commitments as committed
from hcloud.providers.gcp.provider import GoogleCloud
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.readers.permissions import load_permissions

ORDER = CommitmentOrder(KEY, PurchaseOption.COMMITTED_USE, "n2-standard-4", 3, Payment.NONE, count=10)


@pytest.mark.parametrize(
    "changes",
    [
        {"option": PurchaseOption.RESERVED},
        {"option": PurchaseOption.FLEXIBLE_COMMITTED_USE},
        {"payment": Payment.ALL},
        {"term_years": 2},
        {"starts": datetime(2027, 1, 1, tzinfo=UTC)},
        {"count": 0},
        {"instance_type": "zz9-mega-1"},
    ],
)
def test_what_google_does_not_sell_is_said_in_words(changes: dict[str, object]) -> None:
    assert committed.why_not(replace(ORDER, **changes))  # type: ignore[arg-type]
    assert not committed.why_not(ORDER)


@pytest.fixture
def rig() -> Iterator[GoogleRig]:
    found = GoogleRig()
    found.open()
    found.reset()
    yield found
    found.close()


def test_J5_without_a_price_nothing_is_quoted(rig: GoogleRig) -> None:
    settings = GoogleSettings("hcloud-fake", REGION, endpoint=rig.url)
    with pytest.raises(NotFoundError, match="no price"):
        GoogleCloud(settings).quote(ORDER)
    assert rig.cloud().quote(ORDER).hourly > 0


def test_what_a_commitment_was_meant_for_is_read_from_its_description() -> None:
    quote = CommitmentQuote(ORDER, "offering", Decimal(0), Decimal("0.80"), "USD")
    wanted = committed.resources(ORDER, 4, 16384)
    assert (wanted.vcpus, wanted.memory_mib) == (40, 163_840)
    body = committed.body(quote, wanted)
    found = committed.commitment(held(name=body["name"], description=body["description"]))
    assert (found.key, found.instance_type, found.count) == (KEY, "n2-standard-4", 10)
    assert (found.hourly, found.term_years, found.state) == (Decimal("0.80"), 3, "active")


def test_a_commitment_of_others_is_counted_in_vcpus_and_has_no_price() -> None:
    found = committed.commitment(held())
    assert (found.key, found.instance_type, found.count, found.hourly) == ("", "n2", 40, Decimal(0))


@pytest.mark.parametrize(
    ("word", "state"),
    [("NOT_YET_ACTIVE", "pending"), ("EXPIRED", "ended"), ("SOMETHING_NEW", "unknown")],
)
def test_N7_a_state_that_is_not_known_is_unknown(word: str, state: str) -> None:
    assert committed.commitment(held(status=word)).state == state


def held(**changes: object) -> SimpleNamespace:
    usual: dict[str, object] = {
        "name": "yearly",
        "description": "for the shop",
        "type_": "GENERAL_PURPOSE_N2",
        "plan": "THIRTY_SIX_MONTH",
        "status": "ACTIVE",
        "resources": [SimpleNamespace(type_="VCPU", amount="40"), SimpleNamespace(type_="MEMORY", amount="163840")],
        "start_timestamp": "2026-11-22T00:00:00.000-08:00",
        "end_timestamp": "",
    }
    return SimpleNamespace(**{**usual, **changes})


# permissions: what hcloud prints is enough, and nothing of it is idle


def allowed(*purposes: str) -> set[str]:
    table = load_permissions("gcp").permissions
    return {p.name for p in table if p.is_needed(purposes, settings=())}


def roles(*purposes: str) -> dict[str, object]:
    names = allowed(*purposes)
    return {"roles": {"exact": [o for o in OPERATIONS if permission_of(o) in names]}}


@pytest.mark.slow
def test_the_printed_permissions_are_enough_for_a_life_and_a_purchase(rig: GoogleRig) -> None:
    rig.faults(roles("read", "launch", "terminate"))
    cloud = rig.cloud("exact")
    cloud.scope()
    cloud.image(cloud.template([rig.type_name]).images[0].name)
    made = [m.id for m in cloud.launch(order(rig)).machines]
    cloud.machines(LINEAGE)
    cloud.look([*made, rig.unknown_id])  # how one that is not shown ended is asked of its zone
    cloud.examine(made)
    cloud.zones(rig.type_name)
    cloud.quotas(rig.type_name)
    cloud.terminate(made)
    rig.later(3600)
    assert all(m.ended is not None for m in cloud.look(made)), "told by operations: machines are not shown any more"
    with pytest.raises(DeniedError, match="commitments"):
        cloud.commitments()
    rig.faults(roles("commitments", "buy"))
    cloud = rig.cloud("exact")
    cloud.scope()
    cloud.buy(cloud.quote(rig.commitment(KEY)))
    cloud.commitments()
    with pytest.raises(DeniedError, match=r"instances\.create"):
        cloud.launch(order(rig, "e5" * 16))
    asked = {permission_of(r.operation) for r in rig.requests()}
    everything = allowed("read", "launch", "terminate", "commitments", "buy")
    inside_an_order = {"setLabels", "setMetadata", "disks", "subnetworks"}
    assert {p for p in everything - asked if not any(word in p for word in inside_an_order)} == set()
