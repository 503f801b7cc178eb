"""Purchase plans as files: sealed with a digest over every byte, so that what is bought is what was shown."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hcloud.errors import InputError
from hcloud.model.checked import check_version, form_of, problems_of
from hcloud.model.holdings.purchase import PurchasePlan
from hcloud.model.json_text import DIALECT, closed, parsed, written
from hcloud.planning.purchases.gates import check_items
from hcloud.store.files.looked_at import check_file
from hcloud.store.files.looked_at import check_target as check_replaced
from hcloud.store.files.whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST = 4 << 20
_MARK = b'"purchase_plan"'
_HEAD = ("format_version", "tool_version", "generated_at", "digest")


def purchase_document(plan: PurchasePlan) -> Mapping[str, object]:
    """The JSON document of a purchase plan: money as decimal strings, times in UTC, keys in a fixed order."""
    content = cast("dict[str, object]", form_of(PurchasePlan).dump_python(plan, mode="json"))
    head = {name: content.pop(name) for name in _HEAD}
    return {**head, "purchase_plan": content}


def purchase_schema() -> Mapping[str, object]:
    """The published JSON Schema of a purchase plan file."""
    content = form_of(PurchasePlan).json_schema(mode="serialization")
    properties = content["properties"]
    head = {name: properties.pop(name) for name in _HEAD}
    plan = closed(properties, sorted(properties))
    return {
        "$schema": DIALECT,
        "title": "hcloud purchase plan",
        "description": content["description"],
        "$defs": content["$defs"],
        **closed({**head, "purchase_plan": plan}, [*_HEAD, "purchase_plan"]),
    }


def rendered(plan: PurchasePlan) -> str:
    """The text of the file."""
    return written(purchase_document(plan), indent=2) + "\n"


def sealed(plan: PurchasePlan) -> PurchasePlan:
    """The plan with its digest: sha256 over the file's text without one."""
    text = rendered(replace(plan, digest=""))
    return replace(plan, digest=hashlib.sha256(text.encode()).hexdigest())


def check_target(path: Path) -> None:
    """Refuse, with InputError, to write where no purchase plan can or should be (one may replace another)."""
    check_replaced(path, "a purchase plan", lambda head: _MARK in head, ".json")


def save_purchase_plan(plan: PurchasePlan, path: Path) -> None:
    """Write a sealed plan, whole or not at all."""
    check_target(path)
    write_whole(path, [rendered(plan)])


def load_purchase_plan(path: Path) -> PurchasePlan:
    """Read a purchase plan. InputError where it is none, is of another version, holds quantities or prices that cannot
    be, or where one byte of it is not as it was written."""
    text = _text(path)
    try:
        document = parsed(text, parse_constant=_no_number)
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    content = document.get("purchase_plan") if isinstance(document, dict) else None
    if not isinstance(content, dict):
        hint = "'hcloud commit plan PLAN --out FILE' writes one"
        raise InputError(f"{path}: is no purchase plan", hint=hint)
    check_version(document, str(path))
    plan = _plan({**content, **{k: v for k, v in document.items() if k != "purchase_plan"}}, path)
    if rendered(sealed(plan)) != text:
        raise InputError(
            f"{path}: is not as it was written: its digest does not fit its content; nothing was bought",
            hint="make a new one with 'hcloud commit plan'; these files are not edited",
        )
    check_items(plan.items)
    return plan


def _text(path: Path) -> str:
    check_file(path, "a purchase plan", hint="'hcloud commit plan PLAN --out FILE' writes one")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any purchase plan ({LARGEST} bytes)")
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason}") from None


def _plan(content: dict[str, object], path: Path) -> PurchasePlan:
    from pydantic import ValidationError

    try:
        return form_of(PurchasePlan).validate_json(json.dumps(content))
    except ValidationError as error:
        raise InputError(f"{path}: not a purchase plan of this version", problems_of(error, str(path))) from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
