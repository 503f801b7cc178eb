"""What the contract suite needs of a provider and its fake: the rig that each of them brings along."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from hcloud.control.ports import Cloud
from hcloud.fake.faults import Faults, fault_plan
from hcloud.fake.ledger import RecordedRequest, Rented
from hcloud.fake.server import FakeCloud
from hcloud.model.holdings.live import CommitmentOrder, Launch, Owner

LINEAGE = "5e1f" * 8
KEY = "a1" * 16
OTHER_KEY = "b2" * 16


class Ability(StrEnum):
    """What a rig can show. A test runs on the rigs that have everything it needs; a rig should leave out little."""

    FAULTS = "faults"  # its fake obeys fault plans
    KEYS = "keys"  # it notices that a key was used for another order
    SPOT = "spot"
    ROLES = "roles"  # its fake tells principals apart
    QUOTAS = "quotas"
    PAGES = "pages"  # its lists come in pages
    DELAYS = "delays"  # its fake shows machines, tags and ends late
    START_UP = "start-up"  # the script is in the ledger, as ``detail["start_up"]``
    RETRY_AFTER = "retry-after"  # the cloud says when to come back
    LONG_OPERATIONS = "long-operations"  # accepted orders can still fail
    COMMITMENTS = "commitments"
    PURCHASE_KEYS = "purchase-keys"  # a purchase takes a key
    PRICE_LIMIT = "price-limit"  # a purchase is refused where the price rose after the quote
    CANCEL = "cancel"  # what ``cancellable`` orders can be given back


EVERYTHING = frozenset(Ability)


@dataclass(frozen=True, slots=True)
class Words:
    """How the cloud calls the operations that rules are about. ``reads`` are patterns of all that change nothing.

    ``buy_by_key`` is what buys ``commitment_by_key``, where that is not ``buy``.
    """

    launch: str
    terminate: str
    list: str
    reads: tuple[str, ...]
    buy: str = ""
    buy_by_key: str = ""
    commitments: str = ""


class Rig(ABC):
    """A provider wired to its fake. ``type_name`` is offered in each of ``zones``, two at least and sorted.

    The fake's clock stands still until ``later``; a principal of the empty name may do everything.
    """

    name: ClassVar[str]
    abilities: ClassVar[frozenset[Ability]]
    words: ClassVar[Words]
    type_name: ClassVar[str]
    zones: ClassVar[tuple[str, ...]]
    unknown_id: ClassVar[str]  # well formed, of no machine
    quota_name: ClassVar[str] = ""  # what a launch of ``type_name`` counts against, as the fault plan calls it
    most_calls_for_100: ClassVar[int] = 5
    many: ClassVar[int] = 1000
    most_calls_to_list_1000: ClassVar[int] = 5

    @property
    @abstractmethod
    def fake(self) -> FakeCloud:
        """The fake as it is now."""

    @abstractmethod
    def open(self) -> None:
        """Once before the suite."""

    @abstractmethod
    def close(self) -> None:
        """Once after it."""

    @abstractmethod
    def reset(self) -> None:
        """Before each test: an empty fake without faults."""

    @abstractmethod
    def cloud(self, principal: str = "") -> Cloud:
        """A provider that is new, with the credentials of a principal."""

    def page(self, size: int) -> None:
        """From now on the fake puts no more than ``size`` on a page of any list."""
        raise NotImplementedError

    def commitment(self, key: str) -> CommitmentOrder:
        """A commitment that the fake sells."""
        raise NotImplementedError

    def commitment_by_key(self, key: str) -> CommitmentOrder:
        """One whose purchase takes the key, where not all do."""
        return self.commitment(key)

    def cancellable(self, key: str) -> CommitmentOrder:
        """One that can be given back at once."""
        raise NotImplementedError

    def renew_image(self, name: str) -> None:
        """A newer image takes the place behind a name."""
        self.fake.images.renew(name.removeprefix("resolve:ssm:"))  # type: ignore[attr-defined]

    def withdraw_image(self, identity: str) -> None:
        """An image cannot be launched any more."""
        self.fake.images.withdrawn.add(identity)  # type: ignore[attr-defined]

    def faults(self, document: Mapping[str, object]) -> None:
        """From now on the fake follows this fault plan."""
        self.fake.faults = Faults(fault_plan(document, "test"), self.fake.clock.now())

    def fault(self, answer: str, on: str = "*", **more: object) -> None:
        """From now on the fake follows a plan of this one rule."""
        self.faults({"rules": [{"on": on, "answer": answer, **more}]})

    def later(self, seconds: float) -> None:
        """Put the fake's clock forward."""
        self.fake.clock.advance(seconds)

    def rented(self) -> tuple[Rented, ...]:
        """All machines that the ledger knows, ended ones too."""
        return tuple(self.fake.ledger.machines.values())

    def live(self) -> tuple[Rented, ...]:
        """Those of them that nobody asked to end."""
        return self.fake.ledger.live(self.fake.clock.now())

    def requests(self, operation: str = "", *, mutating: bool = False) -> tuple[RecordedRequest, ...]:
        """The requests that arrived: of one operation, or of all; only those that change something where told so."""
        found = self.fake.ledger.requests
        return tuple(r for r in found if (not operation or r.operation == operation) and (r.mutating or not mutating))


def order(rig: Rig, key: str = KEY, count: int = 3, zone: int = 0, **changes: object) -> Launch:
    """An order of machines of the rig's type."""
    given: dict[str, object] = {
        "key": key,
        "address": "pool-reserved",
        "instance_type": rig.type_name,
        "zone": rig.zones[zone],
        "count": count,
        "owner": Owner(LINEAGE, "shop", "0123456789ab", "20261122t10z"),
        **changes,
    }
    return Launch(**given)  # type: ignore[arg-type]
