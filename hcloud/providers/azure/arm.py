"""Azure's SDK clients on one endpoint: only what is throttled is sent again, and every failure told in our words."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from azure.core.exceptions import AzureError, ClientAuthenticationError, DecodeError, HttpResponseError
from azure.core.pipeline import policies
from azure.core.pipeline.transport import RequestsTransport
from azure.core.polling import NoPolling
from azure.core.rest import HttpRequest
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy

from hcloud import __version__
from hcloud.control.ports import Clock, Stop, Tell, never, silent
from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    HcloudError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import Provider
from hcloud.model.endpoint import AZURE_AUTHORITY, check_azure_authority
from hcloud.providers.azure.documents import Document, items, text
from hcloud.providers.azure.errors import Reply, failure, lost, refusal, reply_from
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.http import same_host
from hcloud.providers.throttled import Throttling

CONNECT_SECONDS = 10.0  # ours
READ_SECONDS = 60.0  # ours: longer than Azure lets a request last
SUBSCRIPTIONS_VERSION = "2022-12-01"
COMPUTE_VERSION = "2024-07-01"
MOST_PAGES = 10_000  # ours: an endless list is no list
THROTTLED = 429
PRINCIPAL_HEADER = "x-hcloud-principal"
_TOKEN = "{}/.default"
_UNHEARD = logging.NullHandler()


class Arm:
    """The clients for compute, network and reservations, and plain requests for what no client does.

    ``credential`` is any token credential of the SDK; without one, the usual chain of them is tried. An unencrypted
    endpoint, which can only be one on this machine, never gets one. With a ``clock`` what Azure throttles is sent again
    for a while, but for orders: to end machines takes a dozen requests, and each refusal would begin them all anew.
    """

    def __init__(
        self,
        settings: AzureSettings,
        credential: object | None = None,
        clock: Clock | None = None,
        tell: Tell = silent,
        stop: Stop = never,
    ) -> None:
        self.settings = settings
        self._given = credential
        self._throttling = Throttling(f"azure {settings.location}", clock.sleep, tell, stop) if clock else None
        # what the SDK warns of is raised, too; without anybody to hear it, it would be printed with a trace
        logging.getLogger("azure").addHandler(_UNHEARD)

    @cached_property
    def compute(self) -> Any:
        """Machines, scale sets, disks, sizes and limits."""
        from azure.mgmt.compute import ComputeManagementClient

        return ComputeManagementClient(self._credential, self.settings.subscription, **self._wiring())

    @cached_property
    def network(self) -> Any:
        """Network interfaces and addresses."""
        from azure.mgmt.network import NetworkManagementClient

        return NetworkManagementClient(self._credential, self.settings.subscription, **self._wiring())

    @cached_property
    def reservations(self) -> Any:
        """Reservations and what they cost."""
        from azure.mgmt.reservations import ReservationsMgmtClient

        return ReservationsMgmtClient(self._credential, **self._wiring())

    @cached_property
    def _plain(self) -> Any:
        return ARMPipelineClient(self.settings.base_url, policies=self._policies(), transport=self._transport)

    @cached_property
    def _credential(self) -> Any:
        if self._given is not None:
            return self._given
        if self.settings.is_fake:
            return _NoCredential()
        from azure.identity import DefaultAzureCredential

        check_azure_authority(os.environ.get(AZURE_AUTHORITY, ""))
        return DefaultAzureCredential()

    @cached_property
    def _transport(self) -> Any:
        checked: dict[str, Any] = {"connection_verify": self.settings.ca_file} if self.settings.ca_file else {}
        if self.settings.is_fake:
            checked["use_env_settings"] = False  # what is not encrypted goes through no proxy
        return RequestsTransport(connection_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, **checked)

    def close(self) -> None:
        """Let go of the connections."""
        if "_transport" in self.__dict__:
            self._transport.close()

    def _wiring(self) -> dict[str, Any]:
        return {"base_url": self.settings.base_url, "policies": self._policies(), "transport": self._transport}

    def _policies(self) -> list[Any]:
        """What each request goes through, made anew for each client as a chain cannot be shared.

        Named one by one because the usual chain retries, follows redirects with the token, and registers missing
        resource providers by itself (a change nobody planned, with a wait of ten seconds a round).
        """
        principal = {PRINCIPAL_HEADER: self.settings.principal} if self.settings.principal else {}
        return [
            policies.RequestIdPolicy(),
            policies.HeadersPolicy(principal),
            policies.UserAgentPolicy(base_user_agent=f"hcloud-hybrid/{__version__}"),
            policies.ContentDecodePolicy(),
            policies.RedirectPolicy.no_redirects(),
            _SendAgain(self._throttling) if self._throttling else policies.RetryPolicy.no_retries(),
            _OwnHost(self),
            self._authentication(),
        ]

    def _authentication(self) -> Any:
        if self.settings.is_fake:
            return policies.SansIOHTTPPolicy()
        return ARMChallengeAuthenticationPolicy(self._credential, _TOKEN.format(self.settings.base_url))

    def call(self, operation: str) -> Call:
        """The name of a request, for messages."""
        return Call(Provider.AZURE, self.settings.location, operation)

    @contextmanager
    def asking(self, operation: str, *, mutating: bool = False) -> Iterator[None]:
        """Whatever goes wrong inside is raised as what it means."""
        try:
            yield
        except HcloudError:
            raise
        # Broken answers surface as whatever the parser stumbles over; none of it says that nothing was done
        except Exception as error:
            # not chained: what the SDK's exception holds must not reach a trace that is shown
            raise meaning(error, self.call(operation), mutating=mutating) from None

    @contextmanager
    def once_accepted(self, operation: str) -> Iterator[None]:
        """Inside, a refusal to be told more is no refusal of what was accepted before: the outcome is unknown."""
        try:
            yield
        except (UnavailableError, ThrottledError, DeniedError, CredentialsError, NotFoundError) as error:
            said = f"accepted, then {error}"
            raise UnknownOutcomeError(said, self.call(operation), hint=error.hint) from error

    def read(self, operation: str, ask: Callable[..., Any], *args: object, **more: object) -> Document:
        with self.asking(operation):
            found = ask(*args, **more)
            if not hasattr(found, "get"):
                raise ValueError("the answer is not an object")
            return found  # type: ignore[no-any-return]

    def unpaged(self, operation: str, ask: Callable[..., Any], *args: object) -> tuple[Document, ...]:
        """All of a list that has no pages."""
        with self.asking(operation):
            return tuple(ask(*args))

    def pages(self, operation: str, ask: Callable[..., Any], *args: object, **more: object) -> tuple[Document, ...]:
        """All of a list, every page of it."""
        found: list[Document] = []
        seen: set[str] = set()
        with self.asking(operation):
            listed = ask(*args, **more).by_page()
            for page in listed:
                found += page
                following = listed.continuation_token
                if following in seen or len(seen) >= MOST_PAGES:
                    raise UnavailableError("the pages of the list have no end", self.call(operation))
                seen |= {following} if following else set()
        return tuple(found)

    def plain_pages(self, operation: str, path: str, more: str = "") -> tuple[Document, ...]:
        """All of a list of a subscription as Azure wrote it: to make the SDK's models of ten thousand machines takes
        several times as long as to read what was written."""
        here = f"{self.settings.base_url}/subscriptions/{self.settings.subscription}/"
        url, seen = f"{here}{path}?api-version={COMPUTE_VERSION}{more}", set[str]()
        found: list[Document] = []
        while url:
            if url in seen or len(seen) >= MOST_PAGES:
                raise UnavailableError("the pages of the list have no end", self.call(operation))
            seen.add(url)
            reply = self.get(operation, url)
            if reply.status != 200 or not reply.understood:
                raise refusal(self.call(operation), reply, mutating=False)
            if not isinstance(reply.document.get("value"), list):
                raise lost(self.call(operation), "the answer holds no list", mutating=False)
            found += items(reply.document, "value")
            url = text(reply.document, "nextLink")
        return tuple(found)

    def change(self, operation: str, begin: Callable[..., Any], *args: object, **more: object) -> Reply:
        """What Azure says at once to a request that changes something; nothing is waited for."""
        with self.asking(operation, mutating=True):
            response = begin(*args, polling=_Accepted(), **more).result().http_response
            reply = reply_from(response.status_code, response.headers, response.text())
            if not reply.understood:
                raise lost(self.call(operation), f"answered {reply.status} with what is no JSON", mutating=True)
            return reply

    def get(self, operation: str, url: str) -> Reply:
        """The answer to a plain GET, whatever its status; UnavailableError where none came."""
        with self.asking(operation):
            response = self._plain.send_request(HttpRequest("GET", url))
            return reply_from(response.status_code, response.headers, response.text())

    def is_own(self, url: str) -> bool:
        """Whether an address is one of the endpoint: no other is ever asked, the token would go along."""
        return same_host(url, self.settings.base_url)

    def account(self) -> str:
        """The subscription, as Azure knows it."""
        operation = "Subscriptions_Get"
        url = f"{self.settings.base_url}/subscriptions/{self.settings.subscription}?api-version={SUBSCRIPTIONS_VERSION}"
        reply = self.get(operation, url)
        if reply.status != 200 or not reply.understood:
            raise refusal(self.call(operation), reply, mutating=False)
        if (state := text(reply.document, "state")) in ("Disabled", "Deleted"):
            raise CredentialsError(f"the subscription is {state.lower()}", self.call(operation))
        return text(reply.document, "subscriptionId") or self.settings.subscription


def meaning(error: Exception, call: Call, *, mutating: bool) -> CloudError:
    """What an exception of the SDK means; one that does not say so is an outcome nobody knows."""
    if isinstance(error, ClientAuthenticationError) and not _is_from_azure(error.response):
        # It was raised where the token is fetched, before anything was sent
        return failure(call, {"code": "AuthenticationFailed", "message": " ".join(str(error).split())})
    if isinstance(error, HttpResponseError) and error.response is not None:
        response = error.response
        reply = reply_from(response.status_code, response.headers, _body(response))
        # Words of a DecodeError are the body, from its first byte on
        reply = replace(reply, document={}, understood=False) if isinstance(error, DecodeError) else reply
        return refusal(call, reply, mutating=mutating)
    said = " ".join(str(error).split()) if isinstance(error, AzureError | OSError) else "the answer makes no sense"
    return lost(call, f"{type(error).__name__}: {said}", mutating=mutating)


def _is_from_azure(response: Any) -> bool:
    """Whether an answer is the Resource Manager's; those who hand out tokens describe their errors otherwise."""
    return response is not None and bool(text(reply_from(401, {}, _body(response)).document, "error", "code"))


def _body(response: Any) -> str:
    try:
        return str(response.text())
    except Exception:
        return "?"  # a body that cannot be read is no JSON


class _Accepted(NoPolling):  # type: ignore[misc]
    """Stands where the SDK expects a way of polling, and takes the first answer, as it came, for the last."""

    def resource(self) -> object:
        """The first answer."""
        return self._initial_response


class _OwnHost(policies.SansIOHTTPPolicy):  # type: ignore[misc]
    """Keeps every request at the endpoint: a page of a list says where the next one is, and the token goes along."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm

    def on_request(self, request: Any) -> None:
        """Refuse to send it elsewhere."""
        if not self._arm.is_own(str(request.http_request.url)):
            raise AzureError("the answer points to another host, which is not asked")


class _SendAgain(policies.HTTPPolicy):  # type: ignore[misc]
    """Stands where the SDK would retry, and sends only what is throttled again: that was not done."""

    def __init__(self, throttling: Throttling) -> None:
        super().__init__()
        self._throttling = throttling

    def send(self, request: Any) -> Any:
        """The answer to a request; orders and purchases, which are put, are sent once."""
        if request.http_request.method == "PUT":
            return self.next.send(request)
        return self._throttling.answered(lambda: self.next.send(request), _retry_after)


def _retry_after(answer: Any) -> float | None:
    """The seconds that a throttled answer names, or less than none."""
    response = answer.http_response
    if response.status_code != THROTTLED:
        return None
    told = reply_from(THROTTLED, response.headers, "").retry_after
    return -1.0 if told is None else told


class _NoCredential:
    """What an unencrypted endpoint gets: never asked, since the policy that would is replaced."""

    def get_token(self, *_scopes: str, **_more: object) -> object:
        """Refuse."""
        raise ValueError("no token is ever sent to an unencrypted endpoint")
