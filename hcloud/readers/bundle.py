"""Where the data that ships with hcloud is: beside the code in a checkout, inside the package when installed."""

from __future__ import annotations

from pathlib import Path

from hcloud.errors import InputError

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled(name: str) -> Path:
    """The directory ``name`` (``pricing``, ``policies``, ``examples``) of this installation; InputError without it."""
    candidates = (_PACKAGE / "_data" / name, _PACKAGE.parent / name)
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise InputError(
        f"the bundled directory {name!r} is missing from this installation",
        hint="install it again from its repository, or run it from a complete checkout",
    )
