"""Long-running operations: accepted at once, done later, with an error inside where they fail, forgotten in the end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from hcloud.fake.gcp.wire.refusals import RefusalError, invalid, unknown_resource

BASE = "https://www.googleapis.com/compute/v1"
KEPT_SECONDS = 14 * 86_400.0  # how long an operation can be asked about: Google keeps them for two weeks at least
REQUEST_ID_SECONDS = 3600.0  # how long a requestId is remembered: Google promises an hour
LONGEST_WAIT_SECONDS = 120.0  # what one wait takes at most, as at Google
ZERO_UUID = "00000000-0000-0000-0000-000000000000"
_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PACIFIC = timezone(timedelta(hours=-8))


def stamp(seconds: float) -> str:
    """A moment as Google writes it, in Pacific time."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(_PACIFIC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class OperationFault:
    """How an operation will end: not at all badly, or with these errors and this HTTP status."""

    errors: tuple[Mapping[str, object], ...] = ()
    status: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class GcpOperation:
    """Something that goes on; ``scope`` is zones/Z or regions/R."""

    name: str
    number: int
    kind: str
    scope: str
    target: str
    user: str
    begun: float
    done_at: float
    request_id: str = ""
    ending: OperationFault = OperationFault()

    def document(self, project: str, now: float, *, fresh: bool = False) -> dict[str, object]:
        """What Google tells of it; the first answer never says that it is done."""
        done = not fresh and now >= self.done_at
        place = f"{BASE}/projects/{project}/{self.scope}"
        kind, _, where = self.scope.partition("/")
        found: dict[str, object] = {
            "kind": "compute#operation",
            "id": str(self.number),
            "name": self.name,
            kind.removesuffix("s"): f"{BASE}/projects/{project}/{kind}/{where}",
            "operationType": self.kind,
            "targetLink": f"{BASE}/projects/{project}/{self.target}",
            "user": self.user,
            "status": "DONE" if done else "RUNNING",
            "progress": 100 if done else 0,
            "insertTime": stamp(self.begun),
            "startTime": stamp(self.begun),
            "selfLink": f"{place}/operations/{self.name}",
            **({"clientOperationId": self.request_id} if self.request_id else {}),
        }
        return {**found, **self._end()} if done else found

    def _end(self) -> dict[str, object]:
        ending = self.ending
        found: dict[str, object] = {"endTime": stamp(self.done_at), **ending.extra}
        if ending.errors:
            found["error"] = {"errors": [dict(e) for e in ending.errors]}
            found["httpErrorStatusCode"] = ending.status
            found["httpErrorMessage"] = {403: "FORBIDDEN", 503: "SERVICE UNAVAILABLE"}.get(ending.status, "ERROR")
        return found


@dataclass(frozen=True, slots=True)
class _Remembered:
    about: str
    at: float
    operation: GcpOperation


class GcpOperations:
    """All operations, and which requestId led to which."""

    def __init__(self) -> None:
        self._by_name: dict[str, GcpOperation] = {}
        self._by_request: dict[str, _Remembered] = {}

    def replayed(self, request_id: str, about: str, now: float) -> GcpOperation | None:
        """The operation that a requestId led to before; raises RefusalError where it was for another.

        What Google does with a requestId that comes back with another body is not published; refusing is the strictest.
        """
        if not _UUID.fullmatch(request_id) or request_id == ZERO_UUID:
            raise invalid("requestId", request_id, "The request ID must be a UUID other than the zero UUID.")
        known = self._by_request.get(request_id)
        if known is None or now >= known.at + REQUEST_ID_SECONDS:
            return None
        if known.about != about:
            raise invalid("requestId", request_id, "The request ID was used for another request.")
        return known.operation

    def add(self, operation: GcpOperation, about: str, *, remember: bool) -> GcpOperation:
        self._by_name[f"{operation.scope}/{operation.name}"] = operation
        if operation.request_id and remember:
            self._by_request[operation.request_id] = _Remembered(about, operation.begun, operation)
        return operation

    def get(self, scope: str, name: str, now: float) -> GcpOperation:
        """An operation of a zone or region; raises RefusalError where there is none, or none any more."""
        found = self._by_name.get(f"{scope}/{name}")
        if found is None or now >= found.done_at + KEPT_SECONDS:
            raise unknown_resource(f"{scope}/operations/{name}")
        return found

    def of(self, scope: str, now: float) -> tuple[GcpOperation, ...]:
        """All that can be asked about, oldest first."""
        kept = (o for o in self._by_name.values() if o.scope == scope and now < o.done_at + KEPT_SECONDS)
        return tuple(sorted(kept, key=lambda o: o.number))


def about(operation: str, path: str, raw: bytes) -> str:
    """What a request is about, so that the same one is known again."""
    try:
        body = json.dumps(json.loads(raw), sort_keys=True) if raw else ""
    except ValueError as error:
        raise RefusalError(400, "parseError", "Parse Error") from error
    return f"{operation} {path} {body}"
