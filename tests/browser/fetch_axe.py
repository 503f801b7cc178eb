"""Fetch axe-core for the tests in a browser, one version whose hash is known: ``make axe``."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "4.14.1"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
TARGET = Path(sys.prefix) / "share" / f"axe-core-{VERSION}" / "axe.min.js"


def main() -> None:
    """Fetch it beside the interpreter it is used with, unless it is there."""
    if TARGET.is_file():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not there, and axe-core comes from it: install npm and run this again")
    with tempfile.TemporaryDirectory() as folder:
        words = [npm, "pack", f"axe-core@{VERSION}", "--ignore-scripts", "--silent", "--pack-destination", folder]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        packed = (Path(folder) / f"axe-core-{VERSION}.tgz").read_bytes()
        check(packed)
        with tarfile.open(Path(folder) / f"axe-core-{VERSION}.tgz") as archive:
            script = archive.extractfile("package/axe.min.js")
            assert script is not None
            TARGET.parent.mkdir(parents=True, exist_ok=True)
            TARGET.write_bytes(script.read())


def check(packed: bytes) -> None:
    """Refuse anything but the package that is known."""
    found = base64.b64encode(hashlib.sha512(packed).digest()).decode()
    if found != SHA512:
        raise SystemExit(f"axe-core {VERSION} has the sha512 {found}, and {SHA512} was expected: it is not used")


if __name__ == "__main__":
    main()
