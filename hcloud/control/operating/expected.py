"""Whether a running job was expected to keep its quality of service where it is, by what is estimated of it."""

from __future__ import annotations

from hcloud.control.servers.tenancy import weight_on
from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.event import ENTRIES, HIGHEST


def pressure_on(session: ControlSession, job: str, quality: float | None) -> tuple[float, ...]:
    """Points of each resource that a job finds taken on its server: by the other tenants as they are estimated, and by
    neighbours that a probe of the machine felt. Raises KeyError for a job that is not known."""
    c, row = session.tables.control, session.tables.rows[job]
    tenant, server = c.jobs[row], c.servers[c.jobs[row].server]
    weight, capacity = int(weight_on(c, server, tenant.cores)), int(c.kinds[server.kind].cores)
    outside = 0.0 if quality is None else HIGHEST * (1.0 - quality)
    others = (int(server.pressure[i]) - int(tenant.vector[i]) * weight for i in range(ENTRIES))
    return tuple(max(other, 0) / capacity + outside for other in others)


def bears(session: ControlSession, job: str, pressure: tuple[float, ...]) -> bool:
    """Whether a job is estimated to suffer by none of that."""
    tolerates = session.tables.control.jobs[session.tables.rows[job]].tolerates
    return all(taken <= int(tolerates[i]) for i, taken in enumerate(pressure))
