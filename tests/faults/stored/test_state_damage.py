"""Rows H1, H3, H4 and H6 for the state: what is damaged is never taken for a new beginning."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from states import (
    LINEAGE,
    OTHER_LINEAGE,
    a_state,
    an_intent,
    refusal,
    several,
    written_twice,
)

from hcloud.errors import HcloudError, InputError
from hcloud.model.holdings.state import State
from hcloud.store.states.codec import checksum, decode_state
from hcloud.store.states.remembered import FileStateStore, encode_state


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A state that was written twice, and a journal with one entry of each kind."""
    return written_twice(tmp_path / "state")


# ---- H1: gone or empty while there was one


@pytest.mark.parametrize("left", [b"", b" \n\n"])
def test_H1_an_empty_state_is_no_new_beginning(directory: Path, left: bytes) -> None:
    (directory / "state.json").write_bytes(left)
    assert "state.json: is empty" in str(refusal(directory))


@pytest.mark.parametrize("kept", ["state.json.previous", "lineage", "journal.jsonl"])
def test_H1_a_missing_state_is_no_new_beginning_whatever_else_is_left(directory: Path, kept: str) -> None:
    for path in directory.iterdir():
        if path.name != kept:
            path.unlink()
    assert f"state.json: is missing, although there is {kept}" in str(refusal(directory))
    assert ("state.json.previous" in str(refusal(directory).hint)) == (directory / "state.json.previous").exists()


def test_H1_a_place_where_nothing_was_is_a_beginning(tmp_path: Path) -> None:
    assert FileStateStore(tmp_path / "state").load() is None
    (tmp_path / "state").mkdir(mode=0o700)
    assert FileStateStore(tmp_path / "state").load() is None
    assert FileStateStore(tmp_path / "state").journal().entries() == ()


def test_H1_a_missing_journal_is_no_empty_one(directory: Path) -> None:
    (directory / "journal.jsonl").unlink()
    assert "journal.jsonl: is missing" in str(refusal(directory))
    with pytest.raises(InputError, match="is missing"):
        FileStateStore(directory).journal().entries()
    with pytest.raises(InputError, match="is missing"):
        FileStateStore(directory).journal().intend(an_intent(9))


def test_H1_nothing_is_intended_before_there_is_a_state(tmp_path: Path) -> None:
    with pytest.raises(HcloudError, match="no state yet"):
        FileStateStore(tmp_path / "state").journal().intend(an_intent(1))


def test_H1_what_remains_is_told_and_can_be_written_over(directory: Path) -> None:
    (directory / "state.json").write_bytes(b"")
    store = FileStateStore(directory)
    remains = store.remains()
    assert remains.lineages == (LINEAGE,)
    assert remains.serial == 1
    assert remains.generation == 1
    assert remains.latest == State(LINEAGE, 1)
    rebuilt = store.overwrite(a_state())
    assert rebuilt.serial == 2
    assert store.load() == rebuilt
    assert (directory / "state.json.damaged").read_bytes() == b""
    assert len(store.journal().entries()) == len(several())


def test_H1_a_damaged_journal_is_put_aside_when_the_state_is_rebuilt(directory: Path) -> None:
    damaged = (directory / "journal.jsonl").read_bytes().replace(b"pool-1", b"pool-7", 1)
    (directory / "journal.jsonl").write_bytes(damaged)
    store = FileStateStore(directory)
    with pytest.raises(InputError, match="line 2"):
        store.journal().entries()
    store.overwrite(a_state())
    assert (directory / "journal.jsonl.aside").read_bytes() == damaged
    assert store.journal().entries() == ()
    store.journal().intend(an_intent(store.journal().next_number()))


def test_H1_the_state_of_another_project_is_refused(directory: Path) -> None:
    (directory / "state.json").write_bytes(encode_state(replace(a_state(serial=2), lineage=OTHER_LINEAGE)))
    assert "a state of another project" in str(refusal(directory))


# ---- H3: what editors, merges and crashes leave


def conflict(data: bytes) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join([*lines[:3], b"<<<<<<< ours", lines[3], b"=======", lines[3], b">>>>>>> theirs", *lines[4:]])


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "NULs": (lambda d: d[:200] + b"\0" * 50 + d[250:], "line 7: holds a NUL byte"),
    "only NULs": (lambda d: b"\0" * len(d), "line 1: holds a NUL byte"),
    "byte order mark": (lambda d: b"\xef\xbb\xbf" + d, "byte order mark"),
    "UTF-16": (lambda d: d.decode().encode("utf-16"), "UTF-16"),
    "CRLF": (lambda d: d.replace(b"\n", b"\r\n"), "line 1: holds line ends of Windows"),
    "merge": (conflict, "line 4: holds the marks of a merge"),
    "two documents": (lambda d: d + d, "a second document begins"),
    "half": (lambda d: d[: len(d) // 2], "is not JSON"),
    "Latin-1": (lambda d: d.replace(b"shop", b"sh\xf6p"), "utf-8"),
    "a key twice": (lambda d: d.replace(b'"serial"', b'"serial": 1, "serial"'), "'serial' occurs twice"),
    "a list": (lambda d: b"[" + d + b"]", "no JSON object"),
    "text": (lambda d: b"hello", "is not JSON"),
    "deep": (lambda d: b"[" * 100_000, "state.json"),
    "a fraction": (lambda d: d.replace(b'"serial": 2', b'"serial": 2.0'), "2.0 is not a whole number"),
    "NaN": (lambda d: d.replace(b'"serial": 2', b'"serial": NaN'), "NaN is not a whole number"),
    "a long number": (lambda d: d.replace(b'"serial": 2', b'"serial": ' + b"9" * 6000), "cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_H3_damage_is_told_by_its_name(directory: Path, damage: str) -> None:
    path = directory / "state.json"
    spoil, said = DAMAGE[damage]
    path.write_bytes(spoil(path.read_bytes()))
    assert said in str(refusal(directory))


def test_H3_a_state_cut_off_anywhere_is_refused(directory: Path) -> None:
    path = directory / "state.json"
    data = path.read_bytes()
    for size in range(len(data) - 1):
        with pytest.raises(InputError, match=r"state\.json"):
            decode_state(data[:size], str(path))
    assert decode_state(data[:-1], "x") == decode_state(data, "x")


def test_H3_no_byte_of_a_state_can_be_another(directory: Path) -> None:
    data = (directory / "state.json").read_bytes()
    right = decode_state(data, "x")
    for at in range(0, len(data), 3):
        for wrong in (data[at] ^ 1, data[at] ^ 0x20):
            try:
                read = decode_state(data[:at] + bytes([wrong]) + data[at + 1 :], "x")
            except InputError:
                continue
            assert read == right  # white space for white space


# ---- H4: versions


@pytest.mark.parametrize("version", ["1.1", "2.0", "10.0", "1.9999"])
def test_H4_a_later_version_is_refused_and_left_alone(directory: Path, version: str) -> None:
    path = directory / "state.json"
    document = {**json.loads(path.read_text("utf-8")), "format_version": version, "new": 1}
    path.write_text(json.dumps({**document, "checksum": checksum(document)}), "utf-8")
    before = path.read_bytes()
    with pytest.raises(InputError, match="later hcloud") as error:
        FileStateStore(directory).load()
    assert "use the hcloud that wrote it" in error.value.hint
    with pytest.raises(InputError):
        FileStateStore(directory).save(a_state(serial=2))
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [None, 1, 1.0, "", "1", "x.y", "0.9", "1.0.0", "-1.0", "١.٠"])
def test_H4_a_version_that_never_was_is_refused(directory: Path, version: object) -> None:
    path = directory / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "format_version": version}), "utf-8")
    refusal(directory)


# ---- H6: edited by hand


def edited(change: Callable[[Any], object], *, right_sum: bool = True) -> bytes:
    document: Any = json.loads(encode_state(a_state(3)))
    change(document)
    if right_sum:
        document["checksum"] = checksum(document)
    return json.dumps(document).encode()


EDITS: dict[str, tuple[Callable[[Any], object], str]] = {
    "an id twice": (lambda d: d["records"][2].update(id=d["records"][0]["id"]), "records.2.id"),
    "a count of 1e9": (lambda d: d.update(generation=1_000_000_000), "generation"),
    "a negative serial": (lambda d: d.update(serial=-1), "serial"),
    "a number as text": (lambda d: d.update(serial="3"), "serial"),
    "yes for true": (lambda d: d["records"][0].update(ending="yes"), "records.0.ending"),
    "1 for true": (lambda d: d["records"][0].update(ending=1), "records.0.ending"),
    "an unknown provider": (lambda d: d["scope"].update(cloud="oracle"), "scope.cloud"),
    "an unknown option": (lambda d: d["records"][1].update(option="free"), "records.1.option"),
    "a key too many": (lambda d: d["records"][1].update(price="-1"), "records.1.price"),
    "a key too few": (lambda d: d["records"][1].pop("zone"), "records.1.zone"),
    "no id": (lambda d: d["records"][1].update(id=""), "records.1.id"),
    "a line feed": (lambda d: d["records"][1].update(id="i-1\ni-2"), "records.1.id"),
    "an escape": (lambda d: d.update(project="\x1b[2J"), "project"),
    "a surrogate": (lambda d: d.update(project="\ud800"), "top"),
    "a time without a zone": (lambda d: d["records"][1].update(intended="2026-11-21T10:00:00"), "records.1.intended"),
    "a time that is none": (lambda d: d["records"][1].update(intended="2026-13-41T10:00:00Z"), "records.1.intended"),
    "a lineage that is none": (lambda d: d.update(lineage="../../etc"), "lineage"),
    "records that are none": (lambda d: d.update(records={}), "records"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_H6_what_no_hcloud_wrote_is_refused_with_its_place(edit: str) -> None:
    change, where = EDITS[edit]
    with pytest.raises(InputError) as error:
        decode_state(edited(change), "dir/state.json")
    assert [p.where for p in error.value.problems] == [where]
    assert "hcloud recover" in error.value.hint


def test_H6_a_change_by_hand_is_noticed_and_every_problem_told() -> None:
    def change(document: Any) -> None:
        document["scope"]["cloud"] = "oracle"
        document["generation"] = 10**12

    with pytest.raises(InputError) as error:
        decode_state(edited(change, right_sum=False), "dir/state.json")
    assert {p.where for p in error.value.problems} == {"checksum", "scope.cloud", "generation"}
    with pytest.raises(InputError, match="edited or damaged"):
        decode_state(edited(lambda d: d.update(serial=99), right_sum=False), "dir/state.json")


@pytest.mark.parametrize("endpoint", ["http://me:canary@127.0.0.1:5000", "http://127.0.0.1/?token=canary", "http://[x"])
def test_H6_L6_an_endpoint_that_lets_somebody_in_is_never_written_or_read(tmp_path: Path, endpoint: str) -> None:
    state = a_state()
    assert state.scope is not None
    state = replace(state, scope=replace(state.scope, endpoint=endpoint))
    with pytest.raises(InputError) as error:
        FileStateStore(tmp_path / "state").save(state)
    assert "canary" not in str(error.value)
    assert not (tmp_path / "state" / "state.json").exists()
    with pytest.raises(InputError):
        decode_state(edited(lambda d: d["scope"].update(endpoint=endpoint)), "x")
