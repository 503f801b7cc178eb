"""``hcloud state``: look at what is remembered of a cloud, take it out, put it back, take a lock away."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hcloud.control.ports import Crash, MendableStore
from hcloud.errors import InputError, StaleError, UsageError
from hcloud.model.files import HEAD, check_sort
from hcloud.model.holdings.state import Intent, IntentResult, LockInfo, RememberedState, State
from hcloud.readers.configuration.config import load_config
from hcloud.store.files.crash import crash_from

PLACES = "a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX"
UNSAFE = "HYC_UNSAFE_STORE"
"""Set to 1 (by --unsafe-store) it takes a bucket that ignores the conditions of writings."""


def state_place(named: str | None, file: Path | None, environment: Mapping[str, str] = os.environ) -> str:
    """Where the state is: as named, else as ``live.state`` of the configuration says, relative to it."""
    if named is not None:
        if not named.strip():
            raise UsageError("--state: names nothing", hint=PLACES)
        return named
    loaded = load_config(file, environment)
    kept = loaded.config.live.state
    return kept if "://" in kept else str(loaded.base / kept)


def open_store(where: str, crash: Crash | None = None) -> MendableStore:
    """The store at a place; nothing is read or made yet. UsageError for a place of another kind. What a bucket warns of
    is told on stderr.

    ``crash`` is what is done at crash points: what the environment says, where a verb has none of its own.
    """
    crash = crash or crash_from()
    if "://" in where:
        import logging

        from hcloud.store.buckets.address import bucket_store

        heard = logging.StreamHandler()
        heard.setFormatter(logging.Formatter("warning: %(message)s"))
        logging.getLogger("hcloud").handlers[:] = [heard]
        return bucket_store(where, crash, unsafe=os.environ.get(UNSAFE) == "1")
    from hcloud.store.states.remembered import FileStateStore

    return FileStateStore(Path(where), crash)


def look(where: str) -> RememberedState:
    """Everything that is remembered; changes nothing. Raises InputError where it cannot be read."""
    store = open_store(where)
    state = store.load()
    return RememberedState(where, state, open_intents(store), store.holder())


def look_at(where: str, name: str) -> RememberedState:
    """The same with the records of one id or address only; UsageError where there is none."""
    found = look(where)
    state = _there(found)
    records = tuple(r for r in state.records if name in (r.id, r.address))
    if not records:
        raise UsageError(f"{where}: contains no machine {name!r}", hint="hcloud state list shows ids and addresses")
    return replace(found, state=replace(state, records=records))


def pull(where: str) -> bytes:
    """The state as a file holds it, in this version's format."""
    from hcloud.store.states.remembered import encode_state

    return encode_state(_there(look(where)))


NOT_PUSHED = "push a file that 'hcloud state pull' wrote; the stored state is unchanged"


def push(where: str, data: bytes, name: str, *, force: bool) -> RememberedState:
    """Store a state that was pulled; keeps a copy of the one it replaces.

    StaleError where it is of another lineage or older than what is stored, and InputError where what is stored cannot
    be read, unless forced.
    """
    from hcloud.store.files.strict_json import HINT
    from hcloud.store.states.codec import decode_state

    check_sort(name, data[:HEAD], "a state", "empty", "UTF-16 text", "a binary file")  # of these more is known below
    try:
        pushed = decode_state(data, name)
    except InputError as error:
        error.hint = NOT_PUSHED if error.hint == HINT else error.hint
        raise
    store = open_store(where)
    with store.locked("state push"):
        if force:
            written = store.overwrite(pushed)
        else:
            stored = store.load()
            _check_push(where, pushed, stored)
            written = store.save(replace(pushed, serial=0 if stored is None else stored.serial))
        return RememberedState(where, written, open_intents(store))


def unlock(where: str, lock: str) -> LockInfo:
    """Take the lock of a state, or of the live work beside it, away from its holder; UsageError where nobody holds it,
    or by another id."""
    from hcloud.usecases.live.operate_requests import lock_of_work  # brings the session and numpy

    beside = lock_of_work(where)
    held = beside.holder() if beside is not None else None
    if beside is not None and held is not None and held.id == lock:
        return beside.force(lock)
    return open_store(where).unlock(lock)


def open_intents(store: MendableStore) -> tuple[Intent, ...]:
    """The intents that nobody knows the outcome of."""
    entries = store.journal().entries()
    over = {e.number for e in entries if not isinstance(e, Intent) and e.result is not IntentResult.UNKNOWN}
    return tuple(e for e in entries if isinstance(e, Intent) and e.number not in over)


def _there(found: RememberedState) -> State:
    if found.state is None:
        raise InputError(f"{found.where}: there is no state yet", hint="hcloud apply writes the first one")
    return found.state


def _check_push(where: str, pushed: State, stored: State | None) -> None:
    if stored is None:
        return
    if pushed.lineage != stored.lineage:
        raise StaleError(
            f"{where}: holds the state of another project: lineage {stored.lineage}, not {pushed.lineage}",
            hint="--force replaces it and keeps the old one as state.json.previous",
        )
    if pushed.serial < stored.serial:
        raise StaleError(
            f"{where}: holds a later state: serial {stored.serial}, not {pushed.serial}",
            hint="--force replaces it and keeps the old one as state.json.previous",
        )
