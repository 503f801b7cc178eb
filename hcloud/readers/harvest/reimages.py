"""reimages.csv: when which server lost what is on its disk, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import EvidenceError, InputError
from hcloud.harvest.centre import Reimages
from hcloud.harvest.servers import Servers
from hcloud.model.files import none_such
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.source import open_source
from hcloud.readers.workloads.tables.columns import Column
from hcloud.readers.workloads.tables.delimited import header_layout, read_table
from hcloud.units import format_span

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY = 86_400
LEAST_DAYS = 28
"""Ours: a year is drawn from whole weeks of a log, of which there are four at least."""
LATE, ANNOUNCED = "late", ("interruption", "termination")
KINDS = ("rebuild", "disk", *ANNOUNCED, LATE)
_MOST = 50_000_000
_COLUMNS = (
    Column("time", "time", high=limits.SUBMIT_SECONDS),
    Column("kind", "label", required=False, choices=KINDS),
)


@dataclass(frozen=True, slots=True)
class ReimageLog:
    """Reimages from the first one on, which of them were announced, and heartbeats that only came late; over ``days``
    whole days."""

    reimages: Reimages
    announced: NDArray[np.bool_]
    late: int
    days: float


def read_reimages(path: Path, servers: Servers) -> ReimageLog:
    """The log of a file. InputError with every server in it that there is not, EvidenceError where it is too short."""
    if not path.is_file():
        raise InputError(none_such(path, "reimages"), hint="a csv with the columns server, time and kind")
    source = replace(open_source(path), command=("hcloud", "harvest", "replicas", "--reimages", str(path)))
    known = Column("server", "label", told=f"a server of {servers.file}", choices=servers.row.keys())
    sink = read_table(source, header_layout(source, (known, *_COLUMNS), ignore_extra=True), _MOST)
    codes, row = sink.codes("server"), np.array([servers.row[name] for name in sink.labels("server")], np.int64)
    times = sink.numbers("time")
    kinds = np.array([*sink.labels("kind"), "rebuild"])[sink.codes("kind")] if sink.has("kind") else None
    late = np.zeros(len(times), np.bool_) if kinds is None else kinds == LATE
    days = float(times.max() - times.min()) / DAY
    if days < LEAST_DAYS:
        raise EvidenceError(
            f"{source.name}: reimages over {format_span(days * DAY)}; a year is drawn from weeks of them, {LEAST_DAYS}"
            " days at least"
        )
    real = np.flatnonzero(~late)
    real = real[np.argsort(times[real], kind="stable")]
    announced = np.zeros(len(real), np.bool_) if kinds is None else np.isin(kinds[real], ANNOUNCED)
    log = Reimages(times[real] - times.min(), row[codes[real]])
    return ReimageLog(log, announced, int(late.sum()), days)
