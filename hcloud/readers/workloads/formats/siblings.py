"""Finds the files that belong to a given one: passed by a key, or beside it under the published names."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hcloud.errors import InputError
from hcloud.readers.workloads.findings import Findings
from hcloud.readers.workloads.source import TraceFile, open_source


def sibling(source: TraceFile, pattern: str, passed: Path | None, key: str) -> TraceFile:
    """The one file beside ``source`` that matches, unless a path was passed; InputError names the key otherwise."""
    if passed is not None:
        return open_source(passed)
    found = sorted(source.path.parent.glob(pattern))
    if len(found) == 1:
        return open_source(found[0])
    what = f"no file {pattern}" if not found else f"{len(found)} files {pattern}"
    raise InputError(f"{source.name}: {what} beside it", hint=f"pass the file with --set {key}=PATH")


def text_lines(source: TraceFile, findings: Findings) -> list[tuple[int, str]]:
    """Numbered lines that are not blank; bytes that are not ASCII are noted as problems."""
    lines: list[tuple[int, str]] = []
    number = 0
    for number, line in source.lines():
        if not line.isascii() or b"\0" in line:
            findings.add(f"line {number}", "bytes that are not ASCII text", "digits, letters, commas and bars")
        elif line.strip():
            lines.append((number, line.decode("ascii").strip()))
    if source.open_end:
        findings.add(f"line {number}", "has no end", "a line end behind every line; was the file cut short?")
    return lines


def both_digests(first: TraceFile, second: TraceFile) -> str:
    """One digest for a workload that two files make up."""
    return hashlib.sha256(f"{first.digest()} {second.digest()}".encode()).hexdigest()
