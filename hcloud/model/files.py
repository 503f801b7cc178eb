"""What sort of file something is by its first bytes, and which verb reads it: for a file handed to the wrong verb."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hcloud.errors import InputError, did_you_mean

HEAD = 65_536
"""How many bytes of a file are looked at."""


def none_such(path: Path, of: str = "") -> str:
    """What to say of a path that is no file, or no file ``of`` something."""
    return f"{path}: {'a folder, and no' if path.is_dir() else 'no such'} file{of and f' of {of}'}"


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of file: its name with its article, and what to do with one."""

    name: str
    advice: str


def _starts(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


def _packed(*names: bytes) -> Callable[[bytes], bool]:
    """A zip archive with one of these names in it."""
    return lambda head: head.startswith(b"PK\x03\x04") and any(name in head for name in names)


def _document(*keys: str) -> Callable[[bytes], bool]:
    """A JSON object whose beginning holds all of the keys."""
    wanted = [f'"{key}":'.encode() for key in keys]
    return lambda head: head.lstrip()[:1] == b"{" and all(key in re.sub(rb'"\s+:', b'":', head) for key in wanted)


def _mapping(*keys: str) -> Callable[[bytes], bool]:
    """YAML with one of these keys at the beginning of a line, and no JSON."""
    pattern = re.compile(rf"^(?:{'|'.join(keys)}):(?:\s|$)".encode(), re.MULTILINE)
    return lambda head: head.lstrip()[:1] not in (b"{", b"[", b"<") and pattern.search(head) is not None


def _header(*names: str) -> Callable[[bytes], bool]:
    """A table whose first line has all of these columns."""

    def test(head: bytes) -> bool:
        line = head.partition(b"\n")[0].decode("utf-8", "replace").strip().strip('"')
        return set(names) <= {cell.strip().strip('"') for cell in re.split(r"[,;\t]", line)}

    return test


_WORKLOAD = "'hcloud workload show' and 'hcloud plan' read it"
_SORTS: tuple[tuple[Callable[[bytes], bool], Sort], ...] = (
    (_packed(b"xl/", b"[Content_Types].xml"), Sort("an Excel workbook", "save the sheet as CSV (UTF-8) in Excel")),
    (_starts(b"PK\x03\x04"), Sort("a zip archive", "unpack it, and name the file in it or the folder")),
    (_starts(b"%PDF"), Sort("a PDF", "export the data as CSV")),
    (_starts(b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), Sort("a picture", "export the data as CSV")),
    (_starts(b"\x7fELF", b"MZ"), Sort("a program", "look at the name")),
    (_starts(b"PAR1"), Sort("a Parquet table", "'hcloud workload show' reads one of jobs")),
    (_document("purchase_plan"), Sort("a purchase plan", "'hcloud commit apply' buys it, once")),
    (_document("journal", "rules"), Sort("a journal", "'hcloud explain --job ID' and 'hcloud simulate' read it")),
    (_document("event", "at"), Sort("a list of events", "'hcloud decide' reads it from stdin")),
    (_document("lineage", "checksum"), Sort("a state", "'hcloud state show --state DIRECTORY' reads its directory")),
    (_document("unlocked", "where"), Sort("a screen of 'hcloud state'", "'hcloud state pull' prints the state itself")),
    (
        _document("digests", "horizon_hours"),
        Sort("a plan", "'hcloud explain', 'simulate', 'compare' and 'apply' read it"),
    ),
    (_document("base", "slots"), Sort("a plan of changes", "'hcloud apply' carries it out")),
    (
        _document("strategies", "seeds", "jobs"),
        Sort("what 'hcloud simulate' printed", "'hcloud plan --strategy' decides with it"),
    ),
    (
        _document("bill", "kinds", "purchases"),
        Sort(
            "a list of plans, one for each kind of machine in a bill",
            "plan one kind of machine of it: 'hcloud plan BILL --set kind=NAME --out FILE'",
        ),
    ),
    (_document("error", "tool_version"), Sort("an error of hcloud", "it says what to do")),
    (_document("tool_version", "generated_at"), Sort("what a verb of hcloud printed", "no verb reads it back")),
    (
        _mapping("workload", "prices", "markets", "planning", "live", "fleet", "commitments", "owned", "operation"),
        Sort("a configuration", "hand it over with --file, and 'hcloud validate' checks it"),
    ),
    (_mapping("mechanisms"), Sort("a strategy", "--strategy FILE takes it, and 'hcloud strategy show' checks it")),
    (_mapping("harvesting"), Sort("a harvest policy", "'hcloud harvest --policy FILE' follows it")),
    (_mapping("entries"), Sort("a profile", "'hcloud profile show' reads it, --profiles takes its folder")),
    (_mapping("command"), Sort("a description of an application", "'hcloud profile run --file' takes it")),
    (_mapping("sections"), Sort("a cloud model", "--cloud-model FILE takes it")),
    (
        _mapping("stock", "quotas", "roles", "spin_up", "visibility_delay"),
        Sort("a fault plan", "--cloud fake:FILE takes it"),
    ),
    (_header("instance_type", "hourly"), Sort("a table of prices", "'hcloud pricing import' reads it")),
    (_header("submit", "duration"), Sort("a job trace", _WORKLOAD)),
    *(
        (_header(*columns), Sort("a bill", _WORKLOAD))
        for columns in (
            ("lineItem/LineItemType",),
            ("line_item_line_item_type",),
            ("ChargePeriodStart", "ChargeCategory"),
            ("MeterCategory", "ChargeType"),
            ("meterCategory", "chargeType"),
            ("service.description", "sku.description"),
        )
    ),
    (
        _starts(b"\xfd7zXZ", b"BZh", b"7z\xbc\xaf"),
        Sort("packed by xz, bzip2 or 7-Zip", "unpack it: xz -dk, bzip2 -dk or 7z x"),
    ),
    (_starts(b"<!DOCTYPE", b"<!doctype", b"<html", b"<?xml"), Sort("a web page or XML", "download the data itself")),
)
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def sort_of(head: bytes) -> Sort | None:
    """The sort of file that begins like this; None where it could be anything."""
    if head.startswith(_WIDE):
        return Sort("UTF-16 text", "save it as UTF-8")
    head = head.removeprefix(b"\xef\xbb\xbf")
    if not head.strip():
        return Sort("empty", "look at the program that should have written it")
    found = next((sort for test, sort in _SORTS if test(head)), None)
    if found is None and b"\0" in head:
        return Sort("a binary file", "look at the name")
    return found


def check_sort(name: object, head: bytes, *wanted: str) -> str:
    """The name of a file's sort, empty where it may be of a wanted one and only be broken. InputError for another sort
    than those ``wanted`` (with their article, the one to name first)."""
    found = sort_of(head)
    if found is not None and found.name not in wanted:
        raise InputError(f"{name}: is {found.name}, not {wanted[0]}", hint=found.advice)
    return "" if found is None else found.name


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
)


def kind_of(mode: int) -> str:
    """What stands somewhere by its mode (st_mode): a directory, a pipe, a device, a socket, a symbolic link; empty for
    a plain file."""
    return next((name for test, name in _KINDS if test(mode)), "")


def no_such_file(name: str, sort: str, there: tuple[str, list[str]], hint: str) -> InputError:
    """The refusal of a name without a plain file; ``there`` is what stands there instead (see :func:`kind_of`; empty
    for nothing), and the names beside it."""
    kind, names = there
    if kind:
        advice = "name a file in it" if kind == "a directory" else "name a plain file"
        return InputError(f"{name}: is {kind}, not {sort}", hint=advice)
    parts = name.replace("\\", "/").rpartition("/")
    return InputError(f"{name}: no such {sort.partition(' ')[2]}{did_you_mean(parts[2], names)}", hint=hint)
