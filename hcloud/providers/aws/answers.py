"""Lists of machines as EC2 sends them, read in one pass; every other answer is left to the SDK's own parser.

The SDK's parser looks at each of the seventy members of an instance, and reads each time with a parser of all forms of
dates: with ten thousand machines that was most of what a verb cost. botocore lets this one step be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

from botocore.parsers import DEFAULT_TIMESTAMP_PARSER, ResponseParserFactory

Read = Callable[[Element], Any]
Table = Mapping[str, tuple[str, Read | None]]
"""By tags with their namespace: a member's name, and what reads it; None for text."""

READ: Mapping[str, frozenset[str]] = {
    "DescribeInstancesResult": frozenset({"Reservations", "NextToken"}),
    "Reservation": frozenset({"Instances"}),
    "Instance": frozenset(
        {
            "InstanceId",
            "InstanceType",
            "InstanceLifecycle",
            "LaunchTime",
            "Placement",
            "PlatformDetails",
            "State",
            "StateTransitionReason",
            "Tags",
        }
    ),
    "Placement": frozenset({"AvailabilityZone", "Tenancy"}),
    "InstanceState": frozenset({"Name"}),
    "Tag": frozenset({"Key", "Value"}),
}
"""The members of each structure that hcloud asks for; a structure that is not named here is read whole by the SDK."""
ANSWERS = ("DescribeInstancesResult", "Reservation")


class AnswerParsers(ResponseParserFactory):  # type: ignore[misc]
    """The component of a botocore session that makes parsers."""

    def __init__(self) -> None:
        super().__init__()
        self.set_parser_defaults(timestamp_parser=moment)
        self._tables: dict[tuple[str, str], Table] = {}

    def create_parser(self, protocol_name: str) -> Any:
        """A parser of answers in this protocol."""
        usual = super().create_parser(protocol_name)
        return _MachineParser(usual, self._tables) if protocol_name == "ec2" else usual


class _MachineParser:
    """Reads successful lists of machines by the names of the service model; the SDK's parser reads the rest."""

    def __init__(self, usual: Any, tables: dict[tuple[str, str], Table]) -> None:
        self._usual = usual
        self._tables = tables

    def parse(self, response: Mapping[str, Any], shape: Any) -> Any:
        """What an answer says, as a dictionary by the names of the model."""
        if shape is None or shape.name not in ANSWERS or response["status_code"] >= 300:
            return self._usual.parse(response, shape)
        try:
            root = fromstring(response["body"])
        except ParseError:
            return self._usual.parse(response, shape)  # which says what is wrong with it
        told = {"HTTPStatusCode": response["status_code"], "HTTPHeaders": dict(response["headers"])}
        space = root.tag[: root.tag.rfind("}") + 1]
        return {**self._structure(shape, space)(root), "ResponseMetadata": told}

    def _structure(self, shape: Any, space: str) -> Read:
        table = self._tables.get((shape.name, space))
        if table is None:
            table = self._tables[shape.name, space] = {
                space + member.serialization.get("name", name): (name, self._reader(member, space))
                for name, member in shape.members.items()
                if name in READ[shape.name]
            }
        find = table.get

        def read(node: Element) -> dict[str, Any]:
            found = {}
            for child in node:
                if (wanted := find(child.tag)) is not None:
                    name, inner = wanted
                    found[name] = (child.text or "") if inner is None else inner(child)
            return found

        return read

    def _reader(self, shape: Any, space: str) -> Read | None:
        if shape.type_name == "structure":
            return self._structure(shape, space)
        if shape.type_name == "list":
            item = self._structure(shape.member, space)
            return lambda node: [item(child) for child in node]
        return _time if shape.type_name == "timestamp" else None


def _time(node: Element) -> datetime:
    return moment(node.text or "")


def moment(text: str | float) -> datetime:
    """A time; seconds and the forms that ISO 8601 has are read at once, any other by the SDK."""
    if isinstance(text, int | float):
        return datetime.fromtimestamp(text, UTC)
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return DEFAULT_TIMESTAMP_PARSER(text)  # type: ignore[no-any-return]
    return found if found.tzinfo else DEFAULT_TIMESTAMP_PARSER(text)
