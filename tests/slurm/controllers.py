"""Verbs of ``hcloud operate`` as processes: forked from one that has loaded everything, and ended with their test."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.children import Child, Forker, Job


class Controllers:
    """Those of a test, with this slurmctld; use ``close`` in the end."""

    def __init__(self, forker: Forker) -> None:
        self._forker = forker
        self._children: list[Child] = []

    def start(self, words: Sequence[str], env: Mapping[str, str], cwd: Path) -> Child:
        """One that does a verb."""
        child = self._forker.start(Job(["operate", *words], env, cwd))
        self._children.append(child)
        return child

    def close(self) -> None:
        """End those that still run."""
        for child in self._children:
            child.send(signal.SIGKILL)
        for child in self._children:
            child.over.wait()
