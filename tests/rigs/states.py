"""States, intents and stores for tests."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.control.ports import StateStore
from hcloud.errors import InputError
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder, CommitmentQuote, Launch, Machine, MachineState, Owner, Scope
from hcloud.model.holdings.state import Conclusion, Deed, Intent, IntentResult, OwnedMachine, State
from hcloud.store.files.private_directory import Disk
from hcloud.store.states.remembered import FileStateStore

LINEAGE = "0123456789abcdef" * 2
OTHER_LINEAGE = "fedcba9876543210" * 2
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
SCOPE = Scope("aws", "123456789012", "us-east-1")
KEY = "ab" * 16


def a_record(number: int = 1) -> OwnedMachine:
    return OwnedMachine(
        id=f"i-{number:08x}",
        address=f"pool-{number}",
        key=f"{number:032x}",
        instance_type="m6i.large",
        zone="us-east-1a",
        option=PurchaseOption.ON_DEMAND,
        generation=1,
        intended=AT + timedelta(seconds=number),
    )


def a_state(records: int = 2, serial: int = 0) -> State:
    made = tuple(a_record(n) for n in range(1, records + 1))
    return State(LINEAGE, serial, 1, "shop", SCOPE, made)


def a_launch(number: int = 1, count: int = 3) -> Launch:
    return Launch(f"{number:032x}", f"pool-{number}", "m6i.large", "us-east-1a", count, Owner(LINEAGE, "shop", "abc"))


def an_intent(number: int = 1) -> Intent:
    return Intent(number, Deed.LAUNCH, AT, "abc", 1, order=a_launch(number))


def an_end(number: int) -> Intent:
    return Intent(number, Deed.TERMINATE, AT, "abc", 1, ids=("i-00000001", "i-00000002"))


def a_purchase(number: int, upfront: str = "1200.50") -> Intent:
    order = CommitmentOrder(KEY, PurchaseOption.RESERVED, "m6i.large", 1, Payment.PARTIAL, 2)
    quote = CommitmentQuote(order, "off-1", Decimal(upfront), Decimal("0.0420"), "USD")
    return Intent(number, Deed.BUY, AT, "abc", 1, quote=quote)


def a_machine(number: int = 1) -> Machine:
    tags = {"hcloud-lineage": LINEAGE, "hcloud-address": f"pool-{number}"}
    on_demand = PurchaseOption.ON_DEMAND
    return Machine(f"i-{number:08x}", "m6i.large", "us-east-1a", MachineState.RUNNING, on_demand, AT, tags)


def a_conclusion(number: int = 1, result: IntentResult = IntentResult.DONE) -> Conclusion:
    return Conclusion(number, result, AT, machines=(a_machine(number),))


def several() -> list[Intent | Conclusion]:
    """One entry of each kind."""
    bought = replace(a_conclusion(3), machines=(), ids=("ri-1",))
    return [an_intent(1), an_end(2), a_conclusion(1), a_purchase(3), bought]


def written_twice(directory: Path) -> Path:
    """A directory with a state that was written twice and a journal with one entry of each kind."""
    store = FileStateStore(directory)
    store.save(replace(a_state(), serial=store.save(State(LINEAGE)).serial))
    for entry in several():
        note(store, entry)
    return directory


def note(store: StateStore, entry: Intent | Conclusion) -> None:
    journal = store.journal()
    if isinstance(entry, Intent):
        journal.intend(entry)
    else:
        journal.conclude(entry)


def refusal(directory: Path) -> InputError:
    """The error that every use of a damaged state meets."""
    store = FileStateStore(directory)
    with pytest.raises(InputError) as loading:
        store.load()
    for serial in (0, 2):
        with pytest.raises(InputError):
            store.save(a_state(serial=serial))
    assert str(directory) in str(loading.value)
    assert "hcloud recover" in loading.value.hint
    return loading.value


class BrokenDisk(Disk):
    """Fails at the ``at``-th call that may: with half of what was to be written on a full disk, as disks do."""

    def __init__(self, at: int, code: int = errno.ENOSPC, only: str = "") -> None:
        self.at, self.code, self.only = at, code, only
        self.calls = 0

    def write(self, handle: int, data: bytes) -> int:
        if self._is_due("write"):
            os.write(handle, data[: len(data) // 2])
            raise self._error()
        return super().write(handle, data)

    def write_at_start(self, handle: int, data: bytes) -> int:
        if self._is_due("write_at_start"):
            raise self._error()
        return super().write_at_start(handle, data)

    def sync(self, handle: int) -> None:
        if self._is_due("sync"):
            raise self._error()
        super().sync(handle)

    def cut(self, handle: int, size: int) -> None:
        if self._is_due("cut"):
            raise self._error()
        super().cut(handle, size)

    def rename(self, old: str, new: str, directory: int) -> None:
        if self._is_due("rename"):
            raise self._error()
        super().rename(old, new, directory)

    @property
    def failed(self) -> bool:
        """Whether it came so far."""
        return self.calls >= self.at

    def _is_due(self, name: str) -> bool:
        if self.only not in ("", name):
            return False
        self.calls += 1
        return self.calls == self.at

    def _error(self) -> OSError:
        return OSError(self.code, os.strerror(self.code))
