"""What holds live work up or gets in its way: late words, clocks, locks, machines that never come."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from operating import World, closed_after, job, moments
from rehearsal import SkewedClock

from hcloud.cli import main
from hcloud.control.operating.records import MachinePhase, MachineRecord
from hcloud.control.sessions.batches import LONGEST_GAP
from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    LockedError,
    NoCapacityError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.operating.acting import end, end_all
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.machines import End, Machines, NotCertainError, order_of
from hcloud.live.operating.terms import Rhythm
from hcloud.live.operating.workers import AtOnce
from hcloud.live.site import WaitLimits
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.holdings.live import PROTECTED_TAG, TAG_ADDRESS, TAG_KEY, Launch, MachineState, Owner, Terminated
from hcloud.model.running.note import Asked, NotLaunched
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.store.files.lock import FileLock
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.journals.entries import entries_of
from hcloud.store.journals.journal import read_journal
from hcloud.store.journals.live import LiveJournalFile, segment
from hcloud.usecases.live.operating.operate import fold_of
from hcloud.views.live.operating import Moment, operating_screen, trouble_line, ways_on


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


class Later(AtOnce):
    """Work that is done when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Any] = []

    def _begin(self, piece: Any) -> None:
        self.waiting.append(piece)

    def work(self) -> bool:
        """Do all that waits; False."""
        while self.waiting:
            self.waiting.pop(0).run()
        return False


def test_a_job_that_is_cancelled_before_it_comes_is_never_taken_not_even_after_a_restart(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [job("now", seconds=5.0), job("later", seconds=5.0, submit=50.0)], "SR", 1)
    world.asked.append(Asked(0.0, "cancel", "later"))
    world.run(until=lambda loop: bool(loop.fold.jobs))
    world.start()
    loop = world.run()
    world.check(completed=1)
    assert list(loop.fold.jobs) == ["now"]
    assert [ran.job for ran in world.engine.ran] == ["now"]


@pytest.mark.slow
def test_a_clock_that_is_set_back_an_hour_neither_loses_nor_repeats_anything(tmp_path: Path) -> None:
    orders = [job(f"j{n}", cores=2, seconds=20.0, submit=4.0 * n, restartable=n % 2 == 0) for n in range(8)]
    world = World.of(tmp_path / "j", orders, "HM", 1)
    loop, backs = world.start(), [6, 3]
    clock = loop.desk.parts.clock = loop.desk.parts.machines._clock = SkewedClock(world.cloud.clock)

    def back(loop: OperatingLoop) -> bool:
        if backs and len(loop.fold.jobs) >= backs[-1]:
            clock.skew -= 3600.0
            backs.pop()
        return False

    world.run(passes=20_000, until=back)
    assert not backs
    world.check(completed=8)
    times = [event.at for event in read_journal(world.path).events]
    assert times == sorted(times), "time never falls in a journal"


def test_a_clock_that_is_set_back_keeps_nobody_from_going_on_with_a_snapshot(tmp_path: Path) -> None:
    """Time had passed since the last line when the journal began anew: until the clock was there again each controller
    ended with an error as it began."""
    world = World.of(tmp_path / "j", [job("a", seconds=100.0)], "HM", 1)
    world.start().desk.parts.clock = SkewedClock(world.cloud.clock, 3600.0)
    world.run(until=lambda loop: bool(world.engine.ran))
    loop = world.run(until=lambda loop: loop.desk.session.now > loop.fold.last + 5.0)
    world._renew(loop.desk.session, loop.fold)
    world.start()
    world.run()
    world.check(completed=1)


@pytest.mark.parametrize("asked", ["stop", "drain", ""])
@pytest.mark.parametrize("is_away", [False, True])
def test_a_gap_of_years_ends_no_controller(tmp_path: Path, asked: str, is_away: bool) -> None:
    """Sessions refuse more than a year between two events: 'stop' ended with that error, too, and machines ran on."""
    orders = [job("a", seconds=5.0), job("b", seconds=90.0, submit=10.0), job("c", submit=2.9 * LONGEST_GAP)]
    world = World.of(tmp_path / "j", orders, "HM", 1)
    world.setup = replace(world.setup, rules=world.setup.rules._replace(period=86_400.0))
    loop = world.run(until=lambda loop: len(world.engine.ran) == 2)
    if is_away:
        world.cloud.clock.advance(3 * LONGEST_GAP)
        world.start()
    else:
        loop.desk.parts.clock = SkewedClock(world.cloud.clock, 3 * LONGEST_GAP)
    world.asked = [Asked(0.0, asked)] if asked else []
    world.run()
    world.check(completed={"": 3, "drain": 2}.get(asked))


def test_machines_go_in_time_although_the_clock_was_set_back_a_year(tmp_path: Path) -> None:
    """Time stood still until the clock was where it had been: idle machines were paid for, and jobs waited, so long."""
    world = World.of(tmp_path / "j", [job("a", seconds=5.0), job("later", seconds=5.0, submit=4000.0)], "OdM", 0)
    world.rhythm = replace(world.rhythm, period=20.0, look=20.0)
    clock = world.start().desk.parts.clock = SkewedClock(world.cloud.clock)
    loop = world.run(until=lambda loop: any(m.idle_until is not None for m in loop.fold.standing.values()))
    left, began = max(m.idle_until or 0.0 for m in loop.fold.standing.values()) - clock.now(), clock.passed()
    clock.skew = -365 * 86_400.0
    world.run(until=lambda loop: not loop.fold.standing)
    assert left < clock.passed() - began < 2 * left + 60.0
    world.run(passes=10_000)
    assert clock.passed() - began < 2 * 4000.0 + 60.0
    world.check(completed=2)


def test_an_order_that_nobody_got_keeps_no_controller_although_the_clock_was_set_back_a_year(tmp_path: Path) -> None:
    """By that clock it stayed too new for its cloud to know it, so that a stop waited for a year."""
    plan = FaultPlan(rules=(FaultRule(on="launch", answer=FaultKind.DROPPED_BEFORE),))
    world = World.of(tmp_path / "j", [job("a", seconds=5.0)], "OdF", 0, plan=plan)
    world.rhythm = replace(world.rhythm, settled=60.0)
    loop = world.start()
    clock = loop.desk.parts.clock = loop.desk.parts.machines._clock = SkewedClock(world.cloud.clock)
    world.run(until=lambda loop: any(m.stands for m in loop.fold.standing.values()))
    clock.skew = -365 * 86_400.0
    world.asked.append(Asked(0.0, "stop"))
    world.run(passes=300)
    assert not world.standing()


def test_a_machine_that_takes_long_to_end_is_charged_until_its_end_was_asked_for_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Azure says when it was asked once: of a machine that is on its way out nothing is told, and it counted until it
    was gone."""
    plan = FaultPlan(end_delay=100.0)
    world = World.of(tmp_path / "j", [job("a", seconds=5.0)], "OdF", 0, semantics="azure", plan=plan)
    terminate, told = world.cloud.terminate, set[str]()

    def once(ids: Sequence[str]) -> Terminated:
        found = terminate(ids)
        ended = {name: at for name, at in found.ended.items() if name not in told}
        told.update(ended)
        return replace(found, ended=ended)

    monkeypatch.setattr(world.cloud, "terminate", once)
    loop = world.run()
    (machine,) = world.cloud.ledger.machines.values()
    (rental,) = loop.fold.rented
    assert rental.end == pytest.approx(machine.asked_to_end, abs=1.0)


@pytest.mark.parametrize("kills", range(3))
def test_a_clock_that_is_set_forward_loses_no_machine_that_is_not_listed_yet(tmp_path: Path, kills: int) -> None:
    """It counted as ended: its job began anew on another one while it ran on."""
    world = World.of(tmp_path / "j", [job("a", 8, 200)], "OdF", 0, plan=FaultPlan(visibility_delay=60.0))
    world.rhythm = replace(world.rhythm, settled=Rhythm().settled)
    loop = world.run(until=lambda loop: bool(world.engine.ran))
    for kill in range(kills + 1):
        loop = world.start() if kill else loop
        loop.desk.parts.clock = loop.desk.parts.machines._clock = SkewedClock(world.cloud.clock, 3600.0 * (kill + 1))
        world.asked = [Asked(0.0, "cancel", "nobody")]  # that is noted at the new time
        world.run(until=lambda loop: True)
    world.run()
    world.check(completed=1)
    assert len(world.launched()) == 1


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_machine_whose_order_was_throttled_for_long_is_as_new_as_any_other(tmp_path: Path, is_killed: bool) -> None:
    """It counted as ended, since its cloud did not list it yet, and cost money when the work was long over."""
    throttled = FaultRule(on="launch", answer=FaultKind.THROTTLED, until=400.0)
    plan = FaultPlan(visibility_delay=60.0, rules=(throttled,))
    world = World.of(tmp_path / "j", [job("a", 8, 40)], "OdF", 0, plan=plan)
    world.rhythm = replace(world.rhythm, settled=Rhythm().settled)
    world.run(until=lambda loop: bool(world.engine.ran))
    if is_killed:
        world.start()
    world.run()
    world.check(completed=1)
    assert len(world.launched()) == 1


@pytest.mark.parametrize("lived", [60.0, 400.0])
def test_a_machine_that_ended_long_after_its_launch_is_over_at_once_for_who_goes_on(
    tmp_path: Path, lived: float
) -> None:
    """EC2 shows it no more after an hour: 'stop' waited until no list could be late, though none was, also where
    nothing had been noted since."""
    world = World.of(tmp_path / "j", [job("a", seconds=2 * lived)], "OdM", 0)
    world.rhythm = replace(world.rhythm, settled=Rhythm().settled)
    world.run(until=lambda loop: bool(world.engine.ran))
    world.run(until=lambda loop: world.now > world.engine.ran[0].began + lived)
    world.cloud.terminate(world.standing())
    world.cloud.clock.advance(9000.0)
    world.asked, begun = [Asked(0.0, "stop")], world.now
    world.start()
    world.run()
    world.check()
    assert (world.now - begun < 60.0) == (lived > world.rhythm.settled)


def test_a_machine_that_is_wanted_once_more_is_as_new_as_any_other(tmp_path: Path) -> None:
    """One of the reserve ends with its controller; the next that begins launches another under its number."""
    world = World.of(tmp_path / "j", [job("a", 8, 500)], "SR", 1, plan=FaultPlan(visibility_delay=60.0))
    world.rhythm = replace(world.rhythm, settled=Rhythm().settled)
    world.run()
    assert [m.settled for m in world.start().fold.standing.values()] == [False]
    world.source.orders.append(job("b", 8, 100, submit=world.now))
    world.run()
    world.check(completed=2)
    assert len(world.launched()) == 2


def test_a_clock_ahead_of_its_clouds_gives_up_no_machine(tmp_path: Path) -> None:
    """Each was given up as not ready for jobs in time as soon as it was there, and another followed."""
    world = World.of(tmp_path / "j", [job("a", seconds=5.0)], "OdM", 0)
    world.start().desk.parts.clock = SkewedClock(world.cloud.clock, 3600.0)
    world.run()
    world.check(completed=1)
    assert len(world.launched()) == 1


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_clock_that_is_set_forward_gives_up_no_machine_that_starts(tmp_path: Path, is_killed: bool) -> None:
    """One that was well was given up as not ready in time where the clock was set forward by more than that."""
    world = World.of(tmp_path / "j", [job("a", seconds=5.0)], "OdM", 0)
    world.engine.join_after = 60.0
    loop = world.run(until=lambda loop: any(m.phase is MachinePhase.STARTING for m in loop.fold.standing.values()))
    world.run(passes=1, until=lambda loop: True)
    loop = world.start() if is_killed else loop
    loop.desk.parts.clock = SkewedClock(world.cloud.clock, 2 * world.rhythm.join)
    world.run()
    world.check(completed=1)
    assert len(world.launched()) == 1


def test_a_type_that_is_sold_nowhere_here_leaves_its_job_to_another(tmp_path: Path) -> None:
    """In which zones a type is sold is asked when it is first wanted; nobody answers the first time."""
    world = World.of(tmp_path / "j", [job(f"j{n}", seconds=20.0, submit=5.0 * n) for n in range(3)], "OdM", 0)
    loop, call = world.start(), Call("aws", "here", "zones")
    sold, asked = loop.desk.terms.zones, Counter[str]()

    def zones(name: str) -> Sequence[str]:
        asked[name] += 1
        if name == "small":
            raise NotFoundError("small is not offered here", call)
        if asked[name] == 1:
            raise UnavailableError("nobody answers", call)
        return sold(name)

    loop.desk.terms = replace(loop.desk.terms, zones=zones)
    world.run()
    world.check(completed=3)
    assert {m.instance_type for m in world.cloud.ledger.machines.values()} == {"large"}
    assert "launch" not in loop.desk.troubles, "another type is all that it takes"
    assert any(
        isinstance(line, NotLaunched) and "not offered here" in line.why for line in read_journal(world.path).lines
    )


@pytest.mark.parametrize("kind", [NotFoundError, DeniedError, RefusedError, CredentialsError, NoCapacityError])
def test_what_no_other_type_mends_is_told_and_tried_with_one_machine_at_a_time(
    kind: type[CloudError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resource group, a subnet or a right that was missing: another machine of another type was ordered for each that
    was refused, and nothing was said."""
    world = World.of(tmp_path / "j", [job(f"j{n}", seconds=5.0) for n in range(8)], "OdM", 0)
    begins, asked, told = world.now, list[float](), list[tuple[str, str]]()

    def launch(order: Launch) -> None:
        asked.append(world.now - begins)
        raise kind("there is no such group", Call("azure", "here", "Launch"), hint="make it")

    def over(loop: OperatingLoop) -> bool:
        told.extend(loop.new_troubles())
        return world.now - begins > 240.0

    with monkeypatch.context() as wrong:
        wrong.setattr(world.cloud, "launch", launch)
        world.run(until=over)
    at_once = asked.count(asked[0])
    assert at_once == 8
    if kind is NoCapacityError:
        assert len(asked) > 2 * at_once - 1, "other types are tried at once"
        assert not told
    else:
        assert len(asked) <= at_once + 4
        ((what, why),) = told
        assert what == "launch"
        assert "there is no such group; make it; no retry mends this: correct the settings or the rights" in why
    loop = world.run()
    world.check(completed=8)
    assert "launch" not in loop.desk.troubles


def test_a_type_that_is_refused_alone_holds_up_no_other_and_counts_once_for_all_that_were_asked_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one type does not take (a disk, say) shut all types, and eight refusals at once shut it for minutes."""
    world = World.of(tmp_path / "j", [job(f"j{n}", seconds=5.0) for n in range(8)], "OdM", 0)
    loop, begins, launch, tries = world.start(), world.now, world.cloud.launch, list[float]()

    def of_others(order: Launch) -> Any:
        if order.instance_type == "small":
            tries.append(world.now - begins)
            raise RefusedError("small takes no such disk", Call("aws", "here", "RunInstances"))
        return launch(order)

    monkeypatch.setattr(world.cloud, "launch", of_others)
    world.run()
    world.check(completed=8)
    assert tries.count(tries[0]) == 8, "asked together"
    assert loop.desk.refused["small"][0] == len(set(tries))
    loop.desk.bar("small", RefusedError("no such disk", Call("aws", "here", "RunInstances")), world.now)
    assert [loop.desk.may_be_wrong(name) for name in ("small", "large", "another")] == [True, False, False]
    loop.desk.bar("large", RefusedError("no such disk", Call("aws", "here", "RunInstances")), world.now)
    assert loop.desk.may_be_wrong("another"), "nothing goes any more"
    assert world.now - begins < 60


def test_a_type_that_goes_takes_back_no_word_about_another_one(tmp_path: Path) -> None:
    """It said nothing of the type that was wrong still, and waited for that as long as before the mend."""
    desk, call = World.of(tmp_path / "j", [job("j")], "OdM", 0).start().desk, Call("aws", "here", "RunInstances")
    for n, name in enumerate(("small", "large", "small")):
        desk.bar(name, RefusedError(f"{name} takes no such disk", call), 1000.0 * n)
    desk.unbar("other")
    assert "small takes no such disk" in desk.troubles["launch"]
    assert desk.barred > 2000.0
    desk.unbar("small")
    assert "large takes no such disk" in desk.troubles["launch"]
    assert desk.barred < 0
    desk.unbar("large")
    assert "launch" not in desk.troubles


def test_the_loop_goes_on_while_the_cloud_takes_its_time_to_say_where_a_type_is_sold(tmp_path: Path) -> None:
    """It is asked beside the loop, once for all machines of a type."""
    world = World.of(tmp_path / "j", [job(f"j{n}", seconds=5.0) for n in range(3)], "OdF", 0)
    loop, asked = world.start(), list[str]()
    loop.desk.parts.workers = later = Later()
    sold = loop.desk.terms.zones

    def zones(name: str) -> Sequence[str]:
        asked.append(name)
        return sold(name)

    loop.desk.terms = replace(loop.desk.terms, zones=zones)
    for _ in range(3):
        assert loop.step()
    assert not asked, "nobody was asked in the loop"
    assert not world.cloud.ledger.machines
    assert later.busy(("zones", "large"))
    later.work()
    world.run(until=lambda _: later.work())
    world.check(completed=3)
    assert asked == ["large"]


@pytest.mark.slow
def test_a_reserve_that_never_becomes_ready_is_tried_less_and_less_often(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [job("a", seconds=5.0)], "SR", 1)
    world.rhythm = world.rhythm.__class__(period=5.0, look=5.0, join=60.0, settled=0.0, first_backoff=60.0, again=2.0)
    world.engine.join_after = 1e9
    begins = world.now
    with pytest.raises(AssertionError, match="not done"):
        world.run(passes=720)
    made = sorted(machine.made_at - begins for machine in world.cloud.ledger.machines.values())
    waits = [later - earlier for earlier, later in pairwise(made)]
    assert waits == sorted(waits)
    assert len(made) < 9, "in an hour, at 60 seconds each, it would be fifty"
    world.engine.join_after = 5.0
    world.run()
    world.check(completed=1)
    whys = {line.why for line in read_journal(world.path).lines if isinstance(line, NotLaunched)}
    assert whys == {"the machine before it never became ready for jobs"}


def test_a_second_name_that_a_killed_renewal_left_does_not_grow_with_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("one\n")
    os.link(path, segment(path))
    (tmp_path / "journal.2.jsonl").write_text("an older one\n")
    journal = LiveJournalFile(path, 4)
    journal.append_text("two\n")
    journal.close()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "journal.jsonl": "one\ntwo\n",
        "journal.2.jsonl": "an older one\n",
    }


@pytest.mark.parametrize("is_same", [True, False])
def test_a_journal_whose_handle_is_stale_is_opened_again(tmp_path: Path, is_same: bool) -> None:
    """As where the server of its files began anew: nothing could be noted until the controller was begun again."""

    class Stale(FileIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

        def truncate(self, size: int | None = None) -> int:
            return self.write(size)

    path = tmp_path / "journal.jsonl"
    journal = LiveJournalFile(path, 0)
    journal.append_text("one\n")
    journal._file.close()
    journal._file = Stale(path, "r+")
    path.write_text("one\nhalf" if is_same else "another\n")
    with pytest.raises(HcloudError, match="Stale file handle"):
        journal.append_text("more\n")
    if is_same:
        journal.append_text("more\n")
        assert path.read_text() == "one\nmore\n"
    else:
        assert isinstance(journal._file, Stale)
        assert path.read_text() == "another\n"
    journal.close()


def test_what_comes_and_goes_is_told_once_in_a_while(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [job("a", seconds=5.0)], "SR", 1)
    loop, told = world.start(), list[tuple[str, str]]()
    for number in range(180):
        loop.desk.troubles = {"engine": "no space left on device"} if number % 2 else {}
        told += loop.new_troubles()
        world.cloud.clock.advance(1.0)
    assert told == [("engine", "no space left on device")], "it was never gone for long"
    loop.desk.troubles = {}
    loop.new_troubles()
    world.cloud.clock.advance(120.0)
    loop.new_troubles()
    loop.desk.troubles = dict(told)
    assert loop.new_troubles() == told, "it had been gone"
    line = trouble_line(*told[0])
    assert "the disk is full" in line
    assert "running jobs continue" in line


def missing(lines: list[bytes], number: int) -> list[bytes]:
    return lines[:number] + lines[number + 1 :]


def exchanged(lines: list[bytes], number: int) -> list[bytes]:
    return [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]


def changed(lines: list[bytes], number: int) -> list[bytes]:
    return [*lines[:number], re.sub(rb'"at":\d', b'"at":3', lines[number]), *lines[number + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "long"), [(missing, 1 << 20), (exchanged, 1 << 20), (changed, 4_000)])
def test_a_line_that_is_missing_or_was_changed_is_found_with_its_place(
    tmp_path: Path, damage: Callable[[list[bytes], int], list[bytes]], long: int
) -> None:
    world = World.of(tmp_path / "j.jsonl", [job("a", seconds=5.0), job("b", seconds=5.0)], "HM", 1)
    world.long = long
    world.run()
    world.close()
    lines = world.path.read_bytes().splitlines(keepends=True)
    ends = [n for n, line in enumerate(lines) if b'"note":"pass"' in line]
    for number in range(1, len(lines) - 2, 3):
        world.path.write_bytes(b"".join(damage(lines, number)))
        with pytest.raises(InputError, match=r"lines? .* damaged|goes on from") as said:
            read_journal(world.path)
        with pytest.raises(InputError, match=f"^{re.escape(str(said.value))}$"):
            list(entries_of(world.path, 1 << 10))  # as 'simulate' reads it
        found = [int(text) for text in re.findall(r"lines (\d+) to (\d+)", str(said.value)) for text in text]
        if found:
            last = next(n for n in ends if n >= number)
            assert found[0] <= number + 2, "the place holds what was done"
            assert found[1] >= min(number + 1, last)
    world.path.write_bytes(b"".join(lines))
    assert read_journal(world.path).whole_bytes == sum(map(len, lines))


def test_who_lost_the_lock_writes_nothing_more(tmp_path: Path) -> None:
    directory = tmp_path / ".hcloud" / "operate"
    directory.mkdir(parents=True)
    lock = FileLock(PrivateDirectory(directory))
    journal = LiveJournalFile(directory / "journal.jsonl", 0, check=lock.check)
    with lock.hold("hcloud operate") as held:
        journal.append_text("mine\n")
        assert main.run(["state", "force-unlock", held.id, "--state", str(tmp_path / ".hcloud"), "--json"]) == 0
        with pytest.raises(LockedError, match="taken away"):
            journal.append_text("not mine\n")
    journal.close()
    assert (directory / "journal.jsonl").read_text() == "mine\n"


def test_a_lock_of_another_id_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / ".hcloud" / "operate"
    directory.mkdir(parents=True)
    lock = FileLock(PrivateDirectory(directory))
    with lock.hold("hcloud operate"):
        assert main.run(["state", "force-unlock", "nobody", "--state", str(tmp_path / ".hcloud"), "--json"]) == 64
        lock.check()
    assert "not locked" in capsys.readouterr().err


def test_a_command_of_slurm_that_hangs_is_given_up_and_what_it_would_change_is_not_known(tmp_path: Path) -> None:
    for name in ("squeue", "scontrol"):
        command = tmp_path / name
        command.write_text("#!/bin/sh\nexec sleep 1000\n")
        command.chmod(0o755)
    commands = SlurmCommands(None, path=f"{tmp_path}:{os.environ['PATH']}", seconds=0.3)
    with pytest.raises(UnavailableError, match="did not answer within"):
        commands.jobs()
    with pytest.raises(UnknownOutcomeError, match="may have been done"):
        commands.update_node("hc-small-1", state="resume")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "pool", "away", "count"), [("HM", 1, 0.0, 12), ("OdF", 0, 20.0, 4), ("HM", 1, 4000.0, 4)]
)
def test_a_controller_killed_anywhere_loses_nothing_and_finds_what_has_become_due_meanwhile(
    tmp_path: Path, strategy: str, pool: int, away: float, count: int
) -> None:
    """Killed anywhere, also while it ends machines that the controller still keeps for a while."""
    orders = [
        job(f"j{n}", cores=1 + n % 2, seconds=20.0 + n, submit=4.0 * n, restartable=n % 2 == 0) for n in range(count)
    ]
    kills = [0]
    for kill in kills:
        world = World.of(tmp_path / f"{kill}", orders, strategy, pool)
        world.kill_number, world.away = kill, away
        world.run()
        world.check(completed=count)
        world.close()
        kills += () if kill else moments(world.course)[1 :: 3 * count // 4]
    assert len(kills) > 10


def test_a_machine_that_hcloud_itself_ends_is_no_notice_of_its_cloud(tmp_path: Path) -> None:
    """Every release was a warning that the cloud takes the machine away, for as long as it took to end."""
    world = World.of(tmp_path / "j", [job("a", cores=2, seconds=5.0)], "OdF", 0, plan=FaultPlan(end_delay=100.0))
    told: list[tuple[str, str]] = []

    def hears(loop: OperatingLoop) -> bool:
        told.extend(loop.new_troubles())
        return False

    world.run(until=hears)
    world.check(completed=1)
    assert [why for what, why in told if what == "notices"] == []


def test_who_ends_a_machine_in_the_cloud_is_told_of(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [job("a", cores=2, seconds=300.0)], "OdF", 0, plan=FaultPlan(end_delay=100.0))
    world.run(until=lambda loop: bool(world.engine.ran))
    for machine in world.cloud.ledger.machines.values():
        world.cloud.edit({"terminate": machine.id})
    loop = world.run(until=lambda loop: "notices" in loop.desk.troubles)
    assert loop.desk.troubles["notices"].endswith(": it is being terminated")


def test_machines_are_known_by_their_id_whatever_somebody_made_of_tags(tmp_path: Path) -> None:
    """A machine whose key somebody edited was ended with its job; a copy of one, tags and all, was left behind."""
    world = World.of(tmp_path / "j", [job(name, cores=8, seconds=60.0) for name in "abc"], "OdF", 0)
    world.run(until=lambda loop: len(world.engine.ran) == 3)
    kept, edited, copied = world.cloud.ledger.live(world.now)
    world.cloud.edit({"retag": edited.id, "tags": {**edited.tags, TAG_KEY: "another"}})
    copy = world.cloud.edit({"launch": "small", "tags": {**copied.tags, TAG_ADDRESS: "operate-9"}})["id"]  # type: ignore[index]
    world.cloud.edit({"retag": kept.id, "tags": {**kept.tags, PROTECTED_TAG: ""}})
    strange = {**kept.tags, TAG_ADDRESS: "operate-9", TAG_KEY: "unknown", PROTECTED_TAG: ""}
    strange_one = world.cloud.edit({"launch": "small", "tags": strange})["id"]  # type: ignore[index]
    loop = world.run(until=lambda loop: len(loop.fold.standing) < 3)
    assert f"{kept.id} is not terminated: it has the tag hcloud-protected" in loop.desk.troubles["cloud"]
    seen = fold_of(read_journal(world.path))
    assert any(f": {kept.id} is not terminated" in str(line) for line in operating_screen(seen, Moment(world.now)))
    assert ways_on(seen).endswith("ends them, but no machine with the tag hcloud-protected (0)")
    world.run(until=lambda loop: len(world.standing()) == 2)
    assert copy not in world.standing()
    world.cloud.edit({"retag": kept.id, "tags": {TAG_ADDRESS: kept.tags[TAG_ADDRESS]}})
    world.run()
    assert world.standing() == [strange_one]
    assert len(world.engine.ran) == 3


def test_a_machine_that_its_cloud_tells_of_after_minutes_is_not_launched_again(tmp_path: Path) -> None:
    """Lists of EC2 may lag five minutes; after two a machine was taken for lost, with its job, and replaced."""
    world = World.of(tmp_path / "j", [job("a", 8, 600)], "OdF", 0, plan=FaultPlan(visibility_delay=240.0))
    world.rhythm = replace(world.rhythm, settled=Rhythm().settled)
    world.run()
    world.check(completed=1)
    assert len(world.launched()) == 1


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_an_end_that_a_killed_controller_did_not_note_is_not_waited_for(cloud: str) -> None:
    """Google and Azure list no ended machine: a new one could be too young to be known, and was waited for."""
    there = MemoryCloud(cloud, clock=FakeClock(0.0, 0.0))
    record = MachineRecord(0, there.world.semantics.types[0], PurchaseOption.ON_DEMAND, False, 0.0)
    record.key, record.zone, record.ordered_at = "a" * 32, there.zones(record.type_name)[0], 0.0
    order = order_of(record, Owner("b" * 32, "p", "c"), "")
    made = Machines(there, there.clock, WaitLimits(), Rhythm().settled)
    record.id = made.launch(order).id
    there.terminate([record.id])
    there.clock.advance(1.0)
    assert made.is_gone(record)
    assert isinstance(made.end([record], 1.0)[0], End)
    assert sum(r.operation == "terminate" for r in there.ledger.requests) == 1


def ordered(there: MemoryCloud, number: int = 0) -> tuple[MachineRecord, Launch]:
    """A machine that was ordered when the clock began, and its order."""
    record = MachineRecord(number, there.world.semantics.types[0], PurchaseOption.ON_DEMAND, False, 0.0)
    record.key, record.zone, record.ordered_at = f"{number:032x}", there.zones(record.type_name)[0], 0.0
    return record, order_of(record, Owner("b" * 32, "p", "c"), "")


def test_an_end_that_was_agreed_to_is_over_when_its_machine_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that was throttled after it made a new machine one that may not be listed yet: five minutes of waiting."""
    there = MemoryCloud("gcp", clock=FakeClock(0.0, 0.0))
    there.plan_faults(FaultPlan(rules=(FaultRule(on="examine", answer=FaultKind.THROTTLED, calls=(3,)),)))
    record, order = ordered(there)
    made = Machines(there, there.clock, WaitLimits(), Rhythm().settled)
    launched = made.launch(order)
    assert made.sought(record, order, 1.0) == {0: launched}  # the answer of its launch was lost: now it is known
    record.id = launched.id
    assert isinstance(made.end([record], 1.0)[0], ThrottledError)
    for what in ("examine", "look", "under_key"):
        monkeypatch.setattr(there, what, lambda asked: ())
    assert isinstance(made.end([record], 2.0)[0], End)
    unsure, again = (Machines(there, there.clock, WaitLimits(), Rhythm().settled) for _ in range(2))
    monkeypatch.setattr(there, "terminate", lambda ids: Terminated((), tuple(ids)))  # EC2 does not know it yet
    nothing = "until 00:05:0[01] UTC; after that it counts as terminated"
    record.id = ""
    with pytest.raises(NotCertainError, match=nothing):
        unsure.sought(record, order, there.clock.now())
    record.id, seen = launched.id, iter(((launched,), (), ()))
    monkeypatch.setattr(there, "examine", lambda ids: next(seen, ()))
    for _ in range(2):
        assert re.search(nothing, str(again.end([record], 1.0)[0]))


def test_machines_are_ended_together_and_one_that_is_refused_keeps_none_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was ended by requests of its own: of three on Azure, where 70 % are throttled, two ran after 110 s. Then one
    half of those that were refused waited for an end before the other was asked for: the last of eight ran two minutes
    longer."""
    there = MemoryCloud("aws", FaultPlan(end_delay=60.0), FakeClock(0.0, 0.0))
    made = Machines(there, there.clock, WaitLimits(), Rhythm().settled)
    orders = [ordered(there, number) for number in range(8)]
    for record, order in orders:
        record.id = made.launch(order).id
    going = [record for record, _ in orders]
    terminate, kept, asked = there.terminate, going[5].id, list[int]()

    def guarded(ids: Sequence[str]) -> Terminated:
        asked.append(len(ids))
        if kept in ids:
            raise DeniedError(f"{kept} may not be terminated", Call(Provider.AWS, "here", "TerminateInstances"))
        return terminate(ids)

    monkeypatch.setattr(there, "terminate", guarded)
    came = made.end(going, 1.0)
    assert {n: type(one) for n, one in came.items() if one is not None} == {5: DeniedError}
    assert there.clock.now() == 0.0, "nobody is waited for while something is to be told"
    assert asked == [8, 4, 4, 2, 1, 1, 2]
    assert {m.id: m.asked_to_end for m in there.ledger.machines.values()} == {
        record.id: None if record.id == kept else 0.0 for record in going
    }
    came = made.end(going[:5], 1.0)
    assert (len(asked), {type(one) for one in came.values()}) == (7, {End}), "what leaves is not asked to end again"
    monkeypatch.setattr(there, "terminate", lambda ids: Terminated(tuple(ids)))
    once = iter((True,))
    leaving, began = Machines(there, there.clock, WaitLimits(), Rhythm().settled, lambda: next(once)), there.clock.now()
    assert (leaving.end(going[5:6], 1.0), there.clock.now()) == ({5: None}, began), (
        "somebody asked for an end of waiting"
    )


def test_what_does_not_end_is_told_of_beside_one_that_is_protected() -> None:
    """While one machine is kept nobody waits for the others, and that they still stood was never told."""
    there = MemoryCloud("aws", FaultPlan(end_delay=1e6), FakeClock(0.0, 0.0))
    made, waits = Machines(there, there.clock, WaitLimits(), Rhythm().settled), WaitLimits()
    orders = [ordered(there, number) for number in range(2)]
    for record, order in orders:
        record.id = made.launch(order).id
    going = [record for record, _ in orders]
    there.ledger.machines[going[0].id].tags[PROTECTED_TAG] = "yes"
    assert made.end(going, 1.0)[1] is None
    there.clock.advance(waits.ended)
    assert "asked to terminate, but still listed" in str(made.end(going, 1.0)[1])


def test_a_machine_that_its_cloud_knows_from_now_on_is_asked_to_end_and_a_copy_that_is_refused_hides_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was not asked to end before another one had ended."""
    there = MemoryCloud("aws", clock=FakeClock(0.0, 0.0))
    made = Machines(there, there.clock, WaitLimits(), Rhythm().settled)
    (first, order), (late, its_order) = ordered(there), ordered(there, 1)
    seen = [replace(made.launch(one), state=MachineState.STOPPING) for one in (order, its_order)]
    first.id, late.id = (machine.id for machine in seen)
    monkeypatch.setattr(there, "examine", lambda ids: tuple(seen if there.clock.now() > 10.0 else seen[:1]))
    monkeypatch.setattr(there, "terminate", lambda ids: Terminated((first.id,), (late.id,)))
    monkeypatch.setattr(there, "look", lambda ids: ())
    assert made.end([first, late], 0.0) == {0: None, 1: None}
    assert 10.0 < there.clock.now() < 20.0
    there.plan_faults(FaultPlan(rules=(FaultRule(on="terminate", answer=FaultKind.DENIED),)))
    monkeypatch.undo()
    monkeypatch.setattr(there, "under_key", lambda order: tuple(seen))
    assert made.sought(first, order, 0.0) == {0: seen[0]}


def test_a_machine_that_its_cloud_does_not_know_yet_is_ended_all_the_same(tmp_path: Path) -> None:
    """EC2 does not know an id in the first seconds: asked to stop then, hcloud noted an end and left the machine."""
    world = World.of(tmp_path / "j", [job(i, cores=8) for i in "abc"], "OdF", 0, plan=FaultPlan(visibility_delay=60.0))
    world.rhythm = replace(world.rhythm, settled=120.0)
    world.run(until=lambda loop: all(machine.id for machine in loop.fold.standing.values()) and world.launched() != [])
    world.asked.append(Asked(0.0, "stop"))
    told = set[str]()

    def noted(loop: OperatingLoop) -> bool:
        told.update(loop.desk.troubles.values())
        return False

    world.run(until=noted)
    world.check()
    assert [
        one for one in told if "is not listed by the cloud" in one and one.endswith("; 2 more may not have ended yet")
    ]


def test_a_machine_whose_launch_was_not_answered_counts_in_the_sum(tmp_path: Path) -> None:
    """It was found by the key of its order, and ended: it had cost money, and no machine was told of. It ran until one
    of the others had ended, since it was looked for in the same piece of work."""
    lost = FaultPlan(rules=(FaultRule(on="launch", answer=FaultKind.DROPPED_AFTER, calls=(1, 2)),))
    world = World.of(tmp_path / "j", [job(name, cores=8) for name in "abc"], "OdF", 0, plan=lost)
    loop = world.run(until=lambda loop: any(machine.id for machine in loop.fold.standing.values()))
    assert [bool(machine.id) for machine in loop.fold.standing.values()] == [False, False, True]
    loop.desk.parts.workers = later = Later()
    for machine in loop.fold.standing.values():
        end(loop.desk, machine, "")
    end_all(loop.desk)
    assert [piece.about for piece in later.waiting] == [("end", (2,)), ("end", (0,)), ("end", (1,))]
    later.work()
    world.asked.append(Asked(0.0, "stop"))
    loop = world.run(until=lambda loop: later.work())
    assert world.standing() == []
    assert {rental.resource for rental in loop.fold.rented} == world.cloud.ledger.machines.keys()
