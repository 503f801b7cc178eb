"""Google's and Azure's stores of objects for tests: as much of their published HTTP as a state needs, on loopback.

Google: developers' reference of Cloud Storage's JSON API (request preconditions, 412; uploads, generations; 404 of a
bucket and of an object; 429 where one object is written more than about once a second; pages). Azure: REST reference of
the Blob service (Put Blob, Get Blob, Get Blob Properties, Delete Blob, List Blobs, conditional headers, error codes:
409 BlobAlreadyExists for ``If-None-Match: *``, 412 ConditionNotMet for ``If-Match``). Both are strongly consistent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.utils import formatdate
from typing import cast
from urllib.parse import unquote
from xml.sax.saxutils import escape

from hcloud.fake.server import HttpAnswer, Received, json_answer

BUCKET = "states"
ACCOUNT = "canaryaccount"
Kind = str
"""``busy`` (send it again), ``throttled``, ``denied``, ``expired`` or ``broken``; empty for none."""


@dataclass(slots=True)
class Stored:
    body: bytes
    tag: str
    marks: Mapping[str, str] = field(default_factory=dict)


class FakeStore:
    """What both have: objects, one request at a time, answers that are lost, refusals, and pages of a few."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.lock = threading.Lock()
        self.page = 1000
        self.writings = 0
        self.now: Callable[[], float] | None = None
        self.reset()

    def reset(self) -> None:
        self.objects.clear()
        self.loses: Callable[[str, str], bool] = lambda what, key: False
        self.refuses: Callable[[str, str], Kind] = lambda what, key: ""
        self.ignores_conditions = False
        self.written_at: dict[str, float] = {}
        self.requests: list[tuple[str, str]] = []

    def answer(self, received: Received) -> HttpAnswer:
        with self.lock:
            what, key = self.asked(received)
            self.requests.append((what, key))
            if kind := self.refuses(what, key):
                return self.refusal(kind)
            lost = self.loses(what, key)
            answer = self.acted(what, key, received)
            return self.refusal("broken") if lost else answer

    def asked(self, received: Received) -> tuple[str, str]:
        raise NotImplementedError

    def acted(self, what: str, key: str, received: Received) -> HttpAnswer:
        raise NotImplementedError

    def refusal(self, kind: Kind) -> HttpAnswer:
        raise NotImplementedError

    def write(self, key: str, body: bytes, marks: Mapping[str, str] | None = None) -> Stored:
        self.writings += 1
        stored = self.objects[key] = Stored(body, self.tag(self.writings), marks or {})
        return stored

    def tag(self, number: int) -> str:
        raise NotImplementedError

    def listed(self, prefix: str, after: str, delimiter: str) -> tuple[list[str], list[str], str]:
        """The keys of a page, what they have in common below the prefix, and where the next page begins."""
        found = sorted(k for k in self.objects if k.startswith(prefix) and k > after)
        page, more = found[: self.page], found[self.page :]
        if not delimiter:
            return page, [], page[-1] if more else ""
        deeper = {prefix + k.removeprefix(prefix).partition("/")[0] + "/" for k in page if "/" in k[len(prefix) :]}
        return [k for k in page if "/" not in k[len(prefix) :]], sorted(deeper), page[-1] if more else ""


class FakeGoogle(FakeStore):
    """Cloud Storage's JSON API."""

    def asked(self, received: Received) -> tuple[str, str]:
        _, found, key = received.path.partition("/o/")
        if found:
            whole = received.query.get("alt") == "media"
            return {"GET": "GET" if whole else "HEAD"}.get(received.method, received.method), unquote(key)
        return ("PUT", str(_parts(received)[0]["name"])) if received.method == "POST" else ("LIST", "")

    def acted(self, what: str, key: str, received: Received) -> HttpAnswer:
        if f"/b/{BUCKET}/o" not in received.path:
            return _google(404, "notFound", "The specified bucket does not exist.")
        if what == "LIST":
            return self._list(received)
        if what == "PUT":
            return self._insert(key, received)
        stored = self.objects.get(key)
        if stored is None:
            return _google(404, "notFound", f"No such object: {BUCKET}/{key}")
        if what == "DELETE":
            del self.objects[key]
            return HttpAnswer(204)
        if what == "GET":
            return HttpAnswer(200, stored.body, {"x-goog-generation": stored.tag, "content-type": "application/json"})
        return json_answer({"generation": stored.tag, "metadata": dict(stored.marks)})

    def tag(self, number: int) -> str:
        return str(1_700_000_000_000_000 + number)

    def refusal(self, kind: Kind) -> HttpAnswer:
        return {
            "busy": _google(409, "conflict", "The request was aborted by a concurrent one."),
            "throttled": _google(429, "rateLimitExceeded", "The object exceeded the rate limit for mutations."),
            "denied": _google(403, "forbidden", "somebody does not have storage.objects.create access"),
            "expired": _google(401, "authError", "Invalid Credentials"),
            "broken": _google(500, "backendError", "Backend Error"),
        }[kind]

    def _insert(self, key: str, received: Received) -> HttpAnswer:
        wanted, stored = received.query.get("ifGenerationMatch"), self.objects.get(key)
        if self.now is not None:
            last, self.written_at[key] = self.written_at.get(key), self.now()
            if last is not None and self.now() - last < 1:
                self.written_at[key] = last
                return self.refusal("throttled")
        if wanted is not None and wanted != ("0" if stored is None else stored.tag) and not self.ignores_conditions:
            return _google(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
        about, body = _parts(received)
        marks = about.get("metadata")
        return json_answer({"generation": self.write(key, body, marks if isinstance(marks, dict) else {}).tag})

    def _list(self, received: Received) -> HttpAnswer:
        keys, deeper, more = self.listed(
            *(received.query.get(asked, "") for asked in ("prefix", "pageToken", "delimiter"))
        )
        page: dict[str, object] = {"kind": "storage#objects"}
        page |= {"items": [{"name": k} for k in keys]} if keys else {}
        page |= {"prefixes": deeper} if deeper else {}
        return json_answer(page | ({"nextPageToken": more} if more else {}))


def _parts(received: Received) -> tuple[dict[str, object], bytes]:
    """The JSON and the bytes of a multipart upload."""
    head = f"content-type: {received.headers['content-type']}\r\n\r\n".encode()
    about, _ = cast("list[Message]", BytesParser().parsebytes(head + received.body).get_payload())
    body = received.body.split(b"\r\n\r\n", 2)[2].rpartition(b"\r\n--")[0]
    return json.loads(cast("bytes", about.get_payload(decode=True))), body


def _google(status: int, reason: str, message: str) -> HttpAnswer:
    error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message, "domain": "global"}]}
    return json_answer({"error": error}, status)


class FakeAzure(FakeStore):
    """The Blob service, its address with the account in the path as on any address that is an IP."""

    def asked(self, received: Received) -> tuple[str, str]:
        key = unquote(received.path).partition(f"/{ACCOUNT}/")[2].partition("/")[2]
        return ("LIST", "") if received.query.get("comp") == "list" else (received.method, key)

    def acted(self, what: str, key: str, received: Received) -> HttpAnswer:
        if not received.headers.get("authorization", "").startswith(f"SharedKey {ACCOUNT}:"):
            return _azure(403, "AuthenticationFailed", "Server failed to authenticate the request.\nsignature canary")
        if not received.path.startswith(f"/{ACCOUNT}/{BUCKET}"):
            return _azure(404, "ContainerNotFound", "The specified container does not exist.")
        if what == "LIST":
            return self._list(received)
        stored = self.objects.get(key)
        if what == "PUT":
            return self._put(key, received)
        if stored is None:
            return _azure(404, "BlobNotFound", "The specified blob does not exist.")
        if what == "DELETE":
            del self.objects[key]
            return HttpAnswer(202)
        return self._read(stored, received)

    def tag(self, number: int) -> str:
        return f'"0x8D{number:013X}"'

    def refusal(self, kind: Kind) -> HttpAnswer:
        return {
            "busy": _azure(503, "ServerBusy", "The server is currently unable to receive requests."),
            "throttled": _azure(503, "ServerBusy", "The server is currently unable to receive requests."),
            "denied": _azure(403, "AuthorizationPermissionMismatch", "This request is not authorized."),
            "expired": _azure(401, "InvalidAuthenticationInfo", "Lifetime validation failed. The token is expired."),
            "broken": _azure(500, "InternalError", "The server encountered an internal error."),
        }[kind]

    def _put(self, key: str, received: Received) -> HttpAnswer:
        stored, heads = self.objects.get(key), received.headers
        if heads.get("x-ms-blob-type") != "BlockBlob":
            return _azure(400, "InvalidHeaderValue", "x-ms-blob-type")
        if heads.get("if-none-match") == "*" and stored is not None and not self.ignores_conditions:
            return _azure(409, "BlobAlreadyExists", "The specified blob already exists.")
        wanted = heads.get("if-match")
        if wanted and (stored is None or stored.tag != wanted) and not self.ignores_conditions:
            return _azure(
                412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."
            )
        marks = {k.removeprefix("x-ms-meta-"): v for k, v in heads.items() if k.startswith("x-ms-meta-")}
        return HttpAnswer(201, b"", _dated({"etag": self.write(key, received.body, marks).tag}))

    def _read(self, stored: Stored, received: Received) -> HttpAnswer:
        told = {"etag": stored.tag, "x-ms-blob-type": "BlockBlob", "content-type": "application/octet-stream"}
        told |= {f"x-ms-meta-{k}": v for k, v in stored.marks.items()}
        wanted = received.headers.get("x-ms-range")
        if received.method == "HEAD" or not wanted:
            return HttpAnswer(200, stored.body, _dated(told))
        if not stored.body:
            return _azure(416, "InvalidRange", "The range specified is invalid for the current size of the resource.")
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        piece = stored.body[int(first) : int(last) + 1]
        told["content-range"] = f"bytes {first}-{int(first) + len(piece) - 1}/{len(stored.body)}"
        return HttpAnswer(206, piece, _dated(told))

    def _list(self, received: Received) -> HttpAnswer:
        prefix, marker = received.query.get("prefix", ""), received.query.get("marker", "")
        keys, deeper, more = self.listed(prefix, marker, received.query.get("delimiter", ""))
        blobs = "".join(
            f"<Blob><Name>{escape(k)}</Name><Properties><Etag>{escape(self.objects[k].tag)}</Etag>"
            f"<Last-Modified>{formatdate(usegmt=True)}</Last-Modified><BlobType>BlockBlob</BlobType></Properties></Blob>"
            for k in keys
        )
        below = "".join(f"<BlobPrefix><Name>{escape(k)}</Name></BlobPrefix>" for k in deeper)
        text = (
            '<?xml version="1.0" encoding="utf-8"?>'
            f'<EnumerationResults ServiceEndpoint="http://127.0.0.1/{ACCOUNT}/" ContainerName="{BUCKET}">'
            f"<Prefix>{escape(prefix)}</Prefix><Blobs>{blobs}{below}</Blobs>"
            f"<NextMarker>{escape(more)}</NextMarker></EnumerationResults>"
        )
        return HttpAnswer(200, text.encode(), {"content-type": "application/xml"})


def _dated(told: dict[str, str]) -> dict[str, str]:
    return {**told, "last-modified": formatdate(usegmt=True), "x-ms-version": "2025-11-05"}


def _azure(status: int, code: str, message: str) -> HttpAnswer:
    text = (
        f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>'
    )
    return HttpAnswer(status, text.encode(), {"content-type": "application/xml", "x-ms-error-code": code})
