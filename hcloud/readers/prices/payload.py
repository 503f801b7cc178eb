"""The text of a price file: regular files only, gzip with a cap on size and ratio, byte-order marks honoured."""

from __future__ import annotations

import codecs
import stat
import zlib
from pathlib import Path

from hcloud.errors import InputError

LARGEST_BYTES = 1 << 30
LARGEST_RATIO = 200
SMALL_BYTES = 1 << 24
_CHUNK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip


def read_bytes(path: Path, limit: int = LARGEST_BYTES) -> bytes:
    """The bytes of a regular file; raises InputError for a directory, pipe or device, and for a file over the limit."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{path} is a directory, not a regular file", hint="name the price files in it")
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is not a regular file")
        if status.st_size > limit:
            raise InputError(f"{path} has {status.st_size} bytes, more than the limit of {limit}")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: there is no such file") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > limit:
        raise InputError(f"{path} grew beyond {limit} bytes while it was read")
    return data


def decode(data: bytes, name: str, limit: int = LARGEST_BYTES) -> str:
    """The text in bytes that may be gzipped and may start with a byte-order mark; UTF-8 without one.

    Raises InputError for broken or truncated gzip, a gzip bomb, bytes that are not text, and an empty file.
    """
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data, name, limit)
    if not data.strip():
        raise InputError(f"{name} is empty")
    mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: byte {error.start} is not {encoding.upper()} text",
            hint="save the file as UTF-8, or as UTF-16 with a byte-order mark",
        ) from error
    if "\0" in text:
        raise InputError(f"{name} holds NUL characters at {text.index(chr(0))}; it is no text file")
    return text


def _gunzip(data: bytes, name: str, limit: int) -> bytes:
    """Decompress every member, checking after each piece that the result stays within the caps."""
    cap = min(limit, max(SMALL_BYTES, LARGEST_RATIO * len(data)))
    pieces: list[bytes] = []
    total = 0
    rest = data
    while rest:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise InputError(f"{name} is not sound gzip: {error}") from error
            rest = member.unconsumed_tail
            if not piece and not rest and not member.eof:
                raise InputError(f"{name} is gzip that ends too early")
            total += len(piece)
            if total > cap:
                raise InputError(f"{name} unpacks to more than {cap} bytes from {len(data)}: refused as a gzip bomb")
            pieces.append(piece)
        rest = member.unused_data.lstrip(b"\0")
    return b"".join(pieces)
