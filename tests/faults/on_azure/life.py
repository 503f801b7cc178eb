"""What the tests of Azure share: a process that ends, and what is there after it."""

from __future__ import annotations

from contract.rig import order
from contract.rigs.azure import AzureRig, unattached

from hcloud.fake.clock import FakeClock

LAUNCH = AzureRig.words.launch
POLL = "Operations_Get"
CANARY = "canary-5b9f"


class Killed(BaseException):
    """The process ended here."""


class DeadlyClock:
    """Lets the process end the first time that it waits."""

    def __init__(self, clock: FakeClock) -> None:
        self.now, self.passed = clock.now, clock.passed

    def sleep(self, seconds: float) -> None:
        raise Killed


def ids(rig: AzureRig) -> list[str]:
    return sorted(m.id for m in rig.live())


def launched(rig: AzureRig, **changes: object) -> list[str]:
    return sorted(m.id for m in rig.cloud().launch(order(rig, **changes)).machines)  # type: ignore[arg-type]


def nothing_is_left(rig: AzureRig) -> bool:
    return unattached(rig.fake) == () and not any(rig.fake.ledger.extras.values())
