"""One policy code, two drivers: a live controller does what the engine did, a journal replays, a crash is survived."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcloud.control.sessions.session import ControlSession
from hcloud.errors import InputError
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import (
    Arrival,
    Cancelled,
    ClockTick,
    Completion,
    During,
    Event,
    EventError,
    Failed,
    Interruption,
    Latency,
    LaunchFailed,
    Lost,
    Pool,
    Progress,
    Quality,
    Ready,
    Reclassified,
    Sample,
)
from hcloud.model.running.strategy import Strategy
from hcloud.policy.quality import encode
from hcloud.readers.bundle import bundled
from hcloud.readers.clouds import load_cloud, parse_cloud
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.strategies import STRATEGIES, load_strategy, parse_strategy
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import Tasks, tasks_of
from hcloud.sim.setup.scenarios import scenario
from hcloud.sim.setup.shop import ShopChoice, open_shop
from hcloud.store.journals.decisions import decision_document, parse_decision
from hcloud.store.journals.events import event_document, parse_event
from hcloud.store.journals.journal import entry_line, header_line, read_journal
from hcloud.usecases.live.decide import open_stream, replay
from hcloud.usecases.studies.journal import setup_of_run, write_journal

SEED = 42
FEW, MANY = 160, 1100
POOLS = {"SR": 6, "OdF": 0, "OdM": 0, "HF": 2, "HM": 2, "HC": 2}
"""Small enough that jobs queue, go to large instances and are moved."""


def first(tasks: Tasks, count: int) -> Tasks:
    values: dict[str, Any] = {f.name: getattr(tasks, f.name) for f in fields(tasks)}
    values |= {name: v[:count] for name, v in values.items() if isinstance(v, np.ndarray)}
    return Tasks(**values)


@cache
def outcome(name: str, jobs: int) -> RunOutcome:
    return simulated(load_strategy(name), load_cloud("paper"), jobs)


def simulated(strategy: Strategy, cloud: CloudModel, jobs: int) -> RunOutcome:
    wanted = ShopChoice.paper()
    book = load_bundled(providers={wanted.provider}, regions={wanted.region}, systems={wanted.os})
    tasks = tasks_of(scenario("high-variability", SEED), cloud, strategy, Room(16_000, 61_440), SEED)
    setting = Setting(strategy, cloud, open_shop(book, wanted), POOLS[strategy.name], SEED)
    return run(setting, first(tasks, jobs), journal=True)


@pytest.fixture
def journal(tmp_path: Path) -> Callable[[str, int], Path]:
    def write(name: str, jobs: int = FEW) -> Path:
        write_journal(outcome(name, jobs), tmp_path / f"{name}.journal")
        return tmp_path / f"{name}.journal"

    return write


@pytest.mark.parametrize(("name", "jobs"), [*((n, FEW) for n in STRATEGIES), ("HM", MANY)])
def test_a_live_controller_decides_as_the_engine_did(name: str, jobs: int, journal: Callable[..., Path]) -> None:
    """Writing checks every command against the engine's; reading back and replaying gives the same once more."""
    read = read_journal(journal(name, jobs))
    assert read.setup == setup_of_run(outcome(name, jobs))
    assert not read.torn
    arrivals = [e for e in read.events if isinstance(e, Arrival)]
    assert len(arrivals) == jobs
    _, decided = replay(read, plain() if jobs == FEW else compiled())
    assert tuple(decided) == read.decisions
    if POOLS[name]:
        wanted = (
            {DecisionAction.QUEUE, DecisionAction.PLACE} if name == "SR" else {DecisionAction.PLACE}
        )  # for the hybrids waits are too long
        assert wanted <= {d.action for d in decided}


def changed(file: str, part: str, change: dict[str, Any]) -> Any:
    document = load_yaml((bundled("policies") / file).read_text(encoding="utf-8"), file)
    assert isinstance(document, dict)
    section = "mechanisms" if "mechanisms" in document else "sections"
    document[section][part].update(change)
    return document


def stated(**values: object) -> dict[str, Any]:
    units = {"reserved_share": "share of jobs", "threshold": "quality", "limit": "share of reserved vCPUs"}
    units |= {"below_quality": "quality"}
    words = {"origin": "C", "why": "A study."}
    return {k: {"value": v, **words, **({"unit": units[k]} if k in units else {})} for k, v in values.items()}


@pytest.mark.parametrize(
    ("part", "change", "reasons"),
    [
        ("spot", {"rule": "tolerant-batch", "parameters": stated(below_quality=0.9)}, {"restartable", "interrupted"}),
        ("mapping", {"rule": "random", "parameters": stated(reserved_share=0.5)}, {"coin", "pool-full"}),
        (
            "mapping",
            {"rule": "quality-threshold", "parameters": stated(threshold=0.5, reading="job-quantile")},
            {"sensitive", "tolerant"},
        ),
        ("mapping", {"rule": "static-limit", "parameters": stated(limit=0.4)}, {"below-limit", "above-limit"}),
        ("information", {"rule": "requested"}, {"below-soft-limit"}),
    ],
)
def test_other_rules_decide_alike_too(part: str, change: dict[str, Any], reasons: set[str], tmp_path: Path) -> None:
    """Spot with interruptions, the mappings that the thesis compares, and jobs nothing is known about."""
    strategy = parse_strategy(changed("HM.yaml", part, change), "x")
    often = changed("clouds/paper.yaml", "spot", {})
    often["sections"]["spot"]["interruptions_per_hour"]["value"] = 30
    path = tmp_path / "x.journal"
    write_journal(simulated(strategy, parse_cloud(often, "x"), FEW), path)
    read = read_journal(path)
    _, decided = replay(read, plain())
    assert tuple(decided) == read.decisions
    assert reasons <= {d.reason for d in decided}


def test_plain_and_compiled_sessions_agree(journal: Callable[..., Path]) -> None:
    read = read_journal(journal("HM"))
    assert replay(read, plain())[1] == replay(read, compiled())[1]


def test_the_same_run_writes_the_same_bytes(journal: Callable[..., Path]) -> None:
    path = journal("HM")
    before = path.read_bytes()
    assert journal("HM").read_bytes() == before


def test_rows_of_ended_jobs_are_used_again(journal: Callable[..., Path]) -> None:
    """Tables follow the jobs that are there at a time, not all that ever came."""
    session, _ = replay(read_journal(journal("HM", MANY)), compiled())
    assert session.tables.rows == {}
    assert len(session.tables.names) < MANY / 2
    assert {i.paid for i in session.instances.values()} == {0}


def test_tables_grow_while_the_stream_runs(journal: Callable[..., Path]) -> None:
    """More jobs and servers at a time than there was room for at first."""
    setup = replace(read_journal(journal("OdM")).setup, start=0.0)
    session = ControlSession(setup, plain())
    vector = (1,) * 10
    for number in range(1500):
        made = session.handle(Arrival(0.5, str(number), 1000, 1024, vector, False, 0.5))
        assert [(d.action, d.instance) for d in made] == [(DecisionAction.LAUNCH, number)]
    assert len(session.instances) == 1500


def test_every_decision_says_why_in_numbers(journal: Callable[..., Path]) -> None:
    for name in STRATEGIES:
        for decision in read_journal(journal(name)).decisions:
            assert len(decision.why) > 20
            assert (decision.margin is None) == (decision.unit == "")
            assert parse_decision(json.loads(json.dumps(decision_document(decision)))) == decision


@pytest.mark.parametrize(("cut", "tail"), [(1, 0), (1, 9), (57, 9), (400, 0)])
def test_a_restart_goes_on_as_if_nothing_had_been(
    cut: int, tail: int, journal: Callable[..., Path], tmp_path: Path
) -> None:
    """A stream is stopped after some events, its journal loses bytes at the end as in a crash, and it goes on."""
    read, path = read_journal(journal("HM")), tmp_path / "live.journal"
    lines = [entry_line(e) for e in read.events]
    kernels = plain() if cut == 57 else compiled()
    before = open_stream(read.setup, kernels, path)
    told = [before.stream.answer(line) for line in lines[:cut]]
    before.stream.close()
    path.write_bytes(path.read_bytes()[: -tail or None])
    opened = open_stream(read.setup, kernels, path)
    assert opened.gone_on.torn == (tail > 0)
    again = lines[opened.gone_on.replayed :]
    assert cut - 1 <= opened.gone_on.replayed <= cut
    told = [*told[: opened.gone_on.replayed], *(opened.stream.answer(line) for line in again)]
    opened.stream.close()
    assert "".join(told) == "".join(entry_line(d) for d in read.decisions)
    assert read_journal(path).decisions == read.decisions
    assert read_journal(path).events == read.events


def test_decisions_that_a_crash_cut_off_are_told_at_the_restart(journal: Callable[..., Path], tmp_path: Path) -> None:
    read, path = read_journal(journal("HM")), tmp_path / "live.journal"
    path.write_text(header_line(read.setup) + entry_line(read.events[0]), encoding="utf-8")
    opened = open_stream(None, plain(), path)
    opened.stream.close()
    assert opened.gone_on.untold == entry_line(read.decisions[0])
    assert read_journal(path).decisions == read.decisions[:1]


def test_a_torn_last_line_is_tolerated_and_said(journal: Callable[..., Path]) -> None:
    path = journal("HM")
    whole = read_journal(path)
    path.write_bytes(path.read_bytes()[:-5])
    torn = read_journal(path)
    assert torn.torn
    assert torn.entries == whole.entries[:-1]


def test_a_damaged_line_in_between_is_an_error_with_its_number(journal: Callable[..., Path]) -> None:
    path = journal("HM")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for at, bad in ((3, '{"at":1,"event":"arr\n'), (7, "\n"), (5, '{"at":1,"decision":"fly"}\n'), (1, "[]\n")):
        path.write_text("".join([*lines[: at - 1], bad, *lines[at:]]), encoding="utf-8")
        with pytest.raises(InputError, match=f"line {at} is damaged"):
            read_journal(path)


@pytest.mark.parametrize(
    "content", ["", "{}\n", '{"journal": 1, "format_version": "2.0"}\n', '{"format_version": "1.0"']
)
def test_what_is_no_journal_is_an_input_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError):
        read_journal(path)


def test_a_journal_whose_decisions_do_not_follow_is_refused(journal: Callable[..., Path]) -> None:
    path = journal("HM")
    text = path.read_text(encoding="utf-8").replace('"place":"reserved server 0"', '"place":"reserved server 1"', 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="do not follow from its events"):
        open_stream(None, plain(), path)


def test_nothing_but_a_journal_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(InputError, match="not a journal"):
        write_journal(outcome("HM", FEW), path)
    assert path.read_text(encoding="utf-8") == "precious"


def live(journal: Callable[..., Path]) -> ControlSession:
    return ControlSession(replace(read_journal(journal("HM")).setup, start=None), plain())


def test_events_that_cannot_be(journal: Callable[..., Path]) -> None:
    session = live(journal)
    with pytest.raises(EventError, match="job b has not arrived"):  # and the clock does not start with it
        session.handle(Completion(99.0, "b", 1.0))
    with pytest.raises(EventError, match="is ready already"):
        session.handle(Ready(99.0, 0))
    job = Arrival(10.0, "a", 1000, 1024, (10,) * 10, False, 0.5)
    assert session.handle(job)[0].place == "reserved server 0"
    for event, said in (
        (job, "has arrived already"),
        (ClockTick(9.0), "earlier than the previous event"),
        (ClockTick(1e12), "more than a year"),
        (Completion(11.0, "b", 1.0), "has not arrived"),
        (Sample(11.0, 77, (1,) * 10, During.WATCH), "no instance 77"),
        (Ready(11.0, 0), "is ready already"),
        (Interruption(11.0, 0), "not a spot instance"),
    ):
        with pytest.raises(EventError, match=said):
            session.handle(event)
    assert session.handle(Completion(12.0, "a", 1.0)) == []


def test_what_was_due_before_a_bad_event_is_told_with_the_next(journal: Callable[..., Path]) -> None:
    setup = replace(read_journal(journal("OdM")).setup, start=0.0)
    one, other = ControlSession(setup, plain()), ControlSession(setup, plain())
    events = [
        Arrival(0.0, "a", 1000, 1024, (1,) * 10, False, 0.5),
        parse_event({"at": 10, "event": "ready", "instance": 0}),
        parse_event({"at": 10, "event": "sample", "instance": 0, "contention": [1] * 10}),
        Completion(20.0, "a", 1.0),
    ]
    made = [[s.handle(e) for e in events] for s in (one, other)]
    assert made[0] == made[1]
    kept = made[0][-1][0]
    assert kept.action is DecisionAction.RETAIN
    assert kept.until is not None
    with pytest.raises(EventError):
        one.handle(Sample(kept.until + 1, 0, (1,) * 10, During.WATCH))
    released = one.handle(ClockTick(kept.until + 2))
    assert [d.reason for d in released] == ["retention-over"]
    assert released == other.handle(ClockTick(kept.until + 2))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"event": "arival"}, "did you mean arrival"),
    ({}, "event: missing"),
    ({"event": "clock"}, "at: missing"),
    ({"event": "clock", "at": True}, "at: true"),
    ({"event": "clock", "at": float("nan")}, "at: NaN"),
    ({"event": "clock", "at": -1}, "at: -1"),
    ({"event": "arrival", "at": 0, "job": "a", "core": 2}, "core: unknown key.*did you mean cores"),
    ({"event": "arrival", "at": 0, "job": "a"}, "cores: missing"),
    ({"event": "arrival", "at": 0, "job": "", "cores": 1}, "job: "),
    ({"event": "arrival", "at": 0, "job": "a", "cores": 1, "vector": [1]}, "10 whole numbers"),
    ({"event": "arrival", "at": 0, "job": "a", "cores": 1, "vector": [100] * 10}, "10 whole numbers"),
    ({"event": "arrival", "at": 0, "job": "a", "cores": 1, "restartable": 1}, "true or false"),
    ({"event": "ready", "at": 0, "instance": -1}, "number of an instance"),
    ({"event": "sample", "at": 0, "instance": 1, "contention": [0] * 10, "during": "lunch"}, "during"),
    ({"event": "completion", "at": 0, "job": "a", "performance": "good"}, "performance"),
    ({"event": "arrival", "at": 0, "job": "a", "cores": 1, "movable": "no"}, 'movable: "no"; true or false'),
    ({"event": "launch-failed", "at": 0, "instance": 1, "until": 9}, "why: missing; a text of 1 to 1000 characters"),
    ({"event": "launch-failed", "at": 0, "instance": 1, "why": "a\nb", "until": 9}, "why: "),
    ({"event": "launch-failed", "at": 0, "instance": 1, "why": "none left"}, "until: missing"),
    ({"event": "lost", "at": 0, "instance": 1, "unbegun": "a"}, 'unbegun: "a"; a list of jobs'),
    ({"event": "lost", "at": 0, "instance": 1, "unbegun": [[]]}, "unbegun: "),
    ({"event": "lost", "at": 0}, "instance: missing"),
    ({"event": "failed", "at": 0, "job": "a"}, "code: missing; a whole number from -255 to 255"),
    ({"event": "failed", "at": 0, "job": "a", "code": 0}, "ends with 0 is a completion"),
    ({"event": "failed", "at": 0, "job": "a", "code": True}, "code: true"),
    ({"event": "cancelled", "at": 0}, "job: missing"),
    ({"event": "canceled", "at": 0, "job": "a"}, "did you mean cancelled"),
    ({"event": "progress", "at": 0, "job": "a", "share": 1.5}, "share: 1.5; a number from 0 to 1"),
    ({"event": "latency", "at": 0, "job": "a", "p99": -1}, "p99: -1"),
    ({"event": "quality", "at": 0, "instance": 1, "score": 2}, "score: 2; a number from 0 to 1"),
    ({"event": "pool", "at": 0, "size": 2.0}, "size: 2.0; a whole number from 0 to 1000000"),
]


@pytest.mark.parametrize(("document", "said"), BAD)
def test_bad_lines_say_what_is_wrong_and_what_is_allowed(document: dict[str, Any], said: str) -> None:
    with pytest.raises(EventError, match=said):
        parse_event(document)


def test_events_come_back_exactly(journal: Callable[..., Path]) -> None:
    for entry in read_journal(journal("HM")).entries:
        if not isinstance(entry, Decision):
            assert parse_event(json.loads(json.dumps(event_document(entry)))) == entry


@pytest.mark.parametrize(
    "event",
    [
        Failed(1.5, "a", 127),
        Cancelled(1.5, "a"),
        Progress(1.5, "a", 0.25),
        Latency(1.5, "a", 12.75),
        Reclassified(1.5, "a", (99, 0, 1, 2, 3, 4, 5, 6, 7, 50), 0.25),
        LaunchFailed(1.5, 7, "InsufficientInstanceCapacity: none left", 61.5),
        Lost(1.5, 7),
        Lost(1.5, 7, ("a", "b/1")),
        Quality(1.5, 7, 0.875),
        Pool(1.5, 12),
        Arrival(1.5, "a", 1000, 1024, (1,) * 10, True, 0.5, movable=False),
        Arrival(1.5, "a", 1000, 1024, (1,) * 10, True, 0.5, tolerates=(2,) * 10, true_tolerates=(3,) * 10),
        Reclassified(1.5, "a", (9,) * 10, 0.25, (0,) * 10),
    ],
)
def test_events_of_life_come_back_exactly(event: Event) -> None:
    assert parse_event(json.loads(entry_line(event))) == event


def test_the_fast_encoding_is_the_encoding() -> None:
    from hcloud.control.tables import encoded

    for vector in np.random.default_rng(1).integers(0, 100, (200, 10)):
        assert encoded(tuple(vector.tolist())) == encode(vector.copy())
