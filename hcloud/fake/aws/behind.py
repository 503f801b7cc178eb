"""What this fake does not answer itself goes to moto, in the same process: S3 above all, and of EC2 what machines refer
to (networks, security groups, key pairs, images, launch templates).

The default network is this fake's own, so that machines can be launched without moto; where moto comes into play, its
default network goes by the same ids.

moto keeps its resources by process and not by object, so a new fake begins with an empty moto. Requests reach it one
by one: it looks and then writes, and two conditional writes of one object must not both win.
"""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from functools import lru_cache
from typing import Any

from hcloud.errors import MissingExtraError
from hcloud.fake.aws.world import DEFAULT_GROUP, DEFAULT_VPC, DenialError, Wire, service_model, subnet_in
from hcloud.fake.server import HttpAnswer, Received

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
            _default_network.cache_clear()


def is_used() -> bool:
    """Whether moto may hold anything."""
    return _used.is_set()


def ask_moto(received: Received, region: str = "") -> HttpAnswer:
    """What moto says; with ``region`` it is about EC2 there, whose default network goes by our ids."""
    if not region:
        return _asked(received)
    names = _default_network(region)
    body = received.body
    for ours, theirs in names:
        body = body.replace(ours, theirs)
    answer = _asked(replace(received, body=body))
    said = answer.body
    for ours, theirs in names:
        said = said.replace(theirs, ours)
    return replace(answer, body=said)


def told(service: str, region: str, operation: str, request: Wire) -> Wire:
    """What moto tells of something, in the words of the service model; raises DenialError with its code."""
    return _parsed(service, operation, ask_moto(_written(service, region, operation, request), region))


@lru_cache
def _default_network(region: str) -> tuple[tuple[bytes, bytes], ...]:
    """The ids of the default network: ours, and moto's."""

    def listed(operation: str, name: str, value: str) -> list[Wire]:
        filters = {"Filters": [{"Name": name, "Values": [value]}]}
        answer = _parsed("ec2", operation, _asked(_written("ec2", region, operation, filters)))
        return next(v for v in answer.values() if isinstance(v, list))

    [vpc] = listed("DescribeVpcs", "is-default", "true")
    groups = listed("DescribeSecurityGroups", "vpc-id", vpc["VpcId"])
    [group] = [g for g in groups if g["GroupName"] == "default"]
    subnets = listed("DescribeSubnets", "default-for-az", "true")
    pairs = {DEFAULT_VPC: vpc["VpcId"], DEFAULT_GROUP: group["GroupId"]}
    pairs |= {subnet_in(s["AvailabilityZone"]): s["SubnetId"] for s in subnets}
    return tuple((ours.encode(), theirs.encode()) for ours, theirs in pairs.items())


def _written(service: str, region: str, operation: str, request: Wire) -> Received:
    """A request as boto3 would send it to moto."""
    from urllib.parse import urlencode

    from botocore.serialize import create_serializer

    model = service_model(service)
    made = create_serializer(model.metadata["protocol"]).serialize_to_request(request, model.operation_model(operation))
    signed = (
        f"AWS4-HMAC-SHA256 Credential=fake/20260101/{region}/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )
    headers = {"authorization": signed, "host": "127.0.0.1", "content-type": "application/x-www-form-urlencoded"}
    return Received("POST", "/", {}, headers, urlencode(made["body"]).encode())


def _parsed(service: str, operation: str, answer: HttpAnswer) -> Wire:
    from botocore.parsers import create_parser

    model = service_model(service)
    raw = {"status_code": answer.status, "headers": dict(answer.headers), "body": answer.body}
    shape = model.operation_model(operation).output_shape
    found: Wire = create_parser(model.metadata["protocol"]).parse(raw, shape)
    found.pop("ResponseMetadata", None)
    error = found.pop("Error", None)
    if answer.status >= 400 and error is not None:
        raise DenialError(str(error.get("Code")), str(error.get("Message")), answer.status)
    return found


def _asked(received: Received) -> HttpAnswer:
    _application()
    with _one_by_one:
        _used.set()
        return _call(_environ(received))


def _call(environ: dict[str, Any]) -> HttpAnswer:
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
    return HttpAnswer(told["status"], body, headers)


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
