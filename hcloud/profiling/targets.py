"""What latency a service has: by a command that prints it, by requests at a fixed rate, or by a query of Prometheus."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import os
import re
import shlex
import signal
import ssl
import subprocess
import time
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlencode, urlsplit

from hcloud.at_once import in_parallel
from hcloud.errors import HcloudError
from hcloud.model.running.job import ServiceTarget, TargetKind

_PRINTED = re.compile(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(us|ms|s)?", re.ASCII)
_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_SHARE = 0.99
_CONNECTIONS = 16  # ours: requests under way at once; more than these wait, and their waiting counts
_MOST_FAILED = 0.5  # ours: of so many requests failing there is no latency to tell
_LARGEST = 1 << 20
_TOLD = 200


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a service is measured: requests a second and for how long, and how long any answer is waited for. A request
    that fails took as long as is waited for one."""

    rate: float = 50.0
    seconds: float = 4.0
    patience: float = 10.0


class ProbeError(HcloudError):
    """A service's latency could not be measured; nothing follows from that about the service."""


def measure(target: ServiceTarget, how: Measuring = Measuring()) -> float:
    """The 99th percentile of latency in milliseconds. ProbeError where it cannot be told."""
    by = {TargetKind.COMMAND: _by_command, TargetKind.HTTP: _by_requests, TargetKind.PROMETHEUS: _by_query}
    return by[target.kind](target, how)


def _by_command(target: ServiceTarget, how: Measuring) -> float:
    """What it prints last: milliseconds, or a number with its unit."""
    try:
        running = subprocess.Popen(
            shlex.split(target.probe),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ProbeError(f"{target.probe}: cannot be started: {error}") from error
    with running:
        try:
            printed, said = running.communicate(timeout=how.patience)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise ProbeError(f"{target.probe}: printed no latency within {how.patience:g} s") from None
    lines = printed.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if running.returncode:
        why = said.decode(errors="replace").strip()[-_TOLD:]
        raise ProbeError(f"{target.probe}: ended with {running.returncode}{f': {why}' if why else ''}")
    if (found := _PRINTED.fullmatch(last)) is None:
        raise ProbeError(f"{target.probe}: printed {last[:_TOLD]!r}, not a number of milliseconds")
    return _finite(float(found[1]) * _MILLISECONDS[found[2] or "ms"], target.probe)


@dataclass(slots=True)
class _Load:
    """Requests that are due at fixed times, whoever is free sends them. Each is timed from when it was due, so that one
    slow answer shows in all those that had to wait behind it."""

    parts: SplitResult
    how: Measuring
    began: float
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    times: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Send what is due until the time is over, over one connection that is kept open."""
        connection = _connection(self.parts, self.how.patience)
        count = round(self.how.rate * self.how.seconds)
        while (number := next(self.numbers)) < count:
            due = self.began + number / self.how.rate
            time.sleep(max(due - time.monotonic(), 0))
            try:
                connection.request("GET", _path(self.parts), headers={"User-Agent": "hcloud"})
                answer = connection.getresponse()
                answer.read()
                if answer.status >= 400:
                    self.failed.append(f"HTTP {answer.status}")
                else:
                    self.times.append(time.monotonic() - due)
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(str(error) or type(error).__name__)
                connection.close()
        connection.close()


def _by_requests(target: ServiceTarget, how: Measuring) -> float:
    load = _Load(_address(target.probe), how, time.monotonic())
    try:
        in_parallel(lambda _: load.run(), range(_CONNECTIONS), _CONNECTIONS)
    except MemoryError as error:
        raise ProbeError(f"{target.probe}: there is no memory to measure it: {error}") from error
    asked = len(load.times) + len(load.failed)
    if len(load.failed) > _MOST_FAILED * asked:
        raise ProbeError(f"{target.probe}: {len(load.failed)} of {asked} requests failed: {load.failed[-1]}")
    times = sorted([*load.times, *(how.patience for _ in load.failed)])
    return 1000 * times[min(math.ceil(_SHARE * len(times)), len(times)) - 1]


def _by_query(target: ServiceTarget, how: Measuring) -> float:
    """Seconds, as Prometheus counts them; the largest where the query gives several series."""
    parts = _address(f"{target.server}/api/v1/query?{urlencode({'query': target.probe})}")
    connection = _connection(parts, how.patience)
    try:
        connection.request("GET", _path(parts), headers={"User-Agent": "hcloud", "Accept": "application/json"})
        answer = connection.getresponse()
        content = json.loads(answer.read(_LARGEST))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ProbeError(f"{target.server}: no answer to a query of Prometheus: {error}") from error
    finally:
        connection.close()
    if not isinstance(content, dict) or content.get("status") != "success":
        why = content.get("error") if isinstance(content, dict) else None
        raise ProbeError(f"{target.server}: {target.probe}: {str(why or f'HTTP {answer.status}')[:_TOLD]}")
    values = [value for value in _samples(content.get("data")) if not math.isnan(value)]
    if not values:
        raise ProbeError(f"{target.server}: {target.probe}: has no value now")
    return _finite(1000 * max(values), target.probe)


def _samples(data: object) -> list[float]:
    """The values of a scalar or of an instant vector."""
    if not isinstance(data, dict):
        return []
    result = data.get("result")
    if data.get("resultType") == "scalar":
        samples = [result]
    else:
        samples = [s.get("value") for s in result if isinstance(s, dict)] if isinstance(result, list) else []
    found = []
    for sample in samples:
        if isinstance(sample, list) and len(sample) == 2:
            try:
                found.append(float(str(sample[1])))
            except ValueError:
                continue
    return found


def _finite(milliseconds: float, what: str) -> float:
    if not math.isfinite(milliseconds) or milliseconds < 0:
        raise ProbeError(f"{what}: {milliseconds:g} is no latency")
    return milliseconds


def _address(url: str) -> SplitResult:
    parts = urlsplit(url)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ProbeError(f"{url}: is no address of HTTP")
    return parts


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _connection(parts: SplitResult, patience: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=patience, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, parts.port, timeout=patience)
