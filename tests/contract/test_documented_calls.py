"""What a provider asks of its cloud is what docs/reference/what-it-touches.md says: the fakes' ledgers know no more."""

from __future__ import annotations

import importlib
from contextlib import suppress

import pytest

from contract.rig import KEY, LINEAGE, Ability, Rig, order
from hcloud.errors import CloudError

importlib.import_module("docs.make_reference")
CALLS = importlib.import_module("reference_calls")


def everything(rig: Rig) -> None:
    """Each method of the port, once and as it is meant."""
    cloud = rig.cloud()
    cloud.scope()
    cloud.zones(rig.type_name)
    cloud.quotas(rig.type_name)
    for image in cloud.template([rig.type_name]).images:
        cloud.image(image.name)
    ids = [machine.id for machine in cloud.launch(order(rig, count=2)).machines]
    rig.later(120)
    cloud.machines(LINEAGE)
    cloud.look(ids)
    cloud.examine(ids)
    with suppress(CloudError, AttributeError):
        cloud.console(ids[0])  # type: ignore[attr-defined]
    cloud.buy(cloud.quote(rig.commitment(KEY)))
    cloud.commitments()
    with suppress(CloudError, NotImplementedError):
        cloud.cancel(cloud.buy(cloud.quote(rig.cancellable("c3" * 16))).id)
    rig.later(120)
    cloud.terminate(ids)
    rig.later(600)
    cloud.machines(LINEAGE)


@pytest.mark.needs(Ability.COMMITMENTS, Ability.PAGES)  # those in memory have no requests in the cloud's own words
def test_the_ledger_knows_no_request_that_the_page_does_not(rig: Rig) -> None:
    everything(rig)
    told = {operation.name: operation for operation in CALLS.operations(rig.name)}
    seen = {request.operation: request.mutating for request in rig.fake.ledger.requests}
    assert len(seen) > 6
    assert set(seen) - set(told) == set()
    assert {name for name, changes in seen.items() if changes != told[name].changes} == set()
