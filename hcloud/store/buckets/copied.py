"""Copies of what stands under a prefix of a bucket, for those who can only read files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import InputError, writing
from hcloud.temporary import temporary_folder

if TYPE_CHECKING:
    from hcloud.store.buckets.address import Address
    from hcloud.store.buckets.objects import Objects

_SCHEMES = ("s3://", "gs://", "https://")


def is_in_bucket(name: str) -> bool:
    """Whether a name is an address in a bucket, not one of a file."""
    return name.startswith(_SCHEMES)


@contextmanager
def copied(name: str, wanted: Callable[[str], bool], progress: Callable[[float], None] | None = None) -> Iterator[Path]:
    """A folder, for as long as it is needed, with the objects at or under an address that are ``wanted`` by their
    names. InputError where there is none; ``progress`` hears the share copied so far."""
    from hcloud.store.buckets.address import objects_at, parse_address

    address = parse_address(name, "")
    with temporary_folder() as folder:
        copy_objects(objects_at(address), address, folder, wanted, progress)
        yield folder


def copy_objects(
    objects: Objects,
    address: Address,
    folder: Path,
    wanted: Callable[[str], bool],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Copy the objects to a folder, each under what follows the prefix in its key."""
    keys = [key for key in objects.list(address.prefix, deep=True) if _is_under(key, address.prefix) and wanted(key)]
    if not keys:
        raise InputError(f"{address}: nothing is there that could be read", hint="look at the prefix, and its region")
    for number, key in enumerate(keys):
        parts = (key.removeprefix(address.prefix).strip("/") or key.rpartition("/")[2]).split("/")
        if ".." in parts or "\0" in key:
            raise InputError(f"{address}: {key!r} is no name of a file")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path), path.open("wb") as file:
            objects.copy(key, file)
        if progress is not None:
            progress((number + 1) / len(keys))


def _is_under(key: str, prefix: str) -> bool:
    """Whether a key is the prefix itself or goes on behind a slash: ``2024-1`` is not above ``2024-10``."""
    return not prefix or key == prefix or key.startswith(f"{prefix}/")
