"""When ``hcloud operate`` compiles its controller: not while machines run that nobody would watch meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcloud.cli.live.operate import FEW_JOBS_BYTES, SHORT_JOURNAL_BYTES, is_worth_compiling
from hcloud.sim.machine_code import compiled


def test_a_controller_that_goes_on_with_few_jobs_is_not_compiled_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "is_first_use", lambda: True)
    state, journal = str(tmp_path), tmp_path / "operate" / "journal.jsonl"
    assert is_worth_compiling(None, state, None), "nothing runs yet, and nobody knows how many jobs will come"
    journal.parent.mkdir()
    journal.write_bytes(b" " * SHORT_JOURNAL_BYTES)
    assert not is_worth_compiling(None, state, None)
    journal.write_bytes(b" " * (SHORT_JOURNAL_BYTES + 1))
    assert is_worth_compiling(None, state, None)


def test_a_file_of_jobs_is_judged_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "is_first_use", lambda: True)
    few, many = tmp_path / "few.csv", tmp_path / "many.csv"
    few.write_bytes(b" " * FEW_JOBS_BYTES)
    many.write_bytes(b" " * (FEW_JOBS_BYTES + 1))
    assert not is_worth_compiling(few, str(tmp_path), None)
    assert is_worth_compiling(many, str(tmp_path), None)
    monkeypatch.setattr(compiled, "is_first_use", lambda: False)
    assert is_worth_compiling(few, str(tmp_path), None), "it was compiled before: it starts as fast"
