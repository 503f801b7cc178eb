"""AWS on the wire: requests read and answers written by botocore's own models, strictly."""

from __future__ import annotations

import json
import re
import uuid
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from hcloud.fake.aws.world import JSON_SERVICES, DenialError, Wire, operation_at, service_model
from hcloud.fake.server import HttpAnswer, Received

MODEL_OF = {"servicequotas": "service-quotas", "monitoring": "cloudwatch"}
_CREDENTIAL = re.compile(r"Credential=([^/,]+)/\d{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks what of which service where; ``form`` holds the fields of a query, ``document`` those of a JSON body."""

    service: str
    region: str
    principal: str
    operation: str
    form: Mapping[str, str]
    document: Wire


def understand(received: Received) -> Asking:
    """The request in the terms of AWS; the service and the principal are in the signature."""
    signed = _CREDENTIAL.search(received.headers.get("authorization", ""))
    principal, region, service = signed.groups() if signed else ("", "", "s3")
    form: dict[str, str] = {}
    document: Wire = {}
    if service in JSON_SERVICES:
        document = received.json()
        target = received.headers.get("x-amz-target", "").rpartition(".")[2]
        operation = target or operation_at(MODEL_OF.get(service, service), received.path)
    elif service == "s3":
        operation = s3_operation(received)
    else:
        form = dict(parse_qsl(received.body.decode("utf-8"), keep_blank_values=True))
        operation = form.get("Action", "")
    return Asking(service, region, principal, operation, form, document)


def s3_operation(received: Received) -> str:
    """What is asked of S3, by the words of its reference."""
    bucket, _, key = received.path.strip("/").partition("/")
    plain = {"PUT": "Put", "GET": "Get", "HEAD": "Head", "DELETE": "Delete", "POST": "Post"}.get(received.method, "")
    if key:
        return f"{plain}Object"
    if not bucket:
        return "ListBuckets"
    return {"PUT": "CreateBucket", "GET": "ListObjectsV2", "POST": "DeleteObjects"}.get(
        received.method, f"{plain}Bucket"
    )


# requests


def parameters(asking: Asking) -> Wire:
    """The parameters of a request by the names of the model; unknown, missing and mistyped ones are refused."""
    model = service_model(MODEL_OF.get(asking.service, asking.service)).operation_model(asking.operation)
    if model.input_shape is None:
        return {}
    if asking.service in JSON_SERVICES:
        _check_names(model.input_shape, asking.document)
        return asking.document
    fields = {k: v for k, v in asking.form.items() if k not in ("Action", "Version")}
    found: Wire = _structure(model.input_shape, _tree(fields), "")
    return found


def _check_names(shape: Any, document: Wire) -> None:
    for name in document:
        if name not in shape.members:
            raise DenialError("ValidationException", f"Unknown parameter {name}")
    for name in shape.required_members:
        if name not in document:
            raise DenialError("ValidationException", f"Missing parameter {name}")


def _tree(fields: Mapping[str, str]) -> Wire:
    root: Wire = {}
    for path, value in fields.items():
        *places, last = path.split(".")
        node = root
        for place in places:
            node = node.setdefault(place, {})
        node[last] = value
    return root


def _structure(shape: Any, node: Any, place: str) -> Wire:
    if not isinstance(node, dict):
        raise DenialError("InvalidParameterValue", f"{place} is no structure")
    known = {_asked_as(member, name): (name, member) for name, member in shape.members.items()}
    found: Wire = {}
    for key, value in node.items():
        if key not in known:
            raise DenialError("UnknownParameter", f"The parameter {place}{key} is not recognized")
        name, member = known[key]
        found[name] = _value(member, value, f"{place}{key}.")
    for name in shape.required_members:
        if name not in found:
            raise DenialError("MissingParameter", f"The request must contain the parameter {place}{name}")
    return found


def _asked_as(shape: Any, name: str) -> str:
    """How a member is called in a request of EC2: an own name, or the usual one with a capital."""
    own = shape.serialization.get("queryName")
    usual = shape.serialization.get("name", name)
    return str(own or usual[:1].upper() + usual[1:])


def _value(shape: Any, node: Any, place: str) -> Any:
    if shape.type_name == "structure":
        return _structure(shape, node, place)
    if shape.type_name == "list":
        items = sorted(node.items(), key=lambda item: int(item[0])) if isinstance(node, dict) else []
        return [_value(shape.member, item, f"{place}{number}.") for number, item in items]
    try:
        return _READERS.get(shape.type_name, str)(node)
    except (ValueError, ArithmeticError):
        raise DenialError("InvalidParameterValue", f"Value ({node}) for parameter {place[:-1]} is invalid") from None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else bool(int(text))


_READERS: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "long": int,
    "float": Decimal,
    "double": Decimal,
    "boolean": _boolean,
    "timestamp": _moment,
    "blob": b64decode,
}


# answers


Element = Callable[[Any], str]
"""Writes a value with its tags."""
_MARKED = re.compile("[&<>]")


def write(asking: Asking, result: Wire, extra: str = "") -> HttpAnswer:
    """An answer as the service writes it; ``extra`` is what no client knows, put into each list item."""
    if asking.service in JSON_SERVICES:
        body = json.dumps({**result, **({"somethingNew": extra} if extra else {})}, default=_as_json).encode()
        return HttpAnswer(200, body, {"content-type": "application/x-amz-json-1.1", "x-amzn-requestid": _request_id()})
    service = service_model(asking.service)
    model = service.operation_model(asking.operation)
    inner = _XmlWriter(extra).members(model.output_shape, result) if model.output_shape is not None else ""
    text = _enveloped(asking, inner, service.metadata["xmlNamespace"], extra)
    return HttpAnswer(200, text.encode(), {"content-type": "text/xml;charset=UTF-8"})


def _enveloped(asking: Asking, inner: str, namespace: str, extra: str) -> str:
    name, asked = asking.operation, _request_id()
    novelty = f"<somethingNew>{escape(extra)}</somethingNew>" if extra else ""
    start = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name}Response xmlns="{namespace}">'
    if asking.service == "ec2":
        return f"{start}<requestId>{asked}</requestId>{inner}{novelty}</{name}Response>"
    told = f"<ResponseMetadata><RequestId>{asked}</RequestId></ResponseMetadata>"
    return f"{start}<{name}Result>{inner}{novelty}</{name}Result>{told}</{name}Response>"


class _XmlWriter:
    """Writes an answer. What goes before and after each member is the same for all structures that hold the same
    members, and is found out once: a page holds a thousand machines."""

    def __init__(self, extra: str) -> None:
        self._novelty = f"<somethingNew>{escape(extra)}</somethingNew>" if extra else ""
        self._layouts: dict[tuple[str, ...], list[tuple[str, Element]]] = {}

    def members(self, shape: Any, value: Wire) -> str:
        held = (shape.name, *value)
        layout = self._layouts.get(held) or self._layouts.setdefault(held, self._layout(shape, value))
        return "".join([put(found) for name, put in layout if (found := value[name]) is not None])

    def _layout(self, shape: Any, value: Wire) -> list[tuple[str, Element]]:
        if unknown := value.keys() - shape.members.keys():
            raise ValueError(f"{shape.name} has no {', '.join(sorted(unknown))}")
        return [
            (name, self._element(member, member.serialization.get("name", name)))
            for name, member in shape.members.items()
            if name in value
        ]

    def _element(self, shape: Any, name: str) -> Element:
        if shape.type_name == "structure":
            novelty = self._novelty if name == "item" else ""
            return lambda value: f"<{name}>{self.members(shape, value)}{novelty}</{name}>"
        if shape.type_name == "list":
            item = self._element(shape.member, shape.member.serialization.get("name", "member"))
            return lambda value: f"<{name}>{''.join(map(item, value))}</{name}>"
        return lambda value: f"<{name}>{_as_text(value)}</{name}>"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return escape(value) if _MARKED.search(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}.000Z"
    return format(value, "f") if isinstance(value, Decimal) else escape(str(value))


def _as_json(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)  # what these services send is a JSON number
    return value.timestamp() if isinstance(value, datetime) else str(value)


def refuse(asking: Asking, denial: DenialError) -> HttpAnswer:
    """An error as the service writes it."""
    asked, headers = _request_id(), dict(denial.headers)
    if asking.service in JSON_SERVICES:
        body = json.dumps({"__type": denial.code, "message": denial.message, "Message": denial.message})
        told = {"content-type": "application/x-amz-json-1.1", "x-amzn-errortype": denial.code}
        return HttpAnswer(denial.status, body.encode(), {**told, "x-amzn-requestid": asked, **headers})
    error = f"<Code>{escape(denial.code)}</Code><Message>{escape(denial.message)}</Message>"
    named = f"<RequestId>{asked}</RequestId>"
    shape = {
        "s3": f"<Error>{error}{named}</Error>",
        "sts": f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>{named}</ErrorResponse>",
    }
    of_ec2 = f"<Response><Errors><Error>{error}</Error></Errors><RequestID>{asked}</RequestID></Response>"
    body = '<?xml version="1.0" encoding="UTF-8"?>\n' + shape.get(asking.service, of_ec2)
    return HttpAnswer(denial.status, body.encode(), {"content-type": "text/xml;charset=UTF-8", **headers})


def _request_id() -> str:
    return str(uuid.uuid4())
