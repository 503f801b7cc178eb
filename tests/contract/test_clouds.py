"""The contract of looking and ending: whole lists or none, nothing foreign, no guessed states, repeatable ends."""

from __future__ import annotations

import pytest

from contract.rig import KEY, LINEAGE, OTHER_KEY, Ability, Rig, order
from hcloud.errors import (
    CloudError,
    CredentialsError,
    DeniedError,
    NotFoundError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.holdings.live import TAG_LINEAGE, Machine, MachineState, Terminated


def launch(rig: Rig, key: str = "a1" * 16, count: int = 3) -> list[str]:
    return sorted(m.id for m in rig.cloud().launch(order(rig, key, count)).machines)


def listed(rig: Rig, lineage: str = LINEAGE) -> list[str]:
    return sorted(m.id for m in rig.cloud().machines(lineage))


def the_one(rig: Rig) -> Machine:
    [machine] = rig.cloud().machines(LINEAGE)
    return machine


def ended(rig: Rig) -> None:
    """Let a minute go by, and what was asked to end is over."""
    rig.later(60)


# scope, zones, quotas


def test_the_scope_is_asked_of_the_cloud_once(rig: Rig) -> None:
    cloud = rig.cloud()
    scope = cloud.scope()
    asked = len(rig.requests())
    assert cloud.scope() == scope
    assert len(rig.requests()) == asked
    assert scope.cloud == rig.fake.name
    assert scope.account
    assert scope.region


@pytest.mark.needs(Ability.FAULTS)
def test_F1_the_scope_with_bad_credentials_is_a_credentials_error(rig: Rig) -> None:
    rig.fault("expired-credentials")
    with pytest.raises(CredentialsError):
        rig.cloud().scope()


def test_the_zones_of_a_type_are_sorted(rig: Rig) -> None:
    assert rig.cloud().zones(rig.type_name) == rig.zones == tuple(sorted(rig.zones))


def test_a_type_that_there_is_not_has_no_zones(rig: Rig) -> None:
    with pytest.raises(NotFoundError):
        rig.cloud().zones("nosuch.type")


@pytest.mark.needs(Ability.QUOTAS)
def test_quotas_say_their_limit_and_what_is_used(rig: Rig) -> None:
    rig.faults({"quotas": {rig.quota_name: 1000}})
    [before] = [q for q in rig.cloud().quotas(rig.type_name) if q.limit == 1000]
    launch(rig)
    [after] = [q for q in rig.cloud().quotas(rig.type_name) if q.limit == 1000]
    assert before.name
    assert after.used > before.used == 0


# lists


def test_machines_are_listed_by_their_lineage(rig: Rig) -> None:
    made = launch(rig)
    assert listed(rig) == made
    assert listed(rig, "9" * 32) == []


def test_an_empty_lineage_lists_those_of_any(rig: Rig) -> None:
    made = launch(rig)
    assert listed(rig, "") == made


def test_V3_foreign_machines_are_not_listed(rig: Rig) -> None:
    rig.fake.edit({"launch": rig.type_name, "tags": {"owner": "somebody"}})
    rig.fake.edit({"launch": rig.type_name, "tags": {TAG_LINEAGE: "0" * 32}})
    made = launch(rig)
    assert listed(rig) == made
    assert len(listed(rig, "")) == 4


def test_a_listed_machine_says_what_it_is(rig: Rig) -> None:
    launch(rig, count=1)
    machine = the_one(rig)
    wanted = order(rig)
    assert (machine.instance_type, machine.zone, machine.option) == (rig.type_name, rig.zones[0], wanted.option)
    assert (machine.lineage, machine.key, machine.address) == (LINEAGE, wanted.key, wanted.address)
    assert machine.launched is not None
    assert abs(machine.launched.timestamp() - rig.fake.clock.now()) < 60


def test_G5_what_a_person_tagged_is_seen(rig: Rig) -> None:
    [made] = launch(rig, count=1)
    rig.fake.edit({"retag": made, "tags": {TAG_LINEAGE: LINEAGE, "touched": "yes"}})
    assert the_one(rig).tags["touched"] == "yes"


@pytest.mark.needs(Ability.PAGES)
def test_a_list_has_all_its_pages(rig: Rig) -> None:
    made = sorted(launch(rig, count=3) + launch(rig, OTHER_KEY, count=4))
    rig.page(2)
    assert listed(rig) == made


@pytest.mark.needs(Ability.PAGES, Ability.FAULTS)
@pytest.mark.parametrize("answer", ["unavailable", "dropped-before", "nonsense"])
def test_D6_a_list_that_breaks_off_is_no_list(rig: Rig, answer: str) -> None:
    launch(rig, count=3)
    launch(rig, OTHER_KEY, count=4)
    rig.page(2)
    rig.fault(answer, rig.words.list, calls=[2])
    with pytest.raises(UnavailableError):
        rig.cloud().machines(LINEAGE)


@pytest.mark.needs(Ability.FAULTS)
@pytest.mark.parametrize("answer", ["nonsense", "server-error", "unavailable", "dropped-after"])
def test_R5_a_list_that_cannot_be_understood_is_unavailable(rig: Rig, answer: str) -> None:
    launch(rig)
    rig.fault(answer, rig.words.list)
    with pytest.raises(UnavailableError):
        rig.cloud().machines(LINEAGE)


@pytest.mark.needs(Ability.FAULTS)
def test_L8_a_redirected_list_is_not_followed(rig: Rig) -> None:
    rig.fault("redirect", rig.words.list)
    with pytest.raises(CloudError):
        rig.cloud().machines(LINEAGE)


@pytest.mark.needs(Ability.FAULTS)
def test_F3_a_denied_list_is_denied(rig: Rig) -> None:
    rig.fault("denied", rig.words.list)
    with pytest.raises(DeniedError):
        rig.cloud().machines(LINEAGE)


@pytest.mark.needs(Ability.FAULTS)
def test_N7_a_state_that_is_not_known_is_not_ended(rig: Rig) -> None:
    made = launch(rig)
    rig.fault("unknown-words")
    found = rig.cloud().machines(LINEAGE)
    assert sorted(m.id for m in found) == made
    assert all(m.state is not MachineState.ENDED for m in found)


@pytest.mark.needs(Ability.DELAYS)
def test_C1_a_machine_that_is_not_shown_yet_is_shown_later(rig: Rig) -> None:
    rig.faults({"visibility_delay": 60})
    made = launch(rig)
    assert listed(rig) == []
    assert rig.cloud().look(made) == ()
    rig.later(61)
    assert listed(rig) == made


@pytest.mark.needs(Ability.DELAYS)
def test_C4_a_machine_whose_tags_are_late_is_found_by_its_id(rig: Rig) -> None:
    rig.faults({"tag_delay": 30})
    made = launch(rig)
    assert listed(rig) == []
    assert sorted(m.id for m in rig.cloud().look(made)) == made
    rig.later(31)
    assert listed(rig) == made


LISTS = ("stale", "misses-new", "shows-ended")


@pytest.mark.needs(Ability.DELAYS)
@pytest.mark.parametrize("answer", LISTS)
def test_C1_C5_a_list_that_is_behind_leaves_out_what_is_new_and_shows_what_has_ended(rig: Rig, answer: str) -> None:
    old = launch(rig, count=1)
    rig.later(120)
    new = launch(rig, "b2" * 16, count=1)
    rig.cloud().terminate(old)
    rig.later(1)
    rig.fault(answer, rig.words.list, seconds=60)
    shown = {m.id for m in rig.cloud().machines(LINEAGE) if m.state.is_live}
    assert shown == {*(new if answer == "shows-ended" else []), *([] if answer == "misses-new" else old)}
    assert {m.id for m in rig.cloud().examine([*old, *new]) if m.state.is_live} == set(new), "by its id nothing is late"
    rig.later(61)
    assert {m.id for m in rig.cloud().machines(LINEAGE) if m.state.is_live} == set(new)


def test_an_examination_leaves_out_what_the_cloud_does_not_know(rig: Rig) -> None:
    made = launch(rig)
    found = rig.cloud().examine([made[0], rig.unknown_id, made[2]])
    assert [(m.id, m.lineage, m.key) for m in found] == [(made[0], LINEAGE, KEY), (made[2], LINEAGE, KEY)]
    assert rig.cloud().examine([]) == ()


@pytest.mark.needs(Ability.DELAYS)
def test_a_machine_is_pending_before_it_runs(rig: Rig) -> None:
    rig.faults({"spin_up": 45})
    launch(rig, count=1)
    assert the_one(rig).state is MachineState.PENDING
    rig.later(46)
    assert the_one(rig).state is MachineState.RUNNING


@pytest.mark.needs(Ability.DELAYS)
def test_C5_an_end_takes_its_time_and_lingers(rig: Rig) -> None:
    rig.faults({"end_delay": 30, "linger": 3600})
    made = launch(rig, count=1)
    rig.cloud().terminate(made)
    assert the_one(rig).state is not MachineState.ENDED
    rig.later(31)
    assert all(m.state is MachineState.ENDED for m in rig.cloud().machines(LINEAGE))
    rig.later(3601)
    assert rig.cloud().machines(LINEAGE) == ()


def test_a_look_leaves_out_what_the_cloud_does_not_know(rig: Rig) -> None:
    made = launch(rig)
    found = rig.cloud().look([made[0], rig.unknown_id, made[2]])
    assert sorted(m.id for m in found) == [made[0], made[2]]


def test_a_look_sees_foreign_machines_too(rig: Rig) -> None:
    rig.fake.edit({"launch": rig.type_name, "tags": {"owner": "somebody"}})
    [foreign] = rig.rented()
    [found] = rig.cloud().look([foreign.id])
    assert (found.id, found.lineage) == (foreign.id, "")


def test_looking_at_nothing_asks_nothing(rig: Rig) -> None:
    assert rig.cloud().look([]) == ()
    assert not rig.requests()


def test_B7_a_thousand_machines_are_listed_in_few_calls(rig: Rig) -> None:
    cloud = rig.cloud()
    for number in range(1, 11):
        cloud.launch(order(rig, f"{number:016x}" * 2, count=rig.many // 10))
    before = len(rig.requests())
    assert len(cloud.machines(LINEAGE)) == rig.many
    assert len(rig.requests()) - before <= rig.most_calls_to_list_1000


def test_I6_looking_changes_nothing(rig: Rig) -> None:
    made = launch(rig)
    before = len(rig.requests(mutating=True))
    cloud = rig.cloud()
    cloud.scope()
    cloud.machines(LINEAGE)
    cloud.look(made)
    cloud.examine(made)
    cloud.zones(rig.type_name)
    cloud.quotas(rig.type_name)
    assert len(rig.requests(mutating=True)) == before


# ends


def test_machines_are_ended(rig: Rig) -> None:
    made = launch(rig)
    done = rig.cloud().terminate(made[:2])
    assert (sorted(done.ending), done.gone) == (made[:2], ())
    assert [m.id for m in rig.live()] == made[2:]


def told_end(rig: Rig, ids: list[str], terminated: Terminated) -> dict[str, int]:
    """When the cloud says that machines ended: in its answer to the request, or where it still tells of them."""
    found = {i: int(at.timestamp()) for i, at in terminated.ended.items()}
    return found | {m.id: int(m.ended.timestamp()) for m in rig.cloud().look(ids) if m.ended is not None}


def test_a_start_and_an_end_are_told_in_whole_seconds_of_the_clouds_own_time(rig: Rig) -> None:
    made = launch(rig)
    rig.later(86_400)
    terminated = rig.cloud().terminate(made[:2])
    rented = {m.id: m for m in rig.rented()}
    asked = {i: rented[i].asked_to_end for i in made[:2]}
    assert told_end(rig, made, terminated) == {i: int(at or 0) for i, at in asked.items()}
    starts = {m.id: int(m.launched.timestamp()) for m in rig.cloud().look(made[2:]) if m.launched}
    assert starts == {made[2]: int(rented[made[2]].made_at)}


def test_a_machine_that_stands_tells_no_end(rig: Rig) -> None:
    launch(rig)
    assert {m.ended for m in rig.cloud().machines(LINEAGE)} == {None}


def test_an_end_that_is_asked_for_twice_is_told_as_the_first_one(rig: Rig) -> None:
    made = launch(rig, count=1)
    rig.later(3_000)
    first = rig.cloud().terminate(made)
    before = told_end(rig, made, first)
    rig.later(30)
    again = told_end(rig, made, rig.cloud().terminate(made))
    assert again in ({}, before)


def test_an_end_may_be_repeated(rig: Rig) -> None:
    made = launch(rig)
    rig.cloud().terminate(made)
    again = rig.cloud().terminate(made)
    assert sorted(again.ending + again.gone) == made
    ended(rig)
    later = rig.cloud().terminate(made)
    assert sorted(later.ending + later.gone) == made


def test_a_machine_that_the_cloud_does_not_know_is_gone_and_the_others_are_ended(rig: Rig) -> None:
    made = launch(rig)
    done = rig.cloud().terminate([rig.unknown_id, *made])
    assert (sorted(done.ending), done.gone) == (made, (rig.unknown_id,))
    assert not rig.live()


def test_G5_a_machine_that_a_person_ended_is_no_error(rig: Rig) -> None:
    made = launch(rig)
    rig.fake.edit({"terminate": made[0]})
    done = rig.cloud().terminate(made)
    assert sorted(done.ending + done.gone) == made
    assert not rig.live()


def test_ending_nothing_asks_nothing(rig: Rig) -> None:
    done = rig.cloud().terminate([])
    assert (done.ending, done.gone) == ((), ())
    assert not rig.requests()


def test_V3_an_end_touches_nothing_else(rig: Rig) -> None:
    rig.fake.edit({"launch": rig.type_name, "tags": {"owner": "somebody"}})
    [foreign] = rig.rented()
    rig.cloud().terminate(launch(rig))
    assert [m.id for m in rig.live()] == [foreign.id]
    assert foreign.tags == {"owner": "somebody"}


@pytest.mark.needs(Ability.FAULTS)
@pytest.mark.parametrize("answer", ["dropped-before", "dropped-after", "nonsense", "server-error"])
def test_R1_an_end_without_an_answer_is_unknown_and_may_be_sent_again(rig: Rig, answer: str) -> None:
    made = launch(rig, count=1)
    rig.fault(answer, rig.words.terminate, first=1)
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().terminate(made)
    done = rig.cloud().terminate(made)
    assert [*done.ending, *done.gone] == made
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS)
def test_a_denied_end_is_denied(rig: Rig) -> None:
    made = launch(rig)
    rig.fault("denied", rig.words.terminate)
    with pytest.raises(DeniedError):
        rig.cloud().terminate(made)
    assert len(rig.live()) == 3
