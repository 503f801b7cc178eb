"""Jobs that wait for each other, for tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hcloud.model.workload import Jobs
from hcloud.planning.forecasting.following import earliest


def waiting(jobs: Jobs, share: float = 0.6, seed: int = 1) -> Jobs:
    """The same jobs, of which a share waits for one to three that were submitted before."""
    chance = np.random.default_rng(seed)
    pairs = {
        (row, int(before))
        for row in range(1, len(jobs))
        if chance.random() < share
        for before in chance.integers(max(row - 20, 0), row, int(chance.integers(1, 4)))
    }
    after = np.array(sorted(pairs), np.int64)
    made = replace(jobs, serial=np.arange(len(jobs), dtype=np.int32), after=after)
    made = replace(made, submit=earliest(jobs.submit, jobs.duration, after))
    return made.at(np.argsort(made.submit, kind="stable"))
