"""The store in a bucket: conditions on every writing, a lock that survives lost answers, and the same refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from buckets import BUCKET, Front, client, running
from driving import driven
from states import LINEAGE, a_conclusion, a_record, a_state, an_end, an_intent, note, several

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
from hcloud.model.state import State
from hcloud.store.bucket import Bucket
from hcloud.store.crash import KILLED_EXIT, POINTS
from hcloud.store.place import ChangedError
from hcloud.store.state_codec import decode_state
from hcloud.store.state_s3 import S3StateStore

PREFIX = "team/shop"
WHERE = f"s3://{BUCKET}/{PREFIX}"
STATES = ("state.json", "state.json.previous")


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Front, str]]:
    with running() as found:
        yield found


@pytest.fixture
def front(served: tuple[Front, str]) -> Front:
    """The server with one empty bucket, and nothing lost or refused."""
    front, url = served
    front.loses, front.refuses = (lambda method, path: False), (lambda method, path: "")
    s3 = client(url)
    if BUCKET not in [b["Name"] for b in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket=BUCKET)
    for entry in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        s3.delete_object(Bucket=BUCKET, Key=entry["Key"])
    front.requests.clear()
    return front


@pytest.fixture
def s3(front: Front, served: tuple[Front, str]) -> Any:
    return client(served[1])


@pytest.fixture
def store(s3: Any) -> S3StateStore:
    return S3StateStore(WHERE, s3)


def body(s3: Any, name: str) -> bytes:
    found: bytes = s3.get_object(Bucket=BUCKET, Key=f"{PREFIX}/{name}")["Body"].read()
    return found


def put(s3: Any, name: str, data: bytes) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}/{name}", Body=data)


def test_a_state_and_its_journal_come_back(s3: Any, store: S3StateStore) -> None:
    assert store.load() is None
    with store.locked("apply"):
        first = store.save(State(LINEAGE))
        for entry in several():
            note(store, entry)
        second = store.save(replace(a_state(), serial=first.serial))
        store.journal().trim(1)
    other = S3StateStore(f"{WHERE}/", s3)
    assert other.load() == second
    assert list(other.journal().entries()) == [e for e in several() if e.number != 1]
    assert decode_state(body(s3, "state.json.previous"), "x") == first
    assert not [n for n in ("journal.jsonl", "state.json", "lineage") if b"canary" in body(s3, n)]
    keys = [e["Key"] for e in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    assert keys == [f"{PREFIX}/{n}" for n in ("journal.jsonl", "lineage", "rentals.jsonl", *STATES)]


def test_the_server_honours_the_conditions_the_store_rests_on(s3: Any) -> None:
    put(s3, "x", b"1")
    tag = s3.head_object(Bucket=BUCKET, Key=f"{PREFIX}/x")["ETag"]
    words = {"Bucket": BUCKET, "Key": f"{PREFIX}/x"}
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"0123"'}):
        with pytest.raises(s3.exceptions.ClientError, match="PreconditionFailed"):
            s3.put_object(**words, Body=b"2", **condition)
    with pytest.raises(s3.exceptions.ClientError, match="PreconditionFailed"):
        s3.delete_object(**words, IfMatch='"0123"')
    s3.put_object(**words, Body=b"2", IfMatch=tag)
    assert body(s3, "x") == b"2"


def test_G3_a_late_writer_is_refused_by_serial_and_by_tag(s3: Any, store: S3StateStore) -> None:
    theirs = S3StateStore(WHERE, s3)
    state = store.save(a_state())
    theirs.save(replace(state, records=(a_record(9),)))
    with pytest.raises(StaleError, match="its serial is 2, not 1"):
        store.save(state)
    # Without a lock that works, the condition alone keeps the second writer out
    place = store._place
    assert place.read("state.json") is not None
    put(s3, "state.json", body(s3, "state.json") + b"\n")
    with pytest.raises(HcloudError, match="somebody else wrote"):
        place.exchange("state.json", b"{}")


def test_G3_a_line_that_another_wrote_is_noticed(s3: Any, store: S3StateStore) -> None:
    store.save(State(LINEAGE))
    theirs = S3StateStore(WHERE, s3)
    store.journal().intend(an_intent(1))
    theirs.journal().intend(an_end(2))
    with pytest.raises(HcloudError, match="somebody else wrote"):
        store.journal().conclude(a_conclusion(1))
    store.journal().conclude(a_conclusion(1))
    assert [e.number for e in theirs.journal().entries()] == [1, 2, 1]


# ---- the lock


def test_G1_the_second_is_told_who_holds_it(s3: Any, store: S3StateStore) -> None:
    with store.locked("apply") as info:
        other = S3StateStore(WHERE, s3)
        with pytest.raises(LockedError, match=f"is locked: apply by .* pid {os.getpid()}, since "), other.locked("x"):
            pass
        assert other.holder() == info
        note_there = json.loads(body(s3, "lock"))
        assert note_there["id"] == info.id
    assert store.holder() is None
    with other.locked("destroy") as again:
        assert again.id != info.id


def test_G7_the_own_lock_is_recognised_when_its_answer_was_lost(front: Front, store: S3StateStore) -> None:
    lost: list[str] = []

    def loses(method: str, path: str) -> bool:
        if method == "PUT" and path.endswith("/lock") and not lost:
            lost.append(path)
            return True
        return False

    front.loses = loses
    with store.locked("apply") as info:
        assert lost
        assert store.holder() == info
        store.save(a_state())


def test_R1_a_state_and_an_entry_are_recognised_when_their_answers_were_lost(front: Front, store: S3StateStore) -> None:
    seen: dict[str, int] = {}

    def loses(method: str, path: str) -> bool:
        seen[path] = seen.get(path, 0) + (method == "PUT")
        return method == "PUT" and seen[path] % 2 == 1

    front.loses = loses
    with store.locked("apply"):
        state = store.save(a_state())
        store.journal().intend(an_intent(1))
        store.journal().conclude(a_conclusion(1))
        state = store.save(state)
        store.journal().trim(1)
    assert state.serial == 2
    front.loses = lambda method, path: False
    assert store.load() == state
    assert store.journal().entries() == ()
    assert store.holder() is None


def test_an_answer_that_stays_unknown_is_said_to_be_and_nothing_is_asked(front: Front, store: S3StateStore) -> None:
    store.save(State(LINEAGE))
    front.refuses = lambda method, path: "SlowDown" if path.endswith("journal.jsonl") else ""
    with pytest.raises(HcloudError):
        store.journal().intend(an_intent(1))
    front.refuses = lambda method, path: "SlowDown" if (method, path[-5:]) == ("PUT", "jsonl") else ""
    with pytest.raises((ThrottledError, UnknownOutcomeError)):
        store.journal().intend(an_intent(1))
    front.refuses = lambda method, path: ""
    assert store.journal().entries() == ()
    store.journal().intend(an_intent(1))


def test_G2_a_dead_holder_of_this_machine_is_replaced_and_no_other(s3: Any, store: S3StateStore) -> None:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    with store.locked("apply"):
        noted = json.loads(body(s3, "lock"))
    put(s3, "lock", json.dumps({**noted, "pid": int(done.stdout), "machine": "another"}).encode())
    with pytest.raises(LockedError), store.locked("apply"):
        pass
    put(s3, "lock", json.dumps({**noted, "pid": os.getppid()}).encode())
    with pytest.raises(LockedError), store.locked("apply"):
        pass
    put(s3, "lock", b"half a no")
    with pytest.raises(LockedError, match="something by somebody"), store.locked("apply"):
        pass
    assert store.unlock("unknown").user == "somebody"
    put(s3, "lock", json.dumps({**noted, "pid": int(done.stdout)}).encode())
    with store.locked("apply") as info:
        assert info.pid == os.getpid()
    assert store.holder() is None


def test_who_lost_the_lock_writes_nothing_more(s3: Any, store: S3StateStore) -> None:
    theirs = S3StateStore(WHERE, s3)
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


def test_the_lock_of_the_next_holder_is_not_given_back_by_the_last(s3: Any, store: S3StateStore) -> None:
    theirs = S3StateStore(WHERE, s3)
    with store.locked("apply") as info:
        theirs.unlock(info.id)
        put(s3, "lock", body_of_another := json.dumps({"id": "another"}).encode())
    assert body(s3, "lock") == body_of_another


# ---- the same refusals as in a directory


def test_H1_what_is_gone_or_empty_is_no_new_beginning(s3: Any, store: S3StateStore) -> None:
    state = store.save(store.save(a_state()))
    put(s3, "state.json", b"")
    with pytest.raises(InputError, match=r"team/shop/state\.json: is empty"):
        store.load()
    s3.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/state.json")
    with pytest.raises(InputError, match="is missing, although there is journal"):
        store.load()
    with pytest.raises(InputError):
        store.save(a_state())
    assert store.overwrite(state).serial == 3
    s3.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/journal.jsonl")
    with pytest.raises(InputError, match="is missing"):
        store.load()


def test_A8_a_torn_journal_gives_way(s3: Any, store: S3StateStore) -> None:
    store.save(State(LINEAGE))
    store.journal().intend(an_intent(1))
    put(s3, "journal.jsonl", body(s3, "journal.jsonl") + b'{"sum":"01')
    later = S3StateStore(WHERE, s3)
    assert later.journal().torn
    later.journal().conclude(a_conclusion(1))
    assert [e.number for e in later.journal().entries()] == [1, 1]


def test_more_objects_than_a_page_has_are_all_seen(s3: Any, store: S3StateStore) -> None:
    store.save(a_state())
    for number in range(12):
        put(s3, f"a{number}", b"")

    class Short:
        """The client with pages of five."""

        def __getattr__(self, name: str) -> Any:
            if name == "list_objects_v2":
                return lambda **words: s3.list_objects_v2(**words, MaxKeys=5)
            return getattr(s3, name)

    s3.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/state.json")
    with pytest.raises(InputError, match=r"journal\.jsonl, lineage"):
        S3StateStore(WHERE, Short()).load()


# ---- errors by their meaning


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AccessDenied", DeniedError),
        ("ExpiredToken", CredentialsError),
        ("InvalidAccessKeyId", CredentialsError),
        ("SlowDown", ThrottledError),
    ],
)
def test_what_s3_says_is_told_by_its_meaning(
    front: Front, store: S3StateStore, code: str, kind: type[HcloudError]
) -> None:
    front.refuses = lambda method, path: code
    with pytest.raises(kind) as error:
        store.load()
    assert code in str(error.value)
    assert WHERE in str(error.value)
    assert "canary" not in f"{error.value} {error.value.hint}"


def test_a_bucket_that_is_not_there_is_said_to_be_missing(s3: Any, front: Front) -> None:
    with pytest.raises(UsageError, match="no such bucket"):
        S3StateStore("s3://nowhere/x", s3).load()


@pytest.mark.parametrize("address", ["s3://", "s3:///x", "s3://A_B/x", "s3://x", "http://x/y", "s3://ab c/d"])
def test_what_is_no_address_in_s3_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not a place in S3"):
        S3StateStore(address, object())


# ---- ended at every point, with real processes


def test_A1_V6_the_store_in_a_bucket_goes_on_from_every_crash_point(front: Front, served: tuple[Front, str]) -> None:
    known = {"AWS_ACCESS_KEY_ID": "canary-id", "AWS_SECRET_ACCESS_KEY": "canary-secret", "AWS_REGION": "us-east-1"}
    runs = driven("sweep", f"s3://{BUCKET}/sweep", AWS_ENDPOINT_URL=served[1], **known)
    assert [run["exit"] for run in runs[:-1]] == [KILLED_EXIT] * (len(runs) - 1)
    hit = {value for run in runs for what, value in run["told"] if what == "point"}
    assert hit == {p for p in POINTS if ".file." not in p and ".append." not in p and p not in OF_DIRECTORIES}
    for run in runs:
        saved = [value for what, value in run["told"] if what == "saved"]
        assert (run["after"]["serial"] or 0) >= max(saved, default=0)
        assert run["again"] == 0, run["more"]
        assert run["finally"]["records"] == 2
        assert run["finally"]["intents"] == []


OF_DIRECTORIES = {"store.directory.made", "store.lock.told"}


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "OperationAborted"])
def test_a_write_that_s3_put_off_is_sent_again_as_long_as_nobody_else_wrote(
    front: Front, store: S3StateStore, code: str
) -> None:
    """409 says that another request was under way, not that it came through: S3 asks for the same again."""
    saved = store.save(a_state())
    left = [2]

    def put_off(method: str, path: str) -> str:
        if method == "PUT" and path.endswith("/state.json") and left[0]:
            left[0] -= 1
            return code
        return ""

    front.refuses = put_off
    assert store.save(saved).serial == saved.serial + 1
    assert left == [0]


def test_G3_a_write_that_s3_put_off_is_not_sent_over_what_another_wrote(front: Front, s3: Any) -> None:
    bucket = Bucket(s3, BUCKET, PREFIX)
    bucket.create("note", b"ours")
    put(s3, "note", b"theirs")
    left = [1]

    def put_off(method: str, path: str) -> str:
        if method == "PUT" and left[0]:
            left[0] -= 1
            return "ConditionalRequestConflict"
        return ""

    front.refuses = put_off
    with pytest.raises(ChangedError):
        bucket.exchange("note", b"ours again")
    assert left == [0]
    assert body(s3, "note") == b"theirs"


def test_a_list_of_a_bucket_that_says_it_goes_on_and_not_where_is_an_error(store: S3StateStore, s3: Any) -> None:
    store.save(a_state())
    s3.meta.events.register("after-call.s3.ListObjectsV2", _cut_short)
    with pytest.raises(UnavailableError, match="goes on"):
        store.load()


def _cut_short(parsed: dict[str, Any], **_: object) -> None:
    parsed["IsTruncated"] = True
    parsed.pop("NextContinuationToken", None)


def test_G7_a_lock_whose_removal_s3_put_off_is_given_back(front: Front, store: S3StateStore) -> None:
    store.save(a_state())
    left = [1]

    def put_off(method: str, path: str) -> str:
        if method == "DELETE" and left[0]:
            left[0] -= 1
            return "ConditionalRequestConflict"
        return ""

    front.refuses = put_off
    with store.locked("apply"):
        pass
    assert left == [0]
    assert store.holder() is None
