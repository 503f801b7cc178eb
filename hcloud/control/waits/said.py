"""What is said of jobs that wait in classes: in which, for how long at most, and whose server they get."""

from __future__ import annotations

from hcloud.policy import codes
from hcloud.policy.facts import SECONDS, DecisionFacts, DecodedCommand, Reason, Setup, seconds


def _class(setup: Setup, order: DecodedCommand) -> str:
    return f"class {order.reason % codes.CLASSED + 1} of {setup.rules.classes}"


def _until(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    if not setup.rules.windowed:
        return "for as long as it takes"
    return f"until {seconds(order.margin)}, for {seconds(max(order.margin - facts.at, 0.0))} at most"


def _after(order: DecodedCommand) -> str:
    return f" after {seconds(order.margin)} in the queue" if order.margin > 0 else ""


_SAID: dict[int, Reason] = {
    codes.WAITS_IN_CLASS: Reason(
        "waits-in-class",
        "",
        lambda s, o, f: (
            f"it is of {_class(s, o)}; no server of that pool has room where nobody would suffer, so it waits"
            f" {_until(s, o, f)}"
        ),
    ),
    codes.WAITS_BELOW: Reason(
        "diverted-down",
        "",
        lambda s, o, f: f"a server of {_class(s, o)} is likelier to be free in time; it waits there {_until(s, o, f)}",
    ),
    codes.WAITS_FOR_ANY: Reason(
        "window-over-no-room",
        "",
        lambda s, o, f: f"it is of {_class(s, o)} and may wait no longer, but no server has room; it gets the next one",
    ),
    codes.OWN_POOL: Reason(
        "own-pool", SECONDS, lambda s, o, f: f"a server of its own pool, {_class(s, o)}, has room{_after(o)}"
    ),
    codes.POOL_ABOVE: Reason(
        "diverted-up",
        SECONDS,
        lambda s, o, f: f"a server of the pool above, {_class(s, o)}, has room{_after(o)}, and nobody waits for it",
    ),
    codes.POOL_BELOW: Reason(
        "pool-below",
        SECONDS,
        lambda s, o, f: f"it was diverted down, and a server of {_class(s, o)} has room{_after(o)}",
    ),
    codes.WINDOW_OVER: Reason(
        "window-over",
        SECONDS,
        lambda s, o, f: f"its window is over{_after(o)}: it is of {_class(s, o)} and gets the best server there is",
    ),
    codes.NEVER_WAITS: Reason(
        "never-waits",
        "",
        lambda s, o, f: f"it is of {_class(s, o)} and has no time to wait: it gets the best server there is",
    ),
}


def reason_of(code: int) -> Reason | None:
    """What is said of a reason that names a class; None for any other."""
    return _SAID[code // codes.CLASSED] if code >= codes.CLASSED else None
