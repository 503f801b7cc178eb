"""Refresh against servers on this machine: pages, retries, and failures that leave the stored prices alone."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hcloud.catalog.intake import Intake
from hcloud.errors import HcloudError, UnreachableError, UsageError
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption
from hcloud.providers.http import Fetcher, HttpLimits
from hcloud.store.prices import PriceStore
from hcloud.usecases.prices.intake import RefreshTarget, refresh

CASES = Path(__file__).parents[2] / "cases" / "prices"
NOW = datetime(2026, 7, 3, tzinfo=UTC)
QUICK = HttpLimits(silence_seconds=2, whole_seconds=1, attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.05)
OFFER = (CASES / "aws_offer.json").read_bytes()
AZURE = json.loads((CASES / "azure_retail.json").read_text(encoding="utf-8"))

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Hands every request to the server's answers in turn; the last one repeats."""

    server: Server

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        self.server.headers_seen.append({k.lower(): v for k, v in self.headers.items()})
        index = min(len(self.server.seen), len(self.server.answers)) - 1
        self.server.answers[index](self)

    def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is http.server's
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server that remembers what it was asked."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.seen: list[str] = []
        self.headers_seen: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    server = Server(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def body(content: bytes, status: int = 200, **headers: str) -> Answer:
    return lambda handler: handler.reply(content, status, **headers)


def truncated(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(OFFER)))
    handler.end_headers()
    handler.wfile.write(OFFER[:100])


def dripping(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(200):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        pass


def refreshed(server: Server, provider: Provider = Provider.AWS, region: str = "us-east-1") -> Intake:
    return refresh(RefreshTarget(provider, region, server.url), NOW, lambda done: None, QUICK)


def stored_names() -> set[str]:
    book = PriceStore.open().load()
    return set() if book is None else {str(k) for k in book.offers}


def test_aws_offer_file_is_fetched_packed_checked_and_stored() -> None:
    with serving(body(gzip.compress(OFFER), Content_Encoding="gzip")) as server:
        intake = refreshed(server)
        assert server.seen == ["/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.json"]
        assert server.headers_seen[0]["accept-encoding"] == "gzip"
    assert len(intake.sources[0].book.offers) == 3
    stored = PriceStore.open().load()
    assert stored is not None
    offer = stored.offers[OfferKey(Provider.AWS, "us-east-1", "q7.large", PurchaseOption.ON_DEMAND)]
    assert (offer.hourly, offer.origin.day) == (Decimal("0.1"), NOW.date())


@pytest.mark.slow
def test_azure_follows_its_pages() -> None:
    first = json.dumps({"Items": AZURE["Items"][:3], "NextPageLink": "/x"})
    last = json.dumps({"Items": AZURE["Items"][3:], "NextPageLink": None}).encode()

    def first_page(handler: Handler) -> None:
        link = f"{handler.server.url}/api/retail/prices?$skip=3"
        handler.reply(json.dumps({**json.loads(first), "NextPageLink": link}).encode())

    with serving(first_page, body(last)) as server:
        intake = refreshed(server, Provider.AZURE, "eastus")
        assert len(server.seen) == 2
        assert "armRegionName+eq+%27eastus%27" in server.seen[0]
        assert "currencyCode=USD" in server.seen[0]
    assert len(intake.sources[0].book.offers) == 11


def test_google_sends_its_key_in_a_header_and_follows_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    from hcloud.readers.prices.shipped.bundled import load_bundled

    series = next(m for m in load_bundled(providers=[Provider.GCP]).types.values() if m.name == "n2-standard-4")
    skus = json.loads((CASES / "gcp_skus.json").read_text(encoding="utf-8").replace("Q2 ", "N2 "))["skus"]
    pages = (
        body(json.dumps({"skus": skus[:1], "nextPageToken": "t&1"}).encode()),
        body(json.dumps({"skus": skus[1:4], "nextPageToken": ""}).encode()),
    )
    monkeypatch.setenv("HYC_GCP_API_KEY", "secret-key")
    with serving(*pages) as server:
        intake = refreshed(server, Provider.GCP, "europe-west3")
        assert all("secret-key" not in path for path in server.seen)
        assert "pageToken=t%261" in server.seen[1]
        assert [h["x-goog-api-key"] for h in server.headers_seen] == ["secret-key"] * 2
    key = OfferKey(Provider.GCP, "europe-west3", series.name, PurchaseOption.ON_DEMAND)
    assert intake.sources[0].book.offers[key].hourly == Decimal("0.184")


def test_google_without_a_key_says_what_to_set() -> None:
    with pytest.raises(HcloudError, match="API key") as error:
        refresh(RefreshTarget(Provider.GCP, "europe-west3"), NOW, lambda done: None, QUICK)
    assert "HYC_GCP_API_KEY" in error.value.hint


def test_too_many_requests_are_retried_after_the_time_asked_for() -> None:
    pauses: list[float] = []
    limits = HttpLimits(attempts=4, first_pause_seconds=1, longest_pause_seconds=30)
    with serving(
        body(b"", 429, Retry_After="7"), body(b"", 503), body(b"", 503, Retry_After="999"), body(b"ok")
    ) as server:
        fetcher = Fetcher(server.url, limits=limits, sleep=pauses.append)
        assert fetcher.get(fetcher.url("/x")) == b"ok"
    assert pauses == [7, 2, 30]


def test_a_date_to_retry_after_is_understood() -> None:
    pauses: list[float] = []
    past = "Wed, 01 Jul 2020 00:00:00 GMT"
    with serving(body(b"", 429, Retry_After=past), body(b"", 429, Retry_After="soon"), body(b"ok")) as server:
        fetcher = Fetcher(server.url, limits=QUICK, sleep=pauses.append)
        assert fetcher.get(fetcher.url("/x")) == b"ok"
    assert pauses == [0, 0.02]


def endless_pages(handler: Handler) -> None:
    handler.reply(json.dumps({"Items": [], "NextPageLink": f"{handler.server.url}/again"}).encode())


def foreign_page(handler: Handler) -> None:
    handler.reply(json.dumps({"Items": [], "NextPageLink": "http://127.0.0.2:1/next"}).encode())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "answer", "words"),
    [
        (Provider.AWS, body(b"", 500), "answered 500"),
        (Provider.AWS, body(b"", 404), "answered 404"),
        (Provider.AWS, body(b"", 403), "answered 403"),
        (Provider.AWS, truncated, "broke off after 100 of"),
        (Provider.AWS, body(OFFER[:-100]), "not valid JSON"),
        (Provider.AWS, body(b'{"offerCode": "AmazonEC2", "products": {}}'), "no usable price"),
        (Provider.AWS, body(b"<html>"), "JSON"),
        (Provider.AWS, body(b""), "empty"),
        (Provider.AWS, dripping, "longer than 1 s"),
        (Provider.AWS, body(b"", 302, Location="http://127.0.0.2:1/x"), "another host"),
        (Provider.AWS, body(b"", 302, Location="file:///etc/hostname"), "not allowed"),
        (Provider.AZURE, endless_pages, "does not come to an end"),
        (Provider.AZURE, foreign_page, "another host"),
        (Provider.AZURE, body(b'{"Items": ['), "no sound JSON"),
        (Provider.AZURE, body(b"[]"), "no page"),
    ],
    ids=range(15),
)
def test_every_failure_keeps_the_stored_prices(provider: Provider, answer: Answer, words: str) -> None:
    with serving(body(OFFER)) as server:
        refreshed(server)
    before = stored_names()
    table = PriceStore.open().table
    content = table.read_bytes()
    with serving(answer) as server, pytest.raises(UnreachableError) as error:
        refreshed(server, provider, "us-east-1" if provider == Provider.AWS else "eastus")
    assert words in str(error.value)
    assert stored_names() == before
    assert table.read_bytes() == content


def test_a_redirect_inside_the_host_is_followed() -> None:
    with serving(body(b"", 302, Location="/elsewhere"), body(OFFER)) as server:
        refreshed(server)
        assert server.seen[1] == "/elsewhere"


def test_nobody_listening_is_unreachable() -> None:
    with serving() as server:
        port = server.server_port
    with pytest.raises(UnreachableError, match="cannot be reached"):
        refresh(RefreshTarget(Provider.AWS, "us-east-1", f"http://127.0.0.1:{port}"), NOW, lambda done: None, QUICK)


def test_size_cap_holds_with_and_without_a_declared_length() -> None:
    small = HttpLimits(largest_bytes=1000, attempts=1)

    def undeclared(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(5000))

    for answer in (body(bytes(5000)), undeclared):
        with serving(answer) as server:
            fetcher = Fetcher(server.url, limits=small)
            with pytest.raises(UnreachableError, match="limit of 1000"):
                fetcher.get(fetcher.url("/x"))


@pytest.mark.parametrize(
    "endpoint", ["http://prices.example", "ftp://127.0.0.1", "prices", "https://a:b@prices.example"]
)
def test_endpoints_that_are_not_safe_are_refused(endpoint: str) -> None:
    with pytest.raises(UsageError):
        Fetcher(endpoint)


@pytest.mark.parametrize(("provider", "region"), [(Provider.AWS, "../x"), (Provider.AZURE, "east' or 1 eq 1")])
def test_regions_that_are_none_never_reach_the_endpoint(provider: Provider, region: str) -> None:
    with serving(body(OFFER)) as server:
        with pytest.raises(UsageError):
            refreshed(server, provider, region)
        assert server.seen == []


def test_endpoint_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(body(OFFER)) as server:
        monkeypatch.setenv("HYC_AWS_PRICE_ENDPOINT", f"{server.url}/mirror/")
        refresh(RefreshTarget(Provider.AWS, "us-east-1"), NOW, lambda done: None, QUICK)
        assert server.seen[0].startswith("/mirror/offers/")
