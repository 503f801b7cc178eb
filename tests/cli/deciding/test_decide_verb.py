"""``hcloud decide``, ``hcloud explain --job`` and ``hcloud simulate --journal``: streams, states, stories, refusals."""

from __future__ import annotations

import fcntl
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hcloud.cli.main import run
from hcloud.readers.bundle import bundled

NOW = ("--now", "2026-11-21T00:00:00Z")
PLAIN = ("--plain",)
ARRIVAL = {"at": 0, "event": "arrival", "job": "a", "cores": 2, "memory_gib": 4}
TYPES = """
types:
  - {name: small, vcpus: 2, memory_gib: 8, spin_up_seconds: 20, quality: 0.7}
  - {name: big, vcpus: 16, memory_gib: 64, spin_up_seconds: 10, quality: 0.99}
"""
Feed = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Feed:
    """Runs the verb on some lines; gives its exit code, its decisions and what it said on stderr."""

    def decide(lines: list[dict[str, Any] | str], *words: str) -> tuple[int, list[dict[str, Any]], str]:
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False))
        code = run(["decide", *words])
        said = capsys.readouterr()
        return code, [json.loads(line) for line in said.out.splitlines()], said.err

    return decide


def test_a_control_character_in_the_name_of_a_job_is_called_one(feed: Feed) -> None:
    code, _, said = feed([{**ARRIVAL, "job": "a\a"}], "--strategy", "HM", "--pool", "2")
    assert code == 1
    assert "without line breaks and control characters" in " ".join(said.split())


def test_a_small_stream_with_the_default_kernels(feed: Feed) -> None:
    code, told, said = feed([ARRIVAL, {"at": 60, "event": "completion", "job": "a"}], "--strategy", "HM", "--pool", "2")
    assert code == 0
    assert not said
    assert told == [
        {
            "at": 0.0,
            "decision": "place",
            "job": "a",
            "instance": 0,
            "place": "reserved server 0",
            "reason": "below-soft-limit",
            "margin": 0.625,
            "unit": "share of the pool",
            "why": "the pool is at 0%, below the soft limit (62.5%)",
        }
    ]


def test_why_a_job_goes_to_spot_names_what_it_needs_and_the_limit(feed: Feed, tmp_path: Path) -> None:
    """It said that "spot is used below 0.90", which may be a price, a load or a share of machines."""
    rule = "{below_quality: {value: 0.9, unit: quality, origin: C, source: ours, why: a test}}"
    ruled = f"  spot:\n    rule: tolerant-batch\n    parameters: {rule}"
    text = (bundled("policies") / "OdM.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("  spot:\n    rule: none", ruled))
    came = {**ARRIVAL, "vector": [5] * 10, "restartable": True}
    _, told, _ = feed([came], "--strategy", str(tmp_path / "mine.yaml"), *PLAIN)
    (why,) = (one["why"] for one in told if one["place"].startswith("spot"))
    assert re.fullmatch(r"the job may be interrupted and needs a quality of 0\.\d\d: those below 0\.90 go to spot", why)


def test_an_instance_is_launched_kept_and_let_go_by_the_clock(feed: Feed, tmp_path: Path) -> None:
    types = tmp_path / "types.yaml"
    types.write_text(TYPES, encoding="utf-8")
    lines: list[dict[str, Any] | str] = [
        {**ARRIVAL, "vector": [5] * 10},
        {"at": 21, "event": "ready", "instance": 0},
        {"at": 21, "event": "sample", "instance": 0, "contention": [3] * 10},
        {"at": 90, "event": "completion", "job": "a", "performance": 0.99},
        "",
        {"at": 86400, "event": "clock"},
    ]
    code, told, _ = feed(lines, "--strategy", "OdM", "--types", str(types), *PLAIN)
    assert code == 0
    assert [(d["decision"], d["place"]) for d in told] == [
        ("launch", "on-demand small"),
        ("retain", "on-demand small"),
        ("release", "on-demand small"),
    ]
    assert told[1]["until"] == told[2]["at"] == 90 + told[1]["margin"]
    assert told[1]["margin"] == 210  # ten times the 21 s that it took to start


def test_what_goes_wrong_in_life_is_decided_about(feed: Feed, tmp_path: Path) -> None:
    types = tmp_path / "types.yaml"
    types.write_text(TYPES, encoding="utf-8")
    calm = {"vector": [5] * 10}
    lines: list[dict[str, Any] | str] = [
        {**ARRIVAL, **calm},
        {"at": 2, "event": "launch-failed", "instance": 0, "why": "no capacity in this zone", "until": 62},
        {"at": 12, "event": "ready", "instance": 1},
        {"at": 12, "event": "quality", "instance": 1, "score": 0.97},
        {"at": 20, "event": "progress", "job": "a", "share": 0.5},
        {"at": 30, "event": "lost", "instance": 1},
        {**ARRIVAL, **calm, "at": 70, "job": "b", "movable": False},
        {"at": 75, "event": "cancelled", "job": "b"},
        {**ARRIVAL, **calm, "at": 80, "job": "c"},
        {"at": 101, "event": "ready", "instance": 3},
        {"at": 110, "event": "latency", "job": "c", "p99": 12.5},
        {"at": 120, "event": "failed", "job": "c", "code": 127},
    ]
    journal = tmp_path / "live.journal"
    words = ("--strategy", "OdM", "--types", str(types), "--journal", str(journal), *PLAIN)
    code, told, said = feed(lines, *words)
    assert (code, said) == (0, "")
    assert [(d["decision"], d.get("job"), d["place"], d["reason"]) for d in told] == [
        ("launch", "a", "on-demand small", "only-on-demand"),
        ("release", None, "on-demand small", "launch-failed"),
        ("launch", "a", "on-demand big", "only-on-demand"),
        ("end", "a", "on-demand big", "lost-with-machine"),
        ("release", None, "on-demand big", "lost"),
        ("launch", "b", "on-demand small", "only-on-demand"),
        ("release", None, "on-demand small", "cancelled"),
        ("launch", "c", "on-demand small", "only-on-demand"),
        ("retain", "c", "on-demand small", "still-wanted"),
    ]
    assert told[1]["why"] == "it could not be launched: no capacity in this zone"
    code, again, said = feed([{"at": 130, "event": "clock"}], *words)
    assert (code, again) == (0, [])
    assert "12 events replayed" in said
    code, told, said = feed([{"at": 131, "event": "lost", "instance": 3, "unbegun": ["c"]}], *words)
    assert (code, told) == (1, [])
    assert said.endswith("error: line 1: job c is not on instance 3\n")


def test_bad_lines_are_said_and_the_stream_goes_on(feed: Feed) -> None:
    lines: list[dict[str, Any] | str] = [
        ARRIVAL,
        "{",
        {"at": 1, "event": "arrival", "job": "b", "core": 1},
        {"at": 2, "event": "completion", "job": "zz"},
        "\xff",
        {"at": 3, "event": "completion", "job": "a"},
        {**ARRIVAL, "at": 4},
    ]
    code, told, said = feed(lines, "--strategy", "SR", "--pool", "1", *PLAIN)
    assert code == 1
    assert [d["job"] for d in told] == ["a", "a"]
    assert [line.split(":")[1].strip() for line in said.splitlines()] == ["line 2", "line 3", "line 4", "line 5"]
    assert "did you mean cores" in said


def test_lines_that_are_too_long_are_said_and_a_last_one_needs_no_end(feed: Feed) -> None:
    long = '{"at": 1, "event": "clock", "x": "' + "x" * 3_000_000 + '"}'
    code, told, said = feed(
        [ARRIVAL, long, {**ARRIVAL, "at": 2, "job": "b"}], "--strategy", "SR", "--pool", "1", *PLAIN
    )
    assert (code, [d["job"] for d in told]) == (1, ["a", "b"])
    assert said == "error: line 2: longer than 1,048,576 bytes\n"


def test_state_is_kept_across_restarts(feed: Feed, tmp_path: Path) -> None:
    journal = ("--journal", str(tmp_path / "live.journal"))
    hm = ("--strategy", "HM", "--pool", "1", *PLAIN, *journal)
    assert feed([ARRIVAL], *hm, "--durable")[0] == 0
    code, told, said = feed([{**ARRIVAL, "at": 5}, {"at": 9, "event": "completion", "job": "a"}], *hm)
    assert code == 1
    assert told == []
    assert "1 event replayed, the last at 0 s" in said
    assert "job a has arrived already" in said
    code, told, said = feed([{**ARRIVAL, "at": 10}], *journal, *PLAIN)  # the journal knows strategy and pool
    assert (code, [d["place"] for d in told]) == (0, ["reserved server 0"])
    assert "2 events replayed, the last at 9 s" in said
    assert feed([], "--strategy", "HM", "--pool", "2", *PLAIN, *journal)[0] == 64
    assert feed([], "--strategy", "SR", "--pool", "1", *PLAIN, *journal)[0] == 64


def test_a_journal_that_gives_its_reasons_in_other_words_goes_on(feed: Feed, tmp_path: Path) -> None:
    """An hcloud that words a reason anew took every older journal for damaged."""
    journal = tmp_path / "live.journal"
    words = ("--strategy", "HM", "--pool", "1", *PLAIN, "--journal", str(journal))
    assert feed([ARRIVAL], *words)[0] == 0
    told = journal.read_text()
    journal.write_text(re.sub(r'"why":\s*"[^"]*"', '"why":"as it was said before"', told))
    assert journal.read_text() != told
    assert feed([{"at": 9, "event": "completion", "job": "a"}], *words)[0] == 0
    journal.write_text(journal.read_text().replace("below-soft-limit", "above-soft-limit"))
    code, _, said = feed([], *words)
    assert (code, "its decisions do not follow from its events" in " ".join(said.split())) == (1, True)


def test_a_journal_that_gives_another_reason_for_a_wait_goes_on(feed: Feed, tmp_path: Path) -> None:
    """Work that was under way was refused by an hcloud that tells waits by more reasons, and its machines went on."""
    journal = tmp_path / "live.journal"
    words = ("--strategy", "SR", "--pool", "1", *PLAIN, "--journal", str(journal))
    told = feed([{"at": 0, "event": "lost", "instance": 0}, {**ARRIVAL, "at": 1}], *words)[1]
    assert [d["reason"] for d in told if d["decision"] == "queue"] == ["held-by-none"]
    journal.write_text(journal.read_text().replace("held-by-none", "pool-full"))
    code, told, said = feed([{"at": 2, "event": "pool", "size": 1}], *words)
    assert code == 0, said


def test_a_journal_with_the_name_of_another_form_goes_on(feed: Feed, tmp_path: Path) -> None:
    """Such names were allowed before; a new one, as the hint said, would have begun anew without a word."""
    journal = tmp_path / "live.jsonl"
    words = ("--strategy", "HM", "--pool", "1", *PLAIN, "--journal")
    assert feed([ARRIVAL], *words, str(journal))[0] == 0
    named = journal.rename(tmp_path / "live.csv")
    assert feed([{"at": 9, "event": "completion", "job": "a"}], *words, str(named))[0] == 0
    assert feed([ARRIVAL], *words, str(tmp_path / "new.csv"))[0] == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "needs --strategy"),
        (("--strategy", "HM"), "HM needs a reserved pool"),
        (("--strategy", "OdM", "--pool", "3"), "OdM reserves nothing"),
        (("--strategy", "XX"), "there is no strategy"),
        (("--strategy", "OdM", "--provider", "ibm"), "must be one of aws, gcp, azure"),
        (("--strategy", "OdM", "--provider", "aws"), "needs --region"),
        (("--strategy", "OdM", "--types", "x.yaml", "--provider", "aws"), "--types replaces"),
    ],
)
def test_what_cannot_be_asked_for(words: tuple[str, ...], said: str, feed: Feed) -> None:
    code, told, err = feed([], *words, *PLAIN)
    assert (code, told) == (64, [])
    assert said in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("types: []", "a list of at least one type"),
        ("types: [{name: x, vcpus: 1, memory_gib: 2, spin_up_seconds: 3}]", r"types[0].quality: missing"),
        (TYPES + "large: huge", "large: 'huge' (the name of one of the types)"),
        (TYPES.replace("quality: 0.7", "quality: true"), "types[0].quality: True"),
        (TYPES.replace("big", "small"), "every name once"),
        (TYPES + "pool: 3", "pool: unknown key"),
    ],
)
def test_bad_types(text: str, said: str, feed: Feed, tmp_path: Path) -> None:
    types = tmp_path / "types.yaml"
    types.write_text(text, encoding="utf-8")
    code, _, err = feed([], "--strategy", "OdM", "--types", str(types), *PLAIN)
    assert code == 1
    assert said in err


def test_what_a_crash_may_have_hidden_is_told_again(feed: Feed, tmp_path: Path) -> None:
    words = ("--strategy", "HM", "--pool", "1", *PLAIN, "--journal", str(tmp_path / "live.journal"))
    _, first, _ = feed([ARRIVAL, {**ARRIVAL, "at": 5, "job": "b"}], *words)
    assert [d["job"] for d in first] == ["a", "b"]
    code, again, _ = feed([{**ARRIVAL, "at": 10, "job": "c"}], *words, "--retell", "1")
    assert (code, [d["job"] for d in again]) == (0, ["b", "c"])
    assert [d["job"] for d in feed([], *words, "--retell", "99")[1]] == ["a", "b", "c"]


def test_a_journal_belongs_to_one_process(feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "live.journal"
    words = ("--strategy", "HM", "--pool", "1", *PLAIN, "--journal", str(path))
    assert feed([ARRIVAL], *words)[0] == 0
    before = path.read_bytes()
    with path.open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        code, told, said = feed([{**ARRIVAL, "at": 10, "job": "b"}], *words)
    assert (code, told, path.read_bytes()) == (1, [], before)
    assert "another hcloud decide works with it" in said
    assert feed([{**ARRIVAL, "at": 10, "job": "b"}], *words)[0] == 0


def test_a_run_is_journalled_fed_and_explained(feed: Feed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The events of a simulated journal, fed to the verb, give the decisions that it records; a job has a story."""
    jobs, journal = tmp_path / "jobs.csv", tmp_path / "run.journal"
    rows = [f"{i},{90 + 13 * (i % 5)},{(1, 2, 8, 16)[i % 4]},{(2, 4, 3, 8)[i % 4]},batch\n" for i in range(80)]
    jobs.write_text("submit,duration,cores,memory,kind\n" + "".join(rows), encoding="utf-8")
    assert run(["simulate", str(jobs), "-s", "HF", "--journal", str(journal), *NOW]) == 0
    assert "journal written to" in capsys.readouterr().err
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    events = [line for line in lines if "event" in line]
    pool = lines[0]["journal"]["pool"]
    assert pool > 0
    code, told, _ = feed(events, "--strategy", "HF", "--pool", str(pool), "--start", "0", *PLAIN)
    assert code == 0
    assert told == [line for line in lines if "decision" in line]
    rented = next(d for d in told if d["decision"] == "launch")
    assert run(["explain", "--job", rented["job"], str(journal), "--full"]) == 0
    story = " ".join(capsys.readouterr().out.split())
    assert f"Job {rented['job']} under HF: came at" in story
    for words in (rented["why"], "Refused:", "reserved pool: ", "local queue: ", "spot ", "Afterwards:", "ended after"):
        assert words in story
    assert run(["explain", "--job", rented["job"], str(journal), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["decision"] == rented or document["decision"]["job"] == rented["job"]
    assert {r["option"].split()[0] for r in document["refused"]} >= {"reserved", "spot"}
    assert document["afterwards"][-1]["event"] == "completion"


def test_refusals_of_explain_and_simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--job", "7", str(tmp_path / "no.journal")]) == 1
    assert "no such journal" in capsys.readouterr().err
    journal = tmp_path / "x.journal"
    assert run(["simulate", "scenario:static", "--journal", str(journal), *NOW]) == 64
    assert "name one strategy" in capsys.readouterr().err
    assert run(["simulate", "scenario:static", "-s", "SR", "--journal", str(tmp_path / "no" / "x"), *NOW]) == 64
    assert "does not exist" in capsys.readouterr().err
