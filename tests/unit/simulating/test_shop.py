"""What a simulated run can rent: sizes of one shape, the plan's own commitment, and what a missing price does."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from builders import book, rented, reserved, shape
from simulating import jobs_of

import hcloud
from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import Offer, Provider
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.forecasting.dividing import can_split, settled
from hcloud.planning.settings import Divisible
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.strategies import load_strategy
from hcloud.sim.setup.fitting import Priced, Room, held_by_some, largest_whole, pieces, worth_reserving
from hcloud.sim.setup.shop import Shop, ShopChoice, fitting_shop, open_shop, shop_for, shop_of


def sold(name: str, vcpus: int, memory: int, hourly: str, *commitments: Offer) -> Candidate:
    """A type with its prices."""
    return Candidate(shape(name, vcpus, memory), rented(name, hourly), commitments, None, None)


LARGE = sold("m9.4xlarge", 16, 64, "1.0", reserved("m9.4xlarge", "0.6"))
SMALL = sold("m9.large", 2, 8, "0.13")
NARROW = sold("m9.narrow", 2, 4, "0.1")
TWICE = sold("m9.8xlarge", 32, 128, "2.0")


SMALL_JOBS = jobs_of([(0.0, 3600.0, 1.0, 4.0, 0)])


def shelf() -> PriceBook:
    made = book(LARGE, SMALL, NARROW, TWICE)
    return PriceBook(made.types, made.offers, billing=load_bundled(providers={Provider.AWS}).billing)


@pytest.mark.slow
def test_the_plans_type_comes_with_the_smaller_sizes_of_its_shape() -> None:
    shop = shop_of(shelf(), LARGE.on_demand, LARGE.commitments[0], SMALL_JOBS)
    assert [t.shape.name for t in shop.types] == ["m9.large", "m9.4xlarge"]
    assert shop.types[shop.large].shape == shape("m9.4xlarge")
    assert shop.reserved is LARGE.commitments[0]


def test_a_job_that_cannot_be_split_brings_the_larger_sizes_it_needs() -> None:
    jobs = jobs_of([(0.0, 3600.0, 2.0, 100.0, 0), (0.0, 3600.0, 64.0, 256.0, 1)])
    shop = shop_of(shelf(), LARGE.on_demand, LARGE.commitments[0], jobs)
    assert [t.shape.name for t in shop.types] == ["m9.large", "m9.4xlarge", "m9.8xlarge"], "the service is split"
    assert shop.types[shop.large].shape == shape("m9.4xlarge")


def test_other_types_of_a_fleet_come_with_their_smaller_sizes_and_no_larger_ones() -> None:
    wide, half, whole = (sold(f"r9.{n}", v, v * 8, str(v * 0.08)) for n, v in (("large", 2), ("xlarge", 4), ("2x", 8)))
    made = book(LARGE, SMALL, NARROW, TWICE, wide, half, whole)
    shelves = PriceBook(made.types, made.offers, billing=load_bundled(providers={Provider.AWS}).billing)
    shop = shop_of(shelves, LARGE.on_demand, LARGE.commitments[0], SMALL_JOBS, ["r9.xlarge", "m9.4xlarge"])
    assert [t.shape.name for t in shop.types] == ["m9.large", "r9.large", "r9.xlarge", "m9.4xlarge"]


def test_a_job_is_held_by_a_type_of_its_very_size_by_both_of_its_needs() -> None:
    sizes = [(16.0, 64.0), (16.0, 64.1), (16.1, 1.0), (1.0, 128.0), (8.0, 129.0)]
    whole = settled(jobs_of([(0.0, 3600.0, *size, 0) for size in sizes]), Divisible.NONE)
    held = held_by_some([shape("n9.16", 16, 64), shape("n9.lean", 8, 128)], whole)
    assert held.tolist() == [True, False, False, True, False]


def test_no_less_than_a_whole_server_is_worth_reserving() -> None:
    """Jobs of 6 GiB per vCPU: a machine of 6.75 is cheaper a GiB than one of 8, and no reason to reserve 128 vCPUs."""
    sixteen, half, huge = shape("n9.16", 16, 128), shape("n9.lean", 16, 64), shape("n9.128", 128, 864)
    types = [Priced(sixteen, Decimal("1.0")), Priced(half, Decimal("0.8")), Priced(huge, Decimal("7.0"))]
    few, many = (jobs_of([(0.0, 36_000.0, 6.0, 36.0, 0)] * count) for count in (1, 100))
    assert worth_reserving(types, few, 16).shape == half
    assert worth_reserving(types, many, 16).shape == huge


def test_what_does_not_fill_a_large_server_is_reserved_in_smaller_ones() -> None:
    """One service of 2 vCPUs had a server of 16 to itself; of sizes that cost the same the largest up to 16 counts."""
    wanted = ShopChoice(Provider.AWS, LARGE.on_demand.key.region, ("m9*",), 16, 2.0, or_less=True)
    middle = sold("m9.2xlarge", 8, 32, "0.50")
    made = book(LARGE, SMALL, middle, TWICE)
    shelves = PriceBook(made.types, made.offers, billing=load_bundled(providers={Provider.AWS}).billing)

    def large(count: int) -> str:
        jobs = jobs_of([(0.0, 36_000.0, 2.0, 4.0, 0)] * count)
        shop = fitting_shop(shelves, wanted, jobs, one_shape=True, exact=False)
        return shop.types[shop.large].shape.name

    assert [large(count) for count in (1, 7, 8, 100)] == ["m9.large", "m9.2xlarge", "m9.4xlarge", "m9.4xlarge"]


def test_one_job_of_a_larger_server_does_not_make_every_reserved_server_as_large() -> None:
    """One job of 96 vCPUs had services of 2 on rented servers of 96, and the reserve in steps of 96."""
    wanted = ShopChoice(Provider.AWS, LARGE.on_demand.key.region, ("m9*",), 16, 2.0, or_less=True, apart=0.1)
    services = [(0.0, 36_000.0, 2.0, 8.0, 1)] * 100

    def shop(seconds: float) -> Shop:
        jobs = settled(jobs_of([*services, (0.0, seconds, 32.0, 100.0, 0)]), Divisible.NONE)
        return fitting_shop(shelf(), wanted, jobs, one_shape=True, exact=False)

    def reserved_by(name: str, seconds: float) -> tuple[str, str]:
        own = shop_for(shop(seconds), load_strategy(name))
        return own.types[own.large].shape.name, own.reserved.key.instance_type

    few, most = 600.0, 400_000.0
    assert [t.shape.name for t in shop(few).types] == ["m9.large", "m9.4xlarge", "m9.8xlarge"]
    assert [reserved_by(name, few) for name in ("HM", "HF", "OdF")] == [("m9.4xlarge", "m9.4xlarge")] * 3
    assert reserved_by("SR", few) == ("m9.8xlarge", "m9.8xlarge"), "it rents nothing, and has to hold the job"
    assert reserved_by("HM", most) == ("m9.8xlarge", "m9.8xlarge"), "most of the work needs it"
    assert shop(most).whole is None
    jobs = settled(jobs_of([*services, (0.0, few, 32.0, 100.0, 0)]), Divisible.NONE)
    bound = replace(jobs, requires=np.zeros(len(jobs), np.int32), requirements=("server=0",))
    assert fitting_shop(shelf(), wanted, bound, one_shape=True, exact=False).whole is None, "it may be bound"


@pytest.mark.slow
def test_services_are_not_rented_servers_as_large_as_one_job_needs(tmp_path: Path) -> None:
    """They were, at six times the dollars: only the job itself gets one, and all that its user or it asks for."""
    services = [f"s{n},{1800 * n},36000,2,8,service" for n in range(24)]
    lines = ["id,submit,duration,cores,memory,kind", *services, "big,40000,600,96,192,batch"]
    (tmp_path / "jobs.csv").write_text("\n".join(lines), encoding="utf-8")

    def rented(unprofiled: bool) -> dict[str, int]:
        found = hcloud.simulate(
            tmp_path / "jobs.csv", "OdF", provider="aws", families="m5a", unprofiled=unprofiled, now="2026-11-20"
        ).comparison
        assert found.assumed[0].startswith("1 job (3.2% of the work) needs a larger type than m5a.4xlarge, which is")
        series = found.strategies[0].first.timeline.rented
        return {name.split()[0]: int(counts.max()) for name, counts in series.items()}

    for most in (rented(unprofiled=False), rented(unprofiled=True)):
        assert most["m5a.24xlarge"] == 1
        assert most["m5a.4xlarge"] > 1


def test_where_no_large_server_can_be_committed_to_a_smaller_one_is_reserved() -> None:
    small = sold("m9.large", 2, 8, "0.13", reserved("m9.large", "0.08"))
    made = book(small, TWICE)
    shelves = PriceBook(made.types, made.offers, billing=load_bundled(providers={Provider.AWS}).billing)
    wanted = ShopChoice(Provider.AWS, LARGE.on_demand.key.region, ("m9*",), 16)
    many = jobs_of([(0.0, 36_000.0, 2.0, 4.0, 0)] * 100)
    shop = fitting_shop(shelves, wanted, many, one_shape=True, exact=False)
    assert (shop.types[shop.large].shape.name, shop.reserved) == ("m9.large", small.commitments[0])


def test_a_refusal_names_the_families_that_are_sold() -> None:
    wanted = ShopChoice(Provider.AWS, LARGE.on_demand.key.region, ("c5*",))
    with pytest.raises(UsageError) as caught:
        fitting_shop(shelf(), wanted, SMALL_JOBS, one_shape=True, exact=False)
    assert caught.value.hint == "--family names others; sold there: m9"


def test_without_a_commitment_the_reserve_has_the_on_demand_price() -> None:
    shop = shop_of(shelf(), SMALL.on_demand, None, SMALL_JOBS)
    assert abs(shop.reserved.effective_hourly - Decimal("0.13")) < Decimal("1e-9")


def test_a_missing_commitment_is_an_error_and_not_free() -> None:
    wanted = ShopChoice(Provider.AWS, LARGE.on_demand.key.region, ("m9",), 32)
    with pytest.raises(EvidenceError, match="no one-year commitment"):
        open_shop(shelf(), wanted)


def test_a_size_nobody_sells_is_an_error() -> None:
    wanted = ShopChoice(Provider.AWS, LARGE.on_demand.key.region, ("m9",), 64)
    with pytest.raises(UsageError, match="no priced type of 64 vCPUs"):
        open_shop(shelf(), wanted)


def test_what_may_be_split_is_one_rule_for_plans_and_runs() -> None:
    jobs = jobs_of([(0.0, 3600.0, 2.0, 4.0, 0), (0.0, 3600.0, 2.0, 4.0, 1)])
    assert [can_split(jobs, d).tolist() for d in Divisible] == [[True, True], [False, True], [False, False]]
    whole = settled(jobs, Divisible.NONE)
    assert largest_whole(whole) == Room(2000, 4096)
    assert pieces(whole, np.arange(2), Room(1000, 1024)).tolist() == [1, 1]
    assert pieces(jobs, np.arange(2), Room(1000, 1024)).tolist() == [1, 4], "by memory where that takes more"
