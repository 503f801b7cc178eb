"""Opens a workload file safely: regular files only, gzip and zstd with a ratio cap, text checked, bytes digested."""

from __future__ import annotations

import gzip
import hashlib
import io
import shlex
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast

from hcloud.errors import FileError, InputError, writing
from hcloud.model.files import no_such_file
from hcloud.readers.workloads import limits
from hcloud.temporary import FULL, temporary_folder

Packing = Literal["", "gzip", "zstd", "zip"]
BLOCK = 1 << 20
HEAD_BYTES = 65_536
"""How much of a file is looked at to tell its format and its columns."""
NAMES = 1000  # ours: of so many names beside a missing one a likely one is looked for
WORKLOAD_HINT = "name a trace or a history; 'hcloud workload --help' lists the formats, scenario:static is one to try"
ZIP = b"PK\x03\x04"
MEMBERS = 10_000  # ours: so many files of a zip archive are looked at
STDIN = Path("-")
STDIN_NAME, STDIN_FILE = "standard input", "stdin"
_MARKS: tuple[tuple[bytes, Packing], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_WHOLES = (b"{", b"[", b"PAR1")
"""How files begin that cannot be read if their end is missing."""
_BOM = b"\xef\xbb\xbf"
UNPACK: dict[Packing, str] = {"": "cat {}", "gzip": "gzip -dc {}", "zstd": "zstd -dc {}", "zip": "unzip -p {}"}
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One regular file: its path, size, how it is packed, whether a byte order mark was skipped, its name for messages,
    the command that plans it (of a file in a folder: the folder), whether its last line has no end, which ``member`` of
    a zip archive it is, how many of its jobs were ``repaired`` by a rule before it became text, whether it is one
    machine of several by its place in a folder, which columns are ``in_seconds`` whatever their names say, and what
    share of the work was done ``before`` it is opened."""

    path: Path
    size: int
    packing: Packing
    marked: bool
    head: bytes
    name: str
    command: tuple[str, ...]
    open_end: bool = False
    member: str = ""
    repaired: Mapping[str, int] = field(default_factory=dict)
    of_machine: bool = False
    in_seconds: frozenset[str] = frozenset()
    before: float = 0.0

    def open(self) -> CheckedReader:
        """A reader of the decompressed bytes behind any byte order mark."""
        with _file_errors(self.path, self.name):
            return CheckedReader(self)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Line numbers (from 1) and lines without their ends; a line over the limit is an InputError."""
        for first, block in self.blocks():
            for number, line in enumerate(block.split(b"\n"), first):
                yield number, line.removesuffix(b"\r")

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines, many at once without the last one's line feed, behind the number of the first of them."""
        rest, number = b"", 1
        with self.open() as reader:
            while block := reader.read(BLOCK):
                whole, feed, rest = (rest + block).rpartition(b"\n")
                if feed:
                    yield number, whole
                    number += whole.count(b"\n") + 1
                if len(rest) > limits.LINE_BYTES:
                    raise InputError(f"{self.name}: line {number} is longer than {limits.LINE_BYTES:,} bytes")
        if rest:
            yield number, rest

    def digest(self) -> str:
        """SHA-256 of the file as stored; of a member of an archive that of its content."""
        if self.member:
            return self.content_digest()
        with _file_errors(self.path, self.name), self.path.open("rb") as raw:
            return hashlib.file_digest(raw, "sha256").hexdigest()

    def content_digest(self) -> str:
        """SHA-256 of what is packed in the file."""
        sha = hashlib.sha256()
        with _file_errors(self.path, self.name), self.path.open("rb") as raw:
            unpacked = _unpacked(cast("io.RawIOBase", raw), self.packing, self.member)
            while block := unpacked.read(BLOCK):
                sha.update(block)
        return sha.hexdigest()


class CheckedReader(io.RawIOBase):
    """Reads a source's bytes; a truncated or over-compressed one is an InputError.

    ``odd`` says that NUL bytes or lone carriage returns were met, which no table may hold. ``failure`` keeps an error
    raised inside :meth:`read`, as a C++ caller may turn the exception into its own; not of one that still reads ahead,
    on a thread of its own, when the file is closed.
    """

    def __init__(self, source: TraceFile) -> None:
        super().__init__()
        self.opened = ExitStack()
        self.source = source
        self.odd = False
        self.open_return = False
        self.failure: InputError | None = None
        self.is_over = False
        self.raw = self.opened.enter_context(source.path.open("rb", buffering=0))
        self.stream = self.opened.enter_context(_unpacked(self.raw, source.packing, source.member))
        self.produced = 0
        if source.marked:
            self.stream.read(len(_BOM))

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; empty at the end."""
        try:
            with _file_errors(self.source.path, self.source.name):
                block = self.stream.read(size if size >= 0 else BLOCK)
            self._check(block)
        except InputError as error:
            if not self.is_over:
                self.failure = error
            raise
        return block

    def readable(self) -> bool:
        """Always."""
        return True

    @property
    def share(self) -> float:
        """How much of the work is done when so much of the file is read."""
        before = self.source.before
        return before + (1 - before) * min(self.raw.tell() / max(self.source.size, 1), 1.0)

    def close(self) -> None:
        """Close the file."""
        self.is_over = True
        self.opened.close()
        super().close()

    def _lone_return(self, block: bytes) -> bool:
        """Whether a carriage return stands without its line feed: parsers differ on whether a line ends there."""
        open_before, self.open_return = self.open_return, block.endswith(b"\r")
        returns = block.count(b"\r")
        if not returns and not open_before:
            return False
        pairs = block.count(b"\r\n") + (open_before and block.startswith(b"\n"))
        return bool(block) and returns + open_before - self.open_return != pairs

    def _check(self, block: bytes) -> None:
        self.produced += len(block)
        self.odd = self.odd or b"\0" in block or self._lone_return(block)
        if self.source.packing and self.produced > limits.GZIP_FREE + limits.GZIP_RATIO * self.source.size:
            raise InputError(
                f"{self.source.name}: expands to more than {limits.GZIP_RATIO} times its size; refused as a "
                f"{self.source.packing} bomb",
                hint="if the file is genuine, decompress it first",
            )


def _unpacked(raw: io.RawIOBase, packing: Packing, member: str = "") -> BinaryIO:
    """The stream of what is packed in a file."""
    if packing == "zip":
        return cast("BinaryIO", zipfile.ZipFile(cast("BinaryIO", raw)).open(member))
    if packing == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if packing == "zstd":
        import pyarrow as pa

        return cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd"))
    return cast("BinaryIO", raw)


@contextmanager
def spooled(path: Path) -> Iterator[tuple[Path, str]]:
    """A file and its name for messages; ``-`` is what comes on standard input, for as long as it is needed a file."""
    if path != STDIN:
        yield path, str(path)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("standard input is a terminal", hint="write a file's data to it: hcloud plan - < FILE")
    with temporary_folder() as folder:
        file = folder / STDIN_FILE
        with writing(folder.parent, FULL), file.open("wb") as out:
            while block := sys.stdin.buffer.read(BLOCK):
                out.write(block)
        yield file, STDIN_NAME


def open_source(path: Path, name: str = "", operand: str = "") -> TraceFile:
    """The file as a source (of that ``name``, else its own), or an InputError that says why it cannot be read as text
    or Parquet."""
    name = name or str(path)
    operand = operand or (str(STDIN) if name == STDIN_NAME else name)
    with _file_errors(path, name):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            hint = (
                "name a file in it" if stat.S_ISDIR(status.st_mode) else "hand it over on standard input: hcloud plan -"
            )
            raise InputError(f"{name} is {_sort_of_file(status.st_mode)}, not a regular file", hint=hint)
        if status.st_size == 0:
            raise InputError(f"{name} is empty", hint="look at the program that should have written it")
        with path.open("rb") as raw:
            raw.seek(-1, io.SEEK_END)
            last = raw.read(1)
            raw.seek(0)
            head = raw.read(HEAD_BYTES)
            packing: Packing = next((packing for mark, packing in _MARKS if head.startswith(mark)), "")
    head = _head(path, name, packing) if packing else head
    marked, head = _as_text(head, name, packing)
    lines = not packing and not head.lstrip().startswith(_WHOLES)
    command = ("hcloud", "plan", operand)
    return TraceFile(path, status.st_size, packing, marked, head, name, command, lines and last != b"\n")


def open_members(path: Path, wanted: Callable[[str], bool]) -> list[TraceFile]:
    """The files of a zip archive whose names are wanted, each as a source; InputError for one that cannot be read."""
    with _file_errors(path, str(path)), zipfile.ZipFile(path) as archive:
        found = [m for m in archive.infolist() if m.file_size and wanted(m.filename)]
    if len(found) > MEMBERS or sum(m.compress_size for m in found) > path.stat().st_size:
        raise InputError(f"{path}: is no plain zip archive: its files overlap or are more than {MEMBERS:,}")
    return [_open_member(path, member) for member in found]


def only_member(source: TraceFile) -> TraceFile:
    """The file in a zip archive that holds one, and any other source itself."""
    if not source.head.startswith(ZIP):
        return source
    found = open_members(source.path, lambda name: not name.startswith("__MACOSX/"))
    return replace(found[0], name=source.name, command=source.command) if len(found) == 1 else source


def _open_member(path: Path, member: zipfile.ZipInfo) -> TraceFile:
    name = f"{path}/{member.filename}"
    marked, head = _as_text(_head(path, name, "zip", member.filename), name, "zip")
    size, command = max(member.compress_size, 1), ("hcloud", "plan", str(path))
    return TraceFile(path, size, "zip", marked, head, name, command, member=member.filename)


def _head(path: Path, name: str, packing: Packing, member: str = "") -> bytes:
    """The first bytes of what is packed in a file."""
    with (
        _file_errors(path, name),
        path.open("rb") as raw,
        _unpacked(cast("io.RawIOBase", raw), packing, member) as unpacked,
    ):
        return unpacked.read(HEAD_BYTES)


def _as_text(head: bytes, name: str, packing: Packing) -> tuple[bool, bytes]:
    """Whether a byte order mark stands before the first bytes of a file, and these without it."""
    for mark, encoding in _WIDE.items():
        if head.startswith(mark):
            saved = f"{UNPACK[packing]} | iconv -f {encoding} -t UTF-8 > {shlex.quote(f'{Path(name).stem}-utf-8.csv')}"
            raise InputError(f"{name} is {encoding} text", hint=f"save it as UTF-8: {saved.format(shlex.quote(name))}")
    marked = head.startswith(_BOM)
    head = head.removeprefix(_BOM)
    if not head.strip():
        raise InputError(f"{name} holds no text")
    return marked, head


def _sort_of_file(mode: int) -> str:
    sorts = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"))
    return next((text for test, text in sorts if test(mode)), "a special file")


@contextmanager
def _file_errors(path: Path, name: str) -> Iterator[None]:
    """Operating-system and packing errors as InputErrors that name the file."""
    try:
        yield
    except (gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error) as error:
        sort = "zip archive" if path.suffix.lower() == ".zip" else "gzip"
        raise InputError(f"{name}: damaged or truncated {sort}: {error}") from error
    except RuntimeError as error:  # encrypted, or packed in a way that Python does not know
        raise InputError(f"{name}: {error}", hint="unpack the archive, and name the folder") from error
    except FileNotFoundError:
        there = [p.name for p in islice(path.parent.iterdir(), NAMES)] if path.parent.is_dir() else []
        raise no_such_file(name, "a workload", ("", there), WORKLOAD_HINT) from None
    except OSError as error:
        if error.errno is None:  # what the decompressor says
            raise InputError(f"{name}: damaged or truncated zstd: {error}") from error
        raise FileError.of(error, name, "read") from error
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error


@contextmanager
def parquet_errors(name: str) -> Iterator[None]:
    """What Arrow says of a damaged file as an InputError that names it."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:  # Arrow's own is one of its exceptions, too
        raise
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name}: damaged Parquet file: {str(error).splitlines()[0][:300]}") from error
