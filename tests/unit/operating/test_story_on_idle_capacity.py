"""What a person is told about one job on idle capacity: why it waits, how often it gave way, and how it ended."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import NoReturn

import pytest
from jsonschema import Draft202012Validator

from hcloud.control.operating.harvested import HarvestLedger, HarvestRecord, HarvestStory, harvest_story
from hcloud.harvest.hosts import HostedContainer, IdleHost, Lacking, host_for, why_waits
from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestCancelled,
    HarvestGraphTaken,
    HarvestNote,
    HarvestOver,
    HarvestSet,
    HarvestTaken,
    HarvestWaiting,
    HarvestYielding,
    Yielded,
)
from hcloud.model.running.job import JobOrder
from hcloud.model.running.job_graph import GraphVertex, JobGraph
from hcloud.views.document import schema_of
from hcloud.views.explanations.job import explain_harvested
from hcloud.views.live.documents import HarvestStoryDocument, story_document
from hcloud.views.live.harvested import harvest_story_lines, harvested_lines

RULES = HarvestSet(0.0, 0.33, 0.1, 1.0, 3.0, 60.0, 3, True, 30.0, 1.5)
ORDER = JobOrder("b0", 0.0, ("true",), 500, 256)


def host(use: float | None = 0.0, asked: int = 0, held: int = 0) -> IdleHost:
    there = (HostedContainer("other", held, 0),) if held else ()
    return IdleHost(0, 4000, 1024, use, use or 0.0, asked, there)


@pytest.mark.parametrize(
    ("hosts", "lacking", "figure"),
    [
        ([], Lacking.MACHINE, "no reserved machine"),
        ([host(asked=900)], Lacking.MEMORY, "more than 124 MiB free"),
        ([host(None)], Lacking.MEASUREMENT, "not measured"),
        ([host(0.5), host(0.25, held=1000)], Lacking.CORES, "more than 0.00 free"),
        ([host(0.5), host(asked=900)], Lacking.CORES, "takes 0.5 vCPUs"),
    ],
)
def test_the_reason_of_a_wait_is_what_is_lacking(hosts: list[IdleHost], lacking: Lacking, figure: str) -> None:
    assert host_for(500, 256, hosts, RULES, (1, 2)) == -1 if hosts else True
    found, why = why_waits(500, 256, hosts, RULES)
    assert found is lacking
    assert figure in why


def story_of(job: str, *notes: HarvestNote) -> tuple[HarvestStory, HarvestLedger]:
    ledger = HarvestLedger(RULES)
    for note in notes:
        ledger.take(note)
    return harvest_story(job, ledger, (RULES, *notes)), ledger


def told(story: HarvestStory) -> list[str]:
    content = json.loads(json.dumps(story_document(story, datetime(2026, 1, 1, tzinfo=UTC))))
    Draft202012Validator(schema_of(HarvestStoryDocument)).validate(content)
    return list(harvest_story_lines(story, lambda at: f"{at:g} s"))


def test_a_job_that_waits_gives_way_and_ends() -> None:
    waits: list[HarvestNote] = [HarvestTaken(0.0, ORDER), HarvestWaiting(6.0, "b0", "no room")]
    story, ledger = story_of("b0", *waits, HarvestTaken(1.0, JobOrder("b1", 1.0, ("true",), 1, 1)))
    first, *rest = harvested_lines(ledger)
    assert first == "on idle capacity (use and reserve in steps of 1 vCPU): 0 running (0 vCPUs), 2 waiting"
    assert "job b0 waits for idle capacity: no room" in rest
    assert "State: waiting, no room" in told(story)
    more: list[HarvestNote] = [
        HarvestBeginning(9.0, "b0", 1, 0, 0.1, 2.0),
        HarvestYielding(12.0, "b0", 1, 0, "services use it all"),
        HarvestOver(13.0, "b0", 1, Yielded.KILLED, 9.5, 12.5),
        HarvestBeginning(20.0, "b0", 2, 0, 0.1, 2.0),
        HarvestOver(30.0, "b0", 2, Yielded.DONE, 20.0, 30.0),
    ]
    story, _ = story_of("b0", *waits, *more)
    lines = told(story)
    assert "  gave way 1 time" in lines
    assert [line.split("  ")[2] for line in lines[lines.index("Happened:") + 1 :]] == [
        "job b0 waits for idle capacity: no room",
        "job b0 begins beside the services of machine 0: 2 vCPUs are free",
        "job b0 gives way on machine 0: services use it all",
        "job b0 was killed after 3.0 s",
        "job b0 begins beside the services of machine 0: 2 vCPUs are free",
        "job b0 completed after 10.0 s",
    ]
    made = explain_harvested(story)
    assert made.answer == "job b0 on idle capacity: completed; begun 2 times, gave way 1 time, ran 13s"
    assert [line.about for line in made.said] == ["asked", "waited", "gave way"]


def test_a_graph_is_told_of_with_its_tasks() -> None:
    vertices = (
        GraphVertex("read", 2, 5.0, 250, 64, ("true",)),
        GraphVertex("join", 1, 5.0, 500, 64, ("true",), ("read",)),
    )
    story, _ = story_of(
        "load",
        HarvestGraphTaken(0.0, JobGraph("load", 0.0, vertices)),
        HarvestTaken(0.0, ORDER),
        HarvestBeginning(3.0, "load.read.1", 1, 0, 0.0, 2.0),
        HarvestBeginning(3.0, "b0", 1, 0, 0.0, 2.0),
        HarvestCancelled(4.0, "load"),
    )
    lines = told(story)
    assert lines[0].startswith("Job load of 3 tasks on idle capacity: came at 0 s, the largest of them asking for 0.5")
    assert "State: cancelled" in lines
    assert not any("b0" in line for line in lines)


class NeverListed(dict[str, HarvestRecord]):
    """What one name at a time is looked up in."""

    def values(self) -> NoReturn:
        raise AssertionError("all that ever came was gone through")


def test_a_pass_looks_only_at_what_is_not_over() -> None:
    _, ledger = story_of("b0", HarvestTaken(0.0, ORDER), HarvestTaken(1.0, replace(ORDER, id="b1")))
    ledger.jobs = NeverListed(ledger.jobs)
    ledger.take(HarvestCancelled(2.0, "b0"))
    left = ([job.order.id for job in found] for found in (ledger.open, ledger.waiting, ledger.running))
    assert list(left) == [["b1"], ["b1"], []]
    assert ledger.blocked == 0
