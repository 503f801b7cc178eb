"""The credential path to Azure over TLS, and the rights that are needed."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
import trustme
from azure.core.exceptions import ClientAuthenticationError
from contract.rig import KEY, LINEAGE, OTHER_KEY, order
from contract.rigs.azure import AzureRig

from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    UnavailableError,
)
from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION, FakeAzure
from hcloud.fake.faults import FaultPlan, Faults, fault_plan
from hcloud.fake.server import FakeServer
from hcloud.providers.azure.arm import meaning
from hcloud.providers.azure.provider import AzureCloud
from hcloud.providers.azure.settings import AzureSettings
from hcloud.readers.permissions import load_permissions
from on_azure.life import CANARY, LAUNCH, ids, launched, nothing_is_left

# L6, L8: the credential path, over TLS


class Credential:
    """A token credential as the SDK wants one."""

    def get_token(self, *scopes: str, **more: object) -> object:
        from azure.core.credentials import AccessToken

        assert scopes
        return AccessToken(CANARY, 4_000_000_000)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secured(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeAzure, AzureCloud]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    pem = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    fake = FakeAzure(FaultPlan.model_validate({"clock": {"speed": 0}}), scheme="https")
    with FakeServer(fake, tls=context) as running:
        settings = AzureSettings(FIRST_SUBSCRIPTION, "eastus", endpoint=running.url, ca_file=str(pem))
        cloud = AzureCloud(settings, fake.clock, Credential())
        yield fake, cloud
        cloud.close()


def test_L8_over_TLS_every_request_carries_the_token(secured: tuple[FakeAzure, AzureCloud]) -> None:
    fake, cloud = secured
    rig = AzureRig
    made = cloud.launch(order(rig, count=2)).machines  # type: ignore[arg-type]
    assert len(cloud.machines(LINEAGE)) == 2
    cloud.terminate([m.id for m in made])
    assert {r.principal for r in fake.ledger.requests} == {CANARY}


def test_L8_over_TLS_nobody_waits_for_a_client_that_says_nothing_or_is_gone(
    secured: tuple[FakeAzure, AzureCloud],
) -> None:
    """The server waited for the first for ever, and left the socket of the second open: a later test failed of it."""
    at = ("127.0.0.1", urlsplit(secured[1].settings.endpoint).port)
    with socket.create_connection(at):
        for _ in range(9):
            with socket.create_connection(at) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with socket.create_connection(at, 5) as raw, trusting(secured[1].settings.ca_file).wrap_socket(raw) as other:
            other.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert other.recv(8) == b"HTTP/1.1"


def trusting(authority: str) -> ssl.SSLContext:
    """What a client trusts, whatever its name is."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    return context


@pytest.mark.parametrize("answer", ["redirect", "denied", "expired-credentials", "nonsense", "dropped-after"])
def test_L6_no_error_tells_the_token(secured: tuple[FakeAzure, AzureCloud], answer: str) -> None:
    fake, cloud = secured
    fake.faults = Faults(fault_plan({"rules": [{"answer": answer}]}, "test"), fake.clock.now())
    with pytest.raises(CloudError) as caught:
        cloud.launch(order(AzureRig, count=2))  # type: ignore[arg-type]
    assert CANARY not in f"{caught.getrepr(style='long', showlocals=False)}"


def test_L8_an_endpoint_whose_certificate_nobody_vouches_for_gets_nothing(
    secured: tuple[FakeAzure, AzureCloud],
) -> None:
    fake, cloud = secured
    distrusting = AzureCloud(replace(cloud.settings, ca_file=""), fake.clock, Credential())
    with pytest.raises(UnavailableError):
        distrusting.scope()
    distrusting.close()
    assert not fake.ledger.requests


def test_L8_no_token_is_sent_in_the_clear(rig: AzureRig) -> None:
    settings = rig.cloud("watcher").settings
    cloud = AzureCloud(settings, rig.fake.clock, Credential())
    cloud.scope()
    cloud.close()
    assert [r.principal for r in rig.requests()] == ["watcher"]


def test_F3_what_may_not_be_listed_is_denied(rig: AzureRig) -> None:
    rig.faults({"roles": {"blind": ["VirtualMachineScaleSets_*"]}})
    with pytest.raises(DeniedError, match="virtualMachines/read"):
        rig.cloud("blind").machines(LINEAGE)


def rights(*purposes: str) -> list[str]:
    return [p.name for p in load_permissions("azure").permissions if set(p.purposes) & set(purposes)]


def test_the_rights_that_hcloud_prints_are_enough(rig: AzureRig) -> None:
    roles = {"hand": rights("read", "launch", "terminate"), "purse": rights("buy"), "eye": rights("commitments")}
    rig.faults({"roles": roles, "stock": {rig.type_name: 2}})
    hand, purse = rig.cloud("hand"), rig.cloud("purse")
    hand.scope()
    assert hand.zones(rig.type_name)
    assert hand.quotas(rig.type_name)
    assert hand.image(hand.template([rig.type_name]).images[0].name)
    made = [m.id for m in hand.launch(order(rig)).machines]
    hand.terminate(made[:1])
    hand.terminate(made[1:])
    assert nothing_is_left(rig)
    quote = purse.quote(rig.commitment(KEY))
    purse.buy(quote)
    assert len(rig.cloud("eye").commitments()) == 1
    with pytest.raises(DeniedError):
        hand.buy(quote)


def test_I6_the_rights_to_look_change_nothing(rig: AzureRig) -> None:
    made = launched(rig)
    rig.faults({"roles": {"eye": rights("read")}})
    eye = rig.cloud("eye")
    assert sorted(m.id for m in eye.machines(LINEAGE)) == made
    with pytest.raises(DeniedError):
        eye.terminate(made)
    with pytest.raises(DeniedError):
        eye.launch(order(rig, OTHER_KEY))
    assert ids(rig) == made


class Asked:
    """An answer of those who hand out tokens."""

    status_code = 400
    reason = "Bad Request"
    headers: ClassVar[dict[str, str]] = {}

    def text(self) -> str:
        return '{"error": "invalid_client", "error_description": "AADSTS7000222: the client secret is expired."}'


@pytest.mark.parametrize("response", [None, Asked()])
def test_F1_a_token_that_cannot_be_had_is_a_matter_of_credentials(response: object) -> None:
    error = ClientAuthenticationError("AADSTS7000222: the client secret is expired.", response=response)
    found = meaning(error, Call("azure", "eastus", LAUNCH), mutating=True)
    assert isinstance(found, CredentialsError)
    assert "expired" in str(found)
