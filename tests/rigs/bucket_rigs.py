"""Fixtures over the rigs of buckets: a server a module and store, empty and known to honour conditions in each test."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from buckets import STORES, Rig, running

from hcloud.store.buckets.state_bucket import NOTE

on_one = pytest.mark.parametrize("rigs", ["gs"], indirect=True)
"""What the store makes of its port is the same whoever's it is: the quickest one will do."""


@pytest.fixture(scope="module", params=STORES, name="rigs")
def opened(request: pytest.FixtureRequest) -> Iterator[Rig]:
    with running(request.param) as found:
        yield found


@pytest.fixture(name="rig")
def emptied(rigs: Rig) -> Rig:
    rigs.empty()
    rigs.put(NOTE, json.dumps({"store": rigs.objects().where}).encode())
    rigs.front.requests.clear()
    return rigs
