"""Commitments whose fees a bill spreads over no usage (Google): what is taken off usage for them says who used them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from hcloud.model.bill import LineKind
from hcloud.model.catalog import PurchaseOption
from hcloud.readers.bills.adding import LineTotal
from hcloud.readers.bills.lines import NamedCommitment, Stream
from hcloud.readers.bills.priced import PricedLines

_AMORTISED = Decimal("0.000000000001")


class Reach(NamedTuple):
    """An option, and the region, the family and the part of machines that its commitments hold in: empty for all."""

    option: PurchaseOption
    region: str
    family: str
    part: str

    @classmethod
    def of(cls, held: NamedCommitment, part: str) -> Reach:
        """What a fee is for."""
        return cls(held.option, *(("", "") if held.option.floats else (held.region, held.family)), part)

    def holds(self, credit: LineTotal) -> bool:
        """Whether what was taken off was for it."""
        used, line = credit.line.usage, credit.line
        if used is None or line.option is not self.option or self.part not in ("", line.part):
            return False
        return self.region in ("", used.region) and self.family in ("", used.family)


class TakenOff:
    """The fees by what they reach, and what was taken off there for them: each line of use has its own."""

    def __init__(self, totals: Sequence[LineTotal], priced: PricedLines) -> None:
        offset = [t.line.holding for t in totals if t.line.kind is LineKind.COMMITTED and t.line.holding is not None]
        told = {held.id for held in offset}
        self._priced, self._credits = priced, [t for t in totals if t.line.stream is Stream.COVERED]
        self._fees: dict[Reach, list[LineTotal]] = {}
        for total in totals if self._credits else ():
            held = total.line.holding
            if held is not None and total.line.fee and held.id not in told:
                self._fees.setdefault(Reach.of(held, total.line.part), []).append(total)
        self._off = {reach: self._amount(self._credits, reach) for reach in self._fees}
        self._used = {reach: self._used_part(reach) for reach in self._fees}
        self._told_by_fees = {held.option for held in offset} - {t.line.option for t in self._credits}
        taken = {t.line.option for t in totals if t.line.kind is LineKind.COMMITTED}
        self._unused = {*PurchaseOption} - taken - {held.option for held in offset}

    def borne_by(self, of: Sequence[LineTotal]) -> Decimal:
        """What lines of use bear of the fees: in proportion to what was taken off them, of what was used."""
        borne = Decimal(0)
        for reach, fees in self._fees.items():
            if off := self._off[reach]:
                paid = self._priced.of(fees, "cost") * (1 if (used := self._used[reach]) is None else used)
                borne += (paid * self._amount(of, reach) / off).quantize(_AMORTISED)
        return borne

    def used_of(self, fees: Sequence[LineTotal]) -> Decimal | None:
        """What of the fees of a commitment was used; None where the bill does not say it of all of them."""
        held = [(t.line.holding, t.line.part, "credit" in t.texts and "credit" not in t.absent) for t in fees]
        parts = [self._part(Reach.of(one, part), is_told) for one, part, is_told in held if one is not None]
        if not parts or any(part is None for part in parts):
            return None
        used = (self._priced.of([t], "cost") * (part or 0) for t, part in zip(fees, parts, strict=True))
        return sum(used, Decimal(0)).quantize(_AMORTISED)

    def parts_of(self, fees: Sequence[LineTotal]) -> Mapping[str, Decimal]:
        """What was used of the vCPUs and of the memory that fees are for, where the bill says it."""
        reaches = [Reach.of(t.line.holding, t.line.part) for t in fees if t.line.holding is not None and t.line.part]
        return {reach.part: used for reach in reaches if (used := self._used.get(reach)) is not None}

    def _part(self, reach: Reach, is_told: bool) -> Decimal | None:
        """The part of fees that was used: none of one that is left where the bill takes off all that are used, and none
        where it takes off nothing, if it has credits at all (``is_told``)."""
        told = self._told_by_fees | (self._unused if is_told else set())
        return Decimal(0) if reach.option in told else self._used.get(reach)

    def _amount(self, of: Sequence[LineTotal], reach: Reach) -> Decimal:
        return self._priced.of((t for t in of if t.line.stream is Stream.COVERED and reach.holds(t)), "cost")

    def _used_part(self, reach: Reach) -> Decimal | None:
        """The part of what is committed to that was used: of vCPUs or GiB, where fees and use say how many."""
        committed = sum(fee.units for fee in self._fees[reach])
        if not committed:
            return None
        return min(Decimal(sum(t.units for t in self._credits if reach.holds(t)) / committed), Decimal(1))
