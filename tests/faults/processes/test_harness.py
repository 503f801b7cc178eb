"""The harness that kills: it hands out the right process, gives up only what hangs, and hits what it aims at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from quick_starts import by_way_of

from benchmarks.children import Child, Forker, Job
from benchmarks.processes import Fate, Front, Mark
from hcloud.fake.faults import FaultPlan
from hcloud.fake.server import HttpAnswer, Received
from hcloud.usecases.tools.fake import made

BUSY = "import time\nwhile time.process_time() < {seconds}: pass"
OWN_SECONDS = 0.3


def job(tmp_path: Path, *argv: str) -> Job:
    return Job(argv, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, tmp_path)


def test_a_process_that_comes_after_a_time_out_is_its_own_and_none_is_waited_for_without_its_parent(
    tmp_path: Path, loaded: Path | None
) -> None:
    with Forker((), by_way_of(loaded)) as forker:
        parent = forker.warm(job(tmp_path, "--version")).pid
        os.kill(parent, signal.SIGSTOP)
        late = forker.start(job(tmp_path, "demo"))
        with pytest.raises(TimeoutError, match="still running"):
            late.wait(1)
        next_one = forker.start(job(tmp_path, "no-such-verb"))
        last = forker.start(job(tmp_path, "--version"))
        os.kill(parent, signal.SIGCONT)
        assert (next_one.wait(), last.wait()) == (64, 0)
        assert late.wait() == -signal.SIGKILL
        assert "no-such-verb" in next_one.stderr
        assert len({late.pid, next_one.pid, last.pid}) == 3
        os.kill(parent, signal.SIGSTOP)
        child = forker.start(job(tmp_path, "demo"))
        os.kill(parent, signal.SIGKILL)
        with pytest.raises(ChildProcessError, match="ended before"):
            child.wait()


@contextmanager
def watched(code: str, tmp_path: Path, *, processor: int) -> Iterator[Child]:
    """A child that was not forked by us, on one processor."""
    pin = f"import os; os.sched_setaffinity(0, {{{processor}}})\n"
    process = subprocess.Popen([sys.executable, "-c", pin + code])
    child = Child(1, tmp_path / "out", tmp_path / "err", lambda _, number: process.send_signal(number), process.pid)
    child.made = process.pid
    child.begun.set()

    def bury() -> None:
        child.code = process.wait()
        child.over.set()

    threading.Thread(target=bury, daemon=True).start()
    try:
        yield child
    finally:
        process.kill()
        child.over.wait()


def test_a_process_that_the_machine_keeps_waiting_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.children.LOOK_SECONDS", OWN_SECONDS / 4)
    processor = min(os.sched_getaffinity(0))
    with (
        watched(BUSY.format(seconds=60), tmp_path, processor=processor),
        watched(BUSY.format(seconds=60), tmp_path, processor=processor),
        watched(BUSY.format(seconds=60), tmp_path, processor=processor),
        watched(BUSY.format(seconds=OWN_SECONDS / 2), tmp_path, processor=processor) as kept_waiting,
    ):
        assert kept_waiting.wait(OWN_SECONDS) == 0  # in about four times as much


def test_a_process_that_hangs_is_ended_and_over_before_anybody_goes_on(tmp_path: Path) -> None:
    with watched("import time; time.sleep(600)", tmp_path, processor=min(os.sched_getaffinity(0))) as child:
        with pytest.raises(TimeoutError, match="still running after 1 s of its own time"):
            child.wait(1)
        assert child.over.is_set()
        assert child.code == -signal.SIGKILL


class Asked:
    """Somebody who asks a front for machines and waits for the answer."""

    def __init__(self, front: Front) -> None:
        self.answers: list[HttpAnswer] = []
        body = (
            b"Action=RunInstances&MinCount=1&MaxCount=1&ImageId=ami-1&InstanceType=m5.large&ClientToken=a"
            b"&Version=2016-11-15"
        )
        order = Received("POST", "/", {}, {}, body)

        def ask() -> None:
            self.answers.append(front.answer(order))

        self.thread = threading.Thread(target=ask, daemon=True)
        self.thread.start()


@pytest.mark.parametrize(("fate", "arrived"), [(Fate.LOST, 0), (Fate.HELD, 1)])
def test_a_marked_request_is_not_answered_before_it_is_let_go(fate: Fate, arrived: int) -> None:
    front = Front(made("aws", FaultPlan()))
    mark = front.mark(Mark(0, fate, of_order=True))
    asked = Asked(front)
    assert mark.reached.wait(60)
    assert len(front.ledger.requests) == arrived
    assert not asked.answers
    assert front.ordered.is_set()
    mark.let_go.set()
    front.settle()
    asked.thread.join()
    assert [answer.dropped for answer in asked.answers] == [fate is Fate.LOST]


def test_a_mark_counts_the_requests_before_it_from_the_first_order_on() -> None:
    mark = Mark(1, of_order=True)
    told = [mark.passed(is_order=order) for order in (False, False, True, False, True, False)]
    assert told == [False, False, False, True, False, False]
