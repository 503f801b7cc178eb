"""Alibaba's openb pod list: CPU, memory and GPU requests with the times a pod was created, placed and deleted."""

from __future__ import annotations

import numpy as np

from hcloud.model.workload import OF_GPUS, JobKind, Jobs, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.formats.jobs.jobs_table import Draft, finish
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.columns import Column, Sink
from hcloud.readers.workloads.tables.delimited import Progress, header_layout, read_table

FORMAT = "openb"
_QOS = ("LS", "BE", "Burstable", "Guaranteed")
_COLUMNS = (
    Column("name", "identity"),
    Column("cpu_milli", high=limits.CORES * 1000),
    Column("memory_mib", high=limits.MEMORY_GIB * 1024),
    Column("num_gpu", high=limits.GPUS),
    Column("gpu_milli", high=1000.0, required=False),
    Column("qos", "label", choices=_QOS),
    Column("creation_time", high=limits.SUBMIT_SECONDS),
    Column("scheduled_time", high=limits.SUBMIT_SECONDS, sparse=True),
    Column("deletion_time", high=limits.SUBMIT_SECONDS, sparse=True),
)


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Jobs:
    """Pods as jobs that last from placement to deletion; pods that were never placed used nothing."""
    layout = header_layout(source, _COLUMNS, ignore_extra=True, decimal=options.decimal)
    sink = read_table(source, layout, options.max_rows, progress)
    placed, deleted = sink.numbers("scheduled_time"), sink.numbers("deletion_time")
    draft = Draft(source.name, FORMAT, source.digest(), sink.numbers("creation_time"), deleted, rows=sink.rows)
    last = float(np.nanmax(np.concatenate([draft.submit, placed, deleted])))
    running = np.isnan(deleted) & ~np.isnan(placed)
    draft.repair("running at the end: ends with the trace", int(np.count_nonzero(running)))
    draft.duration = np.where(np.isnan(deleted), last, deleted) - placed
    draft.start, draft.ids = placed, sink.ids()
    _fill(draft, sink)
    _leave_out(draft, options)
    return finish(draft, options)


def _fill(draft: Draft, sink: Sink) -> None:
    """Columns in our units, and the kind that the QoS class stands for."""
    share = sink.numbers("gpu_milli") if sink.has("gpu_milli") else np.full(sink.rows, 1000.0)
    devices = sink.numbers("num_gpu")
    draft.cores = sink.numbers("cpu_milli") / 1000.0
    draft.memory = sink.numbers("memory_mib") / 1024.0
    draft.gpus = devices * np.where(np.isnan(share) | (devices > 1), 1.0, share / 1000.0)
    draft.qos, draft.qos_classes = sink.codes("qos"), sink.labels("qos")
    batch = np.array([label == "BE" for label in draft.qos_classes])
    draft.kind = np.where(batch[draft.qos], JobKind.BATCH, JobKind.SERVICE).astype(np.int8)
    draft.modelled.append(Modelled("kind", "QoS class BE is batch, every other a service", "fixed"))


def _leave_out(draft: Draft, options: WorkloadOptions) -> None:
    draft.keep(~np.isnan(draft.duration), "never placed on a machine")
    draft.keep(draft.duration >= 0, "deleted before it was placed")
    if options.gpu == "leave-out" and draft.gpus is not None:
        draft.keep(draft.gpus == 0, OF_GPUS)
    if draft.cores is not None:
        draft.keep(draft.cores > 0, "asks for no CPU")
