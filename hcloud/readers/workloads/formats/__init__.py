"""One module a format of workload files, and how each is known from the others by its first line."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkloadFormat:
    """A format: the module that reads it, with its folder here; columns of which one set must be in its header, and
    patterns of which one must begin its first line where it has no header, or sets of words of which a JSON object has
    one near its beginning. One with none of these is told by its bytes, or by its name."""

    module: str
    headers: tuple[frozenset[str], ...] = ()
    lines: tuple[re.Pattern[str], ...] = ()
    holds: tuple[tuple[bytes, ...], ...] = ()


def _headers(*columns: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words.split("|") if "|" in words else words.split()) for words in columns)


def _lines(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


FORMATS = {
    "jobs-csv": WorkloadFormat("jobs.own_csv", _headers("submit duration", "submit end")),
    "jobs-parquet": WorkloadFormat("jobs.own_csv"),
    "swim": WorkloadFormat("jobs.swim", lines=_lines(r"[^\t,]+\t-?\d[^\t]*(\t[^\t]*){4}")),
    "swf": WorkloadFormat("jobs.swf", lines=_lines(r"\s*;", r"\s*(-?[\d.]+\s+){17}-?[\d.]+\s*")),
    "azure-vm": WorkloadFormat("jobs.azure_vm", lines=_lines(r"\d+ ([a-zA-Z]|[UC]\d+|\|)(,|$)")),
    "openb": WorkloadFormat("jobs.openb", _headers("cpu_milli memory_mib num_gpu creation_time")),
    "series": WorkloadFormat("usage.series", _headers("timestamp")),
    "machines": WorkloadFormat("usage.machines"),
    "cluster": WorkloadFormat("usage.cluster", _headers("avg_cpu avg_mem", "cpu_util_percent mem_util_percent")),
    "requests": WorkloadFormat("usage.requests", _headers("TIMESTAMP ContextTokens GeneratedTokens")),
    "bitbrains": WorkloadFormat("usage.bitbrains"),
    "bitbrains-csv": WorkloadFormat("usage.bitbrains_csv", _headers("CPU cores|CPU usage [MHZ]")),
    "slurm": WorkloadFormat(
        "jobs.slurm",
        lines=_lines(r"(?i)([a-z/]+\|)*jobid(raw)?\|[a-z/|]*$", r"JobId=\d+ "),
        holds=((b'"jobs"', b'"submission"', b'"elapsed"'),),
    ),
    "pbs": WorkloadFormat("jobs.pbs", lines=_lines(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;\w;[^;]*;")),
    "sge": WorkloadFormat(
        "jobs.sge", lines=_lines(r"([^:]*:){8}\d{9,13}:\d+:\d+:", r"# Version: \S+\s*$", r"={40,}\s*$")
    ),
    "condor": WorkloadFormat("jobs.condor", holds=((b'"ClusterId"', b'"ProcId"'),)),
    "pods": WorkloadFormat(
        "jobs.pods",
        holds=(
            (b'"items"', b'"Pod"'),
            (b'"items"', b'"PodList"'),
            (b'"items"', b'"apiVersion"'),
            (b'"metadata"', b'"spec"', b"argoproj.io"),
        ),
    ),
    "monitoring": WorkloadFormat(
        "usage.monitoring",
        holds=(
            (b'"Datapoints"',),
            (b'"MetricDataResults"', b'"Timestamps"'),
            (b'"resultType"', b'"matrix"'),
            (b'"status"', b'"errorType"'),
            (b'"timeSeries"', b'"points"'),
            (b'"metric"', b'"points"', b'"interval"'),
            (b'"timeseries"', b'"value"'),
            (b'"series"', b'"pointlist"'),
            (b'"timeseries_response"', b'"attributes"'),
            (b'"attributes"', b'"series"', b'"group_tags"'),
        ),
    ),
    "fetched": WorkloadFormat("usage.fetched", _headers("timestamp machine cores cores_used")),
}
"""Every format by its name, the more general ones first: of several that fit a file it is the last."""

IN_A_ZONE = frozenset({"jobs-csv", "jobs-parquet", "series", "machines", "slurm", "sge"})
"""Those whose times are read in the zone that is said, where they name none."""
