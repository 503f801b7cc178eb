"""The list of bundled price tables with their sources, days and checksums; ``python -m`` this module rewrites it."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

from hcloud.readers.bundle import bundled

MANIFEST = "MANIFEST.csv"
_COLUMNS = ("file", "source", "date", "sha256")


def manifest_text(root: Path) -> str:
    """What the manifest of the tables under ``root`` has to say, one line a table in order of their paths."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")  # noqa: TID251 - a file of ours
    lines.writerow(_COLUMNS)
    for path in sorted(root.rglob("*.csv")):
        if path.name != MANIFEST:
            lines.writerow(_line(root, path))
    return out.getvalue()


def write_manifest(root: Path) -> Path:
    """Write the manifest of ``root`` and give its path."""
    path = root / MANIFEST
    path.write_text(manifest_text(root), encoding="utf-8", newline="\n")
    return path


def _line(root: Path, path: Path) -> tuple[str, str, str, str]:
    content = path.read_bytes()
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"))))
    sources = "; ".join(sorted({r["source"] for r in rows}))
    days = sorted({r["date"] for r in rows})
    span = days[0] if len(days) == 1 else f"{days[0]}..{days[-1]}"
    return path.relative_to(root).as_posix(), sources, span, hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    write_manifest(bundled("pricing"))
