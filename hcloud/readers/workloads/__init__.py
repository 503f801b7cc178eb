"""Workload files as jobs or demand: one module a format, one entry point."""

from hcloud.readers.workloads.entry import FORMATS, read_workload
from hcloud.readers.workloads.options import WorkloadOptions, with_keys

__all__ = ["FORMATS", "WorkloadOptions", "read_workload", "with_keys"]
