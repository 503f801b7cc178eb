"""The HTTP side that all fake clouds share: a threaded server on 127.0.0.1, faults on the wire, and a control path."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, SupportsFloat, SupportsInt
from urllib.parse import parse_qsl, urlsplit

from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultKind, FaultRule, Faults, fault_plan
from hcloud.fake.ledger import Ledger

CONTROL = "/_hcloud/"
PRINCIPAL_HEADER = "x-hcloud-principal"
LONGEST_BILL_SECONDS = 366 * 86_400  # ours: it is settled hour by hour
LARGEST_BODY = 16 << 20
NONSENSE = b"<html><body><h1>502 Bad Gateway</h1>"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came in; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    raw_query: str = ""

    def json(self) -> dict[str, object]:
        """The body as a JSON object; empty where there is none."""
        found = json.loads(self.body) if self.body else {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What goes back; ``dropped`` ends the connection without a word."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    dropped: bool = False


def json_answer(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    """A JSON answer."""
    body = json.dumps(document).encode()
    return HttpAnswer(status, body, {"content-type": "application/json; charset=utf-8", **(headers or {})})


def principal_of(received: Received) -> str:
    """Whose request it is: the bearer token stands for a role, and a header where none is sent."""
    kind, _, token = received.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else received.headers.get(PRINCIPAL_HEADER, "")


def answered_before(rule: FaultRule, elsewhere: str) -> HttpAnswer | None:
    """What a fault that no cloud words answers with nothing done; None for others. Redirects lead ``elsewhere``."""
    if rule.answer is FaultKind.DROPPED_BEFORE:
        return HttpAnswer(dropped=True)
    if rule.answer is FaultKind.NONSENSE_BEFORE:
        return _nonsense(rule.code, HttpAnswer(body=b"<a/>" * 9))
    if rule.answer is FaultKind.REDIRECT:
        return HttpAnswer(307, b"", {"location": rule.code or elsewhere})
    return None


def answered_after(rule: FaultRule | None, answer: HttpAnswer) -> HttpAnswer:
    """What becomes of an answer on its way, with everything done."""
    if rule is not None and rule.answer is FaultKind.DROPPED_AFTER:
        return HttpAnswer(dropped=True)
    return _nonsense(rule.code, answer) if rule is not None and rule.answer is FaultKind.NONSENSE else answer


def _nonsense(kind: str, answer: HttpAnswer) -> HttpAnswer:
    """An answer that nobody can read; ``kind`` says in which way."""
    page = {"content-type": "text/html"}
    return {
        "html": HttpAnswer(200, b"<html><body>It works!</body></html>", page),
        "truncated": replace(answer, body=answer.body[: len(answer.body) // 2]),
        "empty": HttpAnswer(200, b"", page),
        "json": HttpAnswer(200, b'{"ok": true}', {"content-type": "application/json"}),
        "gzip": HttpAnswer(200, b"\x1f\x8b\x08\x00not gzip", {"content-encoding": "gzip"}),
        "proxy": HttpAnswer(502, NONSENSE, page),
    }.get(kind, HttpAnswer(200, NONSENSE, page))


class FakeCloud(Protocol):
    """What a cloud's own half of a fake is."""

    name: str
    ledger: Ledger
    clock: FakeClock
    faults: Faults

    def answer(self, received: Received) -> HttpAnswer:
        """What the cloud says to a request; applies faults and notes everything in the ledger."""

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's change behind hcloud's back: ``{"terminate": ID}``, ``{"retag": ID, "tags": {...}}``,
        ``{"resize": ID, "type": T}`` or ``{"launch": TYPE, "tags": {...}}``; returns what it did as JSON."""


class FakeShape(Protocol):
    """How large a type is."""

    @property
    def vcpus(self) -> SupportsInt:
        """Its vCPUs."""

    @property
    def memory_gib(self) -> SupportsFloat:
        """Its memory."""


class SizedCloud(FakeCloud, Protocol):
    """A fake with a catalogue of its own."""

    def shape_of(self, instance_type: str) -> FakeShape | None:
        """How large a type is; None where the catalogue lacks it."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _ThreadedServer

    def do_GET(self) -> None:
        """Read, ask the cloud, write."""
        length = int(self.headers.get("content-length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            return
        parts = urlsplit(self.path)
        headers = {k.lower(): v for k, v in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        received = Received(self.command, parts.path, query, headers, self.rfile.read(length), parts.query)
        self._write(self.server.answer(received))

    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_GET  # noqa: N815

    def _write(self, answer: HttpAnswer) -> None:
        if answer.dropped:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if "date" in answer.headers:  # the cloud's own time rather than this machine's
            self.send_response_only(answer.status)
        else:
            self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the ledger has it."""


class _ThreadedServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, cloud: FakeCloud, port: int, tls: ssl.SSLContext | None) -> None:
        self.cloud = cloud
        self._tls = tls
        super().__init__(("127.0.0.1", port), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """With TLS agree on keys in the thread of the connection: the others do not wait for a client that is slow."""
        if self._tls is None:
            return super().finish_request(request, client_address)
        request.getpeername()  # of a client that is gone SSLContext leaves a socket open
        secured = self._tls.wrap_socket(request, server_side=True)
        try:
            super().finish_request(secured, client_address)
        finally:
            self.shutdown_request(secured)

    def answer(self, received: Received) -> HttpAnswer:
        if received.path.startswith(CONTROL):
            return control(self.cloud, received)
        return self.cloud.answer(received)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class FakeServer:
    """A fake cloud that listens; use as a context. With ``tls`` it speaks HTTPS."""

    def __init__(self, cloud: FakeCloud, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.cloud = cloud
        self._server = _ThreadedServer(cloud, port, tls)
        self._scheme = "http" if tls is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def exchange(self, cloud: FakeCloud) -> None:
        """Put another cloud behind the same address."""
        self.cloud = self._server.cloud = cloud

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def control(cloud: FakeCloud, received: Received) -> HttpAnswer:
    """The way by which tests and people look into a fake and turn its clock; no cloud has anything like it.

    GET ledger; GET requests (how many there were); POST bill {"from": S, "to": S}; POST clock {"advance": S} or
    {"speed": X}; POST faults PLAN; POST edit CHANGE.
    """
    what = received.path.removeprefix(CONTROL)
    if what == "ledger":
        return json_answer(ledger_document(cloud))
    if what == "requests":
        return json_answer({"requests": cloud.ledger.calls()})
    body = received.json()
    if what == "clock":
        advance, speed = body.get("advance", 0), body.get("speed")
        if isinstance(speed, int | float):
            cloud.clock.speed = float(speed)
        cloud.clock.advance(float(advance) if isinstance(advance, int | float) else 0.0)
        return json_answer({"now": cloud.clock.now()})
    if what == "bill":
        from hcloud.fake.tariffs import bill_document

        start, end = (body.get(name) for name in ("from", "to"))
        if not isinstance(start, int) or not isinstance(end, int) or end - start > LONGEST_BILL_SECONDS:
            return json_answer({"error": "from and to are whole seconds since 1970, a year apart at most"}, 400)
        return json_answer(bill_document(cloud, start, end))
    if what == "faults":
        cloud.faults = Faults(fault_plan(body, "request"), cloud.clock.now())
        return json_answer({"rules": len(cloud.faults.plan.rules)})
    if what == "edit":
        return json_answer(cloud.edit(body))
    return json_answer({"error": f"there is no {what}"}, 404)


def ledger_document(cloud: FakeCloud) -> dict[str, object]:
    """The ledger as JSON, sorted by id."""
    with cloud.ledger.held():
        return {
            "cloud": cloud.name,
            "now": cloud.clock.now(),
            "machines": [asdict(m) for _, m in sorted(cloud.ledger.machines.items())],
            "purchases": [
                {**asdict(p), "hourly": str(p.hourly), "upfront": str(p.upfront)}
                for _, p in sorted(cloud.ledger.purchases.items())
            ],
            "requests": [asdict(r) for r in cloud.ledger.requests],
            "extras": cloud.ledger.extras,
        }
