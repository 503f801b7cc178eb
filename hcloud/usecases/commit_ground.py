"""What all verbs of ``hcloud commit`` stand on: the configuration, the cloud that sells, the ledger and a clock."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import UsageError
from hcloud.live.purchase import VARIABLE, Gates, Ground
from hcloud.model.plan import Plan
from hcloud.readers.config import DEFAULT_REGIONS, Loaded
from hcloud.store.crash import crash_from, go_on
from hcloud.store.purchases import PurchaseLedger
from hcloud.usecases.connect import FAKE, CloudSettings, connect

if TYPE_CHECKING:
    from hcloud.control.ports import Clock, Cloud, Crash

STATE_DIRECTORY = ".hcloud"


@dataclass(frozen=True, slots=True)
class Where:
    """What the command line says: which cloud (none: that of the plan), region and state directory."""

    cloud: str | None = None
    region: str | None = None
    state: Path | None = None

    @property
    def is_fake(self) -> bool:
        """Whether a fake is named."""
        return self.cloud is not None and self.cloud.partition(":")[0] == FAKE


@dataclass(frozen=True, slots=True)
class CommitGround:
    """Configuration, cloud, ledger and clock, opened."""

    loaded: Loaded
    cloud: Cloud
    ledger: PurchaseLedger
    clock: Clock
    crash: Crash

    @property
    def live(self) -> Ground:
        """What the executors need of it."""
        return Ground(self.cloud, self.ledger, self.clock, self.crash)


def gates_of(loaded: Loaded, environment: Mapping[str, str] = os.environ) -> Gates:
    """What the configuration and the environment have opened."""
    section = loaded.config.commitments
    return Gates(section.enabled, environment.get(VARIABLE) == "1", section.ceiling, section.price_tolerance)


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def passed(self) -> float:
        """Seconds that passed since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def ledger_of(loaded: Loaded, where: Where, crash: Crash = go_on) -> PurchaseLedger:
    """The ledger beside the state."""
    return PurchaseLedger(where.state or loaded.base / STATE_DIRECTORY, crash)


def opened(loaded: Loaded, where: Where, settings: CloudSettings) -> CommitGround:
    """Connect to the cloud; a fake brings its own clock along."""
    cloud = connect(where.cloud or settings.cloud, settings)
    clock: Clock = getattr(cloud, "clock", None) or SystemClock()
    crash = crash_from()
    return CommitGround(loaded, cloud, ledger_of(loaded, where, crash), clock, crash)


def settings_of(loaded: Loaded, where: Where, plan: Plan | None) -> CloudSettings:
    """Which cloud and region are meant: what the command line names, else what the plan wants to buy, else the market
    of the configuration. UsageError where a plan has several regions and none is named."""
    named = None if where.is_fake else where.cloud
    wanted = {(str(m.provider), m.region) for m in plan.purchases} if plan else set()
    places = sorted(p for p in wanted if named in (None, p[0]) and where.region in (None, p[1]))
    if len(places) > 1:
        several = ", ".join(f"{c} {r}" for c, r in places)
        raise UsageError(f"the plan buys in {several}; one purchase plan is for one of them", hint="name it: --region")
    cloud, region = places[0] if places else _first_market(loaded, named)
    hourly = {}
    if plan and where.is_fake:
        from hcloud.usecases.commit_rehearsal import expected_by

        hourly = expected_by(plan)
    return CloudSettings(cloud, where.region or region, hourly=hourly)


def _first_market(loaded: Loaded, named: str | None) -> tuple[str, str]:
    markets = loaded.config.markets
    market = next((m for m in markets if m.provider == named), None)
    if market is None and named is not None:
        known = next((p for p in DEFAULT_REGIONS if p == named), None)
        return named, DEFAULT_REGIONS[known] if known else ""
    market = market or markets[0]
    return str(market.provider), (market.regions or (DEFAULT_REGIONS[market.provider],))[0]
