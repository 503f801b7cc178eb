"""The cloud in memory: what it makes of keys, names, delays, limits, commitments and faults."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from hcloud.control.ports import Cloud
from hcloud.errors import (
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder, Launch, MachineState, Owner

CLOUDS = ("aws", "gcp", "azure", "local")
LINEAGE = "c" * 32
every_cloud = pytest.mark.parametrize("name", CLOUDS)


def order(cloud: MemoryCloud, count: int = 2, key: str = "d" * 32) -> Launch:
    there = cloud.world.semantics
    return Launch(key, "web", there.types[0], there.zones[0], count, Owner(LINEAGE, "p", "0"))


def with_rules(name: str, *rules: FaultRule, **more: object) -> MemoryCloud:
    return MemoryCloud(name, FaultPlan.model_validate({"rules": rules, **more}))


@every_cloud
def test_it_is_a_cloud_and_the_same_key_gives_the_same_machines(name: str) -> None:
    cloud: Cloud = MemoryCloud(name)
    assert isinstance(cloud, MemoryCloud)
    asked = order(cloud)
    first, second = cloud.launch(asked), cloud.launch(asked)
    assert [m.id for m in first.machines] == [m.id for m in second.machines]
    assert len(cloud.ledger.machines) == 2
    assert {m.key for m in cloud.machines(LINEAGE)} == {asked.key}
    assert cloud.machines("e" * 32) == ()
    assert len(cloud.machines("")) == 2
    with pytest.raises(MismatchError):
        cloud.launch(replace(asked, count=3))


def test_without_tokens_a_cloud_of_tokens_launches_twice_and_a_cloud_of_names_does_not() -> None:
    made = {}
    for name in CLOUDS:
        cloud = with_rules(name, tokens=False)
        cloud.launch(order(cloud))
        cloud.launch(order(cloud))
        made[name] = len(cloud.ledger.machines)
    assert made == {"aws": 4, "gcp": 2, "azure": 2, "local": 2}


@every_cloud
def test_lists_lag_behind_and_tags_more_so(name: str) -> None:
    cloud = with_rules(name, visibility_delay=10, tag_delay=30, spin_up=20, end_delay=5)
    found = cloud.launch(order(cloud)).machines
    ids = [m.id for m in found]
    assert found[0].tags, "the answer has them at once"
    assert cloud.look(ids) == ()
    assert cloud.terminate(ids).gone == tuple(ids)
    cloud.clock.advance(10)
    assert [m.state for m in cloud.look(ids)] == [MachineState.PENDING] * 2
    assert cloud.machines(LINEAGE) == ()
    cloud.clock.advance(20)
    assert [m.state for m in cloud.machines(LINEAGE)] == [MachineState.RUNNING] * 2
    assert cloud.terminate(ids).ending == tuple(ids)
    assert [m.state for m in cloud.look(ids)] == [MachineState.RUNNING] * 2, "the end is told of late, too"
    cloud.clock.advance(10)
    assert [m.state for m in cloud.look(ids)] == [MachineState.STOPPING] * 2
    cloud.clock.advance(5)
    lingering = [] if name == "local" else [MachineState.ENDED] * 2
    assert [m.state for m in cloud.look(ids)] == lingering
    cloud.clock.advance(3600)
    assert not [m for m in cloud.look(ids) if m.state.is_live]
    assert cloud.machines("") == ()


@every_cloud
def test_stock_fills_in_part_and_a_quota_fills_nothing(name: str) -> None:
    cloud = with_rules(name, stock={"*": 3})
    found = cloud.launch(order(cloud, 5))
    assert (len(found.machines), found.missing, bool(found.why)) == (3, 2, True)
    with pytest.raises(NoCapacityError):
        cloud.launch(order(cloud, 1, "f" * 32))
    cloud = with_rules(name, quotas={"instances": 4})
    with pytest.raises(QuotaError, match="instances: 5 needed, 0 of 4 in use"):
        cloud.launch(order(cloud, 5))
    assert not cloud.ledger.machines
    assert cloud.quotas(cloud.world.semantics.types[0])[0].limit == 4


ERRORS: list[tuple[FaultKind, type[CloudError], type[CloudError] | None]] = [
    (FaultKind.THROTTLED, ThrottledError, ThrottledError),
    (FaultKind.NO_CAPACITY, NoCapacityError, None),
    (FaultKind.OPERATION_FAILS, NoCapacityError, None),
    (FaultKind.QUOTA, QuotaError, None),
    (FaultKind.DENIED, DeniedError, DeniedError),
    (FaultKind.EXPIRED, CredentialsError, CredentialsError),
    (FaultKind.SKEWED, CredentialsError, CredentialsError),
    (FaultKind.SERVER_ERROR, UnknownOutcomeError, UnavailableError),
    (FaultKind.UNAVAILABLE, UnknownOutcomeError, UnavailableError),
    (FaultKind.DROPPED_BEFORE, UnknownOutcomeError, UnavailableError),
    (FaultKind.NONSENSE_BEFORE, UnknownOutcomeError, UnavailableError),
    (FaultKind.REDIRECT, UnknownOutcomeError, UnavailableError),
    (FaultKind.DROPPED_AFTER, UnknownOutcomeError, UnavailableError),
    (FaultKind.NONSENSE, UnknownOutcomeError, UnavailableError),
]


@every_cloud
@pytest.mark.parametrize(("kind", "changing", "reading"), ERRORS, ids=[k for k, _, _ in ERRORS])
def test_every_fault_is_an_error_of_ours(
    name: str, kind: FaultKind, changing: type[CloudError], reading: type[CloudError] | None
) -> None:
    cloud = with_rules(name, FaultRule(answer=kind, retry_after=9))
    with pytest.raises(changing) as caught:
        cloud.launch(order(cloud))
    assert not isinstance(caught.value, ThrottledError) or caught.value.retry_after == 9
    if reading is None:
        assert cloud.machines(LINEAGE) == ()
    else:
        with pytest.raises(reading):
            cloud.machines(LINEAGE)
    acted = kind in (FaultKind.DROPPED_AFTER, FaultKind.NONSENSE)
    assert len(cloud.ledger.machines) == (2 if acted else 0)
    assert [r.outcome for r in cloud.ledger.requests] == [kind, kind]
    assert cloud.ledger.requests[0].acted is acted


@every_cloud
def test_every_kind_of_fault_is_known_here(name: str) -> None:
    quiet = {FaultKind.STALE, FaultKind.MISSES_NEW, FaultKind.SHOWS_ENDED}
    quiet |= {
        FaultKind.SLOW,
        FaultKind.TWICE,
        FaultKind.EMPTY,
        FaultKind.NOT_FOUND,
        FaultKind.PARTIAL,
        FaultKind.UNTAGGED,
        FaultKind.UNKNOWN_WORDS,
    }
    assert {k for k, _, _ in ERRORS} | quiet == set(FaultKind)
    cloud = with_rules(
        name,
        FaultRule(on="launch", answer=FaultKind.SLOW, seconds=30, calls=(1,)),
        FaultRule(on="launch", answer=FaultKind.UNTAGGED, calls=(2,)),
        FaultRule(on="machines", answer=FaultKind.UNKNOWN_WORDS, calls=(1,)),
        FaultRule(on="machines", answer=FaultKind.EMPTY, calls=(2,)),
    )
    began = cloud.clock.now()
    cloud.launch(order(cloud))
    assert cloud.clock.now() - began == 30
    assert cloud.launch(order(cloud, 1, "9" * 32)).machines[0].tags == {}
    assert {m.state for m in cloud.machines(LINEAGE)} == {MachineState.UNKNOWN}
    assert cloud.machines(LINEAGE) == ()


@every_cloud
def test_roles_accounts_types_and_spot(name: str) -> None:
    cloud = with_rules(name, roles={"reader": ["machines", "look"]}, spot_notices=[60])
    with pytest.raises(DeniedError):
        cloud.as_principal("reader").launch(order(cloud))
    assert cloud.as_principal("another-account").scope() != cloud.scope()
    with pytest.raises(NotFoundError):
        cloud.zones("z9.mega")
    with pytest.raises(RefusedError):
        cloud.launch(replace(order(cloud), instance_type="z9.mega"))
    cloud.launch(replace(order(cloud), option=PurchaseOption.SPOT))
    cloud.launch(order(cloud, 1, "8" * 32))
    cloud.clock.advance(180)
    live = [m for m in cloud.machines(LINEAGE) if m.state.is_live]
    assert [m.option for m in live] == [PurchaseOption.ON_DEMAND]


def commitment(cloud: MemoryCloud, option: PurchaseOption, **more: object) -> CommitmentOrder:
    found = CommitmentOrder("7" * 32, option, cloud.world.semantics.types[0], 1, Payment.NONE, count=2)
    if option.is_spend_based:
        found = replace(found, count=0, dollars_per_hour=Decimal("1.5"))
    return replace(found, **more)  # type: ignore[arg-type]


@every_cloud
def test_a_purchase_is_repeated_exactly_where_no_key_is_taken(name: str) -> None:
    cloud = MemoryCloud(name)
    for option in cloud.world.semantics.sold:
        before = len(cloud.ledger.purchases)
        quote = cloud.quote(commitment(cloud, option, key=str(before) * 32))
        one, two = cloud.buy(quote), cloud.buy(quote)
        keyless = option in (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)
        assert (one.id == two.id) is not keyless
        assert one.key == ("" if keyless else quote.order.key)
        assert (one.upfront, one.hourly) == (quote.upfront, quote.hourly)
    assert len(cloud.commitments()) == len(cloud.ledger.purchases)
    with pytest.raises(NotFoundError):
        cloud.quote(commitment(cloud, PurchaseOption.SPOT))


@pytest.mark.parametrize("name", ["aws", "gcp", "azure"])
def test_a_price_that_rose_since_the_quote_is_refused(name: str) -> None:
    cloud = MemoryCloud(name)
    option = next(o for o in cloud.world.semantics.sold if not o.is_spend_based)
    quote = cloud.quote(commitment(cloud, option))
    cloud.plan_faults(FaultPlan(price_factor=1.01))
    with pytest.raises(RefusedError, match="more than was quoted"):
        cloud.buy(quote)
    assert not cloud.ledger.purchases


def test_what_can_be_given_back_is() -> None:
    aws, gcp, azure = MemoryCloud("aws"), MemoryCloud("gcp"), MemoryCloud("azure")
    plan = aws.buy(aws.quote(commitment(aws, PurchaseOption.COMPUTE_SAVINGS_PLAN)))
    aws.cancel(plan.id)
    assert aws.commitments()[0].state == "ended"
    reserved = aws.buy(aws.quote(commitment(aws, PurchaseOption.RESERVED)))
    with pytest.raises(RefusedError):
        aws.cancel(reserved.id)
    used = gcp.buy(gcp.quote(commitment(gcp, PurchaseOption.COMMITTED_USE)))
    assert used.state == "pending", "it begins at midnight in California"
    with pytest.raises(RefusedError):
        gcp.cancel(used.id)
    azure.cancel(azure.buy(azure.quote(commitment(azure, PurchaseOption.RESERVATION))).id)
    with pytest.raises(NotFoundError):
        azure.cancel("nothing")
