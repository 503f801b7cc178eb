"""Purchase plans as files: what is bought is what was written, to the byte."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from purchasing import OPTIONS, Shop, wanted

from hcloud.errors import InputError
from hcloud.store.purchase_file import load_purchase_plan, purchase_schema, rendered, save_purchase_plan, sealed
from hcloud.views.explanations.commitment import explain_purchases


@pytest.fixture(params=sorted(OPTIONS))
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A purchase plan in a file."""
    shop = Shop.open(request.param, tmp_path)
    path = tmp_path / "buy.json"
    save_purchase_plan(shop.plan(), path)
    return path


def test_it_is_read_back_as_it_was_written(written: Path) -> None:
    plan = load_purchase_plan(written)
    assert rendered(plan) == written.read_text(encoding="utf-8")
    assert plan == sealed(plan)


@pytest.mark.slow
def test_J2_one_byte_that_was_edited_is_refused(written: Path) -> None:
    whole = written.read_bytes()
    for at in range(0, len(whole), 7):
        written.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError):
            load_purchase_plan(written)
    written.write_bytes(whole + b" ")
    with pytest.raises(InputError, match="not as it was written"):
        load_purchase_plan(written)


@pytest.mark.parametrize("field", ["account", "region", "lineage"])
def test_J2_another_account_region_or_ledger_is_noticed(field: str, written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    document = json.loads(text)["purchase_plan"]
    value = document["scope"].get(field) or document[field]
    written.write_text(text.replace(f'"{value}"', '"elsewhere"'), encoding="utf-8")
    with pytest.raises(InputError, match="digest"):
        load_purchase_plan(written)


@pytest.mark.parametrize("count", ["NaN", "-1", "0", "1e9", '"10 000"', "2.5", "true", "null", "1000000000"])
def test_I8_a_quantity_that_is_none_is_refused(count: str, tmp_path: Path) -> None:
    shop, path = Shop.open("aws", tmp_path), tmp_path / "buy.json"
    save_purchase_plan(shop.plan(wanted("aws", 7)), path)
    text = path.read_text(encoding="utf-8")
    assert text.count('"count": 7') == 1
    path.write_text(text.replace('"count": 7', f'"count": {count}'), encoding="utf-8")
    with pytest.raises(InputError):
        load_purchase_plan(path)


def test_a_later_version_and_files_of_another_kind_are_told_apart(written: Path, tmp_path: Path) -> None:
    text = written.read_text(encoding="utf-8")
    written.write_text(text.replace('"format_version": "1.0"', '"format_version": "2.0"'), encoding="utf-8")
    with pytest.raises(InputError, match="this hcloud reads"):
        load_purchase_plan(written)
    other = tmp_path / "plan.json"
    other.write_text('{"format_version": "1.0", "mix": []}', encoding="utf-8")
    with pytest.raises(InputError, match="no purchase plan"):
        load_purchase_plan(other)
    with pytest.raises(InputError, match="not overwritten"):
        save_purchase_plan(Shop.open("aws", tmp_path).plan(), other)
    with pytest.raises(InputError, match="no such"):
        load_purchase_plan(tmp_path / "nowhere.json")


def test_the_digest_is_over_everything(written: Path) -> None:
    plan = load_purchase_plan(written)
    assert sealed(replace(plan, recorded=plan.recorded + 1)).digest != plan.digest
    assert sealed(replace(plan, items=())).digest != plan.digest


@pytest.mark.slow
def test_it_follows_the_published_schema(written: Path) -> None:
    document = json.loads(written.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(dict(purchase_schema())).validate(document)
    del document["purchase_plan"]["items"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(dict(purchase_schema())).validate(document)


def test_what_is_queued_is_not_due_at_once(written: Path) -> None:
    plan = load_purchase_plan(written)
    item = plan.items[0]
    order = replace(item.quote.order, starts=datetime(2099, 1, 1, tzinfo=UTC))
    paid = [replace(item.quote, upfront=Decimal(70)), replace(item.quote, upfront=Decimal(30), order=order)]
    queued = replace(plan, items=tuple(replace(item, quote=quote) for quote in paid))
    due = next(line.text for line in explain_purchases(queued).lines if line.about == "due")
    assert due.startswith("$70.00 at once, $30.00 when what is queued begins; ")
    at_once = replace(plan, items=(replace(item, quote=paid[0]),))
    assert next(line.text for line in explain_purchases(at_once).lines if line.about == "due").startswith(
        "$70.00 at once; "
    )
