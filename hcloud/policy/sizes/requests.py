"""How much of a server a job is given: what its user asks for, what it needs, or what its target takes by what is known
of its application (Quasar §2, §3.3).

A strategy need not state it: then jobs get what the rule of ``information`` says.
"""

from __future__ import annotations

from hcloud.policy.rule import Rule, number, share


class SizingRule(Rule):
    """What every rule of sizing is."""


class RequestedSizes(SizingRule, of="sizing", name="requested"):
    """What users ask for, who miss what their jobs need, most of them by far (Quasar §1)."""

    oversized_share: float = share("share of requests")
    oversized_factor: float = number("times the need", 1, 1000)
    undersized_share: float = share("share of requests")
    undersized_factor: float = number("times below the need", 1, 1000)


class ProfiledSizes(SizingRule, of="sizing", name="profiled"):
    """What jobs need, known without error."""


class TargetSizes(SizingRule, of="sizing", name="target", by_rows=1):
    """What the target of each job takes by the classified rows of its application, which err."""

    row_error: float = number("standard deviation of the logarithm", 0, 1)
    headroom: float = number("share above what the target takes", 0, 10, "on_top")
