"""The store in a bucket, one suite over S3's, Google's and Azure's: conditions on every writing, a lock that survives
lost answers, and the same refusals as in a directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from bucket_rigs import emptied, on_one, opened
from buckets import PREFIX, Own, Rig
from states import LINEAGE, a_conclusion, a_record, a_state, an_end, an_intent, note, several

from hcloud.cli.main import run
from hcloud.errors import (
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    LockedError,
    StaleError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.model.holdings.state import State
from hcloud.store.buckets.state_bucket import BucketStateStore
from hcloud.store.files.place import ChangedError
from hcloud.store.states.codec import decode_state
from hcloud.store.states.remembered import encode_state

rigs = opened
rig = emptied
STATES = ("state.json", "state.json.previous")


@pytest.fixture
def store(rig: Rig) -> BucketStateStore:
    return rig.store()


@pytest.mark.slow
def test_a_state_and_its_journal_come_back(rig: Rig, store: BucketStateStore) -> None:
    assert store.load() is None
    with store.locked("apply"):
        first = store.save(State(LINEAGE))
        for entry in several():
            note(store, entry)
        second = store.save(replace(a_state(), serial=first.serial))
        store.journal().trim(1)
    other = rig.store()
    assert other.load() == second
    assert list(other.journal().entries()) == [e for e in several() if e.number != 1]
    assert decode_state(rig.body("state.json.previous"), "x") == first
    assert not [n for n in ("journal.jsonl", "state.json", "lineage") if b"canary-" in rig.body(n)]
    names = ("conditional-writes.json", "journal.jsonl", "lineage", "lock", "rentals.jsonl", *STATES)
    assert rig.keys() == [f"{PREFIX}/{n}" for n in names]


@pytest.mark.slow
def test_the_server_honours_the_conditions_the_store_rests_on(rig: Rig) -> None:
    first, late = rig.place(), rig.place()
    assert (first.read("x"), late.read("x")) == (None, None)
    first.exchange("x", b"")
    with pytest.raises(ChangedError):
        late.exchange("x", b"2")
    assert late.read("x") == b""
    first.exchange("x", b"3")
    with pytest.raises(ChangedError):
        late.exchange("x", b"4")
    assert late.read("x") == b"3"
    late.exchange("x", b"5" * 100_000)
    assert rig.body("x") == b"5" * 100_000
    late.remove("x")
    late.remove("x")
    assert (first.read("x"), "x" in first.names()) == (None, False)
    with pytest.raises(ChangedError):  # what was read is gone
        late._put("x", b"6", "1234" if isinstance(rig, Own) else '"0123"')


@on_one
def test_G3_a_late_writer_is_refused_by_serial_and_by_tag(rig: Rig, store: BucketStateStore) -> None:
    state = store.save(a_state())
    rig.store().save(replace(state, records=(a_record(9),)))
    with pytest.raises(StaleError, match="its serial is 2, not 1"):
        store.save(state)
    # Without a lock that works, the condition alone keeps the second writer out
    place = store._place
    assert place.read("state.json") is not None
    rig.put("state.json", rig.body("state.json") + b"\n")
    with pytest.raises(HcloudError, match="somebody else wrote"):
        place.exchange("state.json", b"{}")


@on_one
def test_G3_who_holds_the_lock_reads_a_state_once_and_is_refused_all_the_same(
    rig: Rig, store: BucketStateStore
) -> None:
    store.save(a_state())
    with store.locked("apply"):
        before = store.load()
        assert before is not None
        rig.front.requests.clear()
        written = store.save(before)
        assert Counter(what for what, _ in rig.front.requests) == {"GET": 2, "PUT": 2}  # reads: the lock
        rig.put("state.json", encode_state(replace(written, serial=9)))
        with pytest.raises(StaleError, match="somebody else wrote the state meanwhile"):
            store.save(written)
        found = store.load()
    assert found is not None
    assert found.serial == 9


@on_one
def test_G3_a_line_that_another_wrote_is_noticed(rig: Rig, store: BucketStateStore) -> None:
    store.save(State(LINEAGE))
    theirs = rig.store()
    store.journal().intend(an_intent(1))
    theirs.journal().intend(an_end(2))
    with pytest.raises(HcloudError, match="somebody else wrote"):
        store.journal().conclude(a_conclusion(1))
    store.journal().conclude(a_conclusion(1))
    assert [e.number for e in theirs.journal().entries()] == [1, 2, 1]


# ---- the lock


@on_one
def test_G1_the_second_is_told_who_holds_it(rig: Rig, store: BucketStateStore) -> None:
    with store.locked("apply") as info:
        other = rig.store()
        with pytest.raises(LockedError, match=f"is locked: apply by .* pid {os.getpid()}, since "), other.locked("x"):
            pass
        assert other.holder() == info
        assert json.loads(rig.body("lock"))["id"] == info.id
    assert store.holder() is None
    with other.locked("destroy") as again:
        assert again.id != info.id


@on_one
def test_G7_the_own_lock_is_recognised_when_its_answer_was_lost(rig: Rig, store: BucketStateStore) -> None:
    lost: list[str] = []

    def loses(what: str, key: str) -> bool:
        if what == "PUT" and key.endswith("/lock") and not lost:
            lost.append(key)
            return True
        return False

    rig.front.loses = loses
    with store.locked("apply") as info:
        assert lost
        assert store.holder() == info
        store.save(a_state())


@pytest.mark.slow
def test_R1_a_state_and_an_entry_are_recognised_when_their_answers_were_lost(rig: Rig, store: BucketStateStore) -> None:
    seen: dict[str, int] = {}

    def loses(what: str, key: str) -> bool:
        seen[key] = seen.get(key, 0) + (what == "PUT")
        return what == "PUT" and seen[key] % 2 == 1

    rig.front.loses = loses
    with store.locked("apply"):
        state = store.save(a_state())
        store.journal().intend(an_intent(1))
        store.journal().conclude(a_conclusion(1))
        state = store.save(state)
        store.journal().trim(1)
    assert state.serial == 2
    rig.front.loses = lambda what, key: False
    assert store.load() == state
    assert store.journal().entries() == ()
    assert store.holder() is None


@pytest.mark.slow
def test_an_answer_that_stays_unknown_is_said_to_be_and_nothing_is_asked(rig: Rig, store: BucketStateStore) -> None:
    store.save(State(LINEAGE))
    for kind, error in (("throttled", ThrottledError), ("broken", UnknownOutcomeError)):
        rig.front.refuses = lambda what, key, kind=kind: kind if key.endswith("journal.jsonl") else ""  # type: ignore[misc]
        with pytest.raises(HcloudError):
            store.journal().intend(an_intent(1))
        rig.front.refuses = lambda what, key, kind=kind: kind if (what, key[-5:]) == ("PUT", "jsonl") else ""  # type: ignore[misc]
        with pytest.raises(error):
            store.journal().intend(an_intent(1))
    rig.front.refuses = lambda what, key: ""
    assert store.journal().entries() == ()
    store.journal().intend(an_intent(1))


@on_one
def test_G2_a_dead_holder_of_this_machine_is_replaced_and_no_other(rig: Rig, store: BucketStateStore) -> None:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    with store.locked("apply"):
        noted = json.loads(rig.body("lock"))
    rig.put("lock", json.dumps({**noted, "pid": int(done.stdout), "machine": "another"}).encode())
    with pytest.raises(LockedError), store.locked("apply"):
        pass
    rig.put("lock", json.dumps({**noted, "pid": os.getppid()}).encode())
    with pytest.raises(LockedError), store.locked("apply"):
        pass
    for damaged in (b"half a no", b"", b"{}", b"[1]"):
        rig.put("lock", damaged)
        with pytest.raises(LockedError, match="something by somebody"), store.locked("apply"):
            pass
    assert store.unlock("unknown").user == "somebody"
    rig.put("lock", json.dumps({**noted, "pid": int(done.stdout)}).encode())
    with store.locked("apply") as info:
        assert info.pid == os.getpid()
    assert store.holder() is None


@on_one
def test_who_lost_the_lock_writes_nothing_more(rig: Rig, store: BucketStateStore) -> None:
    theirs = rig.store()
    with store.locked("apply") as info:
        state = store.save(a_state())
        with pytest.raises(UsageError, match=info.id):
            theirs.unlock("f" * 32)
        assert theirs.unlock(info.id) == info
        with theirs.locked("destroy") as other:
            for write in (lambda: store.save(state), lambda: store.journal().intend(an_intent(1))):
                with pytest.raises(LockedError, match="was taken away"):
                    write()
            assert theirs.holder() == other
            theirs.save(state)
    with pytest.raises(UsageError, match="is not locked"):
        theirs.unlock(info.id)


@on_one
def test_the_lock_of_the_next_holder_is_not_given_back_by_the_last(rig: Rig, store: BucketStateStore) -> None:
    theirs = rig.store()
    with store.locked("apply") as info:
        theirs.unlock(info.id)
        rig.put("lock", body_of_another := json.dumps({"id": "another"}).encode())
    assert rig.body("lock") == body_of_another


@on_one
def test_a_lock_that_cannot_be_given_back_is_told_with_what_frees_it(
    rig: Rig, store: BucketStateStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing was said, and a colleague who came next was told that somebody worked."""
    for name, value in rig.environment.items():
        monkeypatch.setenv(name, value)
    with store.locked("apply"):
        rig.front.refuses = lambda what, key: "broken" if what == "PUT" else ""
    rig.front.refuses = lambda what, key: ""
    assert f"{rig.where} stays locked: " in caplog.text
    command = caplog.text[caplog.text.index("hcloud state force-unlock") :].split()
    assert run(command[1:]) == 0
    assert store.holder() is None


# ---- the same refusals as in a directory


@on_one
def test_H1_what_is_gone_or_empty_is_no_new_beginning(rig: Rig, store: BucketStateStore) -> None:
    state = store.save(store.save(a_state()))
    rig.put("state.json", b"")
    with pytest.raises(InputError, match=r"team/shop/state\.json: is empty"):
        store.load()
    rig.delete("state.json")
    with pytest.raises(InputError, match="is missing, although there is journal"):
        store.load()
    with pytest.raises(InputError):
        store.save(a_state())
    assert store.overwrite(state).serial == 3
    rig.delete("journal.jsonl")
    with pytest.raises(InputError, match="is missing"):
        store.load()


@on_one
def test_A8_a_torn_journal_gives_way(rig: Rig, store: BucketStateStore) -> None:
    store.save(State(LINEAGE))
    store.journal().intend(an_intent(1))
    rig.put("journal.jsonl", rig.body("journal.jsonl") + b'{"sum":"01')
    later = rig.store()
    later.journal().conclude(a_conclusion(1))
    assert [e.number for e in later.journal().entries()] == [1, 1]


@pytest.mark.slow
def test_more_objects_than_a_page_has_are_all_seen(rig: Rig, store: BucketStateStore) -> None:
    store.save(a_state())
    for number in range(12):
        rig.put(f"a{number}", b"")
        rig.put(f"deeper/a{number}", b"")
    rig.delete("state.json")
    place = rig.place()
    place.objects = rig.paged(5)
    with pytest.raises(InputError, match=r"journal\.jsonl, lineage"):
        BucketStateStore(place).load()
    assert not [n for n in place.names() if "/" in n]


# ---- errors by their meaning


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("denied", DeniedError),
        ("expired", CredentialsError),
        ("throttled", ThrottledError),
        ("broken", UnavailableError),
    ],
)
def test_what_the_store_says_is_told_by_its_meaning(rig: Rig, kind: str, error: type[HcloudError]) -> None:
    rig.front.refuses = lambda what, key: kind
    with pytest.raises(error) as told:
        rig.store().load()
    assert str(rig.where).rpartition("/states")[0].rpartition("/")[2] in str(told.value) or isinstance(rig, Own)
    assert "states" in str(told.value)
    assert told.value.hint
    assert not any(word in f"{told.value} {told.value.hint}" for word in ("canary-", "Y2FuYXJ5", "signature canary"))
    with pytest.raises(error):  # what was refused was not done; what is not known is looked at
        rig.store().locked("x").__enter__()


def test_a_bucket_that_is_not_there_is_said_to_be_missing(rig: Rig) -> None:
    with pytest.raises(UsageError, match=r"no such (bucket|container)"):
        rig.store(bucket="nowhere").load()
    with pytest.raises(UsageError, match=r"no such (bucket|container)"):
        rig.store(bucket="nowhere").save(a_state())
