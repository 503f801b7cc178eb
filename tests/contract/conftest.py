"""Runs each contract test on every rig that has the abilities it needs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from contract.rig import Ability, Rig

HERE = Path(__file__).parent
ORDER = ("memory", "memory_gcp", "memory_azure", "aws", "gcp", "azure", "local")


def rig_classes() -> dict[str, type[Rig]]:
    """The rigs there are, by name."""
    names = [n for n in ORDER if (HERE / "rigs" / f"{n}.py").is_file()]
    return {n: import_module(f"contract.rigs.{n}").RIG for n in names}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*abilities): runs only on rigs that have all of these abilities")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise over rigs rather than skip: a skip would look like a test that could not run."""
    if "rig" not in metafunc.fixturenames:
        return
    needed = {Ability(a) for mark in metafunc.definition.iter_markers("needs") for a in mark.args}
    able = [n for n, c in rig_classes().items() if needed <= c.abilities]
    metafunc.parametrize("opened", able, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what no rig is able to show."""
    items[:] = [i for i in items if "NOTSET" not in i.name]


@pytest.fixture(scope="session")
def opened(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A rig, opened once."""
    rig = rig_classes()[request.param]()
    rig.open()
    yield rig
    rig.close()


@pytest.fixture
def rig(opened: Rig) -> Rig:
    """The same with an empty fake."""
    opened.reset()
    return opened
