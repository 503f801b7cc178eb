"""Matrices of a corpus from a JSON or npz file, read without executing anything that the file says."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hcloud.classify.matrix import Matrix
from hcloud.errors import InputError, UsageError
from hcloud.model.json_text import parsed
from hcloud.model.measured.profile import Aspect

FORMAT_VERSION = "1.0"
LARGEST = 256 * 1024 * 1024
_FIELDS = ("apps", "columns", "values", "rising", "reference")


def load_matrices(path: Path) -> Mapping[Aspect, Matrix]:
    """The matrices in a file; UsageError where there is none, InputError where it is no matrix or could run code.

    A pickle is never opened: npz files are read with pickling off, and anything but a zip archive is refused.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such matrix file", hint="a folder of profiles, or what --save-matrices wrote")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any corpus ({LARGEST} bytes)")
    parts = _from_json(path) if path.suffix.lower() == ".json" else _from_npz(path)
    if not parts:
        raise InputError(f"{path}: holds no matrix")
    return {aspect: _matrix(path, aspect, part) for aspect, part in parts.items()}


def _from_json(path: Path) -> dict[Aspect, Mapping[str, Any]]:
    try:
        document = parsed(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("matrices"), dict):
        raise InputError(f"{path}: not a corpus: no mapping 'matrices'")
    version = str(document.get("format_version"))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise InputError(f"{path}: format_version {version!r} cannot be read; this hcloud reads {FORMAT_VERSION}")
    return {_aspect(path, name): part for name, part in document["matrices"].items()}


def _from_npz(path: Path) -> dict[Aspect, Mapping[str, Any]]:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: not an npz archive; a pickle or another binary file is not read")
    parts: dict[Aspect, dict[str, Any]] = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                aspect, _, field = name.partition(".")
                parts.setdefault(_aspect(path, aspect), {})[field] = archive[name].tolist()
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a matrix of plain numbers and texts: {error}") from None
    return dict(parts)


def _aspect(path: Path, name: str) -> Aspect:
    try:
        return Aspect(name)
    except ValueError:
        known = ", ".join(a.value for a in Aspect)
        raise InputError(f"{path}: matrix {name!r} is not one of {known}") from None


def _matrix(path: Path, aspect: Aspect, part: object) -> Matrix:
    if not isinstance(part, Mapping) or set(part) != set(_FIELDS):
        raise InputError(f"{path}: {aspect} must have {', '.join(_FIELDS)}")
    try:
        values = np.array([[np.nan if v is None else float(v) for v in row] for row in part["values"]], np.float64)
        apps, columns = tuple(map(str, part["apps"])), tuple(map(str, part["columns"]))
        rising = np.array([bool(v) for v in part["rising"]], np.bool_)
        return Matrix(aspect, apps, columns, values.reshape(len(apps), len(columns)), rising, str(part["reference"]))
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {aspect} is no matrix: {error}") from None
