"""A bucket of S3 for tests: moto's server on loopback, one request at a time as S3 orders them, with lost answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

BUCKET = "states"
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Front:
    """Before moto: what moto looks up and then writes happens at once, as in S3; the answers to requests that
    ``loses`` names are lost after they were acted on."""

    def __init__(self, behind: Wsgi) -> None:
        self._behind = behind
        self._lock = threading.Lock()
        self.loses: Callable[[str, str], bool] = lambda method, path: False
        self.refuses: Callable[[str, str], str] = lambda method, path: ""
        self.requests: list[tuple[str, str]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method, path = str(environ["REQUEST_METHOD"]), str(environ["PATH_INFO"])
        with self._lock:
            self.requests.append((method, path))
            if code := self.refuses(method, path):
                return _answered(start_response, _STATUS.get(code, "403 Forbidden"), code)
            lost = self.loses(method, path)
            body = list(self._behind(environ, (lambda *_: lambda _: None) if lost else start_response))
        if lost:  # what cannot be understood is no answer
            return _answered(start_response, "500 Internal Server Error", "InternalError")
        return body


_STATUS = {
    "SlowDown": "503 Service Unavailable",
    "ConditionalRequestConflict": "409 Conflict",
    "OperationAborted": "409 Conflict",
}


def _answered(start_response: Callable[..., Any], status: str, code: str) -> Iterable[bytes]:
    body = f"<Error><Code>{code}</Code><Message>said so</Message></Error>".encode()
    start_response(status, [("content-type", "application/xml"), ("content-length", str(len(body)))])
    return [body]


@contextmanager
def running() -> Iterator[tuple[Front, str]]:
    """The front and its address."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):  # type: ignore[misc]
        def log_request(self, *_: object) -> None:
            pass

    front = Front(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, front, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield front, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def client(url: str) -> Any:
    """boto3's, with credentials that are none."""
    import boto3
    from botocore.config import Config

    session = boto3.Session("canary-id", "canary-secret", region_name="us-east-1")
    return session.client("s3", endpoint_url=url, config=Config(retries={"mode": "standard", "total_max_attempts": 1}))
