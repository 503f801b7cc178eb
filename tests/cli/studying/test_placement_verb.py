"""``hcloud placement size``: a promise in one sentence, its tables, and what cannot be promised."""

from __future__ import annotations

import json

import pytest

from hcloud.cli.main import run

NOW = ("--now", "2026-11-20T12:00:00Z")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["placement", "size", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_promise_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "--quality", "0.9", "--miss", "1e-3")
    assert "With 66 candidates, the chosen server is among the best tenth of the free ones in" in told
    assert "at least 999 of 1,000 decisions" in told
    assert "0.8: the best fifth 21 31 42 52 62" in told
    assert "in at least 9,985 of 10,000 decisions" in said(capsys, "--miss", "0.0015")
    assert "among the best 3% of the free ones" in said(capsys, "--quality", "0.97")


def test_what_busy_servers_change(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "--quality", "0.8", "--units", "100", "--busy", "0.6")
    assert "it takes 78 looks on average to find 31 free candidates" in told
    assert "83 candidates promise the best fifth of all servers (the law with 0.92 in place of 0.8)" in told
    assert "all: more candidates than free servers" in told
    assert "528 looks find 26 free servers on average" in said(capsys, "--busy", "0.95")
    assert "in place of" not in said(capsys, "--busy", "0")
    none = said(capsys, "--units", "100", "--quality", "0.9", "--busy", "0.91", "--miss", "0.4")
    assert "no number of candidates promises the best tenth, because none of it is free" in none


def test_documents(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, "--quality", "0.8", "--units", "100", "--busy", "0.6", "--json", *NOW))
    assert (told["free_units"], told["promise"]["candidates"], told["over_all"]["candidates"]) == (40, 31, 83)
    assert [row["candidates"] for row in told["fewer"]] == [2, 4, 8, 16]
    assert len(told["sizes"]) == 15
    table = said(capsys, "-o", "csv").split()
    assert (table[0], table[2], len(table)) == ("quality,miss,candidates", "0.8,0.001,31", 16)
    assert "| 0.8: the best fifth | 21 | 31 | 42 |" in said(capsys, "-o", "md")


@pytest.mark.parametrize(
    ("words", "why", "allowed"),
    [
        ("--quality 1", "--quality 1: only a look at all servers", "above 0 and below 1"),
        ("--quality 0", "--quality 0: any server has that", "above 0 and below 1"),
        ("--quality nan", "--quality nan", "above 0 and below 1"),
        ("--miss 0", "--miss 0: servers drawn at random may always be bad ones", "for example 1e-3"),
        ("--quality 90", "--quality 90: a share is meant, not per cent; write 0.9", "0.9 is the best tenth"),
        ("--miss 1", "--miss 1: that promises nothing", "for example 1e-3"),
        ("--busy 1", "--busy 1: no server is free", "from 0 to below 1"),
        ("--busy -0.1", "--busy -0.1: not a share", "from 0 to below 1"),
        ("--units 0", "--units 0: there is nothing to choose from", "from 1 to 1,000,000"),
        ("--units 1000001", "--units 1000001: too many", "leave out --units for more"),
        ("--units 10 --busy 0.95", "--busy 0.95: of 10 servers none is free", "more --units or a lower share"),
        ("--units 10", "takes 66 candidates, more than the 10 servers: looking at all", "--miss 0.35 or more"),
        ("--units 100 --busy 0.9", "more than the 10 free servers", "10 candidates promise this quality"),
    ],
)
def test_what_cannot_be_promised(words: str, why: str, allowed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["placement", "size", *words.split()]) == 64
    told = capsys.readouterr()
    assert told.out == ""
    assert why in told.err
    assert allowed in told.err


def test_the_least_miss_that_is_named_is_one_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["placement", "size", "--units", "30", "--miss", "1e-4"]) == 64
    least = capsys.readouterr().err.split("--miss ")[-1].split()[0]
    assert run(["placement", "size", "--units", "30", "--miss", least]) == 0
