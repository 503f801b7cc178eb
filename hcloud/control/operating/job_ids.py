"""Every id that was ever taken, exactly and in little room: a job is never run twice, however many there were."""

from __future__ import annotations

from dataclasses import dataclass, field

_TAILS = ("", *(f"{n}" for n in range(10)), *(f"{n:02}" for n in range(100)))
_BITS = {tail: 1 << place for place, tail in enumerate(_TAILS)}


@dataclass(slots=True)
class JobIds:
    """A set of ids: a bit for each end of up to two digits, by what comes before it. Of ids that are numbered a hundred
    take as much room as one."""

    bits: dict[str, int] = field(default_factory=dict)

    def add(self, name: str) -> None:
        """From now on it is known."""
        head, bit = _parts(name)
        known = self.bits.get(head)
        self.bits[head] = bit if known is None else known | bit  # lone ids share the numbers of their bits

    def __contains__(self, name: str) -> bool:
        head, bit = _parts(name)
        return bool(self.bits.get(head, 0) & bit)

    def __bool__(self) -> bool:
        return bool(self.bits)

    def image(self) -> JobIds:
        """The same, apart."""
        return JobIds(dict(self.bits))


def _parts(name: str) -> tuple[str, int]:
    for tail in (name[-2:], name[-1:]):
        if (bit := _BITS.get(tail)) is not None:
            return name[: len(name) - len(tail)], bit
    return name, _BITS[""]
