"""``hcloud doctor``: what this installation consists of, what is missing from it and what stands in its way."""

from __future__ import annotations

import csv
import os
import platform
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hcloud import __version__
from hcloud.errors import HcloudError
from hcloud.installation import DISTRIBUTION, install_command
from hcloud.model.checks import CheckResult, CheckStatus, guarded
from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.bundle import bundled
from hcloud.readers.configuration.config import FILE_NAME, load_config
from hcloud.readers.prices.shipped.manifest import MANIFEST, manifest_text
from hcloud.readers.strategies import load_strategy, strategy_names
from hcloud.store.prices import PriceStore
from hcloud.units import counted, format_age
from hcloud.usecases.extras import EXTRAS, version_of

FOREIGN = "hcloud"
OLDEST_PYTHON = (3, 11)
FOR_WHAT = {
    **{str(cloud.name): f"act on {cloud.maker}" for cloud in CLOUDS.values()},
    "fake": "rehearse against fake clouds",
    "dask": "spread a sweep over a cluster",
    "notebook": "work with DataFrames in a notebook",
}
_OURS = b"hcloud.__main__"


def examine(today: date) -> tuple[CheckResult, ...]:
    """Every check of the installation; none of them reaches the network."""
    return (
        _python(),
        _version(),
        *(_extra(name) for name in EXTRAS),
        _package_clash(),
        _binary_clash(),
        guarded("configuration", _configuration),
        guarded("bundled prices", lambda: _bundled_prices(today)),
        guarded("own prices", lambda: _own_prices(today)),
        guarded("strategies", _strategies),
    )


def _python() -> CheckResult:
    message = f"{platform.python_version()} ({platform.python_implementation()}) at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return CheckResult("python", CheckStatus.ERROR, message, hint="hcloud needs Python 3.11 or newer")
    return CheckResult("python", CheckStatus.OK, message)


def _version() -> CheckResult:
    here = Path(__file__).resolve().parents[2]
    installed = version_of(DISTRIBUTION)
    if installed is None:
        why = f"{__version__} at {here}, not installed as a package"
        return CheckResult("hcloud", CheckStatus.WARNING, why, hint=install_command())
    if installed != __version__:
        why = f"{__version__} at {here}, but {DISTRIBUTION} {installed} is installed"
        return CheckResult(
            "hcloud", CheckStatus.WARNING, why, hint="another copy comes first on PYTHONPATH, or install anew"
        )
    return CheckResult("hcloud", CheckStatus.OK, f"{__version__} at {here}")


def _extra(name: str) -> CheckResult:
    missing = [package for package in EXTRAS[name] if version_of(package) is None]
    if missing:
        why = f"not installed ({', '.join(missing)}); needed only to {FOR_WHAT[name]}"
        return CheckResult(f"[{name}]", CheckStatus.SKIPPED, why, hint=install_command(name))
    return CheckResult(f"[{name}]", CheckStatus.OK, ", ".join(f"{p} {version_of(p)}" for p in EXTRAS[name]))


def _package_clash() -> CheckResult:
    """Hetzner's client library has the same import name: whichever was installed last overwrote files of the other."""
    version = version_of(FOREIGN)
    if version is None:
        return CheckResult("package", CheckStatus.OK, "no other package claims the import name hcloud")
    return CheckResult(
        "package",
        CheckStatus.WARNING,
        f"Hetzner's package hcloud {version} is installed here too and has the same import name",
        hint=f"give each its own virtual environment, then {install_command()}",
    )


def _binary_clash() -> CheckResult:
    """Which hcloud a shell would start: ours, or for example Hetzner's."""
    found = list(_on_path("hcloud"))
    foreign = [path for path in found if not _is_ours(path)]
    if not found:
        return CheckResult("command", CheckStatus.OK, "no hcloud on PATH; 'python -m hcloud' works everywhere")
    if foreign and found[0] in foreign:
        return CheckResult(
            "command",
            CheckStatus.WARNING,
            f"{found[0]} is another hcloud and comes first on PATH",
            hint="call ours hyc",
        )
    details = tuple(f"another hcloud comes later on PATH: {path}" for path in foreign)
    return CheckResult("command", CheckStatus.OK, f"{found[0]} is this hcloud", details)


def _on_path(command: str) -> Iterator[Path]:
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(directory or ".") / command
        if path.is_file() and os.access(path, os.X_OK):
            yield path


def _is_ours(path: Path) -> bool:
    """Whether a command starts this package: installers write a few lines that import it."""
    try:
        with path.open("rb") as file:
            return _OURS in file.read(4096)
    except OSError:
        return False


def _configuration() -> CheckResult:
    loaded = load_config()
    if not loaded.files:
        return CheckResult(
            "configuration", CheckStatus.OK, f"none ({FILE_NAME} here is optional)", hint="'hcloud init' writes one"
        )
    return CheckResult("configuration", CheckStatus.OK, ", ".join(map(str, loaded.files)))


def _bundled_prices(today: date) -> CheckResult:
    root = bundled("pricing")
    stated = (root / MANIFEST).read_text(encoding="utf-8")
    rows = list(csv.DictReader(stated.splitlines()))
    days = sorted(day for row in rows for day in row["date"].split(".."))
    newest, oldest = (date.fromisoformat(days[index]) for index in (-1, 0))
    ages = f"newest {format_age((today - newest).days)}, oldest {format_age((today - oldest).days)}"
    message = f"{counted(len(rows), 'table')} at {root}, {ages}"
    if stated.replace("\r\n", "\n") != manifest_text(root):
        why = "a table does not match the manifest"
        return CheckResult(
            "bundled prices", CheckStatus.WARNING, message, (why,), "'hcloud pricing verify' shows which"
        )
    return CheckResult("bundled prices", CheckStatus.OK, message)


def _own_prices(today: date) -> CheckResult:
    store = PriceStore.open()
    book = store.load()
    if book is None:
        return CheckResult("own prices", CheckStatus.OK, f"none yet; they will be kept at {store.directory}")
    days = [(today - offer.origin.day).days for offer in book.offers.values()]
    ages = f", newest {format_age(min(days))}, oldest {format_age(max(days))}" if days else ""
    return CheckResult("own prices", CheckStatus.OK, f"{counted(len(book.offers), 'offer')} at {store.directory}{ages}")


def _strategies() -> CheckResult:
    names = strategy_names()
    for name in names:
        load_strategy(name)
    if not names:
        raise HcloudError("no strategy files came with this installation", hint=install_command())
    return CheckResult("strategies", CheckStatus.OK, f"{', '.join(names)} at {bundled('policies')}")
