"""``--now`` is the only time a verb knows: whatever it says and writes is dated by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hcloud.cli.main import run

NOW = "2031-05-06T07:08:09Z"
CONFIG = """
workload: {path: trace.csv}
markets: [{provider: aws, regions: [us-east-1], families: [m5], vcpus: 4}]
planning: {falls: []}
live: {cloud: fake, state: .hcloud}
fleet:
  - {address: web, instance_type: m5.large, count: 1}
"""
TRACE = "id,submit,duration,cores,memory\na,0,172800,4,16\nb,3600,7200,2,8\n"
WALK = (
    "validate",
    "doctor",
    "doctor --cloud fake",
    "pricing list --provider aws --region us-east-1 --family m5",
    "pricing show m5.large --json",
    "workload show trace.csv --json",
    "strategy list --json",
    "strategy show SR --json",
    "plan trace.csv --out plan.json",
    "plan trace.csv -o md",
    "plan trace.csv -o html",
    "plan trace.csv -o json",
    "explain plan.json -o json",
    "page plan.json",
    "diff plan.json plan.json --json",
    "report cost plan.json --json",
    "apply -y",
    "status --json",
    "status",
    "drift --json",
    "state list --json",
    "state list",
    "state show --json",
    "gc --json",
    "fake wait 2d",
    "report cost --json",
    "report commitments",
    "commit list --json",
    "destroy -y --ends 1",
)
UNDATED = {"explain", "page"}  # they read a plan, and say when it was made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("hcloud.yaml").write_text(CONFIG, encoding="utf-8")
    Path("trace.csv").write_text(TRACE, encoding="utf-8")
    return tmp_path


def _real_days() -> Iterator[str]:
    """The days that a clock of this machine may have told while the test ran."""
    for shift in (-1, 0, 1):
        yield (datetime.now(UTC) + timedelta(days=shift)).date().isoformat()


def test_every_verb_that_takes_now_knows_no_other_time(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dated = 0
    for line in WALK:
        words = line.split()
        words += [] if words[0] in UNDATED else ["--now", NOW]
        code = run(words)
        out, err = capsys.readouterr()
        assert code == 0, (line, out, err)
        found = [day for day in _real_days() if day in out + err]
        assert not found, (line, found)
        dated += "2031-05-0" in out
    assert dated >= 12  # most say when they were made
    for path in here.rglob("*"):
        if path.is_file() and path.suffix in {".json", ".jsonl"}:
            text = path.read_text(encoding="utf-8")
            assert not [day for day in _real_days() if day in text], path


def test_prices_are_as_old_as_now_says(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "trace.csv", "--now", "2031-05-06"]) == 0
    assert "days old)" in capsys.readouterr().out
    assert run(["validate", "--now", "2026-07-21"]) == 0
    near = capsys.readouterr().out
    assert run(["validate", "--now", "2031-05-06"]) == 0
    assert capsys.readouterr().out != near


@pytest.mark.parametrize(
    "words",
    [
        "pricing diff lacking.csv bundled",
        "report quality lacking.jsonl",
        "profile show lacking.yaml",
        "explain lacking.json",
        "operate explain --job a --state lacking",
    ],
)
def test_a_time_that_is_none_is_refused_before_anything_is_read(
    here: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "--now", "noon"]) == 64
    assert "--now noon: not an ISO 8601 time" in capsys.readouterr().err
