"""This machine as a cloud: real processes, in a directory of their own for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

from contract.rig import Ability, Rig, Words
from hcloud.control.ports import Cloud, Size
from hcloud.fake.clock import FakeClock
from hcloud.fake.ledger import RecordedRequest, Rented
from hcloud.fake.server import FakeCloud
from hcloud.profiling.cage import Hierarchy
from hcloud.profiling.local.machines import ProcessHost
from hcloud.providers.local.provider import LocalCloud
from hcloud.providers.local.registry import Note, Registry
from hcloud.providers.local.settings import LocalSettings

ENOUGH = Size(100_000, 100_000.0)


@dataclass(slots=True)
class Judge:
    """Stands where fakes stand: looks into the directory and at the processes, and acts behind the provider's back."""

    directory: Path
    host: ProcessHost
    name: str = "local"
    clock: FakeClock = field(default_factory=lambda: FakeClock(1_796_000_000.0, speed=0.0))
    ledger: object = field(default_factory=lambda: SimpleNamespace(requests=[], purchases={}))

    @property
    def registry(self) -> Registry:
        return Registry(self.directory)

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's change."""
        given = change.get("tags")
        tags = {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
        if "launch" in change:
            name = f"foreign-{len(self.registry.all())}"
            with self.registry.held():
                self.registry.add(Note(name, str(change["launch"]), "local-a", self.clock.now(), tags))
            self.host.start([name], "", Size(1, 1.0))
        elif "terminate" in change:
            self.host.end([str(change["terminate"])])
        elif (note := self.registry.get(str(change.get("retag")))) is not None:
            self.registry.change(replace(note, tags=tags))
        return {}


class LocalRig(Rig):
    """Without control groups: a thousand of them say nothing more. Nothing of this cloud is a request."""

    name = "local"
    abilities = frozenset({Ability.KEYS, Ability.START_UP})
    words = Words(launch="launch", terminate="terminate", list="machines", reads=("*",))
    type_name = "small"
    zones = ("local-a", "local-b")
    unknown_id = "hc-nobody-0"
    many = 60  # each is a process

    _judge: Judge

    @property
    def fake(self) -> FakeCloud:
        return self._judge  # type: ignore[return-value]  # it answers to no wire

    def open(self) -> None:
        """Every test has a directory of its own."""
        self._folders: list[Path] = []

    def close(self) -> None:
        self._clear()

    def _clear(self) -> None:
        for folder in self._folders:
            self._judge.host.end(self._judge.host.alive())
            shutil.rmtree(folder)
        self._folders.clear()

    def reset(self) -> None:
        self._clear()
        folder = Path(tempfile.mkdtemp())
        self._folders.append(folder)
        self._judge = Judge(folder / "machines", ProcessHost(folder / "running", Hierarchy(0)))

    def cloud(self, principal: str = "") -> Cloud:
        settings = LocalSettings(self._judge.directory, ENOUGH, self.zones)
        return LocalCloud(settings, self._judge.clock, self._judge.host)

    def rented(self) -> tuple[Rented, ...]:
        return tuple(self._rented(note) for note in self._judge.registry.all())

    def live(self) -> tuple[Rented, ...]:
        alive = self._judge.host.alive()
        return tuple(m for m in self.rented() if m.id in alive)

    def requests(self, operation: str = "", *, mutating: bool = False) -> tuple[RecordedRequest, ...]:
        return ()

    def _rented(self, note: Note) -> Rented:
        at = note.launched
        script = self._judge.host.script(note.id)
        detail: dict[str, object] = {"start_up": script}
        fields = (note.id, note.instance_type, note.zone, False, dict(note.tags), note.order, "", at, at, at, at)
        return Rented(*fields, asked_to_end=note.ended, ended_at=note.ended, detail=detail)


RIG = LocalRig
