"""Puts HTTP load on a URL over connections that are kept open, run by path; prints what the requests saw as JSON."""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import threading
import time
from urllib.parse import urlsplit

TIMEOUT = 10.0


class Client(threading.Thread):
    """One connection that asks again as soon as it was answered."""

    def __init__(self, url: str, until: float) -> None:
        super().__init__(daemon=True)
        self.parts, self.until = urlsplit(url), until
        self.times: list[float] = []
        self.errors = 0

    def run(self) -> None:
        """Ask until the time is over."""
        connection = self.connect()
        path = (self.parts.path or "/") + (f"?{self.parts.query}" if self.parts.query else "")
        while (began := time.monotonic()) < self.until:
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                if answer.status >= 400:
                    self.errors += 1
                else:
                    self.times.append(time.monotonic() - began)
            except (OSError, http.client.HTTPException):
                self.errors += 1
                connection.close()
                connection = self.connect()
                time.sleep(0.01)
        connection.close()

    def connect(self) -> http.client.HTTPConnection:
        """A connection to the URL's host, opened at the first request."""
        return http.client.HTTPConnection(self.parts.hostname or "127.0.0.1", self.parts.port or 80, timeout=TIMEOUT)


def quantile(ordered: list[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def main() -> int:
    """Put on the load that the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    began = time.monotonic()
    clients = [Client(given.url, began + given.seconds) for _ in range(given.connections)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    elapsed = time.monotonic() - began
    times = sorted(t for client in clients for t in client.times)
    seen: dict[str, float] = {"requests": len(times), "errors": sum(c.errors for c in clients), "seconds": elapsed}
    if times:
        seen |= {"p50": 1000 * quantile(times, 0.5), "p99": 1000 * quantile(times, 0.99)}
        seen["throughput"] = len(times) / elapsed
    sys.stdout.write(json.dumps(seen) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
