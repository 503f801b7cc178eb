"""Columns that a bill lacks of those that tell what commitments cost."""

from __future__ import annotations

from hcloud.readers.bills.adding import LineTotal
from hcloud.readers.bills.formats.spelling import spelled


def has(total: LineTotal, roles: tuple[str, ...]) -> bool:
    """Whether a line says an amount by columns that its files have."""
    return bool(roles) and not any(role in total.absent for role in roles)


def lacking(totals: list[LineTotal], *, slashes: bool) -> tuple[str, ...]:
    """The columns without which the bill does not say what commitments and their use cost."""
    names: dict[str, None] = {}
    for total in totals:
        names.update(dict.fromkeys(total.absent[role] for role in _needed(total) if role in total.absent))
    return tuple(spelled(name, slashes=slashes) for name in names)


def _needed(total: LineTotal) -> tuple[str, ...]:
    return (*total.line.fee, total.line.paid_by) if total.line.holding is not None else ()


def said_lacking(totals: list[LineTotal], without: tuple[str, ...]) -> dict[str, int]:
    """What a bill without these columns leaves out, and of how many lines."""
    if not without:
        return {}
    rows = sum(t.rows for t in totals if any(role in t.absent for role in _needed(t)))
    what = f"column{'s' if len(without) > 1 else ''} {', '.join(without)}"
    return {f"lines of commitments without their cost (utilisation and savings are left out): export {what} too": rows}
