"""Turns between workers: a test marked ``alone`` measures the machine, so it waits until no other test runs."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_TURNS = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, and in a worker the turns it takes."""
    config.addinivalue_line("markers", "alone: no other test runs beside it")
    told = getattr(config, "workerinput", {}).get("turns")
    if told:
        config.pluginmanager.register(Turns(Path(told)))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each worker where they meet."""
    stash = node.config.stash
    if _TURNS not in stash:
        stash[_TURNS] = tempfile.mkdtemp(prefix="hcloud-tests-")
    node.workerinput["turns"] = stash[_TURNS]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if _TURNS in config.stash:
        shutil.rmtree(config.stash[_TURNS], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that run alone come first, one after the other: the other workers wait once."""
    items.sort(key=lambda item: not is_alone(item))


def is_alone(item: pytest.Item | None) -> bool:
    """Whether a test has to run alone."""
    return item is not None and item.get_closest_marker("alone") is not None


class Turns:
    """Any number of workers hold the floor together, or one of them alone.

    Everybody enters through a gate, which whoever waits to be alone keeps shut: others that come and go cannot keep it
    waiting. The kernel gives back what a worker that dies held.
    """

    def __init__(self, directory: Path) -> None:
        self._gate, self._floor = ((directory / name).open("w") for name in ("gate", "floor"))
        self._alone = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Wait before the clock of a test's time limit starts; one that runs alone hands over to the next such."""
        if not self._alone:
            self._enter(alone=is_alone(item))
        try:
            return (yield)
        finally:
            if not (self._alone and is_alone(nextitem)):
                self._leave()

    def _enter(self, *, alone: bool) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._floor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        self._alone = alone

    def _leave(self) -> None:
        fcntl.flock(self._floor, fcntl.LOCK_UN)
        self._alone = False

    def pytest_unconfigure(self) -> None:
        """Give the files back."""
        self._gate.close()
        self._floor.close()
