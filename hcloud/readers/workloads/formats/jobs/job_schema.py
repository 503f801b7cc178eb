"""The columns of our own schema of jobs, as a file and the options have them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.jobs.stated_units import IN_A_GIB, IN_A_VCPU, OVER_TIME, highest
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.tables.clock import MINUTES, PAIRS
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import dated
from hcloud.readers.workloads.tables.waits import ALLOWED

SERVERS = f"a whole number from 1 to {limits.SERVERS:g}"
SCHEMA = (
    Column("id", "identity", required=False),
    Column("submit", "time", high=limits.SUBMIT_SECONDS),
    Column("start", "time", high=limits.SUBMIT_SECONDS, required=False),
    Column("duration", high=limits.DURATION_SECONDS),
    Column("cores", high=limits.CORES, above=True, required=False),
    Column("memory", high=limits.MEMORY_GIB, required=False),
    Column("kind", "label", required=False, choices=("batch", "service"), kinds=True),
    Column("app", "label", required=False),
    Column("qos", "label", required=False),
    Column("gpus", high=limits.GPUS, required=False),
    Column("divisible", "label", required=False, choices=("no", "yes")),
    Column("target", "label", required=False),
    Column("causes", "label", required=False, points=True),
    Column("tolerates", "label", required=False, points=True),
    Column("requires", "label", required=False, requires=True),
    Column("servers", low=1.0, high=limits.SERVERS, whole=True, required=False, told=SERVERS),
    Column("urgent", "label", required=False, choices=("no", "yes")),
    Column("after", "words", required=False, told=ALLOWED),
    Column("think", high=limits.SUBMIT_SECONDS, required=False),
)
"""``submit`` (seconds, or ISO-8601; without a zone UTC) and ``duration`` (seconds) are required, the rest may miss."""

_UNTIL = Column("end", "time", high=limits.SUBMIT_SECONDS)


def job_schema(stored: Collection[str], called: Collection[str], options: WorkloadOptions) -> tuple[Column, ...]:
    """The columns of jobs in a file with such columns, of which some are called otherwise: where there is an end and no
    duration, a job runs from its start (else its submission) to its end."""
    high = highest(options)
    in_one = {"cores": IN_A_VCPU[options.cores_unit], "memory": IN_A_GIB[options.memory_unit]}
    said = options.duration_unit if options.duration_unit in (*PAIRS, MINUTES) else ""
    bare = options.open_ends == "leave-out"
    schema = tuple(
        replace(
            c,
            high=high.get(c.name, c.high),
            above=c.above and options.cores_unit not in OVER_TIME,
            said=said,
            sparse=c.sparse or (bare and c.required),
            in_one=in_one.get(c.name, 0.0),
        )
        for c in SCHEMA
    )
    schema = tuple(dated(column, options) if column.sort == "time" else column for column in schema)
    names = called if {"end", "duration"} & set(called) else stored
    if "end" in names and "duration" not in names:
        until = dated(replace(_UNTIL, sparse=options.open_ends != "refuse"), options)
        return (*(column for column in schema if column.name != "duration"), until)
    return schema
