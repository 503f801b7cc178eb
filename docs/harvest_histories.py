"""Pools of servers whose services go on as real machines and clusters did, for the tables of real histories: files that
``hcloud harvest`` reads, made in a folder of their own. The data is public and is no part of the project."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hcloud.usecases.harvesting.opened import UseRequest, open_use

MONDAY, FIVE_MINUTES = 1_704_067_200, 300
VCPUS, MEMORY_GIB, DISK_GIB = 16, 64, 200
HOSTING, GOOGLE, ALIBABA, EC2 = (
    "bitbrains50_fragments.parquet",
    "dc_google2019_instance_usage_grouped_300_seconds_month.csv",
    "dc_alibaba2018_machine_usage_days_1_to_8_grouped_300_seconds.csv",
    "nab_ec2_cpu_utilization_*.csv",
)


@dataclass(frozen=True)
class Pool:
    """A history of each tenant, every five minutes from a Monday on, on so many servers each."""

    title: str
    tenants: dict[str, list[float]]
    servers: dict[str, int]

    def write(self, folder: Path) -> tuple[str, str]:
        """``util.csv`` and ``servers.csv``: all servers of a tenant do the same."""
        use, servers = folder / "util.csv", folder / "servers.csv"
        with use.open("w", encoding="utf-8") as file:
            file.write("server,time,cpu\n")
            for tenant, levels in self.tenants.items():
                for at, level in enumerate(levels):
                    file.write(f"{tenant}-0,{MONDAY + FIVE_MINUTES * at},{level:.6f}\n")
        with servers.open("w", encoding="utf-8") as file:
            file.write("server,tenant,environment,cores,mem_gib,harvest_gib\n")
            for tenant in self.tenants:
                for at in range(self.servers[tenant]):
                    file.write(f"{tenant}-{at},{tenant},{tenant},{VCPUS},{MEMORY_GIB},{DISK_GIB}\n")
        return str(use), str(servers)


def pools(folder: Path) -> Iterator[Pool]:
    """Of the histories in a folder: virtual machines of a hosting centre, and whole clusters beside single machines."""
    hosting = _bitbrains(folder / HOSTING)
    yield Pool("hosting centre", hosting, dict.fromkeys(hosting, 20))
    google = _column(folder / GOOGLE, "avg_cpu", 1.0)
    ec2 = {f"ec2-{at}": _column(file, "value", 100.0) for at, file in enumerate(sorted(folder.glob(EC2)))}
    least = min(map(len, ec2.values()))
    both = {"google": google[:least], **{name: levels[:least] for name, levels in ec2.items()}}
    yield Pool("a cluster and five machines", both, {name: 240 if name == "google" else 40 for name in both})


def alone(folder: Path) -> Iterator[Pool]:
    """Every whole cluster as one tenant."""
    for title, file, column, whole in (
        ("Google, 2019", GOOGLE, "avg_cpu", 1.0),
        ("Alibaba, 2018", ALIBABA, "cpu_util_percent", 100.0),
    ):
        yield Pool(title, {"cluster": _column(folder / file, column, whole)}, {"cluster": 100})


def _bitbrains(file: Path) -> dict[str, list[float]]:
    """Of each machine that was there all the time, gaps filled as ``harvest types`` fills them."""
    found = open_use(UseRequest(str(file))).histories
    assert found.step == FIVE_MINUTES, found.step
    return {f"vm-{name}": found.use[row].tolist() for row, name in enumerate(found.tenants)}


def _column(file: Path, name: str, whole: float) -> list[float]:
    with file.open(encoding="utf-8") as rows:
        return [min(max(float(row[name]) / whole, 0.0), 1.0) for row in csv.DictReader(rows)]
