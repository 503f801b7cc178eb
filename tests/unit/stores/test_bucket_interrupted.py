"""The store in a bucket where it is interrupted: killed at every point, and put off by whoever's bucket it is."""

from __future__ import annotations

from typing import Any, cast

import pytest
import requests
from bucket_rigs import emptied, on_one, opened
from buckets import PREFIX, Amazon, InMemory, Own, Rig
from driving import driven
from state_driver import work
from states import LINEAGE, a_state, an_intent

from hcloud.errors import UnavailableError
from hcloud.model.holdings.state import State
from hcloud.store.buckets.bucket import Bucket
from hcloud.store.buckets.gcs import GoogleObjects
from hcloud.store.buckets.objects import LostError, Objects, Writing
from hcloud.store.buckets.state_bucket import BucketStateStore
from hcloud.store.files.crash import POINTS
from hcloud.store.files.place import ChangedError
from hcloud.usecases.live.state import open_store

rigs = opened
rig = emptied


# ---- ended at every point


@pytest.mark.slow
def test_A1_V6_the_store_goes_on_from_every_crash_point() -> None:
    """Nobody's finally runs after a kill: from its point on, the dead one asks for nothing. What the store makes of its
    port is the same whoever's it is, so the quickest one will do."""
    hit: set[str] = set()
    for number in range(1, 200):
        objects = InMemory()
        died, saved = _worked(objects, number, hit)
        later = BucketStateStore(Bucket(objects, "memory", PREFIX))
        state = later.load()
        assert (0 if state is None else state.serial) >= max(saved, default=0)
        holder = later.holder()
        if holder is not None:
            later.unlock(holder.id)
        assert not _worked(objects, 0, hit)[0]
        after = later.load()
        assert after is not None
        assert len(after.records) == 2
        assert later.journal().entries() == ()
        if not died:
            break
    in_files = ("store.file.", "store.append.", "store.directory.made", "store.lock.told")
    assert hit == {p for p in POINTS if not p.startswith(in_files)}


class Killed(BaseException):
    """The end of a process, as nothing in it may see it."""


class Mortal:
    """Objects whose user ends at its ``at``-th point (0: never); from there on it asks for nothing."""

    def __init__(self, behind: Objects, at: int) -> None:
        self._behind, self._at, self._comings = behind, at, 0

    def come(self) -> None:
        self._comings += 1
        self._check()

    def __getattr__(self, name: str) -> Any:
        self._check()
        return getattr(self._behind, name)

    def _check(self) -> None:
        if self._at and self._comings >= self._at:
            raise Killed


def _worked(objects: Objects, at: int, hit: set[str]) -> tuple[bool, list[int]]:
    """Whether a small apply was ended at its ``at``-th point, and the serials it was told to have saved."""
    saved, mortal = list[int](), Mortal(objects, at)

    def crash(name: str) -> None:
        hit.add(name)
        mortal.come()

    def tell(what: str, value: object) -> None:
        if what == "saved":
            saved.append(int(str(value)))

    try:
        work(BucketStateStore(Bucket(cast("Objects", mortal), "memory", PREFIX, crash), crash), tell)
    except Killed:
        return True, saved
    return False, saved


@pytest.mark.slow
@on_one
def test_G2_a_holder_that_was_really_killed_is_replaced(rig: Rig) -> None:
    """With processes, and the client that the environment makes."""
    [told] = driven("hold", rig.where, **rig.environment)
    assert told["exit"] == -9
    assert told["while"][0] == 5
    assert told["after"][0] == 0, told["after"]
    assert ["concluded", 1] in told["after"][1]


@pytest.mark.slow
def test_the_environment_says_where_and_with_which_credentials(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in rig.environment.items():
        monkeypatch.setenv(name, value)
    store = open_store(rig.where)
    state = store.save(a_state())
    assert open_store(f"{rig.where}/").load() == state
    assert str(store) == rig.where
    assert rig.body("state.json")


# ---- what a store puts off


def put_off(rig: Rig, kind: str, times: int, name: str) -> list[int]:
    """Refuses so many writings of an object; what is left of that is returned."""
    left = [times]

    def refuses(what: str, key: str) -> str:
        if what == "PUT" and key.endswith(f"/{name}") and left[0]:
            left[0] -= 1
            return kind
        return ""

    rig.front.refuses = refuses
    return left


OFF = [("s3", "busy"), ("s3", "aborted"), ("gs", "busy"), ("gs", "throttled")]


@pytest.mark.slow
@pytest.mark.parametrize(("rigs", "kind"), OFF[::2], indirect=["rigs"])
def test_a_write_that_was_put_off_is_sent_again_as_long_as_nobody_else_wrote(rig: Rig, kind: str) -> None:
    """409 of S3 and 429 of Google say that it was not carried out: the same may be asked again."""
    store = rig.store()
    saved = store.save(a_state())
    left = put_off(rig, kind, 2, "state.json")
    assert store.save(saved).serial == saved.serial + 1
    assert left == [0]
    with store.locked("apply"):
        left = put_off(rig, kind, 1, "lock")
    assert left == [0]
    assert store.holder() is None


@pytest.mark.slow
@pytest.mark.parametrize(("rigs", "kind"), OFF, indirect=["rigs"])
def test_G3_a_write_that_was_put_off_is_not_sent_over_what_another_wrote(rig: Rig, kind: str) -> None:
    bucket = rig.place()
    bucket.exchange("note", b"ours")
    rig.put("note", b"theirs")
    left = put_off(rig, kind, 1, "note")
    with pytest.raises(ChangedError):
        bucket.exchange("note", b"ours again")
    assert left == [0]
    assert rig.body("note") == b"theirs"


@on_one
def test_D4_one_object_may_be_written_once_a_second_and_a_journal_keeps_to_that(rig: Rig) -> None:
    assert isinstance(rig, Own)
    now = [0.0]
    rig.front.now = lambda: now[0]
    place = rig.place()
    place.sleep = lambda seconds: now.__setitem__(0, now[0] + seconds)
    store = BucketStateStore(place)
    store.save(State(LINEAGE))
    for number in range(1, 6):
        store.journal().intend(an_intent(number))
    assert [e.number for e in store.journal().entries()] == [1, 2, 3, 4, 5]
    assert 4 <= now[0] < 15


@pytest.mark.slow
@pytest.mark.parametrize("rigs", ["s3"], indirect=True)
def test_a_list_that_says_it_goes_on_and_not_where_is_an_error(rig: Rig) -> None:
    assert isinstance(rig, Amazon)
    store = rig.store()
    store.save(a_state())
    event = "after-call.s3.ListObjectsV2"

    def cut_short(parsed: dict[str, object], **_: object) -> None:
        parsed["IsTruncated"] = True
        parsed.pop("NextContinuationToken", None)

    rig.client.meta.events.register(event, cut_short)
    try:
        with pytest.raises(UnavailableError, match="is incomplete"):
            store.load()
    finally:
        rig.client.meta.events.unregister(event, cut_short)


# ---- what a store answers that is none of its answers


class Answering(requests.Session):
    """Answers every request with the same body."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.body = body

    def request(self, *given: object, **more: object) -> requests.Response:
        made = requests.Response()
        made.status_code, made._content = 200, self.body.encode()
        return made


@pytest.mark.parametrize("body", ["[]", "<html>", "{}", '{"generation":"x"}', '{"generation":1,"metadata":[1]}'])
def test_what_google_never_answers_is_no_mark_and_no_list(body: str) -> None:
    """It was a mark without a generation, or ended hcloud as a fault of its own."""
    objects = GoogleObjects("b", Answering(body))
    with pytest.raises(UnavailableError, match="cannot be understood"):
        objects.marked("k")
    for items in ("null", "3", '["name"]', '[{"id":"name"}]'):
        with pytest.raises(UnavailableError, match="cannot be understood"):
            list(GoogleObjects("b", Answering(f'{{"items":{items}}}')).list(""))
    if "metadata" not in body:
        with pytest.raises(LostError, match="cannot be understood"):
            objects.put(Writing("k", b"", "m"))
