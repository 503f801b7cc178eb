"""Matrices of a corpus written as JSON, or as npz of plain numbers and texts, by the suffix."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hcloud import __version__
from hcloud.classify.matrix import Matrix
from hcloud.errors import UsageError
from hcloud.model.json_text import written
from hcloud.model.measured.profile import Aspect
from hcloud.store.files.looked_at import check_place
from hcloud.store.files.whole import write_whole

FORMAT_VERSION = "1.0"


def save_matrices(matrices: Mapping[Aspect, Matrix], path: Path) -> None:
    """Write the matrices whole or not at all; UsageError for a name that is neither .json nor .npz."""
    if path.suffix.lower() not in (".json", ".npz"):
        raise UsageError(f"{path}: the file name must end in .json or .npz")
    check_place(path, "a corpus")
    data = _json(matrices) if path.suffix.lower() == ".json" else _npz(matrices)
    write_whole(path, [data])


def _json(matrices: Mapping[Aspect, Matrix]) -> bytes:
    document = {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "matrices": {
            aspect.value: {
                "apps": matrix.apps,
                "columns": matrix.columns,
                "values": [[None if math.isnan(v) else v for v in row] for row in matrix.values.tolist()],
                "rising": matrix.rising.tolist(),
                "reference": matrix.reference,
            }
            for aspect, matrix in matrices.items()
        },
    }
    return (written(document, indent=1) + "\n").encode()


def _npz(matrices: Mapping[Aspect, Matrix]) -> bytes:
    arrays: dict[str, Any] = {}
    for aspect, matrix in matrices.items():
        arrays[f"{aspect}.apps"] = np.array(matrix.apps, np.str_)
        arrays[f"{aspect}.columns"] = np.array(matrix.columns, np.str_)
        arrays[f"{aspect}.values"] = matrix.values
        arrays[f"{aspect}.rising"] = matrix.rising
        arrays[f"{aspect}.reference"] = np.array(matrix.reference, np.str_)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()
