"""What the lines of a journal of intents say, and that they say nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from pydantic import ValidationError

from hcloud.errors import InputError
from hcloud.model.checked import first_of, form_of
from hcloud.model.holdings.live import CommitmentQuote, Launch
from hcloud.model.holdings.state import Conclusion, Deed, Intent
from hcloud.store.records.durable_lines import NO_SUM, sealed, sealed_lines

FORMAT_VERSION = "1.0"
MOST_MACHINES = 100_000  # ours: of one order
MOST = 999_999_999

Entry = Intent | Conclusion
_KINDS: Mapping[str, type[Any]] = {"intent": Intent, "conclusion": Conclusion}
Stated = TypeVar("Stated")


@dataclass(frozen=True, slots=True)
class Head:
    """The first line: whose journal it is (empty where no state was written yet), the serial of the state that was
    stored when it was begun or trimmed, and the first number that no intent ever had."""

    lineage: str
    serial: int
    number: int


@dataclass(frozen=True, slots=True)
class IntentLines:
    """What a journal holds: ``whole`` bytes of complete lines out of ``size``, and the checksum of the last one."""

    head: Head
    entries: tuple[Entry, ...]
    whole: int
    size: int
    sum: str


def head_content(head: Head) -> Mapping[str, object]:
    """What the first line says."""
    told = {"lineage": head.lineage, "serial": head.serial, "number": head.number}
    return {"journal": {"format_version": FORMAT_VERSION, **told}}


def entry_content(entry: Entry) -> Mapping[str, object]:
    """What the line of an entry says; InputError for an entry that could not be read back."""
    name = "intent" if isinstance(entry, Intent) else "conclusion"
    where = f"the {name} {entry.number}"
    try:
        document = _document(name, entry)
        read = _entry(name, document)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: cannot be written: {_said(error)}") from None
    if read != entry:
        raise InputError(f"{where}: cannot be written: it would be read back as another")
    return {name: document}


def written(head: Head, entries: tuple[Entry, ...]) -> bytes:
    """A whole journal."""
    line, digest = sealed(NO_SUM, head_content(head))
    lines = [line]
    for entry in entries:
        line, digest = sealed(digest, entry_content(entry))
        lines.append(line)
    return b"".join(lines)


def read_lines(data: bytes, where: str, hint: str) -> IntentLines:
    """Read a journal. A torn last line is left out; InputError, with the line, for any other damage."""
    lines, damage = _read_on(data, where, hint)
    if damage is not None or lines is None:
        raise damage or InputError(f"{where}: is empty, and a journal never is", hint=hint)
    return lines


def readable_lines(data: bytes) -> IntentLines | None:
    """What stands before the first damage; None where that is the first line. No line is trusted behind one that cannot
    be read, since its checksum follows from it."""
    return _read_on(data, "", "")[0]


def _read_on(data: bytes, where: str, hint: str) -> tuple[IntentLines | None, InputError | None]:
    """What can be read, and what kept from reading on."""
    head, entries, before, whole, seen = None, list[Entry](), NO_SUM, 0, set[int]()
    damage: InputError | None = None
    try:
        for line in sealed_lines(data, where, hint):
            at = (line.where, hint)
            name, content = _only(line.content, at)
            if head is None:
                head = _stated(at, _head, name, content)
            else:
                entries.append(_numbered(at, _stated(at, _entry, name, content), seen))
            before, whole = line.sum, line.end
    except InputError as error:
        damage = error
    found = None if head is None else IntentLines(head, tuple(entries), whole, len(data), before)
    return found, damage


def _only(content: Mapping[str, object], at: tuple[str, str]) -> tuple[str, object]:
    """The one thing that a line says."""
    if len(content) != 1:
        raise InputError(f"{at[0]}: is damaged: it contains more than one record", hint=at[1])
    return next(iter(content.items()))


def _stated(at: tuple[str, str], read: Callable[[str, object], Stated], name: str, content: object) -> Stated:
    """What a line says; InputError where no hcloud says such a thing."""
    try:
        return read(name, content)
    except ValueError as error:
        raise InputError(f"{at[0]}: {_said(error)}", hint=at[1]) from None


def read_head(data: bytes, where: str, hint: str) -> Head:
    """The first line alone; InputError where it is damaged."""
    first, end, _ = data.partition(b"\n")
    return read_lines(first + end, where, hint).head


def _head(name: str, content: object) -> Head:
    if name != "journal" or not isinstance(content, dict):
        raise ValueError("is not the first line of a journal")
    version = str(content.get("format_version"))
    if version != FORMAT_VERSION:
        raise ValueError(f"format_version {version!r} cannot be read; this hcloud reads {FORMAT_VERSION}")
    if set(content) != {"format_version", "lineage", "serial", "number"}:
        raise ValueError("is not the first line of a journal of this version")
    lineage, serial, number = content["lineage"], content["serial"], content["number"]
    if not isinstance(lineage, str) or not re.fullmatch("([0-9a-f]{32})?", lineage):
        raise ValueError(f"lineage: {str(lineage)[:40]!r} is none")
    _check_whole("serial", serial, 0, MOST)
    _check_whole("number", number, 1, MOST)
    return Head(lineage, serial, number)


def _document(name: str, entry: Entry) -> object:
    """An entry as JSON; what was added later is left out where there is none of it, as in journals of before."""
    document = form_of(_KINDS[name]).dump_python(entry, mode="json")
    if isinstance(entry, Conclusion):
        for told in (document, *document["machines"]):
            if not told["ended"]:
                del told["ended"]
    elif entry.order is not None and entry.order.template is None:
        del document["order"]["template"]
    return document


def _entry(name: str, content: object) -> Entry:
    """The entry that a line's content is; ValueError for what no hcloud wrote."""
    if name not in _KINDS:
        raise ValueError(f"{name[:40]!r} is neither an intent nor a conclusion")
    entry: Entry = form_of(_KINDS[name]).validate_json(json.dumps(content), strict=True)
    if _document(name, entry) != content:
        raise ValueError(f"is not an {name} as hcloud writes it: unknown keys, or values in another form")
    _check(entry)
    return entry


def _check(entry: Entry) -> None:
    """ValueError for numbers out of range, times of no zone, and what an entry of its kind does not have."""
    _check_whole("number", entry.number, 1, MOST)
    for at in _times(entry):
        if at is not None and at.tzinfo is None:
            raise ValueError("a time without its zone")
    if isinstance(entry, Conclusion):
        _check_whole("missing", entry.missing, 0, MOST_MACHINES)
        return
    _check_whole("generation", entry.generation, 0, MOST)
    _ABOUT[entry.deed](entry)


def _times(entry: Entry) -> Iterator[datetime | None]:
    yield entry.at
    if isinstance(entry, Conclusion):
        yield from (m.launched for m in entry.machines)
        yield from (m.ended for m in entry.machines)
        yield from entry.ended.values()
    elif entry.quote is not None:
        yield entry.quote.order.starts


def _check_launch(intent: Intent) -> None:
    order: Launch | None = intent.order
    if order is None or intent.quote is not None or intent.ids:
        raise ValueError("a launch has an order, and nothing else")
    _check_whole("order.count", order.count, 1, MOST_MACHINES)
    if not re.fullmatch("[0-9a-f]{32}", order.key):
        raise ValueError(f"order.key: {order.key[:40]!r} is not 32 hex digits")


def _check_ids(intent: Intent) -> None:
    if not intent.ids or intent.order is not None or intent.quote is not None:
        raise ValueError(f"an intent to {intent.deed} has ids, and nothing else")
    if len(intent.ids) > MOST_MACHINES or len(set(intent.ids)) < len(intent.ids) or not all(intent.ids):
        raise ValueError("ids: too many, empty, or one twice")


def _check_quote(intent: Intent) -> None:
    quote: CommitmentQuote | None = intent.quote
    if quote is None or intent.order is not None or intent.ids:
        raise ValueError("a purchase has a quote, and nothing else")
    _check_whole("quote.order.count", quote.order.count, 0, MOST_MACHINES)
    _check_whole("quote.order.term_years", quote.order.term_years, 1, 5)
    for name, amount in (
        ("upfront", quote.upfront),
        ("hourly", quote.hourly),
        ("order.dollars_per_hour", quote.order.dollars_per_hour or Decimal(0)),
    ):
        if not amount.is_finite() or amount < 0:
            raise ValueError(f"quote.{name}: {amount} is not an amount to pay")


_ABOUT: Mapping[Deed, Callable[[Intent], None]] = {
    Deed.LAUNCH: _check_launch,
    Deed.TERMINATE: _check_ids,
    Deed.BUY: _check_quote,
    Deed.CANCEL: _check_ids,
}


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name}: {str(value)[:40]} is not a whole number from {least} to {most}")


def _numbered(at: tuple[str, str], entry: Entry, seen: set[int]) -> Entry:
    """The entry; InputError where two intents have one number, or a conclusion has none's."""
    if isinstance(entry, Intent) == (entry.number in seen):
        said = "an intent has a number" if isinstance(entry, Intent) else "a conclusion has a number"
        said += " that another has" if isinstance(entry, Intent) else " that no intent has"
        raise InputError(f"{at[0]}: {said}: {entry.number}", hint=at[1])
    seen.add(entry.number)
    return entry


def _said(error: Exception) -> str:
    return first_of(error) if isinstance(error, ValidationError) else str(error)
