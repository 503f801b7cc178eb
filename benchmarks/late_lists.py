"""Lists in B10 that are up to two minutes behind: what is new is missing, and what has ended runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hcloud.fake.faults import FaultKind, FaultRule

LISTS: Mapping[str, Sequence[str]] = {
    "aws": ("DescribeInstances",),
    "gcp": ("instances.list", "instances.aggregatedList"),
    "azure": ("VirtualMachines_List*", "VirtualMachineScaleSet*_List*"),
}
BEHIND_SECONDS, SHARE_OF_EACH = (15, 60, 120), 0.12  # so that about a third of all lists is behind
SETTLED_SECONDS = 600.0
"""By so much the fake's clock is put forward before machines are ended: a list that is behind shows them running."""


def late_lists(cloud: str) -> tuple[FaultRule, ...]:
    """The rules that put lists of machines behind, by chance."""
    return tuple(
        FaultRule(on=on, answer=FaultKind.STALE, seconds=seconds, probability=SHARE_OF_EACH)
        for on in LISTS[cloud]
        for seconds in BEHIND_SECONDS
    )


def ended_again(cloud: str) -> tuple[FaultRule, ...]:
    """The rules by which every list shows what was ended in the last two minutes as if it were not."""
    return tuple(FaultRule(on=on, answer=FaultKind.SHOWS_ENDED, seconds=max(BEHIND_SECONDS)) for on in LISTS[cloud])
