"""What no real workload exceeds: the bounds every reader checks its numbers and its text against."""

from __future__ import annotations

SUBMIT_SECONDS = 1e11
"""Latest submit time (the year 5138 as Unix time)."""
DURATION_SECONDS = 1e9
"""Longest job: about 32 years."""
CORES = 1e6
"""Most vCPUs one job or one step of a series may ask for."""
MEMORY_GIB = 1e7
"""Most memory of one job: 10 PiB."""
MEMORY_GIB_A_VCPU = 256.0
"""Most memory for each vCPU that a number without a unit is taken for: ten times what the machines with most have."""
GPUS = 1e5
SERVERS = 10_000
"""Most servers that one job runs on at once."""
BYTES = 1e18
"""Most bytes a MapReduce job may read: an exabyte."""
REQUESTS = 1e12
"""Most requests in one step of a series."""
LINE_BYTES = 1 << 18
"""Longest line of a text file."""
TEXT_BYTES = 4096
"""Longest identifier or label."""
LABELS = 100_000
"""Most different apps or QoS classes in a file."""
GZIP_RATIO = 200
"""Most bytes out per byte in, once more than ``GZIP_FREE`` bytes came out: above it, a gzip bomb."""
GZIP_FREE = 64 << 20
