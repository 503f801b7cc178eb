"""Any state and any journal comes back as it was written."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from hcloud.model.catalog import Payment, PurchaseOption, ScopeName
from hcloud.model.holdings.live import (
    CommitmentOrder,
    CommitmentQuote,
    Launch,
    Machine,
    MachineState,
    Owner,
    Scope,
)
from hcloud.model.holdings.state import Conclusion, Deed, Intent, IntentResult, OwnedMachine, State
from hcloud.store.records.intent_codec import Entry, Head, read_lines, written
from hcloud.store.states.codec import decode_state
from hcloud.store.states.remembered import encode_state

letters = st.characters(exclude_categories=("Cc", "Cs"))
texts = st.text(letters, max_size=40)
names = st.text(letters, min_size=1, max_size=40)
hexes = st.text("0123456789abcdef", min_size=32, max_size=32)
addresses = st.from_regex(r"[a-z0-9_-]{1,63}", fullmatch=True)
counts = st.integers(0, 999_999_999)
times = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))
options = st.sampled_from(PurchaseOption)
amounts = st.decimals(min_value=0, max_value=10**9, places=8, allow_nan=False, allow_infinity=False)
endpoints = st.sampled_from(["", "http://127.0.0.1:5000", "https://ec2.us-east-1.amazonaws.com/"])

scopes = st.builds(Scope, st.sampled_from(get_args(ScopeName)), names, texts, endpoints)
records = st.builds(
    OwnedMachine,
    names, st.one_of(st.just(""), addresses), st.one_of(st.just(""), hexes), names, texts, options, counts, times,
    st.booleans(), st.booleans(), st.none() | times,
)  # fmt: skip
states = st.builds(
    State, hexes, counts, counts, texts, st.none() | scopes,
    st.lists(records, max_size=8, unique_by=lambda r: r.id).map(lambda rs: tuple(sorted(rs, key=lambda r: r.id))),
)  # fmt: skip

owners = st.builds(Owner, hexes, texts, texts, texts)
launches = st.builds(Launch, hexes, addresses, names, texts, st.integers(1, 100_000), owners, options, st.text(letters))
orders = st.builds(
    CommitmentOrder, texts, options, texts, st.integers(1, 5), st.sampled_from(Payment), st.integers(0, 100_000),
    st.none() | amounts, st.none() | times,
)  # fmt: skip
quotes = st.builds(CommitmentQuote, orders, texts, amounts, amounts, texts)
ids = st.lists(names, min_size=1, max_size=4, unique=True).map(tuple)
intents = st.one_of(
    st.builds(Intent, st.just(1), st.just(Deed.LAUNCH), times, texts, counts, launches),
    st.builds(Intent, st.just(1), st.sampled_from([Deed.TERMINATE, Deed.CANCEL]), times, texts, counts, ids=ids),
    st.builds(Intent, st.just(1), st.just(Deed.BUY), times, texts, counts, quote=quotes),
)
machines = st.builds(
    Machine, names, names, texts, st.sampled_from(MachineState), options, st.none() | times,
    st.dictionaries(texts, texts, max_size=4),
)  # fmt: skip
conclusions = st.builds(
    Conclusion, st.just(1), st.sampled_from(IntentResult), times, st.lists(machines, max_size=3).map(tuple),
    st.lists(names, max_size=3).map(tuple), st.integers(0, 100_000), texts,
)  # fmt: skip


@given(states)
def test_a_state_comes_back(state: State) -> None:
    data = encode_state(state)
    assert decode_state(data, "x") == state
    assert encode_state(decode_state(data, "x")) == data


@st.composite
def journals(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Intents with numbers that rise, each concluded now or never."""
    from dataclasses import replace

    entries: list[Entry] = []
    for number in range(1, draw(st.integers(0, 4)) + 1):
        entries.append(replace(draw(intents), number=number))
        if draw(st.booleans()):
            entries.append(replace(draw(conclusions), number=draw(st.integers(1, number))))
    return tuple(entries)


@given(journals(), st.one_of(st.just(""), hexes), counts, st.data())
def test_a_journal_comes_back_and_cut_off_gives_its_beginning(
    entries: tuple[Entry, ...], lineage: str, serial: int, data: st.DataObject
) -> None:
    whole = written(Head(lineage, serial, 1), entries)
    assert read_lines(whole, "x", "").entries == entries
    first = whole.index(b"\n") + 1
    size = data.draw(st.integers(first, len(whole)))
    cut = read_lines(whole[:size], "x", "")
    assert cut.entries == entries[: len(cut.entries)]
    assert whole[: cut.whole] == written(Head(lineage, serial, 1), cut.entries)
    assert cut.size == size


@given(amounts)
def test_money_comes_back_to_the_last_digit(amount: Decimal) -> None:
    order = CommitmentOrder("", PurchaseOption.RESERVED, "m6i.large", 1, Payment.ALL, 1)
    quote = CommitmentQuote(order, "o", amount, Decimal(0), "USD")
    intent = Intent(1, Deed.BUY, datetime(2026, 1, 1, tzinfo=UTC), "p", quote=quote)
    (read,) = read_lines(written(Head("", 0, 1), (intent,)), "x", "").entries
    assert isinstance(read, Intent)
    assert read.quote is not None
    assert str(read.quote.upfront) == str(amount)
