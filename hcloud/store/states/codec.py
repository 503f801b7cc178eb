"""The words of a state: JSON with a checksum, from which nothing is read that this hcloud would not have written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from hcloud import __version__
from hcloud.errors import InputError, Problem
from hcloud.model.catalog import PurchaseOption, ScopeName
from hcloud.model.checked import problems_of
from hcloud.model.holdings.live import Scope
from hcloud.model.holdings.state import FORMAT_VERSION, Operating, OwnedMachine, State
from hcloud.model.json_text import DIALECT, stamp
from hcloud.store.files.strict_json import HINT, load_strict
from hcloud.units import plain

MOST = 999_999_999  # ours: no state was written, and no plan begun, that often
CHECKSUM = "checksum"
LATER = ("launched", "ended", "ended_is_told")
"""Keys of a record that its first version did not have."""

Text = Annotated[str, Field(max_length=1024, pattern=r"^[^\x00-\x1f\x7f]*$")]
Name = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[^\x00-\x1f\x7f]*$")]
Address = Annotated[str, Field(pattern=r"^[a-z0-9_-]{0,63}$")]
Count = Annotated[int, Field(ge=0, le=MOST)]
Number = Annotated[str, Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,18})?$")]
Moment = Annotated[AwareDatetime, AfterValidator(lambda at: at.astimezone(UTC))]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, from_attributes=True)


class ScopeDocument(_Document):
    """Where the machines stand."""

    cloud: ScopeName
    account: Name
    region: Text
    endpoint: Text


class RecordDocument(_Document):
    """A machine of ours."""

    id: Name
    address: Address
    key: Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]
    instance_type: Name
    zone: Text
    option: PurchaseOption
    generation: Count
    intended: Moment
    ending: bool
    protected: bool
    missed_since: Moment | None
    launched: Moment | None = None
    ended: Moment | None = None
    ended_is_told: bool = False


class StoredOperation(_Document):
    """How what stands is to be run; numbers are text, so that they come back as they were."""

    strategy: Name
    soft_limit: Number | None
    hard_limit: Number | None
    retention_factor: Number | None
    retention_seconds: Number | None
    on_demand_types: list[Name]


class StateDocument(_Document):
    """What hcloud remembers of a cloud."""

    format_version: Literal["1.0"]
    tool_version: Name
    lineage: Digest
    serial: Count
    checksum: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-f]{64}$",
            description="SHA-256 of all else as JSON with sorted keys, no blanks, and ASCII only.",
        ),
    ]
    generation: Count
    project: Text
    scope: ScopeDocument | None
    operating: StoredOperation | None = None
    plan: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")] | None = None
    planned: date | None = None
    wanted: dict[Address, Count] | None = None
    records: list[RecordDocument]


def laid_out(head: Mapping[str, object], rows: Iterable[str]) -> str:
    """A line a key and a line a record, so that tools which compare lines show what changed."""
    lines = [f' "{key}": {json.dumps(value)},\n' for key, value in head.items()]
    records = ",".join(f"\n  {row}" for row in rows)
    return "".join(["{\n", *lines, ' "records": [', records, "\n " if records else "", "]\n}\n"])


def head_document(state: State) -> dict[str, object]:
    """The JSON document of a state without its records. It tells no time: the same state is the same bytes."""
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "lineage": state.lineage,
        "serial": state.serial,
        CHECKSUM: "",
        "generation": state.generation,
        "project": state.project,
        "scope": None if state.scope is None else asdict(state.scope),
        **({} if state.operating is None else {"operating": operating_document(state.operating)}),
        **({"plan": state.plan} if state.plan else {}),
        **({} if state.planned is None else {"planned": state.planned.isoformat()}),
        **({} if state.wanted is None else {"wanted": dict(state.wanted)}),
    }


def operating_document(how: Operating) -> dict[str, object]:
    """The JSON object of how machines are run."""
    return {name: plain(value) if isinstance(value, Decimal) else value for name, value in asdict(how).items()}


def record_document(record: OwnedMachine) -> dict[str, object]:
    """The JSON object of a record; what was added later is left out where there is none of it."""
    told = ((name, getattr(record, name)) for name in RecordDocument.model_fields)
    return {n: stamp(v) if isinstance(v, datetime) else v for n, v in told if v or n not in LATER}


def checksum(document: Mapping[str, object]) -> str:
    """The checksum of a document over everything but itself."""
    rest = {key: value for key, value in document.items() if key != CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def decode_state(data: bytes, where: str) -> State:
    """The state that ``data`` holds, read strictly.

    Raises InputError with every problem, its file and path, for anything that is not a state as hcloud writes it:
    another version, a checksum that does not fit, unknown keys or words, numbers out of range, an id twice.
    """
    document = load_strict(data, where)
    _check_version(document, where)
    problems = list(_wrong_sum(document, where))
    read, more = _parse(data, where)
    if read is not None:
        more = [*_twins(read, where), *_secrets(read, where)]
    if read is None or problems or more:
        raise InputError(f"{where}: is not a state as hcloud wrote it", [*problems, *more], hint=HINT)
    return _state(read)


def state_schema() -> Mapping[str, object]:
    """The published JSON Schema of a state file."""
    schema: dict[str, Any] = StateDocument.model_json_schema()
    return {"$schema": DIALECT, **schema, "title": "hcloud state"}


def _check_version(document: Mapping[str, object], where: str) -> None:
    version = document.get("format_version")
    if not isinstance(version, str) or not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", version, re.ASCII):
        said = "it has no format_version" if version is None else f"format_version {version!r} is no version"
        raise InputError(f"{where}: is not a state: {said}", hint=HINT)
    if version == FORMAT_VERSION:
        return
    later = _numbers(version) > _numbers(FORMAT_VERSION)
    # A later minor version too: what it added would be lost when the state is written next
    said = f"was written by a later hcloud (format_version {version}; this one reads {FORMAT_VERSION})"
    raise InputError(
        f"{where}: {said}" if later else f"{where}: format_version {version} was never written by a released hcloud",
        hint="use the hcloud that wrote it, or a later one" if later else HINT,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _parse(text: bytes, where: str) -> tuple[StateDocument | None, list[Problem]]:
    try:
        return StateDocument.model_validate_json(text), []
    except ValidationError as error:
        return None, problems_of(error, where)


def _wrong_sum(document: Mapping[str, object], where: str) -> Iterator[Problem]:
    stated, right = document.get(CHECKSUM), checksum(document)
    if stated != right:
        yield Problem(where, CHECKSUM, repr(stated)[:60], "does not match the rest: edited or damaged")


def _operating(how: StoredOperation) -> Operating:
    numbers = (how.soft_limit, how.hard_limit, how.retention_factor, how.retention_seconds)
    soft, hard, factor, seconds = (None if n is None else Decimal(n) for n in numbers)
    return Operating(how.strategy, soft, hard, factor, seconds, tuple(how.on_demand_types))


def _twins(read: StateDocument, where: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, record in enumerate(read.records):
        if record.id in seen:
            yield Problem(where, f"records.{number}.id", repr(record.id)[:60], "is there twice")
        seen.add(record.id)


def _secrets(read: StateDocument, where: str) -> Iterator[Problem]:
    """An endpoint is an address; what lets somebody in has no place in a state."""
    if read.scope is not None and read.scope.endpoint:
        try:
            parts = urlsplit(read.scope.endpoint)
            bare = "@" not in parts.netloc and not parts.query and not parts.fragment
        except ValueError:
            bare = False
        if not bare:
            yield Problem(where, "scope.endpoint", "(not shown)", "an address without user, password or query")


def _state(read: StateDocument) -> State:
    scope = None if read.scope is None else Scope(**dict(read.scope))
    records = (OwnedMachine(**dict(r)) for r in read.records)
    how = read.operating
    operating = None if how is None else _operating(how)
    fields = (read.lineage, read.serial, read.generation, read.project, scope, _sorted(records))
    return State(*fields, operating, read.plan or "", planned=read.planned, wanted=read.wanted)


def _sorted(records: Iterable[OwnedMachine]) -> tuple[OwnedMachine, ...]:
    return tuple(sorted(records, key=lambda r: r.id))
