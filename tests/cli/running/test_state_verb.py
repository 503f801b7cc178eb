"""``hcloud state``: what is remembered is shown, taken out and put back, and nothing older gets in by mistake."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from states import LINEAGE, OTHER_LINEAGE, a_record, a_state, an_intent

from hcloud.cli.main import run
from hcloud.model.holdings.state import State
from hcloud.readers.configuration.config import load_config
from hcloud.store.states.codec import decode_state, state_schema
from hcloud.store.states.remembered import FileStateStore, encode_state
from hcloud.usecases.live.state import state_place
from hcloud.views.document import schema_of
from hcloud.views.live.documents import RememberedDocument, UnlockedDocument

SCREEN_SCHEMA = schema_of(RememberedDocument, UnlockedDocument)
NOW = ("--now", "2026-11-21T12:00:00Z")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state of two machines in the default place."""
    monkeypatch.chdir(tmp_path)
    store = FileStateStore(tmp_path / ".hcloud")
    store.save(replace(a_state(), records=(a_record(1), replace(a_record(2), ending=True, protected=True))))
    return tmp_path / ".hcloud"


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(SCREEN_SCHEMA).validate(document)
    return document


def test_the_list_has_a_line_for_each_machine(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", "list"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].split()[:4] == ["address", "id", "type", "zone"]
    assert "pool-1" in lines[2]
    assert "i-00000001" in lines[2]
    assert lines[3].endswith("ending, protected")
    assert "2 machines, serial 1" in shown.err


@pytest.mark.parametrize("words", [["--json"], ["-o", "json"]])
def test_json_is_of_the_published_schema(place: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run(["state", "list", *words, *NOW]) == 0
    document = printed(capsys)
    assert [r["id"] for r in document["records"]] == ["i-00000001", "i-00000002"]
    assert (document["lineage"], document["serial"], document["where"]) == (LINEAGE, 1, ".hcloud")
    assert (document["lock"], document["open_intents"]) == (None, [])
    assert document["generated_at"] == "2026-11-21T12:00:00Z"


def test_show_tells_the_whole_or_one_machine(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", "show"]) == 0
    shown = capsys.readouterr().out
    assert "cloud       aws 123456789012 us-east-1" in shown
    assert "machines    2" in shown
    assert run(["state", "show", "pool-2"]) == 0
    assert "i-00000002" in capsys.readouterr().out
    assert run(["state", "show", "i-00000002", "--json"]) == 0
    assert [r["address"] for r in printed(capsys)["records"]] == ["pool-2"]
    assert run(["state", "show", "pool-9"]) == 64
    assert "contains no machine 'pool-9'" in capsys.readouterr().err


def test_a_lock_and_open_intents_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = FileStateStore(place)
    with store.locked("apply") as info:
        store.journal().intend(an_intent(1))
        assert run(["state", "show"]) == 0
        shown = capsys.readouterr().err
        assert f"locked: {info}" in shown.replace("\n", " ")
        assert "1 intent without a known outcome" in shown
        assert run(["state", "list", "--json"]) == 0
        document = printed(capsys)
        assert document["lock"]["id"] == info.id
        assert document["open_intents"][0]["deed"] == "launch"


def test_what_is_pulled_can_be_pushed_elsewhere(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["state", "pull"]) == 0
    pulled = capsys.readouterr().out
    assert pulled.encode() == (place / "state.json").read_bytes()
    jsonschema.Draft202012Validator(dict(state_schema())).validate(json.loads(pulled))
    (tmp_path / "copy.json").write_text(pulled, "utf-8")
    assert run(["state", "push", "copy.json", "--state", "other", "--json"]) == 0
    assert printed(capsys)["serial"] == 1
    moved = FileStateStore(tmp_path / "other").load()
    assert moved is not None
    assert moved == decode_state(pulled.encode(), "x")


def test_stdin_is_read(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((place / "state.json").read_bytes())))
    assert run(["state", "push", "-"]) == 0
    assert "serial" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pushed", "said"),
    [(State(OTHER_LINEAGE, 9), "another project"), (a_state(0, serial=2), "serial 3, not 2")],
    ids=["another lineage", "an older serial"],
)
def test_push_refuses_what_is_not_the_next_unless_forced(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], pushed: State, said: str
) -> None:
    store = FileStateStore(place)
    state = store.load()
    assert state is not None
    stored = store.save(store.save(state))
    (tmp_path / "copy.json").write_bytes(encode_state(pushed))
    assert run(["state", "push", "copy.json"]) == 4
    error = capsys.readouterr().err
    assert said in error
    assert "--force" in error
    assert store.load() == stored
    assert run(["state", "push", "copy.json", "--force"]) == 0
    now = store.load()
    assert now is not None
    assert (now.lineage, now.records) == (pushed.lineage, ())
    assert now.serial > stored.serial
    assert decode_state((place / "state.json.previous").read_bytes(), "x") == stored


def test_push_takes_only_a_state(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (place / "state.json").read_bytes()
    (tmp_path / "copy.json").write_bytes(before.replace(b"pool-1", b"pool-9"))
    for words in (["copy.json"], ["copy.json", "--force"], ["nothing.json"], [".hcloud"]):
        assert run(["state", "push", *words]) == 1
        assert "error: " in capsys.readouterr().err
    assert (place / "state.json").read_bytes() == before


def test_G1_push_is_refused_while_another_works(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.json").write_bytes((place / "state.json").read_bytes())
    with FileStateStore(place).locked("apply") as info:
        assert run(["state", "push", "copy.json"]) == 5
        error = capsys.readouterr().err
        assert f"locked: {info}" in error
        assert f"hcloud state force-unlock {info.id}" in error
        assert run(["state", "force-unlock", "0" * 32]) == 64
        assert info.id in capsys.readouterr().err
        assert run(["state", "force-unlock", info.id, "--json", *NOW]) == 0
        assert printed(capsys)["unlocked"]["id"] == info.id
        assert run(["state", "push", "copy.json"]) == 0
    assert run(["state", "force-unlock", info.id]) == 64
    assert "is not locked" in capsys.readouterr().err


def test_a_damaged_state_is_replaced_by_force_only(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.json").write_bytes((place / "state.json").read_bytes())
    (place / "state.json").write_bytes(b"")
    for verb in (["list"], ["show"], ["pull"], ["push", "copy.json"]):
        assert run(["state", *verb, "--state", str(place)]) == 1
        error = capsys.readouterr().err
        assert "state.json: is empty" in error
        assert f"hcloud recover --state {place} rebuilds it" in " ".join(error.split())
    assert run(["state", "push", "copy.json", "--force"]) == 0
    assert run(["state", "list"]) == 0


def test_where_nothing_is_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["state", "list"]) == 0
    assert "the state is empty" in capsys.readouterr().err
    assert run(["state", "show", "--json"]) == 0
    assert printed(capsys)["lineage"] is None
    assert run(["state", "pull"]) == 1
    assert run(["state", "show", "x"]) == 1
    assert run(["state", "force-unlock", "x"]) == 64
    assert list(tmp_path.iterdir()) == [tmp_path / "config"] or list(tmp_path.iterdir()) == []


def test_the_place_is_named_or_beside_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, text in (("a", ""), ("b", "live: {state: kept}\n"), ("c", "live: {state: s3://bucket/y}\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.yaml").write_text(text, encoding="utf-8")
    one, two, three = (tmp_path / folder / "x.yaml" for folder in "abc")
    assert state_place(None, None, {}) == ".hcloud"
    assert state_place(None, one, {"HYC_CONFIG": str(two)}) == str(tmp_path / "a" / ".hcloud")
    assert state_place(None, None, {"HYC_CONFIG": str(two)}) == str(tmp_path / "b" / "kept")
    assert state_place(None, three, {}) == "s3://bucket/y"
    assert state_place("s3://bucket/x", one, {}) == "s3://bucket/x"
    for kept in ("s3://bucket/z", "/kept"):  # of every verb: apply used .hcloud beside it, and launched all again
        assert load_config(one, {"HYC_STATE": kept}).config.live.state == kept
    for wrong in ("http://x/y", "s3://", " "):
        assert run(["state", "list", "--state", wrong]) == 64
        assert "--state" in capsys.readouterr().err


def test_the_environment_names_the_place(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("HYC_STATE", str(place))
    assert run(["state", "list", "--json"]) == 0
    assert printed(capsys)["where"] == str(place)


def test_names_cannot_steer_a_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = FileStateStore(place)
    state = store.load()
    assert state is not None
    store.save(replace(state, project="[red]shop[/]", records=(replace(a_record(1), id="[bold]\u202ei-1"),)))
    assert run(["state", "show"]) == 0
    shown = capsys.readouterr().out
    assert "[red]shop[/]" in shown
    assert "[bold]" in shown
    assert "\u202e" not in shown


def test_a_file_that_is_no_state_is_not_called_the_stored_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": 1}', encoding="utf-8")
    assert run(["state", "push", str(bad), "--state", str(tmp_path / "other")]) == 1
    said = capsys.readouterr().err
    assert "'hcloud state pull' wrote" in said
    assert "recover" not in said
