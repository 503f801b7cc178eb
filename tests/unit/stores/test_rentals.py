"""The log of rentals: what was rented from when to when, whatever breaks and however often it is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from states import AT, OTHER_LINEAGE, a_record, a_state

from hcloud.errors import HcloudError, InputError
from hcloud.model.holdings.state import OwnedMachine, State
from hcloud.model.report import MachineRental
from hcloud.planning.changes.recall import with_records
from hcloud.store.files.place import RENTALS
from hcloud.store.files.private_directory import Disk, PrivateDirectory
from hcloud.store.records.durable_lines import DurableLines
from hcloud.store.states.remembered import FileStateStore

HOUR = timedelta(hours=1)


@pytest.fixture
def store(tmp_path: Path) -> FileStateStore:
    return FileStateStore(tmp_path / "state")


def launched(number: int) -> OwnedMachine:
    return replace(a_record(number), launched=AT + timedelta(seconds=5))


def running(*numbers: int) -> State:
    return replace(a_state(0), records=tuple(launched(n) for n in numbers))


def left(state: State, number: int, *, after: timedelta = HOUR, told: bool = True) -> State:
    """The state once the cloud told of the end of a machine, or it was missed."""
    over = replace(launched(number), ended=AT + after, ended_is_told=told)
    kept = tuple(r for r in state.records if r.id != over.id)
    return replace(state, records=kept, departed=(over,))


def spans(found: tuple[MachineRental, ...]) -> list[tuple[str, int, int | None, bool]]:
    begin = int(AT.timestamp())
    return [(u.address, u.start - begin, None if u.end is None else u.end - begin, u.end_is_told) for u in found]


def again(store: FileStateStore) -> FileStateStore:
    """The same place as a new process opens it."""
    return FileStateStore(Path(str(store)))


def test_lines_that_were_written_here_are_known_as_they_are_read_there(store: FileStateStore) -> None:
    store.save(a_state(0))
    writer = DurableLines(PrivateDirectory(Path(str(store))), "lines.jsonl", "log")
    for number in range(3):
        writer.append({"rows": [(number, "é")]})
        assert writer.read() == DurableLines(PrivateDirectory(Path(str(store))), "lines.jsonl", "log").read()
    with (Path(str(store)) / "lines.jsonl").open("ab") as file:
        file.write(b'{"sum":"to')
    writer.append({"rows": []})
    assert writer.read() == DurableLines(PrivateDirectory(Path(str(store))), "lines.jsonl", "log").read()
    assert len(writer.read().contents) == 4


def test_a_machine_is_rented_from_its_start_to_its_end(store: FileStateStore) -> None:
    first = store.save(running(1, 2))
    assert spans(store.rentals().usages()) == [("pool-1", 5, None, True), ("pool-2", 5, None, True)]
    second = store.save(left(first, 1))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, 3600, True), ("pool-2", 5, None, True)]
    assert second.departed == ()
    store.save(left(second, 2, told=False))
    assert spans(again(store).rentals().usages())[1] == ("pool-2", 5, 3600, False)
    (usage, _) = store.rentals().usages()
    assert usage.tags == {"hcloud-lineage": first.lineage, "hcloud-project": "shop"}
    assert usage.instance_type == "m6i.large"


def test_saying_it_again_writes_nothing(store: FileStateStore) -> None:
    state = store.save(running(1, 2))
    size = (Path(str(store)) / RENTALS).stat().st_size
    for _ in range(3):
        state = again(store).save(state)
    assert (Path(str(store)) / RENTALS).stat().st_size == size


def test_without_machines_there_is_no_log(store: FileStateStore) -> None:
    store.save(a_state(0))
    assert not (Path(str(store)) / RENTALS).exists()
    assert store.rentals().usages() == ()


def test_a_start_that_is_told_late_replaces_the_time_of_the_order(store: FileStateStore) -> None:
    first = store.save(replace(a_state(0), records=(a_record(1),)))
    assert spans(store.rentals().usages()) == [("pool-1", 1, None, True)]
    store.save(with_records(first, [launched(1)]))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, None, True)]


def test_an_id_that_is_given_again_is_another_rental(store: FileStateStore) -> None:
    state = store.save(left(store.save(running(1)), 1))
    later = replace(launched(1), launched=AT + 2 * HOUR)
    store.save(with_records(state, [later]))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, 3600, True), ("pool-1", 7200, None, True)]


def test_a_machine_that_was_taken_for_gone_and_is_told_of_again_runs_on(store: FileStateStore) -> None:
    state = store.save(left(store.save(running(1)), 1, told=False))
    store.save(with_records(state, [launched(1)]))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, None, True)]


def test_an_end_that_was_asked_for_is_known_at_once(store: FileStateStore) -> None:
    state = store.save(running(1))
    asked = replace(launched(1), ending=True, ended=AT + HOUR, ended_is_told=True)
    store.save(with_records(state, [asked]))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, 3600, True)]


class Died(BaseException):
    """The process ended here."""


def dying(number: int) -> Callable[[str], None]:
    met: list[str] = []

    def crash(name: str) -> None:
        met.append(name)
        if len(met) == number:
            raise Died(name)

    return crash


def deaths(tmp_path: Path, work: Callable[[FileStateStore], object]) -> Iterator[FileStateStore]:
    """The place after a death at each crash point of some work, until the work is done; last the place after that."""
    for number in range(1, 200):
        place = tmp_path / str(number)
        try:
            work(FileStateStore(place, dying(number)))
        except Died:
            yield FileStateStore(place)
            continue
        yield FileStateStore(place)
        return
    pytest.fail("the work never ends")


@pytest.mark.slow
def test_A1_a_death_at_any_point_loses_no_start_and_no_end(tmp_path: Path) -> None:
    def work(store: FileStateStore) -> None:
        left_one = left(store.save(running(1, 2)), 1)
        store.save(left_one)

    count = 0
    for count, store in enumerate(deaths(tmp_path, work), start=1):
        state = store.load() or running()
        if not state.records:
            state = store.save(replace(running(1, 2), serial=state.serial))
        if len(state.records) == 2:
            state = store.save(left(state, 1))
        assert spans(store.rentals().usages()) == [("pool-1", 5, 3600, True), ("pool-2", 5, None, True)], count
    assert count > 10


def test_A8_a_torn_last_line_is_left_out_and_its_place_taken(store: FileStateStore) -> None:
    state = store.save(left(store.save(running(1)), 1))
    path = Path(str(store)) / RENTALS
    whole = path.read_bytes()
    before_last = whole[:-1].rindex(b"\n") + 1
    for cut in (before_last, before_last + 1, before_last + 40, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert spans(again(store).rentals().usages()) == [("pool-1", 5, None, True)]
    state = again(store).save(left(state, 1))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, 3600, True)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data.replace(b"pool-1", b"pool-9"),
        lambda data: b"\n".join(data.split(b"\n")[1:]),
        lambda data: data + b"{}\n",
        lambda data: b"<<<<<<< HEAD\n" + data,
        lambda data: data[:40] + b"\0" + data[41:],
    ],
)
def test_H3_damage_is_refused_with_what_to_do_and_nothing_is_written(
    store: FileStateStore, damage: Callable[[bytes], bytes]
) -> None:
    state = store.save(running(1))
    path = Path(str(store)) / RENTALS
    path.write_bytes(damage(path.read_bytes()))
    hurt = path.read_bytes()
    with pytest.raises(InputError, match="log of rentals") as refused:
        again(store).rentals().usages()
    assert "move it away" in refused.value.hint
    with pytest.raises(InputError):
        again(store).save(left(state, 1))
    assert (path.read_bytes(), again(store).load()) == (hurt, state)


def test_H3_moved_away_it_begins_anew_with_what_stands(store: FileStateStore) -> None:
    state = store.save(running(1, 2))
    (Path(str(store)) / RENTALS).unlink()
    again(store).save(left(state, 1))
    assert spans(again(store).rentals().usages()) == [("pool-1", 5, 3600, True), ("pool-2", 5, None, True)]


def test_H1_a_state_that_is_rebuilt_puts_a_damaged_log_aside(store: FileStateStore) -> None:
    store.save(running(1))
    path = Path(str(store)) / RENTALS
    path.write_bytes(b"no log")
    again(store).overwrite(running(1, 2))
    assert len(again(store).rentals().usages()) == 2
    assert path.with_name("rentals.jsonl.damaged").read_bytes() == b"no log"


def test_another_states_rentals_stay_where_it_is_written_over(store: FileStateStore) -> None:
    store.save(running(1))
    again(store).overwrite(replace(running(2), lineage=OTHER_LINEAGE))
    found = again(store).rentals().usages()
    assert [u.tags["hcloud-lineage"] for u in found] == [running(1).lineage, OTHER_LINEAGE]


def test_H4_a_later_version_is_refused(store: FileStateStore) -> None:
    store.save(running(1))
    from hcloud.store.records.durable_lines import NO_SUM, sealed

    line, _ = sealed(NO_SUM, {"log": {"format_version": "2.0"}})
    (Path(str(store)) / RENTALS).write_bytes(line)
    with pytest.raises(InputError, match=r"format_version '2\.0' cannot be read"):
        again(store).rentals().usages()


def test_a_row_that_is_none_is_named(store: FileStateStore) -> None:
    store.save(running(1))
    path = Path(str(store)) / RENTALS
    from hcloud.store.records.durable_lines import NO_SUM, sealed

    head, digest = sealed(NO_SUM, {"log": {"format_version": "1.0"}})
    row, _ = sealed(digest, {"rentals": [{"usage": {"resource": 1}}]})
    path.write_bytes(head + row)
    with pytest.raises(InputError, match=r"line 2: usage\."):
        again(store).rentals().usages()


class Full(Disk):
    """Takes nothing that names a rental."""

    def write(self, handle: int, data: bytes) -> int:
        if b'"rentals"' in data:
            raise OSError(28, "No space left on device")
        return super().write(handle, data)


def test_A6_where_the_log_cannot_be_written_the_state_is_not(tmp_path: Path) -> None:
    state = FileStateStore(tmp_path / "state").save(a_state(0))
    with pytest.raises(HcloudError):
        FileStateStore(tmp_path / "state", disk=Full()).save(with_records(state, [launched(1)]))
    assert FileStateStore(tmp_path / "state").load() == state


@pytest.mark.slow
def test_thousands_of_rentals_are_few_lines_and_small(store: FileStateStore) -> None:
    state = store.save(running(*range(1, 3_001)))
    lines = (Path(str(store)) / RENTALS).read_bytes().splitlines()
    assert len(lines) == 4
    assert len(again(store).rentals().usages()) == 3_000
    assert json.loads(lines[1])["rentals"][0]["usage"]["resource"] == state.records[0].id
