"""M9: a job below its quality of service gets more of its server, or another one (thesis §8.3.3); or all jobs are
watched for phases, and kept at their targets (Paragon §3.4; Quasar §4)."""

from __future__ import annotations

from collections.abc import Iterable

from hcloud.policy.rule import DAY, SECONDS, Known, Rule, choice, count, number, share, switch
from hcloud.policy.rules import Rules
from hcloud.policy.stragglers import WAYS


class EnlargeThenReschedule(Rule, of="monitoring", name="enlarge-then-reschedule", monitor=1):
    """A job that runs badly for long gets more of its server, then another one."""

    sample_seconds: float = number(SECONDS, 0.1, DAY, "monitor_period")
    satisfied_level: float = share("share of expected performance", "monitor_level")
    patience_seconds: float = number(SECONDS, 0, DAY, "patience")
    enlarge_factor: float = number("times the allocation", 1, 100, "enlarge")
    most_reschedules: int = count("moves of a job", 0, 1000, "most_moves")


RECLASSIFY, ADJUST, AUTOSCALE = 1, 2, 3
"""How jobs are watched: for phases, and also to keep them at their targets; or services by how busy they are."""
IN_PLACE, EMPTY_SERVER = "its-server", "empty-server"
"""Where a job is measured anew."""
_SAMPLES, _MOST_SAMPLES = "samples in a row", 10_000


class Reclassify(Rule, of="monitoring", name="reclassify", monitor=1, watching=RECLASSIFY, migrate=1):
    """A job that falls below its target is measured anew and moved where that pays; else its neighbours are (Paragon
    §3.4). Some are measured before they fall."""

    sample_seconds: float = number(SECONDS, 0.1, DAY, "monitor_period")
    satisfied_level: float = share("share of the target", "monitor_level")
    samples: int = count(_SAMPLES, 1, _MOST_SAMPLES, "watch_samples")
    changed_share: float = share("mean difference of vectors", "differs")
    isolate: bool = switch("isolate")
    apart_seconds: float = number(SECONDS, 0.1, DAY, "apart")
    move_seconds: float = number(SECONDS, 0, DAY, "move_seconds")
    move_gib_seconds: float = number("s per GiB", 0, DAY, "move_gib_seconds")
    shard_mib: int = count("MiB", 0, 1_048_576, "shard_mib")
    shard_seconds: float = number(SECONDS, 0, DAY, "shard_seconds")
    sampling_period: float = number(SECONDS, 1, DAY, "sample_every")
    sampled_share: float = share("share of running jobs", "sampled_share")
    stragglers: str = choice(*WAYS, feeds="straggling")
    straggler_seconds: float = number(SECONDS, 0.1, DAY, "straggle_period")
    closes_server: bool = switch("closes", default=False)
    measured_on: str = choice(IN_PLACE, EMPTY_SERVER, feeds="in_vitro", on=EMPTY_SERVER, default=IN_PLACE)

    def numbers(self, known: Known) -> dict[str, float]:
        return {**super().numbers(known), "straggling": WAYS.index(self.stragglers)}


class AdjustToTarget(Reclassify, of="monitoring", name="adjust-to-target", monitor=1, watching=ADJUST):
    """It gets more of its server, then what best effort has there, then another server; one that is above its target
    gives back (Quasar §4.1)."""

    above: float = number("times the target", 1, 100, "above")
    above_samples: int = count(_SAMPLES, 1, _MOST_SAMPLES, "above_samples")
    aim: float = number("share above the target", 0, 10, "aim")
    settling_seconds: float = number(SECONDS, 0, DAY, "settling")
    grow: bool = switch("grow")
    evict: bool = switch("evict")
    queue_first: bool = switch("queue_first")
    migrate: bool = switch("migrate")
    shrink: bool = switch("shrink")
    written_back: bool = switch("learn")
    written_back_from: float = number("share off what is known", 0, 10, "learn_from")
    sizes_next: bool = switch(default=False)
    servers: int = count("servers of a service", 1, 100, "most_servers", default=1)


class Autoscale(Rule, of="monitoring", name="autoscale", monitor=1, watching=AUTOSCALE, shrink=1):
    """A service whose servers are busy gets another one, and one whose servers are idle gives the last one back: the
    rival of Quasar (§5). Nobody looks at its target."""

    sample_seconds: float = number(SECONDS, 0.1, DAY, "monitor_period")
    samples: int = count(_SAMPLES, 1, _MOST_SAMPLES, "watch_samples")
    above_samples: int = count(_SAMPLES, 1, _MOST_SAMPLES, "above_samples")
    apart_seconds: float = number(SECONDS, 0.1, DAY, "apart")
    busy: float = number("share in use", 0.01, 1, "out_rate", lambda share: 1.0 / share)
    idle: float = number("share in use", 0.01, 1, "above", lambda share: 1.0 / share)
    servers: int = count("servers of a service", 1, 100, "most_servers")

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        if self.idle > self.busy / 2:
            needs = f"at most half of 'busy' ({self.busy:g}): else one server turns into two and back"
            yield "idle", f"{self.idle:g}", needs


def enlarged(rules: Rules, allocated: int, free: int) -> int:
    """The allocation in thousandths of a vCPU after enlarging in place; the same where the server has no room."""
    more = int(allocated * rules.enlarge) - allocated
    return allocated + more if 0 < more <= free else allocated


def may_move(rules: Rules, moves: int) -> bool:
    """Whether a job may still be rescheduled."""
    return moves < rules.most_moves
