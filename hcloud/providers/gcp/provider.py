"""Google Cloud as hcloud's live half wants it: one project in one region, each request made once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from hcloud.at_once import in_parallel
from hcloud.control.ports import Stop, Tell, never, silent
from hcloud.errors import (
    CloudError,
    DeniedError,
    NotFoundError,
    QuotaError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.holdings.live import (
    Launch,
    LaunchOutcome,
    LaunchTemplate,
    Machine,
    Notice,
    Quota,
    Scope,
    Terminated,
    over,
)
from hcloud.providers.gcp import translate
from hcloud.providers.gcp.commitments import Prices, no_prices
from hcloud.providers.gcp.errors import EXISTS
from hcloud.providers.gcp.outcome import beyond_quota, check_owned, identities, judge, names_were_taken
from hcloud.providers.gcp.purchases import GoogleCommitments
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.translate import OperationEnd
from hcloud.providers.gcp.wire import LONGEST_WAIT_SECONDS, Wire

MOST_REPLAYS = 4  # ours: how many ended deletes of the same machine are stepped over
DELETES_AT_ONCE = 8  # ours: below the ten connections that the SDK keeps
ALL_REGIONS = "CPUS_ALL_REGIONS"
_BULK_INSERT, _DELETE = "instances.bulkInsert", "instances.delete"
_FROM_FAMILY = "images.getFromFamily"


class GoogleCloud(GoogleCommitments):
    """One project in one region of Google Cloud. ``prices`` says what a commitment costs, since Google does not."""

    launch_seconds = LONGEST_WAIT_SECONDS

    def __init__(
        self,
        settings: GoogleSettings,
        prices: Prices = no_prices,
        pause: Callable[[float], None] = time.sleep,
        tell: Tell = silent,
        stop: Stop = never,
    ) -> None:
        super().__init__(Wire(settings, pause, tell, stop), settings, prices)
        self._scope: Scope | None = None
        self._accepted: set[str] = set()
        self._ended: dict[str, datetime] = {}
        self._lock = threading.Lock()

    # who and where

    def scope(self) -> Scope:
        """The project and region, as the region itself says."""
        if self._scope is None:
            region = self._region("regions.get")
            parts = region.self_link.split("/")
            named = parts[parts.index("projects") + 1] if "projects" in parts[:-1] else self._settings.project
            self._scope = Scope("gcp", named, self._settings.region, self._settings.endpoint)
        return self._scope

    def _region(self, operation: str) -> Any:
        request = self._types.GetRegionRequest(project=self._settings.project, region=self._settings.region)
        return self._wire.read("RegionsClient", "get", request, operation)

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """The zones that offer a type, of those that are allowed."""
        found = {translate.last(t.zone) for t in self._machine_types(instance_type)}
        allowed = self._settings.zones
        return tuple(sorted(z for z in found if not allowed or z in allowed))

    def _is_elsewhere(self, place: str) -> bool:
        """Whether a place of a list is surely in another region: ``zones/asia-east1-a``, with or without a project."""
        kind, name = (["", *place.split("/")])[-2:]
        regions = {"zones": translate.region_of(name), "regions": name}
        return kind in regions and regions[kind] != self._settings.region

    def quotas(self, instance_type: str) -> tuple[Quota, ...]:
        """The quotas of region and project that a machine of a type counts against."""
        family = instance_type.partition("-")[0].upper()
        region = {q.metric: q for q in self._region("regions.get").quotas}
        cpus = f"{family}_CPUS" if f"{family}_CPUS" in region else "CPUS"
        request = self._types.GetProjectRequest(project=self._settings.project)
        project = self._wire.read("ProjectsClient", "get", request, "projects.get")
        found = [region[m] for m in ("INSTANCES", cpus) if m in region]
        found += [q for q in project.quotas if q.metric == ALL_REGIONS]
        return tuple(Quota(q.metric, Decimal(str(q.limit)), Decimal(str(q.usage))) for q in found)

    # machines

    def template(self, instance_types: Sequence[str]) -> LaunchTemplate:
        """What machines of these types are launched with."""
        return translate.template(instance_types, self._settings)

    def image(self, name: str) -> str:
        """The latest image of a family; an image that is named itself is itself."""
        project, family = translate.image_family(name, self._settings.project)
        if not family:
            return translate.image_path(name)
        request = self._types.GetFromFamilyImageRequest(project=project, family=family)
        found = self._wire.read("ImagesClient", "get_from_family", request, _FROM_FAMILY)
        path = translate.image_path(found.self_link)
        if not path:
            raise UnavailableError("the answer names no image", self._wire.call(_FROM_FAMILY))
        return path

    def launch(self, order: Launch) -> LaunchOutcome:
        """One bulkInsert, its end, and a look at what stands under the key."""
        request = self._types.BulkInsertInstanceRequest(
            project=self._settings.project,
            zone=order.zone,
            request_id=translate.request_id("launch", order.key),
            bulk_insert_instance_resource_resource=translate.bulk_insert(order, self._settings),
        )
        operation = None
        try:
            operation = self._wire.change("InstancesClient", "bulk_insert_unary", request, _BULK_INSERT)
        except NotFoundError as error:
            raise RefusedError(f"there is no such zone or project: {error}", error.call) from error
        except QuotaError as error:
            raise beyond_quota(order, error) from error
        except RefusedError as error:
            if error.call.code not in EXISTS:
                raise
        ended, found = self._outcome(order, operation)
        call = self._wire.call(_BULK_INSERT)
        if operation is None or names_were_taken(ended):
            check_owned(order, found, call)
        return judge(order, ended, found, call)

    def under_key(self, order: Launch) -> tuple[Machine, ...]:
        """What has the order's names, and what bears its key under others."""
        return self._named([*identities(order), *(m.id for m in self._of_key(order))])

    def _outcome(self, order: Launch, operation: Any) -> tuple[OperationEnd | None, tuple[Machine, ...]]:
        """How an order that was taken ended, and what is shown of it; by the names where labels do not lead to all.

        Whatever stands in the way, its outcome is not known then; sent again it settles itself. No operation means
        that the names are in use already.
        """
        try:
            ended = None if operation is None else self._wire.wait(operation, order.zone, _BULK_INSERT)
            if operation is None or names_were_taken(ended):
                return ended, self._named(identities(order))
            found = self._of_key(order)
            if ended is not None and len(found) < (ended.made or 0):
                found = self._named(identities(order))
            return ended, found
        except UnknownOutcomeError:
            raise
        except CloudError as error:
            words = f"the order for {order.address} was accepted, but its outcome is unknown: {error}"
            raise UnknownOutcomeError(words, self._wire.call(_BULK_INSERT)) from error

    def _of_key(self, order: Launch) -> tuple[Machine, ...]:
        asked = {"filter": translate.filter_of_key(order.key), "maxResults": str(translate.PAGE)}
        pages = self._wire.pages_of_instances(
            f"zones/{order.zone}/instances", asked, "instances.list", translate.page_of_zone
        )
        return tuple(m for page in pages for m in page)

    def terminate(self, ids: Sequence[str]) -> Terminated:
        """One delete for each machine, several at a time: Google has none for many. What is not sent after an error
        is left for the next call; what was accepted before it is not sent again then."""
        wanted = tuple(dict.fromkeys(ids))
        places = {i: translate.place(i) for i in wanted}
        for identity, place in places.items():
            if place is None:
                raise RefusedError(f"{identity!r} is not the zone/name of a machine", self._wire.call(_DELETE))
        with self._lock:
            before = self._accepted & set(wanted)
        batch = BatchEnding(self._end)
        batch.run([i for i in wanted if i not in before])
        done = batch.ending | before
        with self._lock:
            self._ended |= batch.ended
            self._accepted = (self._accepted | batch.ending) if batch.errors else (self._accepted - set(wanted))
            ended = {i: self._ended[i] for i in wanted if i in self._ended}
        if batch.errors:
            raise batch.worst()
        return Terminated(tuple(i for i in wanted if i in done), tuple(i for i in wanted if i not in done), ended)

    def _end(self, identity: str) -> Deleted:
        """Whether Google agreed to end a machine, rather than not know it, and when.

        A delete that is over when it is answered is an earlier one told again, which may have failed, or have been of
        another machine of this name: it is stepped over by a handle that follows from it.
        """
        zone, name = translate.place(identity) or ("", "")
        told, at = "", None
        for _ in range(MOST_REPLAYS):
            request = self._types.DeleteInstanceRequest(
                project=self._settings.project,
                zone=zone,
                instance=name,
                request_id=translate.request_id("delete", identity, told),
            )
            try:
                operation = self._wire.end("InstancesClient", "delete_unary", request, _DELETE)
            except NotFoundError:
                return Deleted(False, at)
            began = translate.moment(operation.insert_time)
            if not translate.is_done(operation):
                return Deleted(True, began)
            told, at = operation.name, at if translate.ended(operation).errors else began
        raise UnknownOutcomeError(f"deletes of {identity} end without ending it", self._wire.call(_DELETE))

    def machines(self, lineage: str) -> tuple[Machine, ...]:
        """All machines of a lineage that stand in the region."""
        found = self._aggregated(translate.filter_of_lineage(lineage))
        return tuple(m for m in found if self._is_here(m.zone))

    def look(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """Machines by their ids, some dozens at a time; of those not shown, what Google tells of their end."""
        wanted = set(ids)
        bundles = translate.bundles(wanted)
        found = {m.id: m for bundle in bundles for m in self._aggregated(translate.filter_of_names(bundle))}
        found |= {i: over(i, at) for i, at in self._ends(wanted - found.keys()).items()}
        return tuple(found[i] for i in sorted(wanted & found.keys()))

    def _ends(self, missing: Set[str]) -> dict[str, datetime | None]:
        """When machines that are not shown have ended, where the operations of their zones tell it: Google does not
        show a machine any more that it took away. Whoever may not list operations is told of no end."""
        found: dict[str, datetime | None] = {}
        for bundle in translate.bundles(missing):
            for zone in sorted({i.partition("/")[0] for i in bundle}):
                request = self._types.ListZoneOperationsRequest(
                    project=self._settings.project,
                    zone=zone,
                    filter=translate.filter_of_ends([i for i in bundle if i.startswith(f"{zone}/")]),
                    max_results=translate.PAGE,
                )
                try:
                    pages = self._wire.pages("ZoneOperationsClient", "list", request, "zoneOperations.list")
                except DeniedError:
                    return found
                found |= translate.ends(o for page in pages for o in page.items)
        return {i: at for i, at in found.items() if i in missing}

    def examine(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """Each machine by its name; those that are gone after Google accepted their end have ended."""
        found = self._named(ids)
        gone = self._ended.keys() & set(ids) - {m.id for m in found}
        return (*found, *(over(i, self._ended[i]) for i in sorted(gone)))

    def _named(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        found = in_parallel(self._one, sorted(set(ids)))
        return tuple(m for m in found if m is not None)

    def notices(self, lineage: str) -> tuple[Notice, ...]:
        """The maintenance of hosts that machines do not live through; Google shows it with each of them."""
        operation = "instances.aggregatedList"
        asked = {"filter": translate.filter_of_lineage(lineage), "maxResults": str(translate.PAGE)}
        pages = self._wire.pages_of_instances("aggregated/instances", asked, operation, translate.notices_of_zones)
        return tuple(notice for page in pages for notice in page)

    def _one(self, identity: str) -> Machine | None:
        zone, name = translate.place(identity) or ("", "")
        if not zone:
            return None
        try:
            return self._wire.instance(f"zones/{zone}/instances/{name}", "instances.get", translate.machine)
        except NotFoundError:
            return None

    def _aggregated(self, wanted: str) -> tuple[Machine, ...]:
        """Machines of all zones that a filter accepts; raises UnavailableError where a zone of ours could not be asked.

        The list is of all regions: an outage of another one hides none of our machines.
        """
        operation = "instances.aggregatedList"
        asked = {"filter": wanted, "maxResults": str(translate.PAGE)}
        pages = self._wire.pages_of_instances("aggregated/instances", asked, operation, translate.page_of_zones)
        lost = [place for page in pages for place in page.lost]
        if lost := [place for place in lost if not self._is_elsewhere(place)]:
            raise UnavailableError(f"Google could not ask {', '.join(sorted(lost))}", self._wire.call(operation))
        return tuple(sorted((m for page in pages for m in page.machines), key=lambda m: m.id))

    def console(self, machine: str) -> str:
        """What a machine has written to its first serial port, up to 1 MiB."""
        operation = "instances.getSerialPortOutput"
        zone, name = translate.place(machine) or ("", "")
        if not zone:
            raise NotFoundError(f"there is no {machine}", self._wire.call(operation))
        request = self._types.GetSerialPortOutputInstanceRequest(
            project=self._settings.project, zone=zone, instance=name
        )
        return str(self._wire.read("InstancesClient", "get_serial_port_output", request, operation).contents)


@dataclass(frozen=True, slots=True)
class Deleted:
    """Whether a delete was accepted now, rather than the machine not known any more; ``at`` is when the delete that
    ended it came to Google, None where Google does not say."""

    accepted: bool
    at: datetime | None = None


class BatchEnding:
    """Ends machines several at a time, and begins no more once one of them met an error."""

    def __init__(self, end: Callable[[str], Deleted]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self.ending: set[str] = set()
        self.ended: dict[str, datetime] = {}
        self.errors: list[CloudError] = []

    def run(self, identities: Sequence[str]) -> None:
        in_parallel(self._one, identities, DELETES_AT_ONCE)

    def worst(self) -> CloudError:
        """The error that matters most: an outcome that is not known before one that is."""
        return min(self.errors, key=lambda e: not isinstance(e, UnknownOutcomeError))

    def _one(self, identity: str) -> None:
        if self.errors:
            return
        try:
            deleted = self._end(identity)
        except CloudError as error:
            with self._lock:
                self.errors.append(error)
            return
        with self._lock:
            if deleted.accepted:
                self.ending.add(identity)
            if deleted.at is not None:
                self.ended[identity] = deleted.at
