"""At which intensity 5 % is lost: which one to measure next, and what the measured ones say. Runs nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from hcloud.profiling.noise import spread

FULL = 100.0
LIMIT = 0.05  # Paragon §2.3: 95 % of the isolated performance
RAMP = (25.0, 50.0, 75.0)  # ours: coarse steps before bisection

Losses = Mapping[float, Sequence[float]]
"""What was lost at each intensity that was measured, as fractions of the undisturbed figure, one per repeat."""


@dataclass(frozen=True, slots=True)
class RampRules:
    """When a loss counts and how long to look; ``noise`` is the drift of undisturbed measurements."""

    limit: float = LIMIT
    noise: float = 0.0
    fewest: int = 2  # ours
    most: int = 5  # ours
    resolution: float = 6.25  # ours: two halvings of a ramp step

    @property
    def threshold(self) -> float:
        """The loss that counts: the limit, or the noise where that is larger."""
        return max(self.limit, self.noise)


class RampVerdict(Enum):
    """What the repeats at one intensity say; LEANING ones were cut off before they were sure."""

    OPEN = "open"
    KEPT = "kept"
    LOST = "lost"
    LEANING_KEPT = "leaning to kept"
    LEANING_LOST = "leaning to lost"

    @property
    def is_lost(self) -> bool:
        """Whether more than the threshold was lost, surely or not."""
        return self in (RampVerdict.LOST, RampVerdict.LEANING_LOST)


@dataclass(frozen=True, slots=True)
class Crossing:
    """The intensity at which the threshold is lost, the range in which it surely lies, and the repeats it rests on;
    ``never`` says that even full intensity cost less."""

    value: float
    low: float
    high: float
    samples: int
    never: bool


def verdict(losses: Sequence[float], rules: RampRules) -> RampVerdict:
    """Whether the threshold was lost at an intensity, by the interval of its repeats."""
    if len(losses) < rules.fewest:
        return RampVerdict.OPEN
    mean, low, high = spread(losses)
    if low > rules.threshold:
        return RampVerdict.LOST
    if high <= rules.threshold:
        return RampVerdict.KEPT
    if len(losses) < rules.most:
        return RampVerdict.OPEN
    return RampVerdict.LEANING_LOST if mean > rules.threshold else RampVerdict.LEANING_KEPT


def next_intensity(losses: Losses, rules: RampRules) -> float | None:
    """The intensity to measure next, None when the crossing is known as well as the rules ask.

    Full intensity goes first, since most applications bear most resources and are done with that. Then the ramp goes up
    to the first loss, and bisection narrows the step in which it came.
    """
    return _search(losses, rules)[2]


def crossing(losses: Losses, rules: RampRules) -> Crossing | None:
    """Where the threshold is lost by what was measured so far; None where not even full intensity was judged."""
    if _judged(losses, FULL, rules) is RampVerdict.OPEN:
        return None
    low, high, _ = _search(losses, rules)
    samples = sum(map(len, losses.values()))
    sure_kept = max((x for x in losses if x <= low and _judged(losses, x, rules) is RampVerdict.KEPT), default=0.0)
    if high > FULL:
        return Crossing(FULL, sure_kept, FULL, samples, never=True)
    sure_lost = min((x for x in losses if x >= high and _judged(losses, x, rules) is RampVerdict.LOST), default=FULL)
    return Crossing(_between(losses, (low, high), rules), sure_kept, sure_lost, samples, never=False)


def _search(losses: Losses, rules: RampRules) -> tuple[float, float, float | None]:
    """The step in which the loss came (its upper end beyond FULL: never), and the intensity still to be measured."""
    at_full = _judged(losses, FULL, rules)
    if at_full is RampVerdict.OPEN:
        return 0.0, FULL, FULL
    if not at_full.is_lost:
        return FULL, 2 * FULL, None
    low, high, wanted = _climb(losses, rules)
    while wanted is None and high - low > rules.resolution:
        middle = (low + high) / 2
        judged = _judged(losses, middle, rules)
        if judged is RampVerdict.OPEN:
            wanted = middle
        elif judged.is_lost:
            high = middle
        else:
            low = middle
    return low, high, wanted


def _climb(losses: Losses, rules: RampRules) -> tuple[float, float, float | None]:
    low = 0.0
    for step in RAMP:
        judged = _judged(losses, step, rules)
        if judged is RampVerdict.OPEN:
            return low, FULL, step
        if judged.is_lost:
            return low, step, None
        low = step
    return low, FULL, None


def _judged(losses: Losses, intensity: float, rules: RampRules) -> RampVerdict:
    return verdict(losses.get(intensity, ()), rules)


def _between(losses: Losses, step: tuple[float, float], rules: RampRules) -> float:
    """The straight line between the two ends of the step, where it meets the threshold."""
    low, high = step
    below, above = _mean(losses.get(low, ())), _mean(losses.get(high, ()))
    if above <= below:
        return (low + high) / 2
    share = (rules.threshold - below) / (above - below)
    return low + (high - low) * min(max(share, 0.0), 1.0)


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0
