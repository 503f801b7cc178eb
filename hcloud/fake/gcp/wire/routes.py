"""Which method on which path is which operation of Compute Engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "/compute/v1/projects/"
MONITORING = re.compile(r"/v3/projects/(?P<project>[^/]+)/timeSeries")
PRICE_LIST = "/v1/services/6F81-5844-456A/skus"  # Compute Engine's number in the Cloud Billing catalogue
_ROUTES = """
GET    {project}                                            projects.get
GET    {project}/regions                                    regions.list
GET    {project}/regions/{region}                           regions.get
GET    {project}/zones                                      zones.list
GET    {project}/zones/{zone}                               zones.get
GET    {project}/aggregated/machineTypes                    machineTypes.aggregatedList
GET    {project}/zones/{zone}/machineTypes                  machineTypes.list
GET    {project}/zones/{zone}/machineTypes/{name}           machineTypes.get
GET    {project}/aggregated/instances                       instances.aggregatedList
GET    {project}/zones/{zone}/instances                     instances.list
POST   {project}/zones/{zone}/instances                     instances.insert
POST   {project}/zones/{zone}/instances/bulkInsert          instances.bulkInsert
GET    {project}/zones/{zone}/instances/{name}              instances.get
DELETE {project}/zones/{zone}/instances/{name}              instances.delete
POST   {project}/zones/{zone}/instances/{name}/setLabels    instances.setLabels
POST   {project}/zones/{zone}/instances/{name}/stop         instances.stop
POST   {project}/zones/{zone}/instances/{name}/start        instances.start
GET    {project}/zones/{zone}/instances/{name}/serialPort   instances.getSerialPortOutput
GET    {project}/global/images/family/{family}              images.getFromFamily
GET    {project}/zones/{zone}/operations                    zoneOperations.list
GET    {project}/zones/{zone}/operations/{name}             zoneOperations.get
POST   {project}/zones/{zone}/operations/{name}/wait        zoneOperations.wait
GET    {project}/regions/{region}/operations                regionOperations.list
GET    {project}/regions/{region}/operations/{name}         regionOperations.get
POST   {project}/regions/{region}/operations/{name}/wait    regionOperations.wait
GET    {project}/zones/{zone}/reservations                  reservations.list
POST   {project}/zones/{zone}/reservations                  reservations.insert
GET    {project}/zones/{zone}/reservations/{name}           reservations.get
DELETE {project}/zones/{zone}/reservations/{name}           reservations.delete
GET    {project}/regions/{region}/commitments               regionCommitments.list
POST   {project}/regions/{region}/commitments               regionCommitments.insert
GET    {project}/regions/{region}/commitments/{name}        regionCommitments.get
"""


@dataclass(frozen=True, slots=True)
class GcpRoute:
    """An operation as it was asked for, with what stands in its path."""

    operation: str
    path: Mapping[str, str]

    @property
    def mutating(self) -> bool:
        """Whether it changes something. Waiting is a POST and changes nothing."""
        verb = self.operation.split(".")[1]
        return verb in ("insert", "bulkInsert", "delete", "setLabels", "stop", "start")

    @property
    def ordering(self) -> bool:
        """Whether it asks for machines."""
        return self.operation in ("instances.insert", "instances.bulkInsert")


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", template))


_TABLE = [(m, _pattern(t), o) for m, t, o in (line.split() for line in _ROUTES.strip().splitlines())]
OPERATIONS = (*sorted(o for _, _, o in _TABLE), "services.skus.list", "timeSeries.list")
"""Every operation there is."""


def templates() -> tuple[tuple[str, str, str], ...]:
    """Every method, path template and operation."""
    return tuple(tuple(line.split()) for line in _ROUTES.strip().splitlines())  # type: ignore[misc]


def find_route(method: str, path: str) -> GcpRoute | None:
    """The operation that is asked for, or None."""
    if (method, path) == ("GET", PRICE_LIST):
        return GcpRoute("services.skus.list", {})
    if method == "GET" and (measured := MONITORING.fullmatch(path)):
        return GcpRoute("timeSeries.list", measured.groupdict())
    if not path.startswith(PREFIX):
        return None
    rest = path.removeprefix(PREFIX)
    for verb, pattern, operation in _TABLE:
        found = pattern.fullmatch(rest) if verb == method else None
        if found:
            return GcpRoute(operation, found.groupdict())
    return None
