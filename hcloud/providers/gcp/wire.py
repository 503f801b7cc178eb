"""The SDK's clients, all on one endpoint: with time limits, no redirect followed, only what is throttled sent again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from hcloud.control.ports import Stop, Tell, never, silent
from hcloud.errors import Call, HcloudError, NotFoundError, UnknownOutcomeError
from hcloud.model.catalog import Provider
from hcloud.model.endpoint import check_google_credentials, checked_endpoint, is_plain
from hcloud.providers.gcp import sdk
from hcloud.providers.gcp.documents import Document, document_of, member
from hcloud.providers.gcp.errors import cloud_error
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.translate import OperationEnd, ended, is_done
from hcloud.providers.throttled import Throttling

PRINCIPAL_HEADER = "x-hcloud-principal"
READ_SECONDS, CHANGE_SECONDS = 30.0, 60.0  # ours
WAIT_SECONDS = 150.0  # ours: a wait of Google's takes up to two minutes
MOST_WAITS = 15  # ours: about half an hour
LONGEST_PAUSE_SECONDS = 30.0  # ours
LONGEST_WAIT_SECONDS = MOST_WAITS * (WAIT_SECONDS + LONGEST_PAUSE_SECONDS)
MOST_PAGES = 2000  # ours: a million machines; a list that has more is taken for one without an end
METADATA_SECONDS = 1.0  # ours: how long a machine outside of Google looks for Google's metadata server,
_JSON = ("Content-Type", "application/json")
Read = TypeVar("Read")
_SCOPES = ("https://www.googleapis.com/auth/compute", "https://www.googleapis.com/auth/monitoring.read")


class Wire:
    """Compute Engine as the SDK speaks to it. ``pause`` waits between looks at an operation that takes long, and until
    what was throttled is sent again: reads and ends alone."""

    def __init__(
        self, settings: GoogleSettings, pause: Callable[[float], None], tell: Tell = silent, stop: Stop = never
    ) -> None:
        self.types: Any = sdk.messages()
        self._settings = settings
        self._pause = pause
        self._throttling = Throttling(f"gcp {settings.region}", pause, tell, stop)
        self._local = settings.is_local
        self._credentials: Any = None
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._metadata = ((PRINCIPAL_HEADER, settings.principal),) if self._local and settings.principal else ()

    def call(self, operation: str) -> Call:
        """A request, for messages."""
        return Call(Provider.GCP, self._settings.region, operation)

    def client(self, name: str) -> Any:
        """A client of the SDK by the name of its class, made when it is first needed.

        The operations that calls like ``insert`` hand back make clients of their own, which ignore the endpoint and
        go to Google with whatever credentials there are: so only the ``_unary`` calls are used, and these clients.
        """
        from google.api_core.client_options import ClientOptions

        with self._lock:
            if name not in self._clients:
                options = ClientOptions(api_endpoint=self._settings.endpoint) if self._settings.endpoint else None
                made = sdk.client(name)(credentials=self._signed(), client_options=options)
                _send_once(made.transport._session)
                if is_plain(checked_endpoint(made.transport._host, "the endpoint of Compute Engine")):
                    made.transport._session.trust_env = False  # what is not encrypted goes through no proxy
                self._clients[name] = made
            return self._clients[name]

    def read(self, client: str, method: str, request: Any, operation: str) -> Any:
        return self._throttling.asked(lambda: self._ask((client, method), request, operation, READ_SECONDS))

    def change(self, client: str, method: str, request: Any, operation: str) -> Any:
        """Ask for something to be done."""
        return self._ask((client, method), request, operation, CHANGE_SECONDS, mutating=True)

    def end(self, client: str, method: str, request: Any, operation: str) -> Any:
        """Ask for an end, again where that is throttled."""
        return self._throttling.asked(lambda: self.change(client, method, request, operation))

    def pages(self, client: str, method: str, request: Any, operation: str) -> tuple[Any, ...]:
        """All pages of a list, or an error."""
        found: list[Any] = []
        while not found or found[-1].next_page_token:
            if found:
                request.page_token = found[-1].next_page_token
            listing = self.read(client, method, request, operation)
            with self._asking(operation):
                found.append(next(iter(listing.pages)))
                _check_end(found)
        return tuple(found)

    def instance(self, path: str, operation: str, read: Callable[[Document], Read]) -> Read:
        """What is ``read`` of an instance of the project."""
        return self._throttling.asked(lambda: self._once(path, {}, operation, read))

    def _once(self, path: str, asked: Mapping[str, str], operation: str, read: Callable[[Document], Read]) -> Read:
        with self._asking(operation):
            return read(self._written(path, asked))

    def document(self, url: str, asked: Mapping[str, str], operation: str) -> Document:
        """What is answered at an address of Google's, asked for on the same session."""
        with self._asking(operation):
            return self._read(url, asked)

    def endless(self, operation: str) -> HcloudError:
        """What a list is whose pages repeat."""
        return cloud_error(ValueError("a list without an end"), self.call(operation), mutating=False)

    def pages_of_instances(
        self, path: str, asked: Mapping[str, str], operation: str, read: Callable[[Document], Read]
    ) -> tuple[Read, ...]:
        """What is ``read`` of all pages of a list of instances, or an error; a page is not kept longer than that."""
        found: list[Read] = []
        following = asked
        while following:
            page = self._throttling.asked(partial(self._once, path, following, operation, _whole))
            with self._asking(operation):
                found.append(read(page))
                _check_end(found)
                token = member(page, "nextPageToken", str)
            following = {**asked, "pageToken": token} if token else {}
        return tuple(found)

    def _written(self, path: str, asked: Mapping[str, str]) -> Document:
        """The same request as the SDK's, on its own session, and the same errors; the JSON is left as it is: to make
        messages of ten thousand machines takes several times as long as to read what was written."""
        host = self.client("InstancesClient").transport._host
        return self._read(f"{host}/compute/v1/projects/{self._settings.project}/{path}", asked)

    def _read(self, url: str, asked: Mapping[str, str]) -> Document:
        from google.api_core.exceptions import from_http_response
        from google.cloud.compute_v1.services.instances.transports.base import DEFAULT_CLIENT_INFO

        response = self.client("InstancesClient").transport._session.get(
            url,
            params=asked,
            headers=dict([*self._metadata, DEFAULT_CLIENT_INFO.to_grpc_metadata(), _JSON]),
            timeout=READ_SECONDS,
        )
        if response.status_code >= 400:
            raise from_http_response(response)
        return document_of(response.content)

    def wait(self, operation: Any, zone: str, name: str) -> OperationEnd | None:
        """What an operation of a zone (of the region, where none is given) came to; None where the cloud does not
        know it any more. Raises UnknownOutcomeError where it does not end."""
        for number in range(MOST_WAITS):
            if is_done(operation):
                return ended(operation)
            if number > 1:
                self._pause(min(2.0**number, LONGEST_PAUSE_SECONDS))
            try:
                operation = self._waited(operation.name, zone)
            except NotFoundError:
                return None
        if is_done(operation):
            return ended(operation)
        raise UnknownOutcomeError("it was accepted and is not over after a long time", self.call(name))

    def _waited(self, operation: str, zone: str) -> Any:
        project, types = self._settings.project, self.types
        if zone:
            client, name = "ZoneOperationsClient", "zoneOperations.wait"
            request = types.WaitZoneOperationRequest(project=project, zone=zone, operation=operation)
        else:
            client, name, region = "RegionOperationsClient", "regionOperations.wait", self._settings.region
            request = types.WaitRegionOperationRequest(project=project, region=region, operation=operation)
        return self._throttling.asked(lambda: self._ask((client, "wait"), request, name, WAIT_SECONDS))

    def _ask(
        self, method: tuple[str, str], request: Any, operation: str, seconds: float, *, mutating: bool = False
    ) -> Any:
        client, name = method
        with self._asking(operation, mutating=mutating):
            asking = getattr(self.client(client), name)
            return asking(request=request, retry=None, timeout=seconds, metadata=self._metadata)

    @contextmanager
    def _asking(self, operation: str, *, mutating: bool = False) -> Iterator[None]:
        """Whatever goes wrong inside is raised as what it means."""
        try:
            yield
        except HcloudError:
            raise
        except Exception as error:  # whatever the SDK stands on raises its own: requests, urllib3, protobuf
            # not chained: what the SDK's exception holds must not reach a trace that is shown
            raise cloud_error(error, self.call(operation), mutating=mutating) from None

    def _signed(self) -> Any:
        """Credentials: none on this machine; elsewhere those that Google's libraries find."""
        from google.auth.credentials import AnonymousCredentials

        if self._credentials is None:
            self._credentials = AnonymousCredentials() if self._local else self._found()
        return self._credentials

    def _found(self) -> Any:
        import google.auth
        from google.auth.exceptions import GoogleAuthError

        try:
            credentials, _ = google.auth.default(scopes=list(_SCOPES), request=_impatient_request())
        except GoogleAuthError as error:
            raise cloud_error(error, self.call("credentials"), mutating=False) from None
        check_google_credentials(credentials)
        return credentials


def _whole(page: Document) -> Document:
    return page


def _check_end(pages: Sized) -> None:
    if len(pages) > MOST_PAGES:
        raise ValueError("a list without an end")


def _impatient_request() -> Callable[..., Any]:
    """What Google's library looks for its metadata server with: outside of Google it would take many seconds."""
    from google.auth.exceptions import DefaultCredentialsError, TransportError
    from google.auth.transport.requests import Request

    plain = Request()

    def ask(*args: Any, **more: Any) -> Any:
        try:
            return plain(*args, **{**more, "timeout": METADATA_SECONDS})
        except TransportError as error:
            raise DefaultCredentialsError("there are no credentials, and no metadata server gives any") from error

    return ask


def _send_once(session: Any) -> None:
    """Keep an SDK's session from following a redirect with our credentials, and from asking again after a 401, which
    would hide Google's words; it still gets a new token before an old one ends. There is no public way to say so."""
    session.max_redirects = 0
    session._refresh_status_codes = ()
