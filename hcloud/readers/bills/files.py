"""Which files a bill is made of: one file, a folder of months and parts, or what a manifest names; and the tables of
sums that consoles offer beside bills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from hcloud.errors import FileError, InputError
from hcloud.model.files import no_such_file
from hcloud.model.json_text import parsed
from hcloud.readers.bills.formats import FORMATS
from hcloud.readers.bills.lines import BillFormat, plain
from hcloud.readers.bills.tables import schema_names
from hcloud.readers.workloads.source import HEAD_BYTES, ZIP, TraceFile, open_members, open_source

HINT = "name a file or a folder of a Cost and Usage Report, FOCUS, Azure cost details or a Google billing export"
_SUFFIXES = (".csv", ".gz", ".zst", ".zip", ".parquet", ".json", ".jsonl", ".ndjson")
_IN_ARCHIVES = (".csv", ".jsonl", ".ndjson")
_MOST = 100_000
_LOOKED_AT = 50
"""Files of a folder that are looked at to tell whether it is a bill."""
_MANIFEST_KEYS = ("reportKeys", "dataFiles", "assemblyId")
_MANIFEST_BYTES = 64 << 20


@dataclass(slots=True)
class Delivery:
    """The files to read, and what a user should know of how they were chosen."""

    files: list[TraceFile]
    said: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Manifest:
    path: Path
    assembly: str
    period: str
    keys: tuple[str, ...]


def may_be_of_bill(name: str) -> bool:
    """Whether a file may be part of a bill by its name: such are looked at."""
    return name.lower().endswith(_SUFFIXES)


def sources_of(path: Path) -> list[TraceFile]:
    """The file, or those in a zip archive that may be of a bill."""
    source = open_source(path)
    if not source.head.startswith(ZIP):
        return [source]
    return open_members(path, lambda name: name.lower().endswith(_IN_ARCHIVES) and "__MACOSX/" not in name)


def format_of(source: TraceFile) -> tuple[BillFormat, str] | None:
    """The format of a file and its name by the columns it has; None where it is none that is known."""
    names = _columns(source)
    known = (form for form in FORMATS if any(mark <= names for mark in form.marks) and not form.without & names)
    return next(((form, form.label(names)) for form in known), None)


def _columns(source: TraceFile) -> frozenset[str]:
    """The columns of a file; none where it has no header."""
    try:
        return frozenset(plain(name) for name in schema_names(source).names)
    except InputError:
        if source.head.startswith(b"PAR1"):
            raise
        return frozenset()


def check_known(source: TraceFile) -> tuple[BillFormat, str]:
    """The format of a file that is named; InputError for one that is no bill."""
    if (known := format_of(source)) is None:
        refuse_summary(source.name, _columns(source))
        raise InputError(f"{source.name}: is no bill that is known", hint=HINT)
    return known


def is_bill(path: Path) -> str | None:
    """The name of a bill's format, by the content of a file or of those in a folder; None for what is no bill. Reads
    the head of a file at most. InputError for a table of sums that a console offers in place of a bill, and for a
    folder of nothing else."""
    files = list(islice(_candidates(path), _LOOKED_AT)) if path.is_dir() else [path]
    named = next((name for name in map(_named, files) if name is not None), None)
    if named is None and (path.is_dir() or path.is_file()):
        _refuse_sums(files)
    return named


def _refuse_sums(files: Sequence[Path]) -> None:
    columns: list[frozenset[str]] = []
    with suppress(InputError):  # told by whoever reads it as something else
        columns += (_columns(open_source(path)) for path in files)
    if len(columns) == len(files) and all(_summary(of) for of in columns):
        for path, of in zip(files, columns, strict=True):
            refuse_summary(str(path), of)


def _named(path: Path) -> str | None:
    try:
        sources = sources_of(path)
        if (found := next(filter(None, map(format_of, sources)), None)) is not None:
            return found[1]
        if sources and (manifest := _manifest(sources[0])) is not None:
            beside = (there for key in manifest.keys if (there := _beside(path, key)) is not None)
            return next(filter(None, map(_named, beside)), None)
    except InputError:
        return None
    return None


def delivery(path: Path) -> Delivery:
    """The files of a bill; InputError where there is none."""
    if path.is_dir():
        return _of_several(path, _sources_in(path), HINT)
    if not path.exists():
        there = [p.name for p in islice(path.parent.iterdir(), 1000)] if path.parent.is_dir() else []
        raise no_such_file(str(path), "a bill", ("", there), HINT)
    sources = sources_of(path)
    if [source.member for source in sources] != [""]:
        return _of_several(path, sources or [None], "unpack it: CSV and JSON lines are read from an archive")
    manifest = _manifest(sources[0])
    return Delivery(sources) if manifest is None else Delivery(_of_manifest(manifest))


def _candidates(folder: Path) -> Iterator[Path]:
    try:
        files = sorted(p for p in folder.rglob("*") if may_be_of_bill(p.name) and p.is_file())
    except OSError as error:
        raise FileError.of(error, folder, "read") from error
    if len(files) > _MOST:
        raise InputError(f"{folder}: more than {_MOST:,} files", hint="name the folder of the bill")
    return iter(files)


def _of_several(path: Path, sources: Iterable[TraceFile | None], hint: str) -> Delivery:
    files, manifests, others = list[TraceFile](), list[_Manifest](), 0
    for source in sources:
        if source is not None and format_of(source) is not None:
            files.append(source)
        elif source is not None and (manifest := _manifest(source)) is not None:
            manifests.append(manifest)
        else:
            others += 1
    if not files:
        is_bill(path)  # refuses what consoles offer in place of one
        raise InputError(f"{path}: holds no file of a bill", hint=hint)
    found = Delivery(files)
    if others:
        found.said["files that are no bill (not read)"] = others
    _leave_out_replaced(found, manifests)
    return found


def _sources_in(folder: Path) -> Iterator[TraceFile | None]:
    """The files of a folder and of the archives in it; None for one with nothing that could be of a bill."""
    for path in _candidates(folder):
        found = sources_of(path) if path.stat().st_size else []
        yield from found or (None,)


def _leave_out_replaced(found: Delivery, manifests: list[_Manifest]) -> None:
    """A month that was delivered again: of each period the files that the manifest nearest to the top names."""
    current = {}
    for period in sorted({manifest.period for manifest in manifests}):
        first, *rest = sorted((m for m in manifests if m.period == period), key=lambda m: len(m.path.parts))
        if not rest or len(rest[0].path.parts) > len(first.path.parts):
            current[period] = first
    of_these = [m for m in manifests if m.assembly and m.period in current]
    replaced = {m.assembly for m in of_these} - {m.assembly for m in current.values()}
    for manifest in current.values():
        if manifest.assembly:
            named = {Path(key).parent.name for key in manifest.keys}
            replaced |= {f.path.parent.name for f in found.files if _is_of(f.path, manifest)} - named
    old = [file for file in found.files if replaced & set(file.path.parts)]
    if old and len(old) < len(found.files):
        found.files = [file for file in found.files if not replaced & set(file.path.parts)]
        found.said["files of a month that was delivered again (the manifest's own are read)"] = len(old)


def _is_of(path: Path, manifest: _Manifest) -> bool:
    """Whether a file stands in a folder of an assembly beside the one that a manifest names."""
    return path.parent.parent == manifest.path.parent and any(
        Path(key).parent.name and Path(key).name == path.name for key in manifest.keys
    )


def _manifest(source: TraceFile) -> _Manifest | None:
    path, head = source.path, source.head
    if (
        source.member
        or not head.lstrip().startswith(b"{")
        or not any(f'"{key}"'.encode() in head for key in _MANIFEST_KEYS)
    ):
        return None
    if len(head) >= HEAD_BYTES and path.stat().st_size > _MANIFEST_BYTES:
        return None
    try:
        document = parsed(path.read_bytes())
    except (ValueError, OSError):
        return None
    keys = document.get("reportKeys", document.get("dataFiles"))
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return None
    period = document.get("billingPeriod")
    start = period.get("start", "") if isinstance(period, dict) else period
    return _Manifest(
        path, str(document.get("assemblyId", "")), f"{document.get('reportName', '')} {start}", tuple(keys)
    )


def _of_manifest(manifest: _Manifest) -> list[TraceFile]:
    missing = [key for key in manifest.keys if _beside(manifest.path, key) is None]
    if missing or not manifest.keys:
        raise InputError(
            f"{manifest.path}: names {missing[0] if missing else 'no file'}, which does not exist",
            hint="copy the whole folder of the report",
        )
    paths = [path for key in manifest.keys if (path := _beside(manifest.path, key)) is not None]
    return [source for path in paths for source in sources_of(path)]


def _beside(path: Path, key: str) -> Path | None:
    """The file that a key of a bucket names, where a part of the bucket was copied."""
    parts = key.removeprefix("s3://").split("/")
    if ".." in parts:
        return None
    for above in (path.parent, *list(path.parents)[1:4]):
        for first in range(len(parts)):
            there = above.joinpath(*parts[first:])
            if there.is_file():
                return there
    return None


_COST_EXPLORER = (
    "a download of AWS Cost Explorer",
    "export the bill: Billing and Cost Management > Data Exports > Create > Standard data export, CUR 2.0, hourly,"
    " with resource IDs; a day later 'hcloud plan s3://BUCKET/PREFIX' reads it. 'hcloud workload fetch' asks Cost"
    " Explorer for the hours of the last days meanwhile",
)
_SUMMARIES = (
    (frozenset({"totalcosts"}), *_COST_EXPLORER),
    *((frozenset({group, "totalusage"}), *_COST_EXPLORER) for group in ("instancetype", "usagetype", "usagetypegroup")),
    (
        frozenset({"costusd", "currency"}),
        "a download of Azure's cost analysis",
        "export the bill: Cost Management > Exports > Create, cost and usage details (amortized), daily export of"
        " month-to-date costs; for earlier months run it once for each",
    ),
    (
        frozenset({"unroundedsubtotal"}),
        "a table of Google's billing reports",
        "export the bill: Billing > Billing export > BigQuery export, detailed usage cost; then save the table of it as"
        " JSON lines, Parquet or CSV",
    ),
)
"""The columns, as :func:`hcloud.readers.bills.lines.plain` spells them but for units behind their names, what they are
of, and what to export."""


def refuse_summary(name: str, columns: frozenset[str]) -> None:
    """InputError for a table of sums, with the export that has what it lacks."""
    if (found := _summary(columns)) is not None:
        what, hint = found
        raise InputError(f"{name}: is {what}: it has sums, not which machine ran in which hour and region", hint=hint)


def _summary(columns: frozenset[str]) -> tuple[str, str] | None:
    """What a table of sums is, and what to export."""
    names = columns | {"totalusage" for name in columns if name.startswith("totalusage")}
    return next(((what, hint) for marks, what, hint in _SUMMARIES if marks <= names), None)
