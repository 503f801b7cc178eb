"""``hcloud workload show`` of a bill: what is printed, and the document."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest

from hcloud.cli.main import run
from hcloud.model.bill_figures import figures_of
from hcloud.readers.bills.reading import read_bill
from hcloud.views.document import schema_of
from hcloud.views.workloads.documents import BillDocument

CASES = Path(__file__).parents[2] / "cases" / "bills"
REPORT = CASES / "cur_legacy.csv"


@pytest.mark.slow
@pytest.mark.parametrize("width", ["40", "100"])
def test_show_says_what_was_read_what_ran_and_what_covers_it(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert run(["workload", "show", str(REPORT)]) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.split("\n")) <= int(width)
    for text in ("$59.37", "eu-central-1", "m5.large", "windows", "2025-06-15", "$0.2/h", "70%", "machines in use"):
        assert text in out


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "formats.md"
EXAMPLES = re.findall(r"^\|[^|]*\| (\w[^|]*) \| `hcloud (workload show [^`]*)` \|$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("fmt", "command"), EXAMPLES)
def test_an_example_of_the_table(
    fmt: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CASES)
    assert run([*command.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bill"]["format"] == fmt


def test_every_example_file_is_in_the_table() -> None:
    shown = {command.split()[2] for _, command in EXAMPLES}
    assert shown == {path.name for path in CASES.iterdir()} - {"google_detailed.csv"}


@pytest.mark.slow
def test_the_document_adds_up_and_follows_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", str(REPORT), "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(BillDocument)).validate(document)
    assert sum(Decimal(line["cost"]) for line in document["lines"]) == Decimal(document["total"])
    for slices in document["by"].values():
        assert sum(Decimal(one["list_cost"]) for one in slices) == Decimal(document["usage"]["list_cost"])


def test_coverage_utilisation_and_savings_by_their_formulas() -> None:
    figures = figures_of(read_bill(REPORT))
    listed, covered = Decimal("2.40574024"), Decimal("0.384") + Decimal("0.756")
    assert figures.usage.list_cost == listed
    assert figures.usage.coverage == round(covered / listed, 6)
    paid, used = Decimal("45.012") + Decimal("0.8"), Decimal("0.242") + Decimal("0.56")
    assert figures.utilisation == round(used / paid, 6)
    assert figures.effective_savings_rate == round(1 - (figures.usage.cost + paid - used) / listed, 6)


def test_a_picture_of_a_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", str(REPORT), "--out", str(tmp_path / "bill.svg")]) == 0
    assert "<svg" in (tmp_path / "bill.svg").read_text()
    assert "drawn to" in capsys.readouterr().err


def test_a_key_of_bills_says_who_reads_these(capsys: pytest.CaptureFixture[str]) -> None:
    """It listed thirty keys of traces."""
    assert run(["workload", "validate", str(REPORT), "--set", "rate_EUR=1.08"]) == 64
    told = " ".join(capsys.readouterr().err.split())
    assert "rate_EUR is a key of bills" in told
    assert "'hcloud workload show' and 'hcloud plan' read bills" in told


def test_a_rate_and_a_wrong_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", str(REPORT), "--set", "rate_EUR=1.08"]) == 0
    assert run(["workload", "show", str(REPORT), "--set", "rate=1.08"]) == 64
    assert "rate_EUR" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["workload", "show"], ["plan"]])
def test_a_bill_that_cannot_be_read_is_one_by_a_key_of_bills(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rate for a bill in another encoding was no workload key."""
    (wide := tmp_path / "wide.csv").write_text(REPORT.read_text(encoding="utf-8"), encoding="utf-16")
    assert run([*verb, str(wide), "--set", "rate_EUR=1.08"]) == 1
    assert "wide.csv is UTF-16 text" in capsys.readouterr().err
