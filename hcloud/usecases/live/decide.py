"""``hcloud decide``: the policy on a live stream of lines, with state that outlives the process in a journal."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import Any

from hcloud.control.sessions.session import ControlSession
from hcloud.errors import HcloudError, InputError, UsageError, writing
from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.running.decision import Decision, GoneOn
from hcloud.model.running.event import EventError
from hcloud.model.running.strategy import Strategy
from hcloud.policy.facts import Setup
from hcloud.policy.registry import compose, rents_whole_servers, rule_of, sizing_of
from hcloud.policy.repair import EMPTY_SERVER, IN_PLACE
from hcloud.policy.rules import Rules
from hcloud.readers.strategies import AUTOSCALED, load_strategy
from hcloud.sim.machine_code.compiled import many_at_a_time
from hcloud.store.files.lock import claim
from hcloud.store.journals.decisions import decision_document
from hcloud.store.journals.events import from_line, parse_event, to_line
from hcloud.store.journals.journal import (
    JournalContents,
    check_target,
    entry_line,
    header_line,
    read_header,
    read_journal,
)
from hcloud.store.journals.resume_point import EVERY, read_point, save_point
from hcloud.usecases.live.replaying import Replayed, followed

Kernels = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class StreamMarket:
    """What can be rented: a provider's families, or (where ``provider`` is None) the types of the thesis; or the
    user's own ``types``. ``large`` is the vCPUs of what is reserved, where not those of the thesis."""

    provider: Provider | None = None
    region: str | None = None
    families: tuple[str, ...] = ()
    cloud: str | None = None
    types: Path | None = None
    large: int | None = None


def live_strategy(name: str) -> Strategy:
    """The strategy of a name; UsageError for one that states how much jobs are given: live ones get what they ask."""
    strategy = load_strategy(name)
    if sizing_of(strategy) is not None:
        raise UsageError(
            f"{strategy.name}: a rule of sizing is for simulations; live jobs get the size that they ask for",
            hint="'hcloud size app.yaml' says what a target takes",
        )
    if strategy.mechanism("monitoring").rule == AUTOSCALED:
        raise UsageError(
            f"--watching {AUTOSCALED} is for simulations; a live service runs on one server",
            hint="--watching adjust-to-target gives it more of that server, or moves it",
        )
    if getattr(rule_of(strategy, "monitoring"), "measured_on", IN_PLACE) != IN_PLACE:
        raise UsageError(
            f"{strategy.name}: measured_on {EMPTY_SERVER} is for simulations; live jobs are measured where they run",
            hint=f"leave it out, or write {IN_PLACE}",
        )
    return strategy


def live_rules(strategy: Strategy, large: int) -> Rules:
    """The numbers of a strategy for live jobs: nobody divides the requests to a service among servers."""
    return compose(strategy, large)._replace(most_servers=1)


def make_setup(name: str, pool: int, market: StreamMarket, start: float | None = None) -> Setup:
    """What the controller is told before the first event. Raises UsageError where strategy and pool do not fit."""
    strategy = live_strategy(name)
    reserves = strategy.follows("reserved")
    if reserves != (pool > 0):
        raise UsageError(
            f"{strategy.name} {'needs a reserved pool' if reserves else 'reserves nothing'}; --pool is {pool}",
            hint="--pool N states the reserved servers" if reserves else "leave --pool out",
        )
    return replace(setup_in(strategy, pool, market), start=start)


def setup_in(strategy: Strategy, pool: int, market: StreamMarket) -> Setup:
    """The same with as many reserved servers as a plan says: a hybrid's may be none."""
    return _own(strategy, pool, market.types) if market.types else _bought(strategy, pool, market)


def _compose(strategy: Strategy, large: int) -> Rules:
    try:
        return live_rules(strategy, large)
    except ValueError as error:
        raise UsageError(f"{strategy.name}: {error}", hint="state the threshold as an absolute quality") from None


def _own(strategy: Strategy, pool: int, path: Path) -> Setup:
    from hcloud.readers.rentable_types import read_types

    types, large = read_types(path)
    whole = rents_whole_servers(strategy)
    return Setup(strategy.name, strategy.digest(), _compose(strategy, large), whole, pool, None, types)


def _bought(strategy: Strategy, pool: int, market: StreamMarket) -> Setup:
    from hcloud.readers.clouds import PAPER, load_cloud
    from hcloud.readers.prices.shipped.bundled import load_bundled
    from hcloud.sim.setup.build import Setting, rental_kinds
    from hcloud.sim.setup.shop import ShopChoice, open_shop, shop_for
    from hcloud.usecases.studies.journal import setup_of
    from hcloud.usecases.studies.simulation import LARGE_VCPUS

    wanted, cloud = ShopChoice.paper(), market.cloud or PAPER
    if market.provider is not None:
        if market.region is None:
            raise UsageError(f"--provider {market.provider} needs --region")
        families = market.families or CLOUDS[market.provider].series
        wanted = ShopChoice(market.provider, market.region, families, market.large or LARGE_VCPUS)
        cloud = market.cloud or f"measured-{market.provider}"
    book = load_bundled(providers={wanted.provider}, regions={wanted.region}, systems={wanted.os})
    shop = shop_for(open_shop(book, wanted), strategy)
    kinds = rental_kinds(Setting(strategy, load_cloud(cloud), shop, pool, 0))
    return setup_of(strategy, _compose(strategy, shop.large), kinds, shop, pool)


class DecisionStream:
    """Lines of events in, lines of decisions out; each is in the journal, where there is one, before it is out. The
    journal has ``place`` bytes with so many ``events``; a restart begins from what was ``saved`` at that byte, which is
    done anew ``every`` so many bytes.
    """

    def __init__(
        self, session: ControlSession, file: FileIO | None = None, path: Path | None = None, *, durable: bool = False
    ) -> None:
        self._session, self._file, self._path, self._durable = session, file, path, durable
        self.place = self.events = self.saved = 0
        self.every = EVERY

    def close(self) -> None:
        """Let go of the journal."""
        if self._file is not None:
            self._file.close()

    def answer(self, line: str) -> str:
        """The lines that answer one; raises EventError where it is no event or one that cannot be."""
        event = parse_event(from_line(line))
        told = "".join(to_line(decision_document(d)) for d in self._session.handle(event))
        if self._file is not None:
            text = entry_line(event) + told
            append(self._file, text, durable=self._durable)
            self.place, self.events = self.place + len(text.encode()), self.events + 1
            self.keep_point()
        return told

    def keep_point(self) -> None:
        """Keep a point that a restart can begin from, if the last one is long ago."""
        if self._path is not None and self.place - self.saved >= self.every:
            save_point(self._path, self.place, self.events, self._session.now, self._session.snapshot())
            self.saved = self.place


def append(file: FileIO, text: str, *, durable: bool) -> None:
    """Add lines to a journal in one write; raises FileError where the disk does not take all of them."""
    data = text.encode()
    with writing(file.name, "free some space, then start again: it goes on from the last whole line"):
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if durable:
            os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """A stream that is ready, and where it goes on."""

    stream: DecisionStream
    gone_on: GoneOn = field(default_factory=GoneOn)


def open_stream(
    setup: Setup | None, kernels: Kernels, path: Path | None, *, durable: bool = False, retell: int = 0
) -> OpenedStream:
    """A fresh stream, or the one that the journal at ``path`` holds; of that the decisions of the last ``retell``
    events are told again, since a crash may have kept them from being read.

    Raises UsageError where the journal is of another set-up, InputError where it cannot be read or replayed.
    """
    if path is not None:
        check_target(path)
        if path.exists() and path.stat().st_size > 0:
            opened = _claimed(path, lambda file: _resume(setup, kernels, file, path, durable=durable))
            if retell:
                untold = _told_last(read_journal(path), retell)
                return replace(opened, gone_on=replace(opened.gone_on, untold=untold))
            return opened
    if setup is None:
        raise UsageError("a new stream needs --strategy", hint="SR, OdF, OdM, HF, HM, HC or the path of a file")
    session = ControlSession(setup, kernels)
    if path is None:
        return OpenedStream(DecisionStream(session))

    def begun(file: FileIO) -> OpenedStream:
        first = header_line(setup)
        append(file, first, durable=durable)
        stream = DecisionStream(session, file, path, durable=durable)
        stream.place = len(first.encode())
        return OpenedStream(stream)

    return _claimed(path, begun)


def _claimed(path: Path, use: Callable[[FileIO], OpenedStream]) -> OpenedStream:
    """The journal opened to add to, and handed on; HcloudError where another process has it: two would each tell their
    own story."""
    refused = HcloudError(f"{path}: another hcloud decide works with it", hint="end it first, or name another file")
    file = FileIO(path, "a")
    try:
        claim(file, refused)
        return use(file)
    except BaseException:
        file.close()
        raise


def _resume(setup: Setup | None, kernels: Kernels, file: FileIO, path: Path, *, durable: bool) -> OpenedStream:
    known, live = read_header(path)
    if live is not None:
        raise UsageError(f"{path}: the journal of live work", hint="'hcloud operate' is using it; choose another file")
    if setup is not None and replace(setup, start=known.start) != known:
        hint = "name another file, or leave --strategy out: the journal goes on with its own"
        raise UsageError(f"{path}: the journal of another strategy, pool or list of types", hint=hint)
    resumed = _gone_through(path, known, kernels)
    untold = "".join(to_line(decision_document(d)) for d in resumed.untold)
    torn = resumed.whole < path.stat().st_size
    os.truncate(path, resumed.whole)
    append(file, untold, durable=durable)
    stream = DecisionStream(resumed.session, file, path, durable=durable)
    stream.place, stream.events, stream.saved = resumed.whole + len(untold.encode()), resumed.events, resumed.saved
    stream.keep_point()
    return OpenedStream(stream, GoneOn(untold, resumed.events, resumed.last, torn))


def _gone_through(path: Path, setup: Setup, kernels: Kernels) -> Replayed:
    """The controller after its journal, from the point that was kept last, or from the beginning."""
    kept = read_point(path)
    if kept is not None:
        point, data = kept
        try:
            session = ControlSession.restored(setup, kernels, data)
        except InputError:
            pass  # of a version that decided otherwise
        else:
            begun = Replayed(session, point.bytes, point.events, point.last, point.bytes)
            return followed(path, begun, lambda: many_at_a_time(kernels))
    with path.open("rb") as file:
        first = len(file.readline())
    return followed(path, Replayed(ControlSession(setup, kernels), first), lambda: many_at_a_time(kernels))


def _told_last(journal: JournalContents, events: int) -> str:
    """The lines of the decisions that the last so many events brought."""
    places = [at for at, entry in enumerate(journal.entries) if not isinstance(entry, Decision)]
    first = places[max(len(places) - events, 0)] if places else 0
    told = (e for e in journal.entries[first:] if isinstance(e, Decision))
    return "".join(to_line(decision_document(decision)) for decision in told)


def replay(journal: JournalContents, kernels: Kernels) -> tuple[ControlSession, list[Decision]]:
    """A fresh controller after the events of a journal, and all that it decided."""
    if journal.before is None:
        session = ControlSession(journal.setup, kernels)
    else:
        session = ControlSession.restored(journal.setup, kernels, journal.before.session)
    return session, [decision for event in journal.events for decision in _again(session, event)]


def _again(session: ControlSession, event: Any) -> list[Decision]:
    try:
        return session.handle(event)
    except EventError as error:
        raise InputError(f"the journal contains an impossible event: {error}") from None
