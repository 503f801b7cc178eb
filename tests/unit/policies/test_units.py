"""Spans and counts in words."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hcloud.units import (
    and_last,
    counted,
    format_age,
    format_figure,
    format_hourly,
    exact_money,
    format_money,
    format_span,
    percent,
    short_percent,
    signed_money,
    some_of,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (81.3, "81.3s"), (120, "2min"), (450, "7.5min"), (7560, "2.1h"), (1_209_600, "14d")],
)
def test_spans(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


def test_counts() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 71_616)] == ["0 rows", "1 row", "2 rows", "71,616 rows"]
    assert counted(2, "batch", "batch") == "2 batch"
    assert [format_age(n) for n in (0, 1, 2, 1186)] == ["today", "1 day old", "2 days old", "1,186 days old"]


def test_half_a_dollar_is_rounded_alike_in_a_headline_and_in_a_column() -> None:
    assert [format_figure(Decimal(n)) for n in ("3166.50", "0.50", "1234567.4", "-2.50", "-0.4")] == [
        "3,167", "1", "1,234,567", "-3", "0",
    ]  # fmt: skip
    assert [format_money(Decimal(n)) for n in ("3166.50", "-2.50", "-0.4")] == ["$3,167", "-$3", "$0"]
    assert format_figure(Decimal("0.125"), 2) == "0.13"


def test_what_is_less_than_a_cent_is_not_shown_as_nothing() -> None:
    assert [format_money(Decimal(n), 2) for n in ("0", "0.0049", "0.005", "-0.001")] == [
        "$0.00", "below $0.01", "$0.01", "$0.00",
    ]  # fmt: skip
    assert [format_figure(Decimal(n), places) for n, places in (("0.004", 2), ("0.00004", 4), ("0.4", 0))] == [
        "<0.01", "<0.0001", "0",
    ]
    assert [format_hourly(Decimal(n)) for n in ("0", "0.00001", "0.0057", "0.01", "1.236")] == [
        "0.00", "<0.0001", "0.0057", "0.01", "1.24",  # 0.0057 was 0.01
    ]  # fmt: skip


def test_shares_in_percent() -> None:
    assert [percent(share) for share in (0.5, Decimal("-0.00001"), 12.345, None, float("nan"))] == [
        "50.0%", "0.0%", "1,234.5%", "-", "-",
    ]  # fmt: skip
    assert [percent(share, sign="+") for share in (0.1, -0.1, 0.0001)] == ["+10.0%", "-10.0%", "0.0%"]
    assert percent(None, none="") == ""
    assert [short_percent(share) for share in (0.0, 0.6, 0.625, 1.0, 10.0)] == ["0%", "60%", "62.5%", "100%", "1000%"]
    assert short_percent(Decimal("0.9525"), 2) == "95.25%"


def test_names_in_a_row() -> None:
    assert [and_last(names) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
    assert and_last("ab", "or") == "a or b"
    assert [some_of(names, 2) for names in ("", "ab", "abc")] == ["", "a, b", "a, b and 1 more"]


def test_a_difference_of_dollars_has_its_sign_and_nothing_has_none() -> None:
    assert [signed_money(Decimal(n)) for n in ("12.5", "-12.5", "0", "0.4", "-0.4")] == ["+$13", "-$13", "$0", "$0", "$0"]


def test_dollars_to_the_cent_are_rounded_half_up_and_never_below_a_cent() -> None:
    assert [exact_money(Decimal(n)) for n in ("1234.505", "-0.005", "0.001")] == ["$1,234.51", "-$0.01", "$0.00"]
