"""The latency of a service by a command, by requests and by Prometheus, on servers whose latency is known."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from left_running import runs, some_number
from waiting import PATIENCE, until

from hcloud.model.running.job import ServiceTarget, TargetKind
from hcloud.profiling import targets
from hcloud.profiling.targets import Measuring, ProbeError, measure

QUICK = Measuring(rate=50, seconds=0.6, patience=PATIENCE)
Answer = Callable[[str], tuple[int, str]]


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            code, text = answer(self.path)
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}"
        finally:
            running.shutdown()


def command(text: str) -> ServiceTarget:
    return ServiceTarget(TargetKind.COMMAND, text, 250.0)


@pytest.mark.parametrize(
    ("printed", "milliseconds"),
    [("12.5", 12.5), ("250 ms", 250), ("0.2s", 200), ("first\\n90us\\n\\n", 0.09), ("1e3", 1000)],
)
def test_a_command_prints_it(printed: str, milliseconds: float) -> None:
    assert measure(command(f"printf '{printed}'"), QUICK) == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo fast", "printed 'fast', not a number of milliseconds"),
        ("true", "printed '', not a number"),
        ("echo -- -5", "not a number"),
        ("sh -c 'echo broken >&2; exit 3'", "ended with 3: broken"),
        ("no-such-program-here", "cannot be started"),
        ("echo 'open", "cannot be started: No closing quotation"),
        ("echo 1e999", "is no latency"),
    ],
)
def test_a_command_that_tells_nothing_says_why(text: str, said: str) -> None:
    with pytest.raises(ProbeError, match=said):
        measure(command(text), QUICK)


def test_a_command_that_hangs_is_ended_with_what_it_started() -> None:
    length = some_number()
    with pytest.raises(ProbeError, match=r"printed no latency within 0\.3 s"):
        measure(command(f"sh -c 'sleep {length} & sleep {length}'"), Measuring(patience=0.3))
    until(lambda: not runs(length), "it outlasts the measurement")


def test_requests_are_timed() -> None:
    def slow(_path: str) -> tuple[int, str]:
        time.sleep(0.05)
        return 200, "ok"

    with server(slow) as url:
        assert 50 <= measure(ServiceTarget(TargetKind.HTTP, f"{url}/x?y=1", 1.0), QUICK) < 30_000


def test_a_pause_shows_in_all_requests_that_had_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that stops for 0.3 s in 0.5: whoever waits for an answer before asking again sees as many slow requests
    as there are connections, 16 of 200; those that were due meanwhile, 120, waited, too."""
    monkeypatch.setattr(targets, "_SHARE", 0.7)
    lock, asked = threading.Lock(), itertools.count()

    def pausing(_path: str) -> tuple[int, str]:
        with lock:
            if next(asked) == 10:
                time.sleep(0.3)
        return 200, "ok"

    often = Measuring(rate=400, seconds=0.5, patience=PATIENCE)
    with server(pausing) as url:
        assert measure(ServiceTarget(TargetKind.HTTP, url, 1.0), often) > 100


@pytest.mark.slow
@pytest.mark.parametrize("code", [404, 500, 503])
def test_requests_that_fail_have_no_latency(code: int) -> None:
    with (
        server(lambda path: (code, "")) as url,
        pytest.raises(ProbeError, match=f"30 of 30 requests failed: HTTP {code}"),
    ):
        measure(ServiceTarget(TargetKind.HTTP, url, 1.0), QUICK)


def test_a_few_that_fail_took_as_long_as_is_waited() -> None:
    asked = iter(range(1000))
    with server(lambda path: (500 if next(asked) % 10 == 0 else 200, "")) as url:
        assert measure(ServiceTarget(TargetKind.HTTP, url, 1.0), QUICK) == 1000 * PATIENCE


def test_nobody_who_listens_is_told() -> None:
    with server(lambda path: (200, "")) as url:
        pass
    with pytest.raises(ProbeError, match=r"requests failed: .*refused"):
        measure(ServiceTarget(TargetKind.HTTP, url, 1.0), QUICK)
    for wrong in ("ftp://x/", "http://", "http://x:99999/"):
        with pytest.raises(ProbeError, match="is no address of HTTP"):
            measure(ServiceTarget(TargetKind.HTTP, wrong, 1.0), QUICK)


def vector(*values: str) -> str:
    found = [{"metric": {}, "value": [1.0, value]} for value in values]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": found}})


def prometheus(url: str, query: str = "histogram_quantile(0.99, x[5m])") -> ServiceTarget:
    return ServiceTarget(TargetKind.PROMETHEUS, query, 250.0, url)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        (vector("0.25"), 250),
        (vector("0.1", "NaN", "0.3"), 300),
        ('{"status":"success","data":{"resultType":"scalar","result":[1,"0.05"]}}', 50),
    ],
)
def test_prometheus_answers_in_seconds(text: str, milliseconds: float) -> None:
    asked = []

    def answer(path: str) -> tuple[int, str]:
        asked.append(path)
        return 200, text

    with server(answer) as url:
        assert measure(prometheus(url), QUICK) == pytest.approx(milliseconds)
    parts = urlsplit(asked[0])
    assert (parts.path, parse_qs(parts.query)) == ("/api/v1/query", {"query": ["histogram_quantile(0.99, x[5m])"]})


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (200, vector(), "has no value now"),
        (200, vector("NaN"), "has no value now"),
        (200, vector("+Inf"), "is no latency"),
        (400, '{"status":"error","errorType":"bad_data","error":"parse error at char 3"}', "parse error at char 3"),
        (502, "<html>", "no answer to a query of Prometheus"),
        (200, "[]", "HTTP 200"),
        (200, '{"status":"success","data":{"resultType":"matrix","result":"x"}}', "has no value now"),
    ],
)
def test_prometheus_without_a_value_says_why(code: int, text: str, said: str) -> None:
    with server(lambda path: (code, text)) as url, pytest.raises(ProbeError, match=said):
        measure(prometheus(url), QUICK)
