"""What the live half needs of the world: a cloud, a clock, and a place to note what is about to be done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from hcloud.model.holdings.live import (
    Commitment,
    CommitmentOrder,
    CommitmentQuote,
    Launch,
    LaunchOutcome,
    LaunchTemplate,
    Machine,
    Notice,
    Quota,
    Scope,
    Terminated,
)
from hcloud.model.holdings.state import Conclusion, Intent, LockInfo, Remains, State
from hcloud.model.report import MachineRental
from hcloud.model.running.job import EngineView, JobOrder, JobPlace, MachineRole, NewJobs

Crash = Callable[[str], None]
"""Called at every point at which a crash would be interesting, with its name (``apply.intent.fsynced``): tests end the
process there, in life it does nothing."""


class Clock(Protocol):
    """Time as it is told, time as it passes, and waiting."""

    def now(self) -> float:
        """Seconds since 1970 in UTC; may jump. Nothing that has to be unique is derived from it."""

    def passed(self) -> float:
        """Seconds since some moment; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


Stop = Callable[[], bool]
"""Whether somebody asked for an end."""
SLICE_SECONDS = 0.5
"""Ours: how soon a wait notices that."""
LATER = "waiting: the cloud asks for a retry later"


class Tell(Protocol):
    """Tells people something; ``at_once`` where it must not wait for its turn."""

    def __call__(self, text: str, *, at_once: bool = False) -> None: ...


def silent(text: str, *, at_once: bool = False) -> None:
    """Tell nobody."""


def never() -> bool:
    """Nobody asks for an end."""
    return False


class Account(Protocol):
    """One account in one region of one cloud, as every port to it knows it.

    A provider may repeat for some seconds what was throttled, but for an order or a purchase. It retries nothing else,
    so that one place decides about patience for all threads.
    Every method raises, of hcloud.errors, CredentialsError (expired, missing, of no account), DeniedError,
    ThrottledError (with what the cloud says about when to come back) and RefusedError (the request itself is wrong).
    Those that only read raise UnavailableError where no answer came that could be understood; those that change
    something raise UnknownOutcomeError there, since the cloud may have acted. Unknown fields, states and enums in
    answers are tolerated; an unknown state is not an ended machine.
    """

    def scope(self) -> Scope:
        """Who and where we are, asked of the cloud itself (one call, then remembered)."""


class Compute(Account, Protocol):
    """Machines that are rented: launched, ended and looked at."""

    @property
    def launch_seconds(self) -> float:
        """How long ``launch`` waits at most for what the cloud has accepted; 0 where the answer holds the machines."""

    def template(self, instance_types: Sequence[str]) -> LaunchTemplate:
        """What machines of these types are launched with by the provider's settings; images by name, nothing asked."""

    def image(self, name: str) -> str:
        """The id that the name of an image stands for now; NotFoundError where there is none."""

    def launch(self, order: Launch) -> LaunchOutcome:
        """Start what is ordered, with its tags, in one call; sent again with the same key it gives the same machines.

        Where the order has a template, that says what they are made of, and the provider's own settings do not.

        Fewer than ordered are returned with ``missing``. What is returned was made for this order, by this request or
        one before it. Raises NoCapacityError where there is not one, QuotaError with the quota's name, MismatchError
        where the key was used for another order before, or bears machines that are another's or of another kind.
        """

    def under_key(self, order: Launch) -> tuple[Machine, ...]:
        """What the cloud has under the key of an order (its token, or its names), whoever made it and of whatever kind;
        each machine examined."""

    def terminate(self, ids: Sequence[str]) -> Terminated:
        """End machines and everything that was made for them, in as few calls as the cloud allows."""

    def machines(self, lineage: str) -> tuple[Machine, ...]:
        """All machines with this tag of ours, every page of them, ended ones too as long as the cloud tells of them.

        An empty lineage asks for those of any. Raises rather than returning a part.
        """

    def look(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """These machines, tagged or not, in as few calls as there may be: what it shows may be as late as any list.
        Those the cloud does not know are left out; those of which it says that they ended (taken away, or deleted by
        somebody) are told as ended."""

    def examine(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """Each of these asked about by its own id, and never taken from a list, which may be minutes behind; those the
        cloud does not know are left out, or told as ended where it accepted their end from here."""

    def notices(self, lineage: str) -> tuple[Notice, ...]:
        """What the cloud said about machines with this tag of ours that it takes away, or that its maintenance will
        interrupt, in as few calls as there may be; machines of others may be among them."""

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """The zones of the region where a type is offered, sorted; NotFoundError for a type there is not."""

    def quotas(self, instance_type: str) -> tuple[Quota, ...]:
        """The limits that a launch of this type counts against."""


class Commitments(Account, Protocol):
    """What is committed to: what is held, what is offered, and buying, which one place alone does."""

    def commitments(self) -> tuple[Commitment, ...]:
        """All commitments of the account that count in this region, ended ones too as long as the cloud tells."""

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        """What a commitment costs now. Raises NotFoundError where it is not sold; buys nothing."""

    def buy(self, quote: CommitmentQuote) -> Commitment:
        """Buy exactly what was quoted, at no higher price. Never sent twice by itself; UnknownOutcomeError where the
        answer is lost. Where the provider takes a key, the same key again gives the same purchase."""

    def cancel(self, commitment: str) -> None:
        """Give back or dequeue a commitment where the provider allows it; RefusedError with its words where not."""


class Cloud(Compute, Commitments, Protocol):
    """Both: what a provider is. Who acts on a cloud takes one of the two, so that nothing that launches can buy."""


class Journal(Protocol):
    """Intents and their conclusions since the state was last written."""

    def intend(self, intent: Intent) -> None:
        """Note what is about to be asked; returns when it will outlast a crash, raises HcloudError where it will not:
        then nothing may be asked."""

    def conclude(self, conclusion: Conclusion) -> None:
        """Note what came of it, as lastingly."""

    def entries(self) -> tuple[Intent | Conclusion, ...]:
        """All of it in order. A torn last line is left out (what it would have said was not asked yet); damage
        anywhere else raises InputError."""

    def next_number(self) -> int:
        """A number that no intent of this journal has."""

    def trim(self, upto: int) -> None:
        """Forget intents up to a number that are concluded and in a state that was written; open ones stay."""


class RentalLog(Protocol):
    """What was rented from when to when, as the states that were saved tell it."""

    def usages(self) -> tuple[MachineRental, ...]:
        """All rentals, by id and start; InputError where the log is damaged."""

    def running(self, lineage: str) -> tuple[MachineRental, ...]:
        """Those of a state that have no end yet."""


class StateStore(Protocol):
    """Where the state is kept: a file, or an object in a bucket."""

    def load(self) -> State | None:
        """The state; None where there never was one (no file, no copy, no journal). InputError where there was and it
        cannot be read, is empty or damaged, or is of a later version: never taken for a new beginning."""

    def save(self, state: State) -> State:
        """Write ``state`` as the successor of the stored one and return it with its new serial; StaleError where the
        stored serial is not ``state.serial`` any more. Before that, the log of rentals says what it says of machines,
        and of those that departed, who are not part of what is returned."""

    def locked(self, purpose: str) -> AbstractContextManager[LockInfo]:
        """Hold it; LockedError names the one who does. A holder that is dead (of this machine) is replaced."""

    def journal(self) -> Journal:
        """The journal beside it."""

    def rentals(self) -> RentalLog:
        """The log of rentals beside it."""


class MendableStore(StateStore, Protocol):
    """A store that a person can also set right: what ``recover`` and ``state push|force-unlock`` need."""

    def overwrite(self, state: State) -> State:
        """Write ``state`` whatever stands there, damaged or of another lineage, with a serial above all before it; what
        it replaces is kept beside it, a journal that cannot be read or is of another lineage too."""

    def remains(self) -> Remains:
        """What can still be made out of what stands there; never raises for damage."""

    def holder(self) -> LockInfo | None:
        """Who holds it now; None where nobody does."""

    def unlock(self, lock: str) -> LockInfo:
        """Take the lock with this id away from its holder, who is refused whatever it does with the state from then on;
        UsageError where that is not the lock's id."""


class Console(Protocol):
    """What a cloud can be asked of a machine's screen."""

    def console(self, machine: str) -> str:
        """What a machine has written to its console, as far as the cloud tells of it; empty where it does not (yet).

        Reads only. Raises NotFoundError for a machine the cloud does not know, and what reads raise (see Cloud).
        """


@dataclass(frozen=True, slots=True)
class Size:
    """How much of this machine a process may have."""

    vcpus: int
    memory_gib: float


class Host(Protocol):
    """This machine, where a machine is a group of processes: its start-up script, and something that waits after it."""

    def size(self) -> Size:
        """How large this machine is."""

    def start(self, names: Sequence[str], script: str, size: Size) -> None:
        """Run a script in machines of these names, each within a size as far as this machine can limit it; they go on
        when whoever asked for them is gone. Nothing happens with those that were started before."""

    def started(self, names: Collection[str]) -> frozenset[str]:
        """Those of them that were ever started here, and not ended since."""

    def alive(self) -> frozenset[str]:
        """The machines of which anything runs."""

    def console(self, name: str) -> str:
        """What its script has printed."""

    def end(self, names: Collection[str]) -> None:
        """End everything of these machines; when it returns nothing of them runs."""


class JobSource(Protocol):
    """Where jobs come from: a file that is followed, or an engine's own queue."""

    def new(self) -> NewJobs:
        """What came since the last call; after a restart all that is still of interest may be told again. Raises
        UnavailableError where it cannot be asked at the moment, InputError for what can never be read."""


class Engine(Protocol):
    """What runs jobs on machines. Everything may be said again: what was done already is not done twice."""

    def joining(self, role: MachineRole) -> str:
        """The start-up script that makes a machine join; empty where it needs none. Holds no secret."""

    def look(self) -> EngineView:
        """What runs and what ended, of all attempts it was told of and not told to forget. Raises UnavailableError
        where the engine does not answer: nothing follows from that."""

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        """Let an attempt of a job run on a machine; returns when that will outlast a crash of this process. An attempt
        is begun once however often this is said."""

    def stop(self, job: str, attempt: int) -> None:
        """End an attempt with all its processes; it is told as ended (or LOST) when nothing of it is left."""

    def resize(self, job: str, attempt: int, cores: int) -> None:
        """Let a running attempt use so many thousandths of a vCPU, where the engine can; else nothing happens."""

    def warn(self, instance: int, why: str) -> None:
        """The cloud said that it takes a machine away: an engine that others give jobs to lets nothing new begin on it;
        what runs goes on."""

    def let_go(self, instance: int) -> None:
        """A machine is about to be ended: nothing new begins on it, and the engine forgets it when it is gone."""

    def forget(self, job: str) -> None:
        """Nobody will ask about this job again."""

    def wait(self, seconds: float) -> None:
        """Return when something happened that is worth a look, after so many seconds at the latest."""
