"""Small values that many tests need: shapes, offers, price books, demand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption, SustainedUse
from hcloud.model.workload import Demand, Provenance
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.forecasting.forecast import Forecast

DAY = date(2026, 11, 1)
ORIGIN = Origin("a test", DAY)
REGION = "us-east-1"


def shape(name: str = "m9.4xlarge", vcpus: int = 16, memory: int = 64, **more: object) -> InstanceType:
    """An instance type of AWS."""
    family = name.split(".", maxsplit=1)[0]
    return InstanceType(
        Provider.AWS, name, family, Decimal(vcpus), Decimal(memory), Decimal(vcpus * 2), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def key(name: str, option: PurchaseOption, years: int = 0, payment: Payment = Payment.NONE) -> OfferKey:
    """The key of an offer in the test region."""
    return OfferKey(Provider.AWS, REGION, name, option, years, payment)


def rented(name: str, hourly: str, option: PurchaseOption = PurchaseOption.ON_DEMAND) -> Offer:
    """An on-demand or spot offer."""
    return Offer(key(name, option), Decimal(hourly), Decimal(0), ORIGIN)


def reserved(name: str, hourly: str, years: int = 1, remaining: int | None = None) -> Offer:
    """An all-upfront reserved instance at an effective hourly price."""
    upfront = Decimal(hourly) * 8760 * years
    return Offer(key(name, PurchaseOption.RESERVED, years, Payment.ALL), Decimal(0), upfront, ORIGIN, remaining)


def candidate(
    name: str = "m9.4xlarge",
    hourly: str = "1.00",
    commitments: Sequence[Offer] = (),
    sustained: SustainedUse | None = None,
    memory: int = 64,
) -> Candidate:
    """A candidate of 16 vCPUs."""
    return Candidate(shape(name, memory=memory), rented(name, hourly), tuple(commitments), None, sustained)


def book(*candidates: Candidate) -> PriceBook:
    """A price book with the candidates' offers."""
    offers = [o for c in candidates for o in (c.on_demand, *c.commitments, *((c.spot,) if c.spot else ()))]
    return PriceBook({(Provider.AWS, c.shape.name): c.shape for c in candidates}, {o.key: o for o in offers})


def demand(cores: Sequence[float], step: int = 3600, memory_per_core: float = 4.0) -> Demand:
    """A demand series, all of it batch."""
    column = np.asarray(cores, dtype=np.float64)
    return Demand(
        0.0, step, column, column * memory_per_core, column, Provenance("a test", "test", "0" * 64, len(cores))
    )


def forecast(cores: Sequence[float], step: int = 3600, memory_per_core: float = 4.0) -> Forecast:
    """A forecast as it stands, without stretching."""
    d = demand(cores, step, memory_per_core)
    return Forecast(step, d.cores, d.memory, d.batch_cores, len(cores))
