"""What this fake does not answer itself goes to moto, in the same process: S3 above all.

moto keeps its resources by process and not by object, so a new fake begins with an empty moto. Requests reach it one
by one: it looks and then writes, and two conditional writes of one object must not both win.
"""

from __future__ import annotations

import io
import threading
from functools import lru_cache
from typing import Any

from hcloud.errors import MissingExtraError
from hcloud.fake.server import Answer, Received

_one_by_one = threading.Lock()
_used = threading.Event()


@lru_cache
def _application() -> Any:
    try:
        from moto.server import DomainDispatcherApplication, create_backend_app
    except ImportError:
        raise MissingExtraError("moto", "fake") from None
    return DomainDispatcherApplication(create_backend_app)


def forget() -> None:
    """Empty moto, where it was used since."""
    if _used.is_set():
        with _one_by_one:
            _call(_environ(Received("POST", "/moto-api/reset", {}, {}, b"")))
            _used.clear()


def ask_moto(received: Received) -> Answer:
    """What moto says."""
    _application()
    with _one_by_one:
        _used.set()
        return _call(_environ(received))


def _call(environ: dict[str, Any]) -> Answer:
    told: dict[str, Any] = {}

    def start(status: str, headers: list[tuple[str, str]], _: object = None) -> None:
        told["status"], told["headers"] = int(status.split(maxsplit=1)[0]), headers

    pieces = _application()(environ, start)
    try:
        body = b"".join(pieces)
    finally:
        if hasattr(pieces, "close"):
            pieces.close()
    skipped = ("content-length", "date", "server", "connection", "transfer-encoding")
    headers = {k: v for k, v in told["headers"] if k.lower() not in skipped}
    return Answer(told["status"], body, headers)


def _environ(received: Received) -> dict[str, Any]:
    from urllib.parse import unquote

    environ: dict[str, Any] = {
        "REQUEST_METHOD": received.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(received.path, "latin-1"),
        "RAW_URI": received.path + (f"?{received.raw_query}" if received.raw_query else ""),
        "QUERY_STRING": received.raw_query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_LENGTH": str(len(received.body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(received.body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in received.headers.items():
        plain = name.upper().replace("-", "_")
        environ[plain if plain in ("CONTENT_TYPE",) else f"HTTP_{plain}"] = value
    return environ
