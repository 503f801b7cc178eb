"""placement.jsonl: a line a block with the servers of its copies, and whether the guard of diversity leaves it out; and
lists of blocks to place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.harvest.servers import Servers
from hcloud.model.files import none_such
from hcloud.model.json_text import parsed
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.source import TraceFile, open_source
from hcloud.units import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LINE = '{"block": "b1", "servers": ["s1", "s2", "s3"]}'


def read_placement(path: Path, servers: Servers) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The rows of the servers of a file's blocks, and which the guard counts. InputError with every line that cannot
    be."""
    source = _opened(path, f"a line a block: {_LINE}")
    findings, guarded = Findings(source.name), list[bool]()
    rows: list[list[int]] = []
    for number, line in source.lines():
        stated = _stated(findings, number, line)
        if stated is None:
            continue
        guards, names = stated
        _check(findings, number, names, (servers, len(rows[0]) if rows else len(names)))
        guarded.append(guards)
        rows.append([servers.row.get(name, -1) for name in names])
    if findings.problems:
        raise findings.error()
    if not rows:
        raise InputError(f"{source.name}: no blocks", hint=f"a line a block: {_LINE}")
    return np.array(rows, np.int32), np.array(guarded, np.bool_)


def _stated(findings: Findings, number: int, line: bytes) -> tuple[bool, list[str]] | None:
    """Whether the guard counts the block of a line, and its servers; None for a head, an empty line and what is noted
    as wrong."""
    if not line.strip() or findings.full:
        return None
    try:
        stated = parsed(line)
    except ValueError:
        findings.add(f"line {number}", shown(line.decode("utf-8", "replace")), _LINE)
        return None
    if isinstance(stated, dict) and "format_version" in stated:
        return None
    names = stated.get("servers") if isinstance(stated, dict) else None
    if not isinstance(names, list) or not names or "block" not in stated:
        findings.add(f"line {number}", shown(line.decode("utf-8", "replace")), _LINE)
        return None
    guards = stated.get("guard", True)
    if not isinstance(guards, bool):
        findings.add(
            f"line {number}, guard", shown(str(guards)), "true, or false for a block that the guard leaves out"
        )
        return None
    return guards, [str(name) for name in names]


def _check(findings: Findings, number: int, names: list[str], wanted: tuple[Servers, int]) -> None:
    """Note what is wrong with the servers of a block."""
    servers, copies = wanted
    for name in names:
        if name not in servers.row:
            findings.add(f"line {number}, servers", shown(name), f"a server of {servers.file}")
    if len(set(names)) < len(names):
        findings.add(f"line {number}, servers", ", ".join(names), "each server once")
    if len(names) != copies:
        findings.add(
            f"line {number}, servers", counted(len(names), "copy", "copies"), f"{copies}, as the first block has"
        )


def read_blocks(path: Path, servers: Servers) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The blocks of a list, one a line, each with its writer behind a comma where it has one (-1: any server)."""
    source = _opened(path, "how many blocks, or a file with a block a line, and its writer behind a comma")
    findings, writers = Findings(source.name), dict[str, int]()
    for number, line in source.lines():
        block, comma, writer = (part.strip() for part in line.decode("utf-8", "replace").partition(","))
        if not block or (number == 1 and block == "block"):
            continue
        if block in writers:
            findings.add(f"line {number}, block", shown(block), "each block once")
        writers[block] = servers.row.get(writer, -1)
        if comma and writer not in servers.row:
            findings.add(f"line {number}, writer", shown(writer), f"a server of {servers.file}")
    if findings.problems:
        raise findings.error()
    if not writers:
        raise InputError(f"{source.name}: no blocks", hint="a block a line, and its writer behind a comma")
    return tuple(writers), np.array(list(writers.values()), np.int64)


def _opened(path: Path, hint: str) -> TraceFile:
    if not path.is_file():
        raise InputError(none_such(path, "blocks"), hint=hint)
    return open_source(path)
