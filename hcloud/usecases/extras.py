"""The optional parts of hcloud, by the packages that each needs, and whether those are installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata

from hcloud.errors import MissingExtraError, UsageError, did_you_mean
from hcloud.model.clouds.known import CLOUDS

EXTRAS = {
    **{str(cloud.name): cloud.extra for cloud in CLOUDS.values()},
    "fake": ("moto",),
    "dask": ("distributed",),
    "notebook": ("pandas",),
}


def require(names: Iterable[str], extras: Mapping[str, tuple[str, ...]] = EXTRAS) -> None:
    """Raise MissingExtraError, which names the install command, where an extra is not installed; UsageError for an
    extra that does not exist."""
    for name in names:
        if name not in extras:
            raise UsageError(
                f"there is no extra {name!r}{did_you_mean(name, extras)}", hint=f"extras: {', '.join(extras)}"
            )
        for package in extras[name]:
            if version_of(package) is None:
                raise MissingExtraError(package, name)


def version_of(distribution: str) -> str | None:
    """The version of a package that is installed, else None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
