"""Start-up scripts of a fake cloud's machines, run as processes of this machine. Off unless somebody asks for it: what
is sent to a fake is then run with the rights of whoever started the fake."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from types import TracebackType

from hcloud.control.ports import Clock, Host, Size
from hcloud.errors import HcloudError
from hcloud.fake.ledger import Ledger, Rented

LOOK_EVERY_SECONDS = 0.1  # ours
USUAL_SIZE = Size(2, 8.0)
"""What a type has whose size the fake does not know: that of the common small ones."""
SIZES = {
    "t3.micro": Size(2, 1.0),
    "t3.small": Size(2, 2.0),
    "t3.medium": Size(2, 4.0),
    "c5.large": Size(2, 4.0),
    "m5.large": Size(2, 8.0),
    "m5.xlarge": Size(4, 16.0),
    "e2-micro": Size(2, 1.0),
    "e2-small": Size(2, 2.0),
    "e2-medium": Size(2, 4.0),
    "e2-standard-2": Size(2, 8.0),
    "n2-standard-2": Size(2, 8.0),
    "n2-standard-4": Size(4, 16.0),
    "Standard_B2s": Size(2, 4.0),
    "Standard_D2s_v5": Size(2, 8.0),
    "Standard_D4s_v5": Size(4, 16.0),
}


def usual_size(instance_type: str) -> Size:
    """The size of the types that rehearsals use."""
    return SIZES.get(instance_type, USUAL_SIZE)


class Image:
    """What machines of a fake start with: nothing but their user data, and nobody there who hears of notices."""

    def dress(self, script: str) -> str:
        """The script that starts a machine whose user data is ``script``."""
        return script

    def warn(self, machine: str) -> None:
        """Tell a machine, by the name that it runs under, that its cloud takes it back."""


_BARE = Image()


class Executor:
    """Watches a ledger: runs the script of each machine that has one once it is to run, puts what it prints into
    ``detail["console"]``, and ends what is asked to end. Use as a context; at its end nothing runs any more.

    No script is given more cores than this machine has; where this machine cannot limit, neither can a script be.
    ``image`` is what machines start with.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        host: Host,
        size_of: Callable[[str], Size] = usual_size,
        image: Image = _BARE,
    ) -> None:
        self._ledger, self._clock, self._host, self._size_of, self._image = ledger, clock, host, size_of, image
        self._warned = set[str]()
        self._begun: dict[str, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Executor:
        self._begun = self._known({m.id: name_of(m) for m in self._ledger.live(self._clock.now())})
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        self._leave()

    def _known(self, earlier: Mapping[str, str]) -> dict[str, str]:
        """Those of an earlier process run nothing any more."""
        return dict.fromkeys(earlier, "")

    def _leave(self) -> None:
        self._host.end([name for name in self._begun.values() if name])

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_SECONDS):
            self.settle()

    def settle(self) -> None:
        """Begin and end what is due now, and take down what was printed."""
        now = self._clock.now()
        for machine in self._ledger.live(now):
            if machine.id not in self._begun and machine.running_at is not None and now >= machine.running_at:
                self._begin(machine)
        over = []
        with self._ledger.held():
            for identity, name in self._begun.items():
                found = self._ledger.machines.get(identity)
                if found is not None and name:
                    if found.asked_to_end is not None and now >= found.asked_to_end:
                        over.append(identity)
                    else:
                        found.detail["console"] = self._host.console(name)
                    if "notice_at" in found.detail and name not in self._warned:
                        self._warned.add(name)
                        self._image.warn(name)
        if over:
            self._host.end([self._begun[identity] for identity in over])
            for identity in over:
                del self._begun[identity]

    def _begin(self, machine: Rented) -> None:
        script = str(machine.detail.get("start_up", ""))
        name = name_of(machine) if script else ""
        self._begun[machine.id] = name
        if not script:
            return
        size, there = self._size_of(machine.instance_type), self._host.size()
        try:
            fits = Size(min(size.vcpus, there.vcpus), min(size.memory_gib, there.memory_gib))
            self._host.start([name], self._image.dress(script), fits)
        except HcloudError as error:
            with self._ledger.held():
                machine.detail["console"] = f"the fake could not start it: {error}\n"


class LastingExecutor(Executor):
    """The same with machines that outlast the context, as those of a cloud do; the next one over the same ledger and
    host goes on with them."""

    def _known(self, earlier: Mapping[str, str]) -> dict[str, str]:
        there = self._host.started(set(earlier.values()))
        self._host.end(self._host.alive() - there)
        return {identity: name for identity, name in earlier.items() if name in there}

    def _leave(self) -> None:
        self.settle()


def name_of(machine: Rented) -> str:
    """A name for a folder; an id may have slashes."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", machine.id)
