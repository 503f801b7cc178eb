"""From samples of machines and hours of a bill to the rows of a file: vCPUs that ran and vCPUs in use, by the hour."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import writing
from hcloud.model.fetched import BillingAnswer, FetchedLine, FetchedRows, MeasuredMachine, SamplingWindow
from hcloud.store.fetched import MachineHours
from hcloud.whole_files import whole_file

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

HOUR = 3600
_SPECIAL = re.compile(r"[\x00-\x1f\x7f,;\"]|^[=+\-@]")
COLUMNS = ("timestamp", "machine", "instance_type", "region", "zone", "os", "tenancy", "option", "cores", "cores_used")


def added_up(
    machines: Sequence[MachineHours],
    billed: BillingAnswer,
    window: SamplingWindow,
    vcpus_of: Callable[[str], float | None],
) -> FetchedRows:
    """The lines of the machines by region and id, then what was billed beyond them."""
    rows = FetchedRows()
    seen: dict[tuple[str, str], Floats] = {}
    share = window.seconds / HOUR
    for each in sorted(machines, key=lambda m: (m.machine.region, m.machine.id)):
        machine = each.machine
        if not len(each.hours):
            continue
        vcpus = vcpus_of(machine.instance_type) or machine.vcpus
        if not machine.instance_type and vcpus is None:
            rows.typeless += 1
            continue
        ran = seen.setdefault(
            (machine.region, machine.instance_type), np.zeros((window.end - window.start) // HOUR + 1)
        )
        ran[each.hours] += each.counts * share
        if vcpus is None:
            rows.unknown_types.add(machine.instance_type)
            rows.unknown_hours += float(each.counts.sum()) * share
            continue
        cores, used = vcpus * share * each.counts.astype(np.float64), vcpus * share * each.percents / 100
        rows.lines.append(FetchedLine(machine, each.hours, cores, used))
    _add_billed(rows, billed, window, (seen, vcpus_of))
    return rows


def _add_billed(
    rows: FetchedRows,
    billed: BillingAnswer,
    window: SamplingWindow,
    known: tuple[dict[tuple[str, str], Floats], Callable[[str], float | None]],
) -> None:
    """What was billed of a type beyond the machines that were seen, evenly over the time that a line is of."""
    seen, vcpus_of = known
    for line in billed.lines:
        if line.start < window.start or line.end > window.end:
            continue
        rows.spend[line.currency] = rows.spend.get(line.currency, Decimal(0)) + line.cost
        first, last = (line.start - window.start) // HOUR, (line.end - window.start) // HOUR
        ran = seen.get((line.region, line.instance_type))
        missing = line.hours - (float(ran[first:last].sum()) if ran is not None else 0.0)
        if missing * HOUR < window.seconds:  # machines begin and end within a sample
            continue
        vcpus = vcpus_of(line.instance_type)
        if vcpus is None:
            rows.unknown_types.add(line.instance_type)
            rows.unknown_hours += missing
            continue
        rows.billed_hours += missing
        cores = np.full(last - first, vcpus * missing / (last - first))
        machine = MeasuredMachine("", line.instance_type, line.region)
        rows.lines.append(FetchedLine(machine, np.arange(first, last, dtype=np.int32), cores, None))


def write_rows(rows: FetchedRows, out: Path, window: SamplingWindow) -> None:
    """The file, whole or not at all."""
    with writing(out), whole_file(out) as file:
        file.write((",".join(COLUMNS) + "\n").encode())
        for line in rows.lines:
            file.writelines(text.encode() for text in _texts(line, window))


def _texts(line: FetchedLine, window: SamplingWindow) -> Iterator[str]:
    of = line.machine
    told = (of.id, of.instance_type, of.region, of.zone, of.os, of.tenancy, of.option)
    same = ",".join(_SPECIAL.sub("_", text) for text in told)
    for at, hour in enumerate(line.hours.tolist()):
        time = datetime.fromtimestamp(window.start + hour * HOUR, UTC)
        used = "" if line.used is None else f"{line.used[at]:.6f}"
        yield f"{time:%Y-%m-%dT%H:%M:%SZ},{same},{line.cores[at]:.6f},{used}\n"
