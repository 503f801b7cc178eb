"""Plan files: the published JSON form of a plan, written whole or not at all, read back with its version checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from hcloud import __version__
from hcloud.errors import InputError, Problem
from hcloud.model.checked import check_version, form_of, problems_of
from hcloud.model.holdings.change import ChangeSet
from hcloud.model.json_text import DIALECT, parsed, written
from hcloud.model.plans.held import FIRST_WEEKS
from hcloud.model.plans.plan import Plan
from hcloud.store.files.looked_at import check_file
from hcloud.store.files.looked_at import check_target as check_replaced
from hcloud.store.files.whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST = 64 * 1024 * 1024
EXPLAINED = (
    *("format_version", "tool_version", "generated_at", "currency"),
    *("mix", "reasons", "refusals", "assumptions", "operation", "sizing", "flips"),
)
"""What of a plan ``hcloud explain`` prints."""
_BESIDE = ("tool_version", "generated_at")
"""What a file of changes says of itself besides the changes."""


def plan_document(plan: Plan) -> Mapping[str, object]:
    """The JSON document of a plan: money as decimal strings, times in UTC, keys in a fixed order."""
    document = cast("dict[str, object]", form_of(Plan).dump_python(plan, mode="json"))
    for line, known in zip(cast("list[dict[str, object]]", document["mix"]), plan.mix, strict=True):
        for name in ("expires_hour", "first_least", "first_peak", "expires", "licences"):
            if getattr(known, name) is None:
                del line[name]
    if plan.first_weeks == FIRST_WEEKS:
        del document["first_weeks"]
    for name in ("operation", "changes", "harvest", "beside"):  # what was not asked for is not said
        if not getattr(plan, name):
            del document[name]
    return document


def facts_document(part: object) -> Mapping[str, object]:
    """The JSON document of a part of a plan: money as decimal strings."""
    if part is None:
        return {}
    return cast("dict[str, object]", form_of(type(part)).dump_python(part, mode="json"))


def plan_schema() -> Mapping[str, object]:
    """The published JSON Schema of a plan file."""
    schema = form_of(Plan).json_schema(mode="serialization")
    return {"$schema": DIALECT, "title": "hcloud plan", **schema}


def explanation_schema() -> Mapping[str, object]:
    """The published JSON Schema of what ``hcloud explain`` prints of a plan: a part of the plan's own."""
    plan = form_of(Plan).json_schema(mode="serialization")
    part = {name: plan["properties"][name] for name in EXPLAINED}
    required = [name for name in EXPLAINED if name != "operation"]
    head = {"$schema": DIALECT, "title": "hcloud explain", "type": "object"}
    return {**head, "properties": part, "required": required, "additionalProperties": False, "$defs": plan["$defs"]}


def check_target(path: Path) -> None:
    """Refuse, with InputError, to write a plan where none can or should be (a plan may replace a plan)."""
    shown = f"-o html (or md, csv) > {path} has what is shown"
    check_replaced(path, "a plan", lambda head: b'"format_version"' in head[:200], ".json", hint=shown)


def save_plan(made: Plan | ChangeSet, path: Path) -> None:
    """Write a plan, or changes alone, next to its final name, then rename: a crash leaves the old file or the new one,
    never half.

    Raises InputError as :func:`check_target` does.
    """
    check_target(path)
    document = plan_document(made) if isinstance(made, Plan) else changes_document(made)
    write_whole(path, [written(document, indent=2) + "\n"])


def changes_document(changes: ChangeSet) -> Mapping[str, object]:
    """The JSON document of changes that no plan was needed for."""
    document = cast("dict[str, object]", form_of(ChangeSet).dump_python(changes, mode="json"))
    head = {"format_version": changes.format_version, "tool_version": __version__, "generated_at": document["made"]}
    return {**head, **document}


def changes_schema() -> Mapping[str, object]:
    """The published JSON Schema of changes that no plan was needed for."""
    schema = form_of(ChangeSet).json_schema(mode="serialization")
    head = {"tool_version": {"type": "string"}, "generated_at": {"type": "string", "format": "date-time"}}
    schema["properties"] = {**head, **schema["properties"]}
    schema["required"] = [*head, *schema["required"]]
    return {"$schema": DIALECT, "title": "hcloud plan --cloud", **schema}


def load_changes(path: Path, cloud: str | None = None) -> ChangeSet:
    """The changes of a plan file, or of a file of changes alone; InputError where there are none, which names the
    ``cloud`` they are wanted for."""
    document = _read(path, "a plan", "a plan of changes")
    if "slots" not in document:
        plan = load_plan(path)
        if plan.changes is None:
            provider = next((line.provider for line in plan.mix), "aws")
            other = "" if cloud else "; --cloud fake rehearses"
            hint = f"plan it again with --cloud {cloud or provider} --out {path}{other}"
            raise InputError(f"{path}: this plan was made without --cloud, so it lists no changes", hint=hint)
        return _exactly(path, plan.changes, document.get("changes"))
    try:
        found = form_of(ChangeSet).validate_python(document)
    except ValidationError as error:
        raise InputError(f"{path}: no changes of this version", problems_of(error, str(path))) from None
    return _exactly(path, found, document)


def load_made(path: Path) -> Plan | ChangeSet:
    """What a plan file holds: a plan, or changes alone (of a fleet that is written down); InputError for neither."""
    return load_changes(path) if "slots" in _read(path, "a plan", "a plan of changes") else load_plan(path)


def _exactly(path: Path, found: ChangeSet, document: object) -> ChangeSet:
    """Changes that say all that stands in their file: what is not understood is not carried out."""
    whole = changes_document(found)
    bare = {name: value for name, value in whole.items() if name not in _BESIDE}
    if document not in (whole, bare):
        raise InputError(f"{path}: was altered after it was made, or is of another version", hint="plan again")
    return found


def head_of(path: Path) -> str:
    """The beginning of a file, as far as it is text."""
    with path.open("rb") as file:
        return file.read(400).decode("utf-8", "replace")


def is_plan_file(path: Path) -> bool:
    """Whether a file begins as a plan does."""
    head = head_of(path)
    return '"format_version"' in head and '"digests"' in head


def load_plan(path: Path) -> Plan:
    """Read a plan file; raises InputError where it is no plan or of a version this hcloud cannot read."""
    try:
        plan = form_of(Plan).validate_python(_read(path, "a plan"))
    except ValidationError as error:
        raise InputError(f"{path}: not a plan of this version", problems_of(error, str(path))) from None
    if below := list(_below_zero(path, plan)):
        raise InputError(f"{path}: was altered after it was made", below, hint="plan again")
    return plan


def _below_zero(path: Path, plan: Plan) -> Iterator[Problem]:
    """What cannot be of a part of the mix."""
    for at, line in enumerate(plan.mix):
        for name in ("count", "peak", "hourly", "upfront", "total"):
            value = getattr(line, name)
            if value < 0:
                yield Problem(str(path), f"mix.{at}.{name}", str(value), "none is below zero")


def _read(path: Path, *wanted: str) -> dict[str, object]:
    """The JSON object of a file of this format version; InputError for anything else."""
    check_file(path, *wanted, hint="write one with 'hcloud plan --out FILE'")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any plan ({LARGEST} bytes)")
    try:
        document = parsed(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        hint = "a plan is written by 'hcloud plan --out FILE'; it may have been cut off or edited"
        raise InputError(f"{path}: not JSON: {error}", hint=hint) from None
    check_version(document, str(path), "a plan is written by 'hcloud plan --out FILE'")
    return cast("dict[str, object]", document)
