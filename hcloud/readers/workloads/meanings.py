"""What columns are called elsewhere, and what ``--columns`` says of a file's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.readers.workloads.findings import shown

_OF_JOBS = {
    "id": "id job job_id jobid jobidraw task task_id taskid name jobname job_name run_id pod pod_name uuid "
    "submission_id auftrag instance_id database_id",
    "submit": "submit submit_time submitted submitted_at submitted_on submitted_time submit_at submission "
    "submission_time time_submit arrival arrival_time arrived queued queued_at queued_when queued_dttm enqueued "
    "enqueued_at enqueue_time qtime created created_at created_on created_time create_time creation_time "
    "creation_timestamp creation_date time_created date_created submit_date submission_date request request_time "
    "requested_at received_at qdate eingereicht eingereicht_am",
    "start": "start start_date start_time time_start started started_at started_time run_started_at start_at begin "
    "begin_time began began_at started_on stime launch launched launched_at launch_time launch_date execution_start "
    "run_start job_start job_start_date beginn gestartet gestartet_am startzeit",
    "end": "end end_date end_time time_end ended ended_at ended_on ended_time end_at finish finish_time finish_date "
    "finished finished_at finished_on finished_time completed completed_at completed_on completed_time "
    "completion_time completion_date stop stop_time stopped stopped_at terminated terminated_at termination_time "
    "termination_date deleted deleted_at deletion_time delete_time execution_end run_end job_end ende beendet "
    "beendet_am endzeit complete updated_at",
    "cores": "cores core cpus cpu vcpus vcpu ncpus num_cpus num_cpu cpu_num num_cores n_cpus n_cores ncores cpu_count "
    "cpu_cores num_vcpus n_vcpus nvcpus vcpu_count threads num_threads processors procs num_processors num_procs "
    "nprocs slots required_slots alloc_cpus req_cpus request_cpus requested_cpus requested_cpu requested_cores "
    "allocated_cpus cpu_request cpu_requests entrypoint_num_cpus resource_list_ncpus plan_cpu millicores millicpu "
    "kerne nreq_slot nalloc_slot",
    "memory": "memory entrypoint_memory",  # "mem" without a unit may be MB
    "gpus": "gpus gpu num_gpus num_gpu n_gpus n_gpu ngpus gpu_num gpu_count gpu_request gpu_requests req_gpus "
    "request_gpus requested_gpus alloc_gpus entrypoint_num_gpus resource_list_ngpus",
    "app": "app application app_name",
    "qos": "qos qos_class",
}
_OF_SERIES = {
    "timestamp": "timestamp time clock date datetime date_time ts timegenerated period_start interval_start "
    "sample_time at measured_at sampled_at recorded_at collected_at event_time eventtime zeit zeitpunkt "
    "zeitstempel datum",
    "name": "name instance host hostname host_name machine machine_name vm vm_name vmname instance_id instance_name "
    "server server_name node node_name computer computer_name series metric resource resource_name container "
    "container_name pod pod_name tenant group rechner",
    "value": "value val average avg mean usage utilization utilisation load percentage_cpu cpu cpu_usage cpu_util "
    "cpu_percent cpu_utilization cpu_utilisation cpuutilization cpu_load countervalue auslastung",
    "cores": "cores vcpus cpu_cores cores_used used_cores vcpus_used kerne",
    "percent": "percent percentage cpu_pct pct cpu_util_pct cpu_usage_pct prozent",
    "fraction": "fraction cpu_fraction cpu_ratio",
    "requests": "requests request_count",
    "memory": "memory memory_gib mem_gib ram_gib memory_gb mem_gb ram_gb",
}


UNITS: Mapping[str, Mapping[str, str]] = {
    "duration": {
        "ns": "ns nanos nanoseconds",
        "us": "us usec micros microseconds",
        "ms": "ms msec millis milliseconds",
        "s": "s sec secs second seconds sekunden",
        "min": "min mins minute minutes minuten",
        "h": "h hr hrs hour hours stunden std",
        "d": "day days",
    },
    "memory": {"B": "b byte bytes", "KiB": "kb kib ki", "MiB": "mb mib mi", "GiB": "gb gib gi", "TiB": "tb tib ti"},
    "cores": {
        "milli": "milli millis millicores millicpu m",
        "vcpu-hours": "hours hrs",
        "vcpu-seconds": "seconds secs",
        "vcpu-ms": "ms milliseconds",
    },
}
"""What a column's name ends with that says its unit, by our column and the unit."""
_ALONE = (
    "group tenant metric clock at deleted deleted_at deletion_time delete_time complete stopped terminated node "
    "node_name host_name server_name machine_name computer_name resource resource_name threads num_threads request "
    "request_time launch run_start job_start run_end job_end execution_end total_time updated_at"
)
ONLY_ALONE = frozenset(_ALONE.split())
"""Names that mean a column only where no other does."""
_BEFORE_UNITS = {
    "duration": "duration run_time elapsed elapsed_time wall wall_time wallclock wall_clock wallclock_time "
    "wall_clock_time ru_wallclock elapsed_raw execution_time exec_time took time_taken run_duration execution_duration "
    "job_duration task_duration total_run_time total_time resources_used_walltime processing_time dauer "
    "laufzeit realtime",
    "memory": "memory mem ram memory_request mem_request mem_req req_mem max_rss memory_requests requested_memory "
    "request_memory requested_mem memory_requested mem_requested memory_limit mem_limit allocated_memory alloc_mem "
    "speicher arbeitsspeicher",
    "cores": "cpu cpus cores vcpu vcpus cpu_request cpu_requests",
}
KINDS = {
    "service": "service services latency-critical lc ls online serving long-running",
    "batch": "batch best-effort be offline",
}
"""What a job's kind is called elsewhere."""
_TRUTHS = {"true", "false", "yes", "no", "t", "f", "y", "n", ""}
OF_KINDS = ("kind", "class", "type", "job_class", "job_type", "job_kind", "category", "workload_type")
"""Names of columns that may hold it: what stands in them says."""


_BEHIND_TIMES = ("ts", "timestamp", "utc", "gmt", "unix", "epoch", "s", "sec", "seconds", "ms", "millis", "us", "ns")
"""What names of times may end with: their size says which unit they have."""


def _by_other(meanings: Mapping[str, str]) -> dict[str, str]:
    return {other: mine for mine, others in meanings.items() for other in others.split()}


def _of_jobs() -> dict[str, str]:
    """Our columns by all that they are called: in one word too, and with their units behind them."""
    behind = {mine: tuple(" ".join(words.values()).split()) for mine, words in UNITS.items()}
    behind |= dict.fromkeys(("submit", "start", "end"), _BEHIND_TIMES)
    behind["cores"] = tuple(UNITS["cores"]["milli"].split())  # hours of CPUs may be those in use
    names = _by_other(_OF_JOBS | {"duration": f"{_BEFORE_UNITS['duration']} seconds minutes hours"})
    names = {name.replace("_", ""): mine for name, mine in names.items()} | names
    before = [*names.items(), *_by_other(_BEFORE_UNITS).items()]
    return names | {
        f"{name}_{word}{unit}": mine for name, mine in before for unit in behind.get(mine, ()) for word in ("", "in_")
    }


JOBS = _of_jobs()
SERIES = _by_other(_OF_SERIES)
OF_SERIES_ONLY = ("timestamp", "value", "percent", "fraction", "requests")
"""Columns that no job has."""
VALUES = ("value", "cores", "percent", "fraction", "requests")
"""The columns of which a series has one, beside its time."""
_UNITS = re.compile(r"\s*[\[(](utc|gmt|s|sec|seconds|count|avg|average|mean|max|%|h+:mm(:ss)?)[\])]", re.IGNORECASE)


_PER_NODE = re.compile(
    r"nodes|node_(count|num)|num_node|per_(node|task)$"
    r"|^((num_|n_?)?(instances|machines|replicas|tasks|copies)|(instance_|task_)?count|array_size|quantity|qty|inst_num)$"
)
_SIZES = re.compile(
    rf"{_PER_NODE.pattern}|^ppn$|executors|(^|_)n?(v?cpus?|v?cores?|procs|slots?|workers)"
    r"($|_(count|limit|milli|ms|seconds|time|hours))"
)
_MEMORY = re.compile(r"(^|_)(mem|memory|ram|rss|vmem|maxrss)(_|$)")
NOT_IN_USE = re.compile(r"limit|req|alloc")
"""Names of memory with this hold what is asked for or there."""
_WORDS = re.compile(r"(?<=[a-z]{2}|In|Of)(?=[A-Z])")
"""Where a word of a name as ``startTime`` begins."""


def plain(name: str) -> str:
    """A column's name in small letters and underscores, without the unit behind it."""
    return re.sub(r"[^a-z0-9]+", "_", _UNITS.sub("", name).strip().lower()).strip("_")


def unit_said(mine: str, name: str) -> str | None:
    """The unit that the name of one of our columns in a file ends with: ``Memory (MB)``, ``durationMinutes``."""
    last = re.findall(r"[a-z]+", _WORDS.sub(" ", name).lower())[-1:]
    return next((unit for unit, words in UNITS[mine].items() if last and last[0] in words.split()), None)


def spelt(name: str) -> str:
    """The same of a name as ``startTime``, with its words apart."""
    return plain(_WORDS.sub("_", name))


def kind_of(label: str) -> str | None:
    """The kind of job that a label means: batch or service."""
    word = re.sub(r"[ _]", "-", label.lower())
    return next((kind for kind, words in KINDS.items() if word in words.split()), None)


def are_kinds(cells: Sequence[str]) -> bool:
    """Whether cells hold kinds of jobs alone."""
    return any(cells) and all(not cell or kind_of(cell) is not None for cell in cells)


def are_truths(cells: Sequence[str]) -> bool:
    """Whether cells say yes or no alone: they are no times, and no numbers of anything."""
    return any(cells) and {cell.strip().lower() for cell in cells} <= _TRUTHS


def meant(names: Iterable[str], meanings: Mapping[str, str]) -> dict[str, str]:
    """Our columns by what they are called in a file: those of our own names first, else the first that means one."""
    found = dict[str, str]()
    for name in sorted(names, key=lambda name: (name not in meanings.values(), spelt(name) in ONLY_ALONE)):
        mine = meanings.get(plain(name)) or meanings.get(spelt(name))
        of_another = mine == "cores" and "%" in name
        if mine is not None and mine not in found and not of_another and "," not in name and "=" not in name:
            found[mine] = name
    return found


def job_columns(names: Collection[str]) -> dict[str, str]:
    """What the columns of a table of jobs are: a duration or an end, and a submission (else a start or any time)."""
    found = meant(names, JOBS)
    if "duration" in found:  # a total may have the wait in it
        found.pop("duration" if "end" in found and spelt(found["duration"]).startswith("total_time") else "end", None)
    if found.get("duration") == "duration" and "realtime" in names:  # Nextflow's: the wait is not in it
        found["duration"] = "realtime"
    if "submit" not in found:
        time = found.pop("start", None) or meant(names, SERIES).get("timestamp")
        found = {"submit": time, **found} if time is not None else found
    order = ["id", "submit", "start", "end", "duration", "cores", "memory", "gpus", "app", "qos", "kind"]
    return {mine: found[mine] for mine in order if mine in found}


def others(found: Mapping[str, str], names: Iterable[str]) -> dict[str, list[str]]:
    """What else in a file means what sizes and lengths of jobs were found in: only the user can know which is right."""
    asked = [mine for mine in ("start", "end", "duration", "cores", "memory", "gpus") if mine in found]
    rest = [one for one in names if spelt(one) != "updated_at"]  # when any line of a job was changed
    more = {mine: [one for one in rest if one != found[mine] and meant([one], JOBS).get(mine)] for mine in asked}
    return {mine: columns for mine, columns in more.items() if columns}


def sizes_apart(found: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Columns that may say the size of jobs too: in nodes, or for each of them; where none says vCPUs, any size."""
    looked = _PER_NODE if "cores" in found else _SIZES
    return [name for name in names if name not in found.values() and looked.search(spelt(name))]


def memory_apart(names: Iterable[str]) -> list[str]:
    """Columns that may say the memory of jobs."""
    return [name for name in names if _MEMORY.search(spelt(name))]


def memory_in_use(names: Iterable[str]) -> str | None:
    """The column that may say the memory in use, where one alone does."""
    found = [name for name in memory_apart(names) if not re.search(rf"{NOT_IN_USE.pattern}|per_?cent|pct", spelt(name))]
    return found[0] if len(found) == 1 and "%" not in found[0] else None


def is_use(found: Collection[str]) -> bool:
    """Whether columns are enough for use over time."""
    return "timestamp" in found and any(value in found for value in VALUES)


def is_jobs(found: Mapping[str, str]) -> bool:
    """Whether columns are enough for jobs."""
    return "submit" in found and ("end" in found or "duration" in found)


def as_option(found: Mapping[str, str], *, whole: bool = False) -> str:
    """The columns as ``--columns`` takes them: those that are called otherwise in the file, or all."""
    return ",".join(f"{mine}={theirs}" for mine, theirs in found.items() if whole or mine != theirs)


def called_columns(text: str) -> dict[str, str]:
    """``submit=start_time,end=end_time`` as what each of our columns is called in the file."""
    found = dict[str, str]()
    for part in text.split(",") if text else ():
        mine, equals, theirs = (word.strip() for word in part.partition("="))
        if not equals or not mine or not theirs:
            raise UsageError(f"columns: {part!r}: write submit=NAME,duration=NAME,cores=NAME")
        if mine in found or theirs in found.values():
            raise UsageError(f"columns: {part!r}: name each column once, for one field")
        found[mine] = theirs
    return found


def check_called(file: str, called: Mapping[str, str], names: Sequence[str], ours: Sequence[str]) -> None:
    """Refuse a column that is none of ``ours``, and one that is not among the names of the file."""
    for mine, theirs in called.items():
        if mine not in ours:
            raise UsageError(
                f"columns: {shown(mine)} is no column here{did_you_mean(mine, ours)}",
                hint=f"columns: {', '.join(ours)}",
            )
        if theirs not in names:
            raise InputError(
                f"{file}: has no column {shown(theirs)}{did_you_mean(theirs, names)}",
                hint=f"its columns: {', '.join(names)}"[:1000],
            )
