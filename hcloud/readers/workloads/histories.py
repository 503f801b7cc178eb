"""Histories of use, machine by machine, from whatever file or folder a workload is read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Jobs, Modelled
from hcloud.readers.workloads.commands import advice, with_options, with_the_rest
from hcloud.readers.workloads.entry import DEFAULTS, as_table, check_format, check_zone, module_of
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.folder import files_with_formats
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries, note_values
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.recognise import format_of
from hcloud.readers.workloads.source import TraceFile, only_member, open_source, spooled
from hcloud.readers.workloads.tables.delimited import Progress

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

_VERB = ("hcloud", "harvest", "types")
_TABLES = {"series": "machines"}
"""A format whose values are added up to a demand, and the one that reads each machine of it."""


@dataclass(frozen=True, slots=True)
class MachineSeries:
    """The use of one machine at its times: as a part of it, 0 to 1, or in vCPUs where nobody says how many it has."""

    name: str
    times: Floats
    use: Floats
    in_cores: bool
    cores: float | None
    place: str


@dataclass(frozen=True, slots=True)
class MachineHistories:
    """What was read, from where, and what was changed, left out or assumed. What is wrong with the file is in
    ``findings`` (with a ``hint``) until :meth:`refuse`, so that whoever knows more of it can add to that."""

    name: str
    format: str
    machines: tuple[MachineSeries, ...]
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    modelled: tuple[Modelled, ...] = ()
    findings: Findings = field(default_factory=lambda: Findings(""))
    hint: str = ""

    def refuse(self) -> None:
        """InputError with all that is wrong, where something is."""
        if self.findings.problems:
            error = self.findings.error()
            error.hint = self.hint
            raise error


def read_histories(
    path: Path, fmt: str = "auto", options: WorkloadOptions = DEFAULTS, progress: Progress | None = None
) -> MachineHistories:
    """The machines of a file, of a folder with one file a machine, or of standard input (``-``); what is wrong with
    single values of a file is noted."""
    check_format(fmt)
    with spooled(path) as (file, name):
        if file.is_dir():
            files = files_with_formats(file, fmt, options)
            found = [_histories(_of_verb(source), known, options) for source, known in files]
            return _together(str(path), [_named_by_file(one) for one in found])
        source = _of_verb(with_options(only_member(open_source(file, name)), options))
        try:
            return _of_file(source, fmt, options, progress)
        except InputError as error:
            error.hint = with_the_rest(error, source, options, lambda more: _of_file(source, fmt, more).refuse())
            raise


def _of_verb(source: TraceFile) -> TraceFile:
    return replace(source, command=(*_VERB, *source.command[2:]))


def _of_file(
    source: TraceFile, fmt: str, options: WorkloadOptions, progress: Progress | None = None
) -> MachineHistories:
    return _histories(source, format_of(source, options) if fmt == "auto" else fmt, options, progress)


def _histories(
    source: TraceFile, fmt: str, options: WorkloadOptions, progress: Progress | None = None
) -> MachineHistories:
    fmt = _TABLES.get(fmt, fmt)
    check_zone(fmt, options)
    module = module_of(fmt)
    with as_table(source, fmt, progress) as text:
        if not hasattr(module, "measured"):
            return _of_a_whole(source, fmt, module.read(text, options, progress), options)
        found = module.measured(text, options, progress)
        value, series = found.histories(options)
    value, rules, hint = _parts(source, value, series, found.findings)
    machines, said = tuple(_machine(value, one) for one in series), (*found.rules, *rules)
    return MachineHistories(source.name, fmt, machines, found.repaired, found.left_out, said, found.findings, hint)


def _of_a_whole(source: TraceFile, fmt: str, read: object, options: WorkloadOptions) -> MachineHistories:
    """A cluster as one machine; InputError for jobs, which say nothing of the machines that they ran on."""
    if isinstance(read, Jobs):
        raise InputError(
            f"{source.name}: holds jobs ({fmt}); types of use are of machines",
            hint="give the use of machines over time: a csv with server,time,cpu, or an export of monitoring",
        )
    demand: Any = read
    times: Floats = demand.start + demand.step_seconds * np.arange(len(demand), dtype=np.float64)
    use = demand.cores / options.cluster_cores if fmt == "cluster" else demand.cores
    machine = MachineSeries(source.path.stem, times, use, fmt != "cluster", None, source.name)
    return MachineHistories(source.name, fmt, (machine,), demand.provenance.repaired, findings=Findings(source.name))


def _parts(
    source: TraceFile, value: str, series: Sequence[MeasuredSeries], findings: Findings
) -> tuple[str, list[Modelled], str]:
    """What the values are, fractions where nobody says; values that cannot be are noted, with the command that reads
    those above 1 as something else."""
    if value in ("requests", "vcpu-hours", "machines"):
        raise InputError(
            f"{source.name}: holds {value}, which are no use of a machine",
            hint="give its use of CPUs: percent, a fraction of 1, or vCPUs in use",
        )
    note_values(findings, series, value or "fraction")
    if value:
        return value, [], ""
    most = max(float(one.values.max()) for one in series)
    likely, hint = "percent" if most <= 100 else "cores", ""
    if most > 1.0:
        apart = "; if they are vCPUs in use, say series_value=cores" if likely == "percent" else ""
        hint = advice(source, {"series_value": likely}, f"the values are {likely} (the largest is {most:g}{apart})")
    return "fraction", [Modelled("use", "fractions of a machine, since no value is above 1", "series_value")], hint


def _machine(value: str, series: MeasuredSeries) -> MachineSeries:
    name, cores, use = series.name or series.where, series.machine_cores, series.values
    if value == "percent":
        use = use / 100
    in_cores = value == "cores"
    if in_cores and cores:
        use, in_cores = use / cores, False
    return MachineSeries(name, series.times, np.maximum(use, 0.0), in_cores, cores, series.named)


def _named_by_file(found: MachineHistories) -> MachineHistories:
    """A file with one machine is named after it; InputError for what is wrong with the file."""
    found.refuse()
    if len(found.machines) != 1:
        return found
    return replace(found, machines=(replace(found.machines[0], name=Path(found.name).stem),))


def _together(name: str, found: Sequence[MachineHistories]) -> MachineHistories:
    repaired, left_out = Counter[str](), Counter[str]()
    for one in found:
        repaired.update(one.repaired)
        left_out.update(one.left_out)
    rules = dict.fromkeys(rule for one in found for rule in one.modelled)
    formats, findings = ", ".join(sorted({one.format for one in found})), Findings(name)
    return MachineHistories(
        name, formats, tuple(_each_once(found)), dict(repaired), dict(left_out), tuple(rules), findings
    )


def _each_once(found: Sequence[MachineHistories]) -> Iterator[MachineSeries]:
    """Every machine; InputError for a name that two files have."""
    met = dict[str, str]()
    for one in found:
        for machine in one.machines:
            if machine.name in met:
                raise InputError(
                    f"{one.name}: has a machine {machine.name!r}, as {met[machine.name]} has",
                    hint="give each machine a name of its own, or take one of the files out",
                )
            met[machine.name] = one.name
            yield machine
