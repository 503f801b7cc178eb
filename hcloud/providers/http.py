"""Fetches public documents over HTTPS, standard library only: deadlines, size cap, retries, no foreign hosts."""

from __future__ import annotations

import email.utils
import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from typing import IO

from hcloud import __version__
from hcloud.errors import UnreachableError
from hcloud.model.endpoint import checked_endpoint, is_plain

_CHUNK = 1 << 18
_PORTS = {"https": 443, "http": 80}
_RETRIED = (408, 429, 500, 502, 503, 504)

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How long and how much: a pause between two bytes, the whole answer, its size, and how often to try."""

    silence_seconds: float = 30
    whole_seconds: float = 900
    largest_bytes: int = 1 << 30
    attempts: int = 4
    first_pause_seconds: float = 1
    longest_pause_seconds: float = 60


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches documents of one endpoint; ``headers`` (an API key, say) go to no other host."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict)
    limits: HttpLimits = field(default_factory=HttpLimits)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        checked_endpoint(self.endpoint, "the endpoint of prices")

    def url(self, path: str) -> str:
        """The address of a path under the endpoint."""
        return self.endpoint.rstrip("/") + path

    def get(self, url: str, progress: Progress = lambda fraction: None) -> bytes:
        """The body of a document of the endpoint's host; raises UnreachableError when every attempt fails."""
        if not same_host(url, self.endpoint):
            raise UnreachableError(f"{shown(self.endpoint)} points to another host ({shown(url)}); not followed")
        pause = self.limits.first_pause_seconds
        for left in reversed(range(self.limits.attempts)):
            try:
                return self._once(url, progress)
            except _RetryError as error:
                if not left:
                    raise UnreachableError(
                        f"{shown(url)}: {error} ({self.limits.attempts} attempts); stored prices are unchanged",
                        hint="try again later, or import a price file: 'hcloud pricing import --help'",
                    ) from error
                self.sleep(min(error.after if error.after is not None else pause, self.limits.longest_pause_seconds))
                pause *= 2
        raise AssertionError("unreachable")

    def _once(self, url: str, progress: Progress) -> bytes:
        named = {"User-Agent": f"hcloud-hybrid/{__version__}", "Accept": "application/json", **self.headers}
        request = urllib.request.Request(url, headers=named)
        direct = [urllib.request.ProxyHandler({})] if is_plain(self.endpoint) else []
        opener = urllib.request.build_opener(_SameHost(self.endpoint), *direct)
        try:
            with opener.open(request, timeout=self.limits.silence_seconds) as response:
                return self._body(response, shown(url), progress)
        except urllib.error.HTTPError as error:
            status, after = error.code, _retry_after(error.headers)
            error.close()
            if status in _RETRIED:
                raise _RetryError(f"answered {status}", after) from error
            raise UnreachableError(f"{shown(url)} answered {status} {error.reason}", hint=_hint(status)) from error
        except (OSError, http.client.HTTPException) as error:
            raise _RetryError(f"cannot be reached ({_cause(error)})") from error

    def _body(self, response: http.client.HTTPResponse, url: str, progress: Progress) -> bytes:
        declared = response.headers.get("Content-Length", "")
        total = int(declared) if declared.isdecimal() else None
        if total is not None and total > self.limits.largest_bytes:
            raise UnreachableError(f"{url} is {total} bytes long, more than the limit of {self.limits.largest_bytes}")
        deadline = time.monotonic() + self.limits.whole_seconds
        pieces: list[bytes] = []
        size = 0
        # read1 hands over what has arrived: read would wait for a full chunk and never look at the clock meanwhile
        while piece := response.read1(_CHUNK):
            pieces.append(piece)
            size += len(piece)
            if size > self.limits.largest_bytes:
                raise UnreachableError(f"{url} sends more than the limit of {self.limits.largest_bytes} bytes")
            if time.monotonic() > deadline:
                raise UnreachableError(
                    f"{url} took longer than {self.limits.whole_seconds:g} s; stored prices are unchanged"
                )
            progress(size / total if total else 0)
        if total is not None and size != total:
            raise _RetryError(f"broke off after {size} of {total} bytes")
        return b"".join(pieces)


class _RetryError(Exception):
    """An attempt failed in a way that may pass; ``after`` is how long the server asks to wait."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects inside the endpoint's host only, so that a key never travels elsewhere."""

    max_redirections = 3

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def redirect_request(  # noqa: PLR0913 - the signature is urllib's
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The redirected request; raises UnreachableError where it leads to another host."""
        if not same_host(newurl, self.endpoint):
            fp.close()
            raise UnreachableError(f"{shown(self.endpoint)} redirects to another host ({shown(newurl)}); not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def same_host(url: str, endpoint: str) -> bool:
    """Whether a URL has the scheme, host and port of an endpoint; what is no URL has not."""
    try:
        one, other = (urllib.parse.urlsplit(u) for u in (url, endpoint))
        ports = [p.port or _PORTS.get(p.scheme) for p in (one, other)]
    except ValueError:
        return False
    return (one.scheme, one.hostname, ports[0]) == (other.scheme, other.hostname, ports[1])


def shown(url: str) -> str:
    """A URL as it may stand in a message: without its query, which may hold a key."""
    try:
        parts = urllib.parse.urlsplit(url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "what is no address"


def _retry_after(headers: Message) -> float | None:
    """Seconds of a ``Retry-After`` header, which holds a number or a date."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal() and len(value) < 9:
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((aware - datetime.now(UTC)).total_seconds(), 0.0)


def _hint(status: int) -> str:
    if status in (401, 403):
        return "check the key or token, and that its project may use the price API"
    return "check --region and --endpoint" if status == 404 else ""


def _cause(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return str(reason) or type(error).__name__
