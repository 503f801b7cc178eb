"""The ledger of purchases on the disk: what a crash, a full disk, an editor or another user can do to it."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from purchasing import OPEN, Shop, approved, wanted

from hcloud.errors import HcloudError, InputError, StaleError
from hcloud.live.buying.purchase import execute
from hcloud.store.files.private_directory import Disk
from hcloud.store.records.purchases import FILE_NAME, PurchaseLedger


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop where one purchase was made."""
    found = Shop.open("aws", tmp_path)
    found.apply(found.plan())
    return found


def test_what_was_noted_is_read_back(shop: Shop) -> None:
    (recorded,) = shop.history.purchases
    (purchase,) = shop.cloud.ledger.purchases.values()
    assert (recorded.id, recorded.intent.amount) == (purchase.id, purchase.hourly * 8760)
    assert shop.history.committed(shop.now()) == recorded.intent.amount
    assert len(shop.ledger.lineage()) == 32


def test_H7_it_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        shop = Shop.open("aws", tmp_path)
        shop.apply(shop.plan())
    finally:
        os.umask(before)
    assert stat.S_IMODE((shop.directory / FILE_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(shop.directory.stat().st_mode) == 0o700


def test_H7_a_link_is_not_followed(shop: Shop, tmp_path: Path) -> None:
    path = shop.directory / FILE_NAME
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="symbolic link"):
        shop.ledger.entries()


@pytest.mark.slow
def test_A8_cut_off_anywhere_it_is_read_as_a_beginning_or_refused_and_never_bought_again(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    shop.apply(plan)
    path, every = shop.directory / FILE_NAME, shop.ledger.entries()
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        try:
            entries = shop.ledger.entries()
        except InputError:
            assert size <= whole.index(b"\n")
            continue
        assert entries == every[: len(entries)]
        if entries:  # the intent is there: what came of it is looked up
            assert shop.apply(plan)[0].before
        elif size % 61 == 0:
            with pytest.raises(StaleError):
                shop.apply(plan)
        assert shop.bought == 1


def test_A8_what_a_crash_left_half_written_is_replaced_by_the_next_entry(shop: Shop) -> None:
    path = shop.directory / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"sum":"00' + b"\0" * 20)
    shop.apply(shop.plan(wanted("aws", 2, "another/place")))
    assert path.read_bytes().startswith(whole)
    assert [p.is_bought for p in shop.history.purchases] == [True, True]


def test_one_byte_that_changed_is_noticed(shop: Shop) -> None:
    path = shop.directory / FILE_NAME
    whole = path.read_bytes()
    for at in range(0, len(whole) - 1, 23):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError, match="line"):
            shop.ledger.entries()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    with pytest.raises(InputError, match="a line before it is missing"):
        shop.ledger.entries()


def test_H1_an_empty_ledger_is_not_a_new_one(shop: Shop) -> None:
    (shop.directory / FILE_NAME).write_bytes(b"")
    with pytest.raises(InputError, match="never missing"):
        shop.ledger.entries()


def test_H4_an_entry_of_a_later_version_is_refused(shop: Shop) -> None:
    shop.ledger._lines.append({"gift": {"number": 3}})
    with pytest.raises(InputError, match="later version"):
        shop.ledger.entries()


class Full(Disk):
    """A disk that is full from the nth write on, or cannot sync."""

    def __init__(self, writes: int, *, syncs: bool = True) -> None:
        self.writes = writes
        self.syncs = syncs

    def write(self, handle: int, data: bytes) -> int:
        self.writes -= 1
        if self.writes < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(handle, data)

    def sync(self, handle: int) -> None:
        if not self.syncs and self.writes <= 0:
            raise OSError(errno.EIO, "Input/output error")
        super().sync(handle)


@pytest.mark.parametrize("syncs", [True, False])
def test_A6_A7_on_a_full_or_broken_disk_nothing_is_asked_for(syncs: bool, tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan, refused = shop.plan(), 0
    for writes in range(4):
        ground = replace(shop.ground(), ledger=PurchaseLedger(shop.directory, disk=Full(writes, syncs=syncs)))
        try:
            execute(plan, OPEN, approved, ground)
        except HcloudError:
            refused += 1
        assert shop.asked <= len(shop.history.purchases)
        assert shop.bought <= 1
    assert refused
