"""Finds lines that two files of a bill both hold: a month that was delivered twice, or files whose days overlap."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hcloud.errors import InputError
from hcloud.readers.bills.lines import BillFormat, plain
from hcloud.readers.workloads.identity import Hashes, identity_hashes

IDENTITY = "identity "
"""What the roles begin with whose columns tell a line from all others."""
OWNER = IDENTITY + "of "
"""The same for those that name the resource or commitment of a line, once more."""
COST = IDENTITY + "cost "
"""The same for what a line costs, where actual and amortised costs of a line are told by it."""
_OWNERS = frozenset(
    {
        "lineitemresourceid", "resourceid", "resourceglobalname", "resourcename", "reservationreservationarn",
        "savingsplansavingsplanarn", "commitmentdiscountid", "reservationid", "benefitid", "subscriptioninstanceid",
        "xsubscriptioninstanceid",
    }
)  # fmt: skip
"""Columns that name the resource or the commitment that a line is of."""
_SAME, _NEARLY_ALL = 0.5, 0.8
"""Ours: the part of the smaller file's lines that is in the other where both are of one delivery made twice, and that
of the hours and accounts that both have where these overlap: parts of a month share lines that are alike by chance."""
_UNIQUE = 0.99
"""Ours: where fewer lines are there once within their file, two that are alike are one only in files that are alike
whole, or that share mostly lines that each of them has once."""
_ALL_BELOW = 64 << 20
_DAY = 24
Whole = NDArray[np.int64]
_ONE_IN = np.int64(8)
_SPREAD = np.int64(0x9E3779B1)
_NAMED = np.uint64(1)
"""The bit of a hash that says whether the line names its resource or commitment: two such that are alike are one."""
_BITS, _OF_ACCOUNT = np.uint64(44), np.uint64(36)
"""A hash begins with its hour since 1970, and has its account next: so many bits are below each."""
_OF_COST = np.uint64(9)
"""Below these bits a hash has those of :data:`COST`, if there is such a column."""
_MIX, _SHORT = np.uint64(0x9E3779B97F4A7C15), np.uint64(56)
"""Spreads hashes, of which no more bits are kept than 64 without these."""
_FEW = 10
"""Ours: fewer lines without a name may be alike by chance."""


def identity_of(form: BillFormat, by_plain: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The columns that tell lines apart, and of these those that name what a line is of, by role."""
    known = [by_plain[name][0] for name in form.identity if name in by_plain]
    owners = [name for name in known if plain(name) in _OWNERS]
    costs = [] if _are_priced(form) else [by_plain[name][0] for name in form.money["cost"] if name in by_plain]
    roles = ((IDENTITY, known), (OWNER, owners), (COST, costs[:1]))
    return {f"{role}{n}": name for role, names in roles for n, name in enumerate(names)}


def _are_priced(form: BillFormat) -> bool:
    return any("cost" in name for name in form.identity)


class SeenLines:
    """The lines of each file, by their hashes; of a large bill those of every eighth hour. ``priced`` says whether
    lines of other costs are other lines in all, ``appended`` whether a line never changes (but another corrects it)."""

    def __init__(self, size: int, forms: Collection[BillFormat]) -> None:
        self.sampled = size > _ALL_BELOW
        self.priced = all(_are_priced(form) for form in forms)
        self.appended = all(form.is_appended for form in forms)
        self.files: dict[str, list[Hashes]] = {}

    def take(self, file: str, batch: pa.RecordBatch, start: Whole, span: Whole) -> None:
        """Add the lines of a batch, whose hours since 1970 and lengths in hours are given."""
        rows = np.arange(len(start))
        if self.sampled:
            rows = np.flatnonzero((span >= _DAY) | ((start * _SPREAD >> np.int64(8)) % _ONE_IN == 0))
        if len(rows) and (hashes := hashes_of(batch, start, rows)) is not None:
            self.files.setdefault(file, []).append(hashes)

    def shared(self) -> list[SharedPair]:
        """The lines that two files share, by their hashes: those of a resource or commitment, and of an account's hours
        that both have. InputError where most lines of a file are in another in part, or a file has a day twice."""
        whole = {name: _HowOften.of(parts) for name, parts in self.files.items()}
        read = sum(lines.rows for lines in whole.values())
        told_apart = sum(len(lines.hashes) for lines in whole.values()) >= _UNIQUE * read
        found, names = list[SharedPair](), list(whole)
        for place, name in enumerate(names):
            if self.appended:
                whole[name].refuse_days_twice(name)
            for other in names[:place]:
                common: Hashes = np.intersect1d(whole[name].hashes, whole[other].hashes, assume_unique=True)
                same = self._same(common, whole[name], whole[other], told_apart=told_apart)
                if same is None:
                    raise InputError(
                        f"{name}: {len(common):,} of its lines are in {other} too: a month that was delivered twice, "
                        "or actual and amortised costs of one",
                        hint="keep one of the two, the newer, or take the days of both out of the other",
                    )
                if len(same):
                    found.append(SharedPair(other, name, same))
        return found

    def _same(self, common: Hashes, lines: _HowOften, other: _HowOften, *, told_apart: bool) -> Hashes | None:
        """Which lines of both files are the same lines; None where most of one are in the other and cannot be told
        from others, or hours have other lines in each: two states of them."""
        if not len(common) and self.priced:
            return common
        alike = lines.count(common) == other.count(common)
        sure = told_apart or lines.surely_has(common, other)
        size = 1 << int(_OF_ACCOUNT) if sure else _DAY << int(_BITS)
        spans = np.intersect1d(lines.hashes // size, other.hashes // size)
        of = np.searchsorted(spans, common // size)
        count = np.bincount(of, minlength=len(spans))
        least, most = np.sort([lines.lines_in(spans, size), other.lines_in(spans, size)], axis=0)
        if sure:
            same = (count > _SAME * least) & ((count > 1) | (most == 1))
        else:  # a machine's line an hour may be like another's
            same = (count > _DAY) & (count == most) & (np.bincount(of, alike, len(spans)) == count)
        changed = bool((count < least)[same].any()) and count.sum() > _SAME * least.sum() and not self.appended
        same &= (not sure or count.sum() > _NEARLY_ALL * least.sum()) and count[same].sum() >= _FEW
        kept = same[of] | (sure & (common & _NAMED == _NAMED))
        changed |= not self.priced and lines.costs_otherwise(common, other)
        is_most = len(common) > _SAME * min(len(lines.hashes), len(other.hashes))
        is_part = is_most and not kept.all() and (sure or alike.mean() > _UNIQUE)
        return None if is_part or changed else common[kept]


@dataclass(frozen=True, slots=True)
class _HowOften:
    """The lines of a file by their hashes, and how often it has each."""

    hashes: Hashes
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, parts: list[Hashes]) -> _HowOften:
        return cls(*np.unique(np.concatenate(parts), return_counts=True))

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def surely_has(self, common: Hashes, other: _HowOften) -> bool:
        """Whether lines that another file has too are the same lines, where many within a file are alike."""
        if np.array_equal(self.hashes, other.hashes) and np.array_equal(self.counts, other.counts):
            return True
        once = int(np.count_nonzero((self.count(common) == 1) & (other.count(common) == 1)))
        few = (1 - _UNIQUE) * min(len(self.hashes), len(other.hashes))  # parts cut between lines that are alike
        return once > max(_SAME * len(common), few)

    def count(self, some: Hashes) -> Whole:
        """How often it has each of some of its lines."""
        return self.counts[np.searchsorted(self.hashes, some)]

    def costs_otherwise(self, common: Hashes, other: _HowOften) -> bool:
        """Whether many lines that both have cost other than in the other: actual and amortised costs."""
        both = np.intersect1d(self.hashes >> _OF_COST, other.hashes >> _OF_COST)
        otherwise = len(both) - len(np.unique(common >> _OF_COST))
        return otherwise >= max(_FEW, (1 - _UNIQUE) * min(len(self.hashes), len(other.hashes)))

    def lines_in(self, spans: Hashes, size: int) -> Whole:
        """How many different lines it has in each of some spans of so many hashes."""
        first, last = np.searchsorted(self.hashes, np.array([spans * size, (spans + 1) * size], np.uint64))
        count: Whole = last - first
        return count

    def refuse_days_twice(self, name: str) -> None:
        """InputError where all lines of a few days are there twice, and those of the other days are not."""
        days, of = np.unique((self.hashes >> _BITS) // _DAY, return_inverse=True)
        lines, twice = np.bincount(of), np.bincount(of, self.counts == 2)
        doubled = (lines == twice) & (lines >= _FEW)
        if 0 < doubled.mean() <= _SAME and twice[~doubled].sum() < (1 - _UNIQUE) * lines[~doubled].sum():
            raise InputError(
                f"{name}: all {lines[doubled].sum():,} lines of {np.datetime64(int(days[doubled][0]), 'D')} are there "
                "twice, those of other days once: the day was exported twice",
                hint="take one of the two out; if twice as much ran, export it again with resource.name, or with lines "
                "that are alike added up",
            )


class SharedPair:
    """The lines that two files share; ``counts`` is how often the one that is read first has each."""

    def __init__(self, first: str, later: str, lines: Hashes) -> None:
        self.first, self.later, self.lines = first, later, lines
        self.counts = np.zeros(len(lines), np.int64)


class SharedLines:
    """The lines that files share by twos; each counts in the first file that has it, as often as one of the two."""

    def __init__(self, pairs: list[SharedPair]) -> None:
        self._pairs = pairs
        self._file = ""
        self._lines: Hashes = np.zeros(0, np.uint64)
        self._earlier = self._here = np.zeros(0, np.int64)

    def in_an_earlier_file(self, file: str, batch: pa.RecordBatch, start: Whole) -> NDArray[np.bool_]:
        """Which rows of a batch an earlier file had."""
        earlier = np.zeros(batch.num_rows, np.bool_)
        if not any(file in (pair.first, pair.later) for pair in self._pairs):
            return earlier
        hashes = hashes_of(batch, start, np.arange(batch.num_rows))
        if hashes is None:
            return earlier
        if file != self._file:
            self._begin(file)
        for pair in self._pairs:
            if pair.first == file:
                np.add.at(pair.counts, _found(hashes, pair.lines)[1], 1)
        rows, of_lines = _found(hashes, self._lines)
        earlier[rows] = self._here[of_lines] + _ordinals(of_lines) < self._earlier[of_lines]
        np.add.at(self._here, of_lines, 1)
        return earlier

    def _begin(self, file: str) -> None:
        """Look up what earlier files had of a file's lines."""
        pairs = [pair for pair in self._pairs if pair.later == file]
        self._file = file
        self._lines = np.unique(np.concatenate([np.zeros(0, np.uint64), *(pair.lines for pair in pairs)]))
        self._here, self._earlier = np.zeros(len(self._lines), np.int64), np.zeros(len(self._lines), np.int64)
        for pair in pairs:
            np.maximum.at(self._earlier, np.searchsorted(self._lines, pair.lines), pair.counts)


def _found(hashes: Hashes, some: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the hashes that are among some, which are sorted, and their places there."""
    if not len(some):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    places = np.minimum(np.searchsorted(some, hashes), len(some) - 1)
    rows = np.flatnonzero(some[places] == hashes)
    return rows, places[rows]


def _ordinals(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each value came before it."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    first = np.searchsorted(ranked, ranked)
    ordinals = np.empty(len(values), np.int64)
    ordinals[order] = np.arange(len(values)) - first
    return ordinals


def hashes_of(batch: pa.RecordBatch, start: Whole, rows: Whole) -> Hashes | None:
    """A hash for each of the rows: first its hour and its account, last a bit that is set where the line names what it
    is of. None where the file has no columns that tell lines apart."""
    names = [name for name in batch.schema.names if name.startswith(IDENTITY) and not name.startswith((OWNER, COST))]
    if not names:
        return None
    if "credit" in batch.schema.names:  # of Google: each stands behind its line, and is another
        names += ["credit", "cost"]
    taken = None if len(rows) == batch.num_rows else pa.array(rows)
    hashes = identity_hashes(pc.binary_join_element_wise(*(_texts(batch, name, taken) for name in names), "\n"))
    hashes = (np.maximum(start[rows], 0).astype(np.uint64) << _BITS) | (hashes >> (np.uint64(64) - _OF_ACCOUNT))
    if "account" in batch.schema.names:
        accounts = _texts(batch, "account", taken).dictionary_encode()
        few = identity_hashes(accounts.dictionary) * _MIX >> _SHORT
        hashes |= few[accounts.indices.to_numpy()] << _OF_ACCOUNT
    for cost in (name for name in batch.schema.names if name.startswith(COST)):
        costs = identity_hashes(_texts(batch, cost, taken)) * _MIX >> _SHORT
        hashes = (hashes >> _OF_COST << _OF_COST) | costs << _NAMED
    hashes &= ~_NAMED
    for owner in (name for name in batch.schema.names if name.startswith(OWNER)):
        hashes |= pc.not_equal(_texts(batch, owner, taken), "").to_numpy(zero_copy_only=False).astype(np.uint64)
    return hashes


def _texts(batch: pa.RecordBatch, name: str, rows: pa.Array | None) -> pa.Array:
    column = batch.column(name)
    taken = column if rows is None else column.take(rows)
    return pc.fill_null((_joined(taken) if pa.types.is_nested(column.type) else taken).cast(pa.string()), "")


def _joined(column: pa.Array) -> pa.Array:
    """Labels, a list of keys and values, as texts; as Python writes them where they are stored in another way."""
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    parts = flat.flatten() if pa.types.is_struct(flat.type) else [flat]
    if flat is column or any(pa.types.is_nested(part.type) for part in parts):
        return pa.array(map(str, column.to_pylist()), pa.string())
    words = [pc.fill_null(part.cast(pa.string()), "") for part in parts]
    ends = np.cumsum(pc.fill_null(pc.list_value_length(column), 0))
    lists = pa.ListArray.from_arrays(pa.array([0, *ends], pa.int32()), pc.binary_join_element_wise(*words, "="))
    return pc.binary_join(lists, " ")
