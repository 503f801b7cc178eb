"""The order in which events of one time are handled, in simulation and in life."""

from __future__ import annotations

from hcloud.model.running.event import (
    Arrival,
    BelowQos,
    Cancelled,
    ClockTick,
    Closing,
    Completion,
    During,
    Event,
    Failed,
    Interruption,
    Latency,
    LaunchFailed,
    Lost,
    Pool,
    Progress,
    Quality,
    Ready,
    Reclassified,
    Sample,
)

(
    FINISH,
    READY,
    FAILED_LAUNCH,
    INTERRUPT,
    LOSS,
    CANCEL,
    REPLACE,
    EXPIRE,
    BOUND,
    LOOK,
    CHECK,
    CONTROL,
    SAMPLE,
    ARRIVAL,
    PASSED,
) = range(15)
"""A job ends, an instance has started, a launch came to nothing, spot capacity is taken back, an instance is lost, a
job is cancelled, a reserved server is replaced, a retention ends, a job was held back long enough, neighbours are
looked at anew, a suffering job is looked after, a control period passes, the record is sampled, a job arrives, the
clock alone moves."""

_RANKS = {
    Completion: FINISH,
    Failed: FINISH,
    Ready: READY,
    LaunchFailed: FAILED_LAUNCH,
    Interruption: INTERRUPT,
    Lost: LOSS,
    Closing: LOSS,
    Cancelled: CANCEL,
    Quality: LOOK,
    BelowQos: CHECK,
    Progress: CHECK,
    Latency: CHECK,
    Reclassified: CHECK,
    Arrival: ARRIVAL,
    Pool: REPLACE,
    ClockTick: PASSED,
}
_SAMPLE_RANKS = {During.COMPLETION: FINISH, During.READY: READY, During.WATCH: LOOK, During.ARRIVAL: ARRIVAL}


def rank_of(event: Event) -> int:
    """Where an event stands among those of its time."""
    if isinstance(event, Arrival) and event.copy_of is not None:
        return CHECK  # it came of a look at those that run
    if isinstance(event, Closing) and (event.measures or event.suffers):
        return CHECK
    return _SAMPLE_RANKS[event.during] if isinstance(event, Sample) else _RANKS[type(event)]
