"""A synthetic centre of reserved servers: tenants with their use and reimages, as the study of real ones describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.harvest.histories import DAY, HOUR, TenantHistories
from hcloud.harvest.servers import RESERVED, ServerGroup, Servers
from hcloud.harvest.typing import CONSTANT, PERIODIC, UNPREDICTABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

MONTH = 365 * DAY / 12
_SHARE_OF_TENANTS = (0.12, 0.68, 0.20)
_SHARE_OF_SERVERS = (0.40, 0.35, 0.25)
_RACK, _MOST_IN_ENVIRONMENT = 40, 6
_MEAN_USE, _MEAN_SPREAD, _MOST_USE = 0.15, 1.2, 0.8
_NOISE, _MEMORY = 0.012, 0.9
_IN_BURSTS, _OVER_ENVIRONMENT, _LEAST_BURST, _WAVES = 0.6, 0.1, 0.5, 4
_MOST_RATE, _LARGE_RATE = 4.0, 1.0
_LARGE_SHARE = 0.08
"""Ours: tenants with more reimages than one a server and month have at most this share of the servers."""
_UPPER_FIFTH = 0.8416
"""Where a fifth of a normal law lies above."""


@dataclass(frozen=True, slots=True)
class CentreShape:
    """How large a centre is, and how often its servers are reimaged: the median and the 80th percentile over tenants,
    a server and month. ``variation`` is how far a tenant's rate goes up and down from month to month; ``mean_use`` is
    what use is scaled to (None: as it is drawn). Shapes of another ``draw`` have other tenants from the same seed."""

    name: str
    tenants: int = 300
    servers: int = 3000
    median_rate: float = 0.005
    high_rate: float = 0.3
    variation: float = 0.3
    cores: float = 12.0
    memory_gib: float = 32.0
    space_gib: float = 500.0
    tenants_by_pattern: tuple[float, float, float] = _SHARE_OF_TENANTS
    servers_by_pattern: tuple[float, float, float] = _SHARE_OF_SERVERS
    mean_use: float | None = None
    draw: int = 0


CENTRES: Mapping[str, CentreShape] = {
    f"centre-{at}": CentreShape(f"centre-{at}", high_rate=high, median_rate=median, variation=variation, draw=at)
    for at, (high, median, variation) in enumerate(
        (
            (0.3, 0.005, 0.3),
            (0.2, 0.005, 0.3),
            (0.4, 0.005, 0.3),
            (0.3, 0.005, 0.1),
            (0.3, 0.005, 0.6),
            (0.4, 0.010, 0.3),
            (0.2, 0.003, 0.6),
            (0.05, 0.002, 0.1),
            (0.05, 0.002, 0.3),
            (0.02, 0.001, 0.3),
        )
    )
}
"""Ten centres, each with tenants of its own, that differ in how often servers are reimaged and how much that varies;
the last three low."""


_OF_TESTBED = (13 / 21, 3 / 21, 5 / 21)
TESTBED = CentreShape(
    "testbed", 21, 102, tenants_by_pattern=_OF_TESTBED, servers_by_pattern=_OF_TESTBED, mean_use=1 / 3
)
"""The servers and tenants of the study's testbed, at a third of their vCPUs (OSDI'16 §6.1); its use is made up."""


class Reimages(NamedTuple):
    """When (seconds from the begin, in order) which server loses what is on it."""

    times: Floats
    servers: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Centre:
    """Servers in tenants; of each tenant its true pattern, mean use and reimages a server and month."""

    shape: CentreShape
    seed: int
    servers: Servers
    pattern: NDArray[np.int64]
    mean: Floats
    rate: Floats


def centre(shape: CentreShape, seed: int) -> Centre:
    """A centre drawn from a seed."""
    chance = np.random.default_rng([seed, 1, shape.draw])
    count = shape.tenants
    ends = np.round(np.cumsum(shape.tenants_by_pattern) * count).astype(np.int64)
    pattern = chance.permutation(np.searchsorted(ends, np.arange(count), side="right"))
    sizes = _sizes(pattern, shape, chance)
    mean = np.minimum(_MEAN_USE * np.exp(chance.normal(0.0, _MEAN_SPREAD, count)), _MOST_USE)
    environment = _environments(count, chance)
    return Centre(shape, seed, _servers(shape, sizes, environment), pattern, mean, _rates(shape, sizes, chance))


def _sizes(pattern: NDArray[np.int64], shape: CentreShape, chance: np.random.Generator) -> NDArray[np.int64]:
    """Servers of each tenant, at least one; those of a pattern have its share of them."""
    raw = np.exp(chance.normal(0.0, 1.0, len(pattern)))
    sizes = np.ones(len(pattern), np.int64)
    for code, share in enumerate(shape.servers_by_pattern):
        mine = pattern == code
        sizes[mine] = np.maximum(np.round(raw[mine] / raw[mine].sum() * share * shape.servers), 1)
    largest = int(sizes.argmax())
    sizes[largest] += shape.servers - sizes.sum()
    return sizes


def _environments(count: int, chance: np.random.Generator) -> NDArray[np.int64]:
    sizes = chance.integers(1, _MOST_IN_ENVIRONMENT + 1, count)
    return np.repeat(np.arange(count), sizes)[:count]


def _rates(shape: CentreShape, sizes: NDArray[np.int64], chance: np.random.Generator) -> Floats:
    """Log-normal over tenants; where tenants that are often reimaged have too many servers, the largest of them change
    places with small ones."""
    spread = np.log(shape.high_rate / shape.median_rate) / _UPPER_FIFTH
    rate = np.minimum(shape.median_rate * np.exp(chance.normal(0.0, spread, len(sizes))), _MOST_RATE)
    by_size = np.argsort(sizes, kind="stable")
    for small in by_size.tolist():
        often = rate > _LARGE_RATE
        if sizes[often].sum() <= _LARGE_SHARE * sizes.sum():
            break
        large = int(np.argmax(np.where(often, sizes, 0)))
        if not often[small]:
            rate[[small, large]] = rate[[large, small]]
    return rate


def _servers(shape: CentreShape, sizes: NDArray[np.int64], environment: NDArray[np.int64]) -> Servers:
    """Tenant after tenant, and so in racks."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    count = len(owner)
    racks = np.arange(count) // _RACK
    groups = {
        "tenant": ServerGroup(tuple(f"t{at}" for at in range(len(sizes))), owner),
        "environment": ServerGroup(tuple(f"e{at}" for at in range(environment.max() + 1)), environment[owner]),
        "rack": ServerGroup(tuple(f"r{at}" for at in range(racks.max() + 1)), racks),
        "market": ServerGroup((RESERVED,), np.zeros(count, np.int64)),
    }
    sized = (np.full(count, number) for number in (shape.cores, shape.memory_gib, shape.space_gib))
    cores, memory, space = sized
    names = tuple(f"s{at}" for at in range(count))
    return Servers(f"scenario:{shape.name}", names, cores, memory, space, groups)


def use_of(made: Centre, days: int, step: int = 300) -> TenantHistories:
    """The use of every tenant in whole days from the begin of a week on."""
    chance = np.random.default_rng([made.seed, 2, made.shape.draw])
    count, tenants = days * DAY // step, made.servers.tenants
    at = np.arange(count) * step / DAY
    weekend = np.where(at % 7 >= 5, 0.85, 1.0)
    use = np.empty((len(tenants.names), count), np.float32)
    for tenant, (code, mean) in enumerate(zip(made.pattern.tolist(), made.mean.tolist(), strict=True)):
        if code == PERIODIC:
            swing, phase = chance.uniform(0.5, 0.95), chance.uniform(-1.5, 1.5) / 24
            course = mean * (1.0 + swing * np.sin(2 * np.pi * (at + phase))) * weekend
        else:
            course = np.full(count, mean if code == CONSTANT else mean / 2)
        if code == UNPREDICTABLE:
            course = course + _bursts(count, mean, step, chance)
        use[tenant] = np.clip(course + _noise(count, chance), 0.0, 1.0)
    sizes = np.bincount(tenants.of, minlength=len(tenants.names))
    cores = np.bincount(tenants.of, made.servers.cores, len(tenants.names)).astype(np.float64)
    return TenantHistories(tenants.names, use, 0.0, step, sizes, cores)


def _noise(count: int, chance: np.random.Generator) -> Floats:
    """Noise in which each step resembles the one before: as an impulse response of forty steps."""
    fresh = chance.normal(0.0, _NOISE * np.sqrt(1 - _MEMORY**2), count + 40)
    noise: Floats = np.convolve(fresh, _MEMORY ** np.arange(40), "valid")[:count]
    return noise


def _bursts(count: int, mean: float, step: int, chance: np.random.Generator) -> Floats:
    """Work that comes at any time, stays for hours, and makes up half of the mean."""
    added = np.zeros(count + 1)
    many = max(int(chance.poisson(count * step / (12 * HOUR))), 1)
    begins = chance.integers(0, count, many)
    lengths = np.maximum(chance.exponential(4 * HOUR / step, many), 1).astype(np.int64)
    heights = chance.uniform(0.5, 1.5, many)
    np.add.at(added, begins, heights)
    np.subtract.at(added, np.minimum(begins + lengths, count), heights)
    course: Floats = np.cumsum(added)[:count]
    return course * (mean / 2 / max(float(course.mean()), 1e-9))


def reimages_of(made: Centre, days: float, seed: int) -> Reimages:
    """Reimages of every server: single ones, and bursts over much of a tenant (or environment) within an hour."""
    chance = np.random.default_rng([made.seed, seed, 3, made.shape.draw])
    months, owner = max(int(np.ceil(days * DAY / MONTH)), 1), made.servers.tenants.of
    rates = made.rate * np.exp(chance.normal(0.0, made.shape.variation, (months, len(made.rate))))
    rates /= np.exp(made.shape.variation**2 / 2)
    times: list[Floats] = []
    servers: list[NDArray[np.int64]] = []
    rows = [np.flatnonzero(owner == tenant) for tenant in range(len(made.rate))]
    environment = made.servers.groups["environment"].of
    burst_size = (_LEAST_BURST + 1.0) / 2
    for month in range(months):
        singles = chance.poisson((1 - _IN_BURSTS) * rates[month][owner])
        hit = np.repeat(np.arange(len(owner)), singles)
        times.append(month * MONTH + chance.random(len(hit)) * MONTH)
        servers.append(hit)
        for tenant, bursts in enumerate(chance.poisson(_IN_BURSTS * rates[month] / burst_size).tolist()):
            for _ in range(bursts):
                wide = chance.random() < _OVER_ENVIRONMENT
                there = np.flatnonzero(environment == environment[rows[tenant][0]]) if wide else rows[tenant]
                part = int(np.ceil(chance.uniform(_LEAST_BURST, 1.0) * len(there)))
                hit = chance.permutation(there)[:part]
                wave = np.arange(part) * _WAVES // part
                within = chance.uniform(0, HOUR / _WAVES / 4, part)
                times.append(month * MONTH + chance.random() * MONTH + wave * HOUR / _WAVES + within)
                servers.append(hit)
    when, which = np.concatenate(times), np.concatenate(servers)
    kept = when < days * DAY
    order = np.argsort(when[kept], kind="stable")
    return Reimages(when[kept][order], which[kept][order])
