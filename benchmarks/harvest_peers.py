"""Sets of replicas by other engines, for b23: Ceph's ``crushtool`` and Hadoop's own placement class, how long they take
and what a year does to what they choose.

Both are optional. Ceph's is Debian's ``ceph-base``. Hadoop's needs a Java runtime and a folder of its jars, named in
``HADOOP_JARS``: ``deps/jars`` of the source distribution of pyspark 2.4.8 has them, and a compiler for the bridge
(``hadoop_placement.java``).
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hcloud.harvest.kernels.pool import reopen
from hcloud.harvest.replicas import (
    PlacedSets,
    ReplicaPool,
    ServerEvents,
    failed_accesses,
    last_a_year,
    place_blocks,
    pool_of,
)

RACK = 40
ACCESSES = 1_000_000
BRIDGE = Path(__file__).with_name("hadoop_placement.java")


def beside_peers(found: ReplicaPool, happens: ServerEvents, sets: int) -> None:
    """Our sets and those of each peer that is there, of as many blocks on the same servers in the same year."""
    for system in ("history", "stock"):
        _tell(f"b23.{system}", found, happens, place_blocks(found, system, sets, 0))
    for name, made, repairs in (
        ("b23.crush", _crush(len(found.servers), sets), "random"),
        ("b23.hadoop", _hadoop(len(found.servers), sets, found.copies), "stock"),
    ):
        if made is not None:
            _tell(name, found, happens, _as_placed(found, made, repairs))


def _tell(name: str, found: ReplicaPool, happens: ServerEvents, placed: PlacedSets) -> None:
    racks = np.sort(found.servers.groups["rack"].of[placed.sets], axis=1)
    on_two = float(((racks[:, 1:] != racks[:, :-1]).sum(axis=1) == 1).mean())
    failed = failed_accesses(found, placed.sets, ACCESSES, 0)
    year = last_a_year(found, placed, happens)
    print(
        f"{name} {len(placed.sets):,} sets: {on_two:.1%} on exactly two racks; {year.lost:,} blocks lost in the year,"
        f" {failed:,} of {ACCESSES:,} accesses failed",
        flush=True,
    )


def _as_placed(found: ReplicaPool, sets: Any, repairs: str) -> PlacedSets:
    """Sets of another engine as if they had been placed here, and how copies that are lost are made again."""
    made = pool_of(found, repairs, 0)
    held = np.bincount(sets.reshape(-1), minlength=len(found.servers))
    for server in np.flatnonzero(held).tolist():
        reopen(made, server, int(found.blocks[server] - held[server]))
    return PlacedSets(sets.copy(), np.zeros(8, np.int64), made)


def _spent(words: list[str], folder: str) -> tuple[str, float]:
    """What a command prints, and its seconds of processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _crush(servers: int, sets: int) -> Any:
    """Ceph's own engine: three copies in three racks."""
    tool = shutil.which("crushtool")
    if tool is None:
        print("b23.crush: crushtool is not installed (Debian: ceph-base); it is passed over")
        return None
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "map.txt"
        layers = ["host", "straw2", "1", "rack", "straw2", str(RACK), "root", "straw2", "0"]
        for words in (["-o", "map", "--build", "--num_osds", str(servers), *layers], ["-d", "map", "-o", "map.txt"]):
            _spent([tool, *words], folder)
        text.write_text(text.read_text(encoding="utf-8").replace("type host\n\tstep", "type rack\n\tstep"))
        _spent([tool, "-c", "map.txt", "-o", "map"], folder)
        test = [tool, "-i", "map", "--test", "--num-rep", "3", "--rule", "0", "--min-x", "0", "--max-x", str(sets - 1)]
        _, seconds = _spent([*test, "--show-statistics"], folder)
        told, _ = _spent([*test, "--show-mappings"], folder)
    print(f"b23.crush {sets:,} sets on {servers:,} servers in racks of {RACK}: {1e6 * seconds / sets:.1f} us a set")
    rows = [line.rpartition("[")[2].rstrip("]").split(",") for line in told.splitlines() if "[" in line]
    return np.array([row for row in rows if len(row) == 3], np.int32)


def _hadoop(servers: int, sets: int, copies: int) -> Any:
    """Hadoop's BlockPlacementPolicyDefault in a virtual machine, after it has warmed up."""
    java, jars = shutil.which("java"), os.environ.get("HADOOP_JARS", "")
    if java is None or not list(Path(jars).glob("hadoop-hdfs-*.jar") if jars else ()):
        print("b23.hadoop: no java, or HADOOP_JARS names no folder with hadoop-hdfs-*.jar; it is passed over")
        return None
    with tempfile.TemporaryDirectory() as folder:
        run = [java, "-cp", f"{Path(jars).resolve()}/*", "org.codehaus.janino.SimpleCompiler", str(BRIDGE)]
        told, _ = _spent([*run, "HadoopPlacement", *map(str, (servers, RACK, sets, copies)), "sets"], folder)
        made = np.fromfile(Path(folder) / "sets", ">i4").reshape(sets, copies).astype(np.int32)
    each, lacking = told.split()
    print(
        f"b23.hadoop {sets:,} sets on {servers:,} servers in racks of {RACK}: {float(each):.1f} us a set, {lacking}"
        " lack copies",
        flush=True,
    )
    return made[(made >= 0).all(axis=1)]
