"""Listing machines in a location, whoever made them, and ending them with everything that was made for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hcloud.at_once import in_parallel
from hcloud.control.ports import Clock
from hcloud.errors import NotFoundError, RefusedError
from hcloud.model.holdings.live import TAG_LINEAGE, Machine, Notice, Terminated, over
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, date_of, tags_of, text
from hcloud.providers.azure.errors import Reply
from hcloud.providers.azure.fleets import Fleets
from hcloud.providers.azure.leftovers import Dependants, Leftovers, made_for
from hcloud.providers.azure.operations import GONE, AzurePart, Wait
from hcloud.providers.azure.translate import (
    capacity_of,
    machine_from,
    notice_of,
    set_name_in,
    set_of,
    short_id,
    state_word,
)

ACCEPTED = (200, 201, 202)  # 204 says that there was nothing to end
ASKED_ONE_BY_ONE = 5  # ours: so few machines are asked for by name rather than all of the location
# ours: with a set everything goes that was made for its machines, so an end that takes longer goes on by itself; what a
# machine that stands alone leaves behind has to be removed afterwards
SET_PATIENCE_SECONDS = 20.0
ALONE_PATIENCE_SECONDS = 300.0


@dataclass(slots=True)
class _Ends:
    """What is to be ended, sorted by how: ``sets`` holds names of machines by the ``group/name`` of their set,
    ``unsure`` sets of which it is not certain that they have what is to be ended, and nothing else."""

    sets: dict[str, list[str]] = field(default_factory=dict)
    alone: list[Document] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    under_way: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    ended: dict[str, datetime] = field(default_factory=dict)

    def note(self, accepted: Reply, ids: Iterable[str]) -> None:
        """Azure accepted the end of these: at the time that its answer bears."""
        at = date_of(accepted.headers.get("date", ""))
        if at is not None and accepted.status in ACCEPTED:
            self.ended.update(dict.fromkeys(ids, at))


class AzureMachines(AzurePart):
    """The machines of a subscription in one location: the half of hcloud.control.ports.Cloud that lists and ends."""

    def __init__(self, arm: Arm, clock: Clock) -> None:
        super().__init__(arm, clock)
        self._leftovers = Leftovers(arm, self._follower)
        self._fleets = Fleets(arm, clock, self._follower, self._leftovers)
        self._accepted: dict[str, datetime] = {}

    def machines(self, lineage: str) -> tuple[Machine, ...]:
        """All machines with a lineage's tag, or with any. A machine of a set may show its tags late, or never: its
        set's stand in."""
        documents = self._documents()
        bare = any(set_of(d) and TAG_LINEAGE not in tags_of(d) for d in documents)
        tags = {name: tags_of(document) for name, document in self._sets().items()} if bare else {}
        machines = (machine_from(d, tags.get(set_of(d).lower())) for d in documents)
        found = (m for m in machines if (m.lineage == lineage if lineage else m.lineage))
        return tuple(sorted(found, key=lambda m: m.id))

    def look(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """These machines, by name where they are few; of those that are missing, what their sets tell of their end."""
        wanted = set(ids)
        by_name = len(wanted) <= ASKED_ONE_BY_ONE
        if not by_name:
            documents = self._documents()
        else:
            documents = tuple(d for d in map(self._document, sorted(wanted)) if d is not None)
        sets = self._sets() if any(set_of(d) and TAG_LINEAGE not in tags_of(d) for d in documents) else {}
        found = [machine_from(d, tags_of(sets.get(set_of(d).lower(), {}))) for d in documents]
        shown = {m.id: m for m in found if m.id in wanted}
        missing = [i for i in wanted if i not in shown]
        sure = {*self._ended(missing), *(self._accepted.keys() & missing if by_name else ())}
        shown |= {i: over(i, self._accepted.get(i)) for i in sure}
        return tuple(shown[i] for i in sorted(shown))

    def notices(self, lineage: str) -> tuple[Notice, ...]:
        """The planned maintenance of all machines of the subscription, which only a list with their status tells. That
        it takes a spot machine Azure tells nobody but the machine."""
        path = "providers/Microsoft.Compute/virtualMachines"
        documents = self._arm.plain_pages("VirtualMachines_ListAll", path, "&statusOnly=true")
        return tuple(notice for d in documents if (notice := notice_of(d)) is not None)

    def _ended(self, missing: Sequence[str]) -> list[str]:
        """Those of machines not shown that have ended for sure: their set has no more machines than are known by their
        names beside them. Azure tells nothing of a machine that it took away."""
        homes: dict[str, list[str]] = {}
        for machine_id in missing:
            group, _, name = machine_id.partition("/")
            if set_name_in(name):
                homes.setdefault(f"{group}/{set_name_in(name)}", []).append(machine_id)
        return [i for home, ids in homes.items() if self._has_no_more(home, set(ids)) for i in ids]

    def _has_no_more(self, home: str, missing: set[str]) -> bool:
        try:
            capacity = capacity_of(self._fleets.document(*home.split("/")))
        except NotFoundError:
            return False
        if capacity is None:
            return False
        shown = [short_id(text(d, "id")) for d in self._documents() if set_of(d).lower() == home.lower()]
        beside = [i for i in shown if i not in missing] if capacity else []
        known = [d for d in in_parallel(self._document, beside) if d is not None]
        return sum(state_word(d) != "deleting" for d in known) >= capacity  # what is on its way out counts no more

    def examine(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """These machines, each by its name, and the sets of those that show no tag of ours by theirs; those that are
        gone after Azure accepted their end have ended."""
        wanted = sorted(set(ids))
        answers = dict(zip(wanted, in_parallel(self._document, wanted), strict=True))
        documents = [d for d in answers.values() if d is not None]
        homes = sorted({set_of(d) for d in documents if TAG_LINEAGE not in tags_of(d)} - {""})
        tags = dict(zip(homes, in_parallel(self._tags_of_set, homes), strict=True))
        ended = (over(i, self._accepted[i]) for i, d in answers.items() if d is None and i in self._accepted)
        return (*(machine_from(d, tags.get(set_of(d))) for d in documents), *ended)

    def _tags_of_set(self, home: str) -> dict[str, str]:
        try:
            return tags_of(self._fleets.document(*home.split("/")))
        except NotFoundError:
            return {}

    def terminate(self, ids: Sequence[str]) -> Terminated:
        """End machines: one request for each set, one for each that stands alone; then nothing of theirs is left.
        The times of ends that were accepted before it raised something are told by the next call."""
        if not ids:
            return Terminated(())
        wanted = sorted(set(ids))
        documents = self._known(wanted)
        sets = self._sets()
        sets |= self._unlisted(wanted, documents, sets)
        ends = self._sorted(wanted, documents, sets)
        homes = (sets.get(f"{i.split('/')[0]}/{set_name_in(i.split('/')[-1])}".lower(), {}) for i in ids)
        owners = (*(documents[i] for i in ids if i in documents), *homes)
        try:
            self._carry_out(ends, sets, {tags_of(owner).get(TAG_LINEAGE, "") for owner in owners} - {""})
        finally:
            self._accepted |= ends.ended
        told = {i: self._accepted[i] for i in wanted if i in self._accepted}
        gone = set(ends.gone) - told.keys()
        return Terminated(tuple(i for i in wanted if i not in gone), tuple(sorted(gone)), told)

    def _carry_out(self, ends: _Ends, sets: dict[str, Document], lineages: set[str]) -> None:
        waits = in_parallel(lambda name: self._end_of_set(name, ends, sets[name.lower()]), sorted(ends.sets))
        for document in ends.alone:
            waits.append(self._end_alone(document))
            ends.note(waits[-1][0], [short_id(text(document, "id"))])
        waits += [self._end_whole(name) for name in self._empty(sets, ends, lineages) if self._capacity(name) == 0]
        standing = {set_name_in(text(d, "name")) for d in sets.values()}
        with self._arm.once_accepted("VirtualMachineScaleSets_DeleteInstances"):
            self._see_off(ends, waits, Dependants(lineages=frozenset(lineages), standing=frozenset(standing)))

    def _known(self, ids: Sequence[str]) -> dict[str, Document]:
        """All machines of the location, with those of these ids that the list does not show: it may be behind."""
        found = {short_id(text(d, "id")): d for d in self._documents()}
        missed = [i for i in ids if i not in found]
        sure = zip(missed, in_parallel(self._document, missed), strict=True)
        return found | {i: d for i, d in sure if d is not None}

    def _unlisted(
        self, ids: Sequence[str], documents: dict[str, Document], sets: dict[str, Document]
    ) -> dict[str, Document]:
        """The sets of these machines that the list of sets does not show."""
        homes = sorted({self._home(i, documents).lower() for i in ids} - sets.keys())
        named = [home for home in homes if home.split("/")[-1]]
        sure = zip(named, in_parallel(self._set, named), strict=True)
        return {home: d for home, d in sure if d is not None}

    def _home(self, machine_id: str, documents: dict[str, Document]) -> str:
        """``group/name`` of the set that a machine is in, or by its name was; without a name for one that is alone."""
        group, _, name = machine_id.partition("/")
        document = documents.get(machine_id)
        return set_of(document) if document else f"{group}/{set_name_in(name)}"

    def _set(self, home: str) -> Document | None:
        try:
            return self._fleets.document(*home.split("/"))
        except NotFoundError:
            return None

    def _capacity(self, home: str) -> int | None:
        document = self._set(home)
        return None if document is None else capacity_of(document)

    def _see_off(self, ends: _Ends, waits: Sequence[Wait], known: Dependants) -> None:
        """Wait for the ends for a while; when all are over, look for what they left."""
        clock = self._follower.clock
        until = clock.passed() + (ALONE_PATIENCE_SECONDS if ends.alone else SET_PATIENCE_SECONDS)
        over = [self._follower.follow(reply, state, until - clock.passed()).over for reply, state in waits]
        if not waits or not all(over):
            return
        for home in sorted(ends.unsure):
            # What it had was not certain, and no ground for ending the set with them
            if self._capacity(home) == 0:
                self._follower.follow(*self._end_whole(home))
        made = frozenset(name for document in ends.alone for name in made_for(document))
        names = frozenset(name.split("/")[1] for name in ends.sets)
        groups = {i.split("/")[0] for i in (*ends.sets, *(short_id(text(d, "id")) for d in ends.alone))}
        self._leftovers.remove(groups, replace(known, sets=names, ids=made))

    def _documents(self) -> tuple[Document, ...]:
        path = f"providers/Microsoft.Compute/locations/{self._arm.settings.location}/virtualMachines"
        return self._arm.plain_pages("VirtualMachines_ListByLocation", path)

    def _sets(self) -> dict[str, Document]:
        sets = self._arm.compute.virtual_machine_scale_sets
        operation = "VirtualMachineScaleSets_ListByLocation"
        found = self._arm.pages(operation, sets.list_by_location, self._arm.settings.location)
        return {short_id(text(d, "id")).lower(): d for d in found}

    def _document(self, machine_id: str) -> Document | None:
        group, _, name = machine_id.partition("/")
        try:
            return self._arm.read("VirtualMachines_Get", self._arm.compute.virtual_machines.get, group, name)
        except NotFoundError:
            return None

    def _sorted(self, ids: Sequence[str], documents: dict[str, Document], sets: dict[str, Document]) -> _Ends:
        """A machine that no list shows may only be too new: its name tells its set, and the set how many it has."""
        ends = _Ends()
        for machine_id in ids:
            name = machine_id.partition("/")[2]
            document, home = documents.get(machine_id), self._home(machine_id, documents)
            if document is not None and state_word(document) == "deleting":
                ends.under_way.append(machine_id)
            elif home.lower() in sets and (document is not None or self._has_more(home, documents, sets)):
                ends.sets.setdefault(home, []).append(name)
                if document is None:
                    ends.unsure.add(home)
            elif document is not None:
                ends.alone.append(document)
            else:
                ends.gone.append(machine_id)
        return ends

    def _has_more(self, home: str, documents: dict[str, Document], sets: dict[str, Document]) -> bool:
        shown = sum(1 for d in documents.values() if set_of(d).lower() == home.lower())
        capacity = capacity_of(sets[home.lower()])
        return capacity is None or capacity > shown

    def _end_of_set(self, home: str, ends: _Ends, document: Document) -> Wait:
        """The whole set where all that it has is to end, by what it says of itself and by its members' names: lists may
        leave some out, and show what has ended. Else its members, without those that are gone when they are asked for.
        """
        group, name = home.split("/")
        names, capacity = ends.sets[home], capacity_of(document)
        if capacity is not None and len(names) >= capacity and home not in ends.unsure:
            if self._is_all(home, names):
                wait = self._end_whole(home)
                ends.note(wait[0], [f"{group}/{n}" for n in names])
                return wait
            ends.unsure.add(home)
        try:
            return self._end_members(group, name, names, ends)
        except (NotFoundError, RefusedError):
            there = in_parallel(self._document, [f"{group}/{n}" for n in names])
            gone = [n for n, found in zip(names, there, strict=True) if found is None]
            if not gone:
                raise
            ends.gone.extend(f"{group}/{n}" for n in gone)
            seen = [n for n in names if n not in set(gone)]
            return self._end_members(group, name, seen, ends) if seen else (Reply(200), lambda: GONE)

    def _is_all(self, home: str, names: Sequence[str]) -> bool:
        if self._capacity(home) != len(names):
            return False
        return {text(m, "name") for m in self._fleets.members(*home.split("/"))} == set(names)

    def _end_members(self, group: str, name: str, names: list[str], ends: _Ends) -> Wait:
        sets = self._arm.compute.virtual_machine_scale_sets
        operation = "VirtualMachineScaleSets_DeleteInstances"
        accepted = self._arm.change(operation, sets.begin_delete_instances, group, name, {"instanceIds": names})
        ends.note(accepted, [f"{group}/{n}" for n in names])
        return accepted, lambda: self._fleets.state(group, name)

    def _end_whole(self, home: str) -> Wait:
        group, name = home.split("/")
        sets = self._arm.compute.virtual_machine_scale_sets
        try:
            accepted = self._arm.change("VirtualMachineScaleSets_Delete", sets.begin_delete, group, name)
        except NotFoundError:
            return Reply(204), lambda: GONE
        return accepted, lambda: self._fleets.state(group, name)

    def _empty(self, sets: dict[str, Document], ends: _Ends, lineages: set[str]) -> list[str]:
        """Sets of the same lineage whose machines others have ended: they cost nothing and are never used again."""
        busy = {name.lower() for name in ends.sets}
        return [
            name
            for name, document in sorted(sets.items())
            if name not in busy
            and set_name_in(text(document, "name"))
            and tags_of(document).get(TAG_LINEAGE, "-") in lineages
            and state_word(document) in ("succeeded", "failed")
            and capacity_of(document) == 0
        ]

    def _end_alone(self, document: Document) -> Wait:
        group, name = short_id(text(document, "id")).split("/")
        machines = self._arm.compute.virtual_machines
        try:
            accepted = self._arm.change("VirtualMachines_Delete", machines.begin_delete, group, name)
        except NotFoundError:
            return Reply(204), lambda: GONE
        return accepted, lambda: self._state(group, name)

    def _state(self, group: str, name: str) -> str:
        document = self._document(f"{group}/{name}")
        return GONE if document is None else state_word(document)
