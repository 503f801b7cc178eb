"""``hcloud profile run --cloud``: measure an application on a machine that is launched for it and always ended."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from shlex import quote
from typing import cast
from uuid import uuid4

from hcloud.control.ports import Console, MendableStore
from hcloud.errors import DeniedByGuardError, HcloudError, LockedError, NotFoundError, PartialError
from hcloud.live.applying.apply import apply, destroy, ends_of_all
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyResult
from hcloud.live.collect import EXPIRY_FORM
from hcloud.live.observe import observe
from hcloud.live.site import Site, WaitLimits
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.change import ChangeSet, Slot
from hcloud.model.holdings.live import LaunchTemplate, MachineState
from hcloud.model.measured.app import App
from hcloud.model.measured.profile import Profile, merged
from hcloud.planning.changes.diff import DiffInputs, changes
from hcloud.planning.changes.digest import signed
from hcloud.profiling.parcel import Parcel, ParcelError, check_no_secrets, complaint, opened, shown, start_up
from hcloud.profiling.session import ProfilingSession
from hcloud.readers.applications.profiles import load_profile
from hcloud.store.files.lock import FileLock
from hcloud.store.files.place import STATE
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.profiles import save_profile
from hcloud.usecases.live.connect import FAKE
from hcloud.usecases.live.ground import PROBES, LiveGround
from hcloud.usecases.live.launch_template import looked_up, types_coming, without_user_data
from hcloud.usecases.live.state import open_intents, open_store
from hcloud.usecases.measuring.profile_run import ProbeRequest, ProfileRun, earlier, file_name

ADDRESS = "profile"
MEASURING = "measuring"
MAX_DOLLARS = Decimal(1)  # ours: where nobody says
SET_UP_SECONDS = 900.0  # ours: to boot, to install, and until a console is told
END_SECONDS = 120.0  # ours: of what an end costs
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS, LOOKS_GROW = 1.0, 15.0, 1.3  # ours
SECONDS_PER_HOUR = Decimal(3600)
EXPIRES_AFTER = timedelta(hours=2)  # ours: beyond the time it may take; by then nobody can be using it any more


class NoMachineError(HcloudError):
    """There is no machine to measure on; the exit code is that of the apply which was to launch it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message, hint="another --instance-type, or live.zones of hcloud.yaml")
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Errand:
    """What is measured, where to, on which type (None: a small one), and for how many dollars at most."""

    app: App
    probing: ProbeRequest
    target: Path
    instance_type: str | None = None
    max_dollars: Decimal = MAX_DOLLARS


@dataclass(frozen=True, slots=True)
class Fare:
    """What the machine costs an hour, how long it may stand, and how many dollars that may be."""

    instance_type: str
    hourly: Decimal
    seconds: float
    max_dollars: Decimal

    def cost(self, seconds: float) -> Decimal:
        """Dollars for so long."""
        return self.hourly * Decimal(math.ceil(max(seconds, 60.0))) / SECONDS_PER_HOUR

    @property
    def most(self) -> Decimal:
        """Dollars for all the time it may take."""
        return self.cost(self.seconds + END_SECONDS)


def fare_of(ground: LiveGround, errand: Errand) -> Fare:
    """What it may come to; DeniedByGuardError where that is more than allowed, EvidenceError without a price."""
    cloud = CLOUDS.get(ground.place.provider)
    small = "small" if cloud is None else cloud.small_type  # its speed does not depend on what it did before (ours)
    name = errand.instance_type or small
    seconds = errand.app.limits.total_seconds + SET_UP_SECONDS
    fare = Fare(name, ground.price(name), seconds, errand.max_dollars)
    if fare.most > fare.max_dollars:
        raise DeniedByGuardError(
            f"{name} at ${fare.hourly}/h may cost ${fare.most:.4f}, and ${fare.max_dollars} are allowed",
            hint="a higher --max-dollars, a shorter --time-cap, or another --instance-type",
        )
    return fare


def profile_on_cloud(
    ground: LiveGround, errand: Errand, advance: Callable[[float], None], stop: Callable[[], bool]
) -> ProfileRun:
    """Launch, measure, end. Whatever happens in between, the machine's end is asked for and confirmed.

    Raises PartialError where that cannot be done, with what ends it then.
    """
    fare, before = fare_of(ground, errand), earlier(errand.target, ProfilingSession(errand.app, ()).profile())
    nonce = uuid4().hex[:16]
    script = start_up(errand.app, _flags(errand.probing), nonce)
    check_no_secrets(script, os.environ)
    folder = ground.beside / PROBES / nonce
    with _own_site(ground, folder, stop) as site, _executing(ground):
        trip = Trip(site, folder, fare, nonce, advance, partial(_launched_with, ground))
        try:
            parcel = trip.wait(trip.launch(_slot(ground, site, fare, script)))
        finally:
            trip.end()
    found = _named(_profile(parcel, errand), _machine_name(ground, fare.instance_type))
    found = merged(before, found) if before else found
    save_profile(found, errand.target)
    return ProfileRun(found, errand.target)


def _machine_name(ground: LiveGround, instance_type: str) -> str:
    """Provider and type; what was rehearsed is not taken for what was measured."""
    name, endpoint = f"{ground.place.provider}/{instance_type}", ground.cloud.scope().endpoint
    if ground.selection.startswith(FAKE):
        return f"fake {name}"
    return f"{name} at {endpoint}" if endpoint and not ground.is_local else name


def _flags(probing: ProbeRequest) -> tuple[str, ...]:
    return ("--resources", ",".join(probing.resources) or "none", "--seed", str(probing.seed))


def _slot(ground: LiveGround, site: Site, fare: Fare, script: str) -> Slot:
    over = datetime.fromtimestamp(site.clock.now() + fare.seconds, UTC) + EXPIRES_AFTER
    zones = ground.loaded.config.live.zones or ground.zones(fare.instance_type)
    expires = over.strftime(EXPIRY_FORM)
    return Slot(ADDRESS, fare.instance_type, tuple(zones), 1, fare.hourly, start_up=script, expires=expires)


def _launched_with(ground: LiveGround, found: ChangeSet) -> LaunchTemplate:
    """What the machine is launched with, which is noted with its order: asked for again, it is the same."""
    made = without_user_data(ground.loaded, ground.cloud, types_coming(found), found.base.lineage)
    return looked_up(ground.cloud, made)


@contextmanager
def _own_site(ground: LiveGround, folder: Path, stop: Callable[[], bool]) -> Iterator[Site]:
    """A state of its own, which is there until the machine is known to be gone: then nothing is left to remember."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    PrivateDirectory(folder).make()
    store: MendableStore = open_store(str(folder))
    site = replace(ground.site(stop=stop), store=store, waits=WaitLimits(ready=0.0))
    with FileLock(PrivateDirectory(folder / MEASURING)).hold("hcloud profile run"):
        try:
            yield site
        finally:
            with suppress(HcloudError, OSError):
                _clear(store, folder)


def end_left(ground: LiveGround, stop: Callable[[], bool]) -> Iterator[str]:
    """End what runs that were killed here left, each by its own state: what came of each, in a sentence.

    A run writes its state once it holds its lock: a folder without one may be of a run that begins."""
    for folder in sorted(known.parent for known in (ground.beside / PROBES).glob(f"*/{STATE}")):
        try:
            with _own_site(ground, folder, stop) as site:
                ended = _end(site, folder)
        except LockedError:
            continue  # it measures yet
        except HcloudError as error:
            yield f"{error}; {error.hint}" if error.hint else str(error)
            continue
        if ended:
            yield f"terminated {', '.join(ended)}: a measurement that was killed left it running"


def _clear(store: MendableStore, folder: Path) -> None:
    """Remove a state that remembers nothing and waits for nothing; any other stays, to be gone on with."""
    state = store.load()
    if open_intents(store) or not folder.is_dir() or (state is not None and state.records):
        return
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()


@contextmanager
def _executing(ground: LiveGround) -> Iterator[None]:
    """In a rehearsal in memory, the machine is a process of this one as long as this verb runs."""
    from hcloud.fake.in_memory.memory import MemoryCloud

    with ExitStack() as stack:
        if isinstance(ground.cloud, MemoryCloud):
            from hcloud.fake.execute import Executor
            from hcloud.profiling.local.machines import passing_host

            host = stack.enter_context(passing_host())
            stack.enter_context(Executor(ground.cloud.ledger, ground.cloud.clock, host, ground.size_of))
        yield


@dataclass(slots=True)
class Trip:
    """One machine from its order to its end."""

    site: Site
    folder: Path
    fare: Fare
    nonce: str
    advance: Callable[[float], None]
    launched_with: Callable[[ChangeSet], LaunchTemplate]
    began: float = field(default=0.0)
    last: str = field(default="")

    def launch(self, slot: Slot) -> str:
        """Order it as anything is ordered: noted, tagged, once. Returns its id."""
        self.began = self.site.clock.passed()
        terms = DiffInputs(beside=True)
        found = changes((slot,), observe(self.site), terms)
        found = signed(replace(found, template=self.launched_with(found)))
        outcome = apply(self.site, found, ChangeApproval(hourly=None), terms)
        if outcome.launched and outcome.error is None:
            return outcome.launched[0]
        if outcome.error is not None:
            raise outcome.error
        tried = "; ".join(t for s in outcome.shortfalls for t in s.tried) or "; ".join(outcome.problems)
        raise NoMachineError(
            f"no {self.fare.instance_type} to measure on: {tried or outcome.result}", outcome.exit_code
        )

    def wait(self, machine: str) -> Parcel:
        """Look at the console until the result is there; ends early where the machine, the time or the money does."""
        patience, delay = self.site.patience(), FIRST_LOOK_SECONDS
        while True:
            self._check(self._spent())
            patience.expect(2)
            self.last = patience.ask(lambda: self._console(machine)) or self.last
            parcel = opened(self.last, self.nonce)
            if parcel is not None:
                return parcel
            seen = patience.ask(lambda: self.site.cloud.look([machine]))
            if any(m.state in (MachineState.ENDED, MachineState.STOPPING, MachineState.STOPPED) for m in seen):
                raise ParcelError(f"{machine} ended before it had measured anything{self._said()}")
            patience.pause(delay)
            delay = min(delay * LOOKS_GROW, LONGEST_LOOK_SECONDS)

    def _console(self, machine: str) -> str:
        try:
            return cast("Console", self.site.cloud).console(machine)
        except NotFoundError:
            return ""  # not told of yet

    def _spent(self) -> float:
        seconds = self.site.clock.passed() - self.began
        self.advance(min(seconds / self.fare.seconds, 1.0))
        return seconds

    def _check(self, seconds: float) -> None:
        if self.fare.cost(seconds + END_SECONDS) > self.fare.max_dollars:
            raise DeniedByGuardError(f"${self.fare.max_dollars} are spent and nothing came back{self._said()}")
        if seconds > self.fare.seconds:
            raise ParcelError(f"nothing came back in {seconds:.0f} s{self._said()}")

    def _said(self) -> str:
        return f"; the console ends with: {shown(self.last)}" if self.last.strip() else "; its console shows nothing"

    def end(self) -> None:
        """End it, whatever somebody asked for meanwhile; PartialError where nobody knows whether it ended."""
        _end(replace(self.site, stop=lambda: False), self.folder)


def _end(site: Site, folder: Path) -> Sequence[str]:
    """End all of a state, and tell what; PartialError where nobody knows whether it ended."""
    try:
        if site.store.load() is None and not site.store.journal().entries():
            return ()
        found = ends_of_all(site)
        outcome = destroy(site, found, ChangeApproval(ends=len(found.going)))
        if outcome.result is ApplyResult.CONVERGED:
            return outcome.ended
        why = str(outcome.error or "; ".join(outcome.problems) or outcome.result)
    except HcloudError as raised:
        why = str(raised)
    raise PartialError(
        f"the machine that was measured on may still run: {why}",
        hint=f"hcloud destroy --state {quote(str(folder))} --ends 1; or hcloud gc, which says how to terminate it",
    )


def _profile(parcel: Parcel, errand: Errand) -> Profile:
    """What came back, read as strictly as any profile, and of this application."""
    if not parcel.profile.strip():
        raise ParcelError(f"measuring failed there with exit code {parcel.exit_code}: {complaint(parcel)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file_name(errand.app.name)
        path.write_text(parcel.profile, encoding="utf-8", errors="replace")
        found = load_profile(path)
    if found.app != errand.app.name or found.command != errand.app.command:
        raise ParcelError(f"the profile that came back is of {shown(found.app)}, not of {errand.app.name}")
    return found


def _named(profile: Profile, machine: str) -> Profile:
    """The same measured on a machine of this name; what it says of itself becomes a note."""
    told = sorted({m.machine for columns in profile.entries.values() for m in columns.values()})
    entries = {a: {c: replace(m, machine=machine) for c, m in cs.items()} for a, cs in profile.entries.items()}
    failures = {a: {c: replace(f, machine=machine) for c, f in cs.items()} for a, cs in profile.failures.items()}
    notes = (*profile.notes, *(f"measured on {machine}: {shown(name)}" for name in told))
    return replace(profile, entries=entries, failures=failures, notes=notes)
