"""A fake Azure that is empty in each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract.rigs.azure import AzureRig


@pytest.fixture
def rig() -> Iterator[AzureRig]:
    found = AzureRig()
    found.open()
    found.reset()
    yield found
    found.close()
