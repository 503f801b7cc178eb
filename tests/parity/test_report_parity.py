"""A report of a journal charges what the simulator itself charged for the run: one formula, two ways to get there."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulating import with_spot

from hcloud.catalog.bills.billing import charges as charged
from hcloud.catalog.bills.terms import Tariff
from hcloud.model.catalog import PurchaseOption
from hcloud.planning.changes.slots import RESERVED
from hcloud.planning.reports.report import total
from hcloud.readers.clouds import load_cloud
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.strategies import load_strategy
from hcloud.sim.run import RunOutcome, charges, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import Tasks, tasks_of
from hcloud.sim.setup.scenarios import scenario
from hcloud.sim.setup.shop import ShopChoice, open_shop
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.reports.rented import rented_in
from hcloud.usecases.studies.journal import write_journal

SEED, JOBS = 42, 200
WANTED = ShopChoice.paper()
BOOK = replace(load_bundled(providers={WANTED.provider}, regions={WANTED.region}), sustained={})


def simulated(name: str, *, spot: bool) -> RunOutcome:
    strategy, cloud = load_strategy(name), load_cloud("paper")
    strategy = with_spot(strategy, 0.9) if spot else strategy
    tasks = tasks_of(scenario("high-variability", SEED), cloud, strategy, Room(16_000, 61_440), SEED)
    values: dict[str, Any] = {f.name: getattr(tasks, f.name) for f in fields(tasks)}
    values |= {key: v[:JOBS] for key, v in values.items() if isinstance(v, np.ndarray)}
    return run(Setting(strategy, cloud, open_shop(BOOK, WANTED), 2, SEED), Tasks(**values), journal=True)


@pytest.mark.parametrize(("name", "spot"), [("HM", False), ("HF", False), ("OdM", False), ("HM", True)])
def test_a_journal_is_charged_as_the_simulator_charged_the_run(name: str, spot: bool, tmp_path: Path) -> None:
    outcome = simulated(name, spot=spot)
    write_journal(outcome, tmp_path / "run.journal")
    journal = read_journal(tmp_path / "run.journal")
    told = rented_in(journal.setup, journal.entries, 0)
    rows = charged(told.rented, (), Tariff(BOOK, WANTED.provider, WANTED.region), told.period)
    rented = total(row for row in rows if row.address != RESERVED)
    expected = sum((c.dollars for c in charges(outcome)), Decimal(0))
    assert rented.billed > 0
    assert abs(rented.billed - expected) < Decimal("1e-9")
    assert any(r.option is PurchaseOption.SPOT for r in rows) == spot
