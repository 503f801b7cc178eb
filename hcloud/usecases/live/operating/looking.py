"""Live work as its journals tell it, for those that only look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hcloud.control.operating.costs import rental_of
from hcloud.control.operating.fold import Fold
from hcloud.errors import CloudError
from hcloud.model.holdings.live import TAG_PROJECT, Machine
from hcloud.model.holdings.state import LockInfo
from hcloud.model.report import MachineRental
from hcloud.store.files.lock import FileLock
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.journals.journal import JournalPlace, LiveOrigin, place_of, read_journal, read_on
from hcloud.usecases.live.connect import FAKE
from hcloud.usecases.live.ground import LiveGround
from hcloud.usecases.live.operate_requests import DIRECTORY, JOURNAL, directory_at, never_ran
from hcloud.usecases.live.operating.operate import fold_of, read_known
from hcloud.usecases.live.places import FAKE_FILE


@dataclass(frozen=True, slots=True)
class Seen:
    """Live work as its journal tells it, and who works on it now (None: nobody)."""

    fold: Fold
    origin: LiveOrigin | None
    holder: LockInfo | None
    directory: Path
    at: float

    def now(self, clock: float) -> float:
        """The time there, in seconds since 1970: that of a rehearsal may have been put forward."""
        from hcloud.fake.in_memory.file import rehearsed_at

        if self.origin is None or not self.origin.selection.startswith(FAKE):
            return clock
        return max(clock, self.at, rehearsed_at(self.directory.parent / FAKE_FILE.format(self.origin.cloud)))


def journal_at(place: str) -> Path:
    """The journal of live work beside the state at a place; UsageError where there is none."""
    path = directory_at(place) / JOURNAL
    if not path.exists():
        raise never_ran(path.parent)
    return path


def look(place: str) -> Seen:
    """Live work as its journal tells it; UsageError where there is none. Changes nothing."""
    return Onlooker(place).look()


class Onlooker:
    """Looks at live work again and again: of a journal that grew it reads what is new."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._seen: tuple[Fold, LiveOrigin | None, JournalPlace] | None = None

    def look(self) -> Seen:
        """As ``look``."""
        path = journal_at(self._place)
        more = None if self._seen is None else read_on(path, self._seen[2])
        if self._seen is None or more is None:
            known = read_known(path)
            self._seen = fold_of(known), known.live, place_of(path, known.whole_bytes)
        else:
            self._seen[0].take(more[0])
            self._seen = *self._seen[:2], more[1]
        fold, origin, _ = self._seen
        return Seen(fold, origin, FileLock(PrivateDirectory(path.parent)).holder(), path.parent, fold.last)


def rentals_of_work(here: LiveGround) -> tuple[MachineRental, ...]:
    """Every machine that live work ever had in this account and region, by the journals beside the state; of one in a
    bucket also by those that all had together, which do not say whose they are."""
    scope, found = here.patience().ask(here.cloud.scope), dict[str, MachineRental]()
    mine = directory_at(here.where)
    for path in sorted({path for one in (mine, mine.with_name(DIRECTORY)) for path in one.glob("journal*.jsonl")}):
        known = read_journal(path)
        where = known.live
        if where is None or (path.parent != mine and where.state):
            continue
        if (where.cloud, where.account, where.region) != (scope.cloud, scope.account, scope.region):
            continue
        fold = fold_of(known)
        standing = (rental_of(machine) for machine in fold.standing.values())
        for rental in (*fold.rented, *standing):
            if rental is not None and (rental.resource not in found or found[rental.resource].end is None):
                found[rental.resource] = rental
    return tuple(found.values())


def others_at_work(here: LiveGround, lineage: str) -> tuple[Machine, ...]:
    """Machines of this project that run for live work of another journal than that of a lineage; none where the cloud
    does not answer: the loop says so, and asks on. StoppedError where somebody asks for an end meanwhile."""
    try:
        every = here.patience(here.is_stopped).ask(lambda: here.cloud.machines(""))
    except CloudError:
        return ()
    project = here.loaded.config.live.project
    found = (m for m in every if m.is_of_live_work and m.state.is_live and m.lineage != lineage)
    return tuple(m for m in found if m.tags.get(TAG_PROJECT) == project)
