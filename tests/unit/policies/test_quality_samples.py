"""What a type is judged by: the first look at each of its instances, before chance and choice select among them."""

from __future__ import annotations

import numpy as np
from simulating import excerpt, setting_of, tasks_in

from hcloud.control.controller import sampled
from hcloud.control.opening import new_control
from hcloud.control.ranks import READY
from hcloud.control.servers.tenancy import open_server
from hcloud.control.state import RENTED, UP, Job, RentableKind
from hcloud.policy.quality import leading
from hcloud.policy.records import table
from hcloud.policy.registry import compose
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.world import QUALITY
from hcloud.sim.run import run


def test_an_instance_that_is_kept_and_measured_again_does_not_vote_for_its_type_again() -> None:
    control = new_control(compose(load_strategy("HM"), 0), table(RentableKind, 1), table(Job, 1), 4)
    control.kinds[0].cores = 1000
    for quality in (9 * 10**9, 2 * 10**9):
        number = open_server(control, 0, RENTED, 15.0)
        control.servers[number].status = UP
        sampled(control, number, (quality, 0), 1.0)
    for now in range(2, 50):
        sampled(control, 0, (9 * 10**9 + now, 0), float(now))
    window = control.windows[0]
    assert window.length == 2
    assert {int(q) for q in window.qualities[:2]} == {leading(9 * 10**9), leading(2 * 10**9)}
    assert control.servers[0].high == 9 * 10**9 + 49  # what is known of the instance itself


def test_a_simulated_type_has_one_sample_from_each_instance_when_it_was_ready() -> None:
    setting = setting_of("OdM", 0)
    world = run(setting, tasks_in(setting, excerpt(200)), journal=True).world
    lines = np.asarray(world.lines)[: world.tally.lines]
    looks = lines[lines["code"] == QUALITY]
    started = lines[lines["code"] == READY]
    windows = [world.control.windows[kind] for kind in range(len(world.control.kinds))]
    kept = [w.qualities[: w.length] for w in windows]
    assert len(started) == sum(map(len, kept)) < len(looks)
    at_start = {(float(x["time"]), int(x["a"])) for x in started}
    first = sorted(leading(int(x["b"])) for x in looks if (float(x["time"]), int(x["a"])) in at_start)
    assert sorted(np.concatenate(kept).tolist()) == first
