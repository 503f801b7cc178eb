"""Stores that take every writing whatever its condition are found out before a state is written there."""

from __future__ import annotations

import io
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from bucket_rigs import on_one, opened
from buckets import PREFIX, InMemory, Rig
from states import a_state, an_intent

from hcloud.cli.main import run
from hcloud.errors import LockedError, UsageError
from hcloud.store.buckets.bucket import Bucket
from hcloud.store.buckets.objects import ABSENT, LostError, Marked, Objects, StoredObject, Writing
from hcloud.store.buckets.s3 import MARK, S3Objects
from hcloud.store.buckets.state_bucket import NOTE, found_fault
from hcloud.store.files.place import ChangedError
from hcloud.store.states.remembered import encode_state
from hcloud.usecases.live.state import open_store

rigs = opened


@pytest.fixture
def rig(rigs: Rig) -> Rig:
    rigs.empty()
    return rigs


def place(objects: Objects) -> Bucket:
    return Bucket(objects, "memory", PREFIX)


# ---- on each store


@pytest.mark.slow
def test_a_store_that_honours_conditions_is_tried_out_once(rig: Rig) -> None:
    with rig.store().locked("apply"):
        pass
    assert rig.keys() == [f"{PREFIX}/{NOTE}", f"{PREFIX}/lock"]
    noted = json.loads(rig.body(NOTE))
    assert noted["store"] == rig.objects().where
    assert "canary-" not in str(noted)
    rig.front.requests.clear()
    with rig.store().locked("apply"):
        pass
    assert [what for what, key in rig.front.requests if "probe" in key] == []
    assert len(rig.front.requests) <= 5


@pytest.mark.slow
def test_a_store_that_ignores_conditions_is_refused_before_anything_is_written(rig: Rig) -> None:
    rig.front.ignores_conditions = True
    for use in (lambda: rig.store().save(a_state()), lambda: rig.store().locked("apply").__enter__()):
        with pytest.raises(UsageError, match="does not honour") as told:
            use()
        assert "--unsafe-store" in told.value.hint
        assert rig.keys() == []
    rig.front.ignores_conditions = False  # it was mended, and is tried again
    assert rig.store().save(a_state()).serial == 1


@on_one
def test_it_is_taken_on_purpose_with_a_warning_each_time(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """What can be seen before a writing is still seen: a lock that somebody holds, a state that somebody wrote."""
    rig.front.ignores_conditions = True
    store, other = rig.store(unsafe=True), rig.store(unsafe=True)
    for number in (1, 2):
        with caplog.at_level(logging.WARNING), store.locked("apply"):
            with pytest.raises(LockedError), other.locked("x"):
                pass
            store.save(a_state(serial=number - 1))
            store.journal().intend(an_intent(number))
        assert len(caplog.records) == 2 * number
    assert "Start no second run" in caplog.text
    assert NOTE not in str(rig.keys())
    place = store._place
    place.read("state.json")
    rig.put("state.json", b"{}")
    with pytest.raises(ChangedError):
        place.exchange("state.json", b"[]")


@on_one
def test_who_only_looks_writes_nothing(rig: Rig) -> None:
    store = rig.store()
    assert (store.load(), store.holder(), store.journal().entries()) == (None, None, ())
    assert {what for what, _ in rig.front.requests} <= {"GET", "LIST"}
    assert rig.keys() == []


@on_one
def test_what_was_found_of_another_store_does_not_count(rig: Rig) -> None:
    """Objects are copied from one store to another, and this one with them."""
    for copied in (json.dumps({"store": "https://elsewhere/states"}).encode(), b"half a no", b"[]"):
        rig.front.ignores_conditions = True
        rig.put(NOTE, copied)
        with pytest.raises(UsageError, match="does not honour"):
            rig.store().save(a_state())
        rig.front.ignores_conditions = False


@on_one
def test_an_answer_that_was_lost_is_no_fault_of_conditions(rig: Rig) -> None:
    seen: dict[str, int] = {}

    def loses(what: str, key: str) -> bool:
        seen[key] = seen.get(key, 0) + (what == "PUT")
        return what == "PUT" and seen[key] == 1

    rig.front.loses = loses
    assert found_fault(rig.place()) == ""
    assert rig.keys() == []


@pytest.mark.parametrize("rigs", ["s3"], indirect=True)
def test_a_store_that_knows_no_conditions_at_all_is_named(rig: Rig) -> None:
    rig.front.refuses = lambda what, key: "unsupported" if what == "PUT" else ""
    with pytest.raises(UsageError, match="does not take conditional writes"):
        rig.store().save(a_state())


@pytest.mark.parametrize("told", ["get_object", "head_object", "put_object"])
def test_a_store_that_tells_no_etag_is_named(told: str) -> None:
    """It was a KeyError."""
    there = {"Body": io.BytesIO(b"{}"), "Metadata": {MARK: "mine"}}
    answers = {name: {**there, "ETag": '"1"'} for name in ("get_object", "head_object", "put_object")}
    answers[told] = there
    client = SimpleNamespace(meta=SimpleNamespace(endpoint_url="https://s3.example"))
    vars(client).update({name: lambda answer=answer, **_: answer for name, answer in answers.items()})
    held = S3Objects("b", client)
    if told == "put_object":  # it was written, and by its mark it is found to be ours
        with pytest.raises(LostError, match="answers without an ETag"):
            held.put(Writing("k", b"{}", "mine"))
        assert held.marked("k") == Marked('"1"', "mine")
        return
    with pytest.raises(UsageError, match=r"the store at https://s3.example/b answers without an ETag") as said:
        held.get("k") if told == "get_object" else held.marked("k")
    assert "--state" in said.value.hint


# ---- each way of not honouring them


class OnlyAbsence(InMemory):
    """Refuses to write over an object, and takes any ETag."""

    def put(self, writing: Writing) -> str:
        only_if = ABSENT if writing.only_if == ABSENT else None
        return super().put(Writing(writing.key, writing.data, writing.mark, only_if))


class LooksThenWrites(InMemory):
    """Decides by what it saw, and writes a little later."""

    def put(self, writing: Writing) -> str:
        stands = self.held[writing.key][0] if writing.key in self.held else ABSENT
        if writing.only_if is None or writing.only_if == stands:
            time.sleep(0.02)
            return super().put(Writing(writing.key, writing.data, writing.mark))
        return super().put(writing)


class ListsLate(InMemory):
    def list(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        return iter(())


class ReadsLate(InMemory):
    def get(self, key: str) -> StoredObject | None:
        found = super().get(key)
        return found if found is None or found.body != b"3" else StoredObject(found.tag, b"1")


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (OnlyAbsence, "although another had written it since"),
        (LooksThenWrites, "of 2 writings of a new object at once, 2 came through"),
        (ListsLate, "a list did not show"),
        (ReadsLate, "was not read back"),
        (InMemory, ""),
    ],
)
def test_every_way_of_not_honouring_them_is_found(objects: type[InMemory], said: str) -> None:
    held = objects()
    found = found_fault(place(held))
    assert said in found
    assert bool(said) == bool(found)
    assert held.held == {}


# ---- a stranger's server


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    """A server by somebody else that takes every writing: it knows nothing of generations."""
    from gcp_storage_emulator.server import create_server

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket="states")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


def test_somebody_elses_server_that_takes_every_writing_is_found_out(
    stranger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", stranger)
    with pytest.raises(UsageError, match="ifGenerationMatch: an object was written although it was there already"):
        open_store("gs://states/team").save(a_state())


# ---- with the verbs a person would use


@on_one
def test_the_verbs_refuse_such_a_store_and_take_it_with_the_flag(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**rig.environment, "HYC_UNSAFE_STORE": "", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    rig.front.ignores_conditions = True
    kept = tmp_path / "state.json"
    kept.write_bytes(encode_state(a_state(serial=1)))
    words = ["state", "push", str(kept), "--state", rig.where]
    assert run(words) == 64
    assert "does not honour" in capfd.readouterr().err
    assert run([*words, "--unsafe-store"]) == 0
    assert f"warning: {rig.where}: the store at" in capfd.readouterr().err
    assert run(["state", "pull", "--state", rig.where]) == 0
    shown = capfd.readouterr()
    assert (json.loads(shown.out)["serial"], shown.err) == (1, "")
