"""Free resource units of the reserve in buckets, by type and by how crowded their servers are, each a single counter;
and when units became free, so that it can be told how long some that suit a job will take (Tarcil, thesis §7.4)."""

from __future__ import annotations

import math

from hcloud.control.pieces import pieces_of
from hcloud.control.state import OWN, UP, Control, Job, RentableKind, Server
from hcloud.policy.codes import SCALE
from hcloud.policy.placing.colocation import contention
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.quality import leading

_UNIT = 1000
"""Thousandths of a vCPU of a resource unit."""
LEAST_GAPS = 8
"""Ours: with fewer intervals between releases nobody is kept waiting for the next."""
_CENTRED = 1
"""The hash that knows how pressed servers are in the mean."""
_PLANES = (967, 640, 700, 918, 592, 794, 853, 230, 56, 307)
"""Ours: random planes, each as ten signs."""
_LATELY = 256
"""Ours: the mean of so many servers that were counted is what servers are like at present."""
_LOOKED = 64
"""Ours: jobs of the queue that are asked whether they wait for the same units; those behind are taken to be alike."""


def recount(c: Control, number: int, is_release: bool) -> None:
    """Count a reserved server's free units where they belong now; ``is_release`` says that a job left them."""
    server = c.servers[number]
    before = server.units
    discount(c, server)
    if server.paid != OWN or server.status != UP:
        return
    cores = c.kinds[server.kind].cores
    unit = contention(server.pressure, cores, c.rules.full_pressure, c.desk.scratch)
    quality = leading(unit[0])
    band = _hashed(c, server, quality) if c.rules.bucket_hash > 0 else quality * bands_of(c) // SCALE
    server.bucket, server.units = server.kind * c.rules.buckets + band + 1, (cores - server.used) // _UNIT
    c.buckets[server.bucket - 1].free += server.units
    if is_release and server.units > before:
        one = c.releases[c.desk.released % len(c.releases)]
        one.at, one.bucket, one.units = c.desk.now, server.bucket - 1, server.units - before
        c.desk.released += 1


def _hashed(c: Control, server: Server, quality: int) -> int:
    """The bucket of a server's units by locality-sensitive hashing (Tarcil §7.4.1): a bit for each of some random
    planes, the side on which its pressure lies, as a direction from nowhere or from the mean of servers counted
    lately. Notes the quality of its units there."""
    desk, cores, bucket, planes = c.desk, c.kinds[server.kind].cores, 0, 0
    desk.centred = min(desk.centred + 1, _LATELY)
    for i in range(RESOURCES):
        desk.centre[i] += (server.pressure[i] / cores - desk.centre[i]) / desk.centred
    while planes < len(_PLANES) and 2 << planes <= bands_of(c):
        side = 0.0
        for i in range(RESOURCES):
            far = server.pressure[i] / cores - (desk.centre[i] if c.rules.bucket_hash == _CENTRED else 0.0)
            side += far if (_PLANES[planes] >> i) & 1 else -far
        bucket += bucket + (1 if side > 0.0 else 0)
        planes += 1
    one = c.buckets[server.kind * c.rules.buckets + bucket]
    one.seen = min(one.seen + 1, _LATELY)
    one.quality += (quality - one.quality) / one.seen
    return bucket


def discount(c: Control, server: Server) -> None:
    """A server's units count nowhere."""
    if server.bucket > 0:
        c.buckets[server.bucket - 1].free -= server.units
    server.bucket, server.units = 0, 0


def count_server(c: Control, number: int, more: int) -> None:
    """Count a reserved server that is new (``more`` is 1) or gone (-1). With a type more each has fewer bands, and with
    one less more: all are counted anew."""
    kind = c.kinds[c.servers[number].kind]
    kind.reserved += more
    if c.rules.buckets == 0:
        return
    if kind.reserved == max(more, 0):
        c.desk.platforms += more
        for at in range(c.desk.listed[OWN]):
            recount(c, c.rosters[at].server[OWN], False)
    if more > 0:
        recount(c, number, False)


def bands_of(c: Control) -> int:
    """Bands of each type: all types share the buckets."""
    return int(max(c.rules.buckets // max(c.desk.platforms, 1), 1))


def units_of(job: Job) -> int:
    """How many resource units a job asks for."""
    return int(max((job.ask + _UNIT - 1) // _UNIT, 1))


def free_for(c: Control, job: Job) -> int:
    """Free units in the buckets that suit a job: of a type nearly as fast for it as the fastest, not more crowded than
    it bears. -1 where no bucket ever could."""
    fastest, lowest, free, found = _fastest(c, job), _lowest_band(c, job), 0, False
    for kind in range(len(c.kinds) if fastest >= 0 else 0):
        if _suits(c, job, kind, fastest):
            for band in range(bands_of(c)):
                if _is_calm(c, job, kind * c.rules.buckets + band, lowest):
                    found, free = True, free + c.buckets[kind * c.rules.buckets + band].free
    return free if found else -1


def _is_calm(c: Control, job: Job, bucket: int, lowest: int) -> bool:
    """Whether units of a bucket are not more crowded than a job bears: by the lower edge of its band, or in the
    mean."""
    if c.rules.bucket_hash == 0:
        return bool(bucket % c.rules.buckets >= lowest)
    one = c.buckets[bucket]
    return bool(one.seen > 0 and (c.rules.informed == 0 or one.quality >= leading(job.high)))


def expected(c: Control, job: Job, now: float) -> tuple[float, float]:
    """Seconds until as many units as a job asks for become free in its buckets, after those that others wait for: the
    usual ones, by a quantile of such intervals lately, and the bound, some deviations above their mean. Infinite and 0
    where too little is known."""
    fastest, lowest, asked = _fastest(c, job), _lowest_band(c, job), units_of(job)
    gaps, units, last, first = 0, 0, now, max(c.desk.released - len(c.releases), 0)
    total, squares, begun = 0.0, 0.0, False
    for back in range(c.desk.released - first):
        one = c.releases[(c.desk.released - 1 - back) % len(c.releases)]
        if one.at < now - c.rules.release_history:
            break
        if not _is_calm(c, job, one.bucket, lowest) or not _suits(c, job, one.bucket // c.rules.buckets, fastest):
            continue
        if begun and units >= asked:
            gap = last - one.at
            _keep_sorted(c, gaps, gap)
            gaps, total, squares, units, last = gaps + 1, total + gap, squares + gap * gap, 0, one.at
        if not begun:
            begun, last = True, one.at
        units += one.units
    if gaps < LEAST_GAPS:
        return math.inf, 0.0
    mean = total / gaps
    deviation = math.sqrt(max(squares / gaps - mean * mean, 0.0))
    place = min(max(math.ceil(c.rules.release_quantile * gaps) - 1, 0), gaps - 1)
    usual, bound = c.releases[place].gap, mean + c.rules.bound_deviations * deviation
    others = _waited_for(c, job, fastest)
    if others == 0.0:
        return usual, bound
    turns = 1.0 + others / asked  # means of several intervals add up, and so do the squares of how far they are off
    later = (turns - math.sqrt(turns)) * mean
    return later + math.sqrt(turns) * usual, later + math.sqrt(turns) * bound


def _waited_for(c: Control, job: Job, fastest: int) -> float:
    """The units that those in the queue wait for whose turn comes before a job's, and who may take what suits it: of
    two jobs, what is calm enough for one is so for the other, or the reverse, so the type tells."""
    number, looked, units = c.desk.head, 0, 0
    while number >= 0 and looked < _LOOKED and c.jobs[number].urgent >= job.urgent:
        other = c.jobs[number]
        if _share_a_type(c, (job, fastest), (other, _fastest(c, other))):
            units += units_of(other) * pieces_of(c, number)
        number, looked = other.behind, looked + pieces_of(c, number)
    return units * (c.desk.queued / looked) if number >= 0 and looked >= _LOOKED else float(units)


def _share_a_type(c: Control, one: tuple[Job, int], other: tuple[Job, int]) -> bool:
    for kind in range(len(c.kinds)):  # noqa: SIM110  (compiled kernels know no generators)
        if _suits(c, one[0], kind, one[1]) and _suits(c, other[0], kind, other[1]):
            return True
    return False


def _keep_sorted(c: Control, length: int, gap: float) -> None:
    at = length
    while at > 0 and c.releases[at - 1].gap > gap:
        c.releases[at].gap = c.releases[at - 1].gap
        at -= 1
    c.releases[at].gap = gap


def _holds(kind: RentableKind, job: Job) -> bool:
    return bool(kind.reserved > 0 and job.ask <= kind.cores and job.memory <= kind.memory)


def _fastest(c: Control, job: Job) -> int:
    """The speed for a job of the fastest reserved type that holds it; -1 where none does."""
    fastest = -1
    for at in range(len(c.kinds)):
        if _holds(c.kinds[at], job):
            fastest = max(fastest, c.speeds[job.platform, at])
    return int(fastest)


def reserve_holds(c: Control, job: Job) -> bool:
    """Whether a reserved server could hold a job at all: one that none can would wait for the reserve for ever."""
    return _fastest(c, job) > 0


def _suits(c: Control, job: Job, at: int, fastest: int) -> bool:
    return bool(_holds(c.kinds[at], job) and c.speeds[job.platform, at] >= fastest * (1.0 - c.rules.bucket_slack))


def _lowest_band(c: Control, job: Job) -> int:
    """The first band whose lower edge reaches the quality that a job needs."""
    return int(-(-leading(job.high) * bands_of(c) // SCALE)) if c.rules.informed else 0
