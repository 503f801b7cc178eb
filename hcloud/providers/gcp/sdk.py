"""Google's SDK with only those of its hundred clients that are used: to import all takes a second and 90 MiB."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from hcloud.errors import MissingExtraError
from hcloud.model.catalog import Provider

PACKAGE = "google.cloud.compute_v1"
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def messages() -> Any:
    """The SDK's messages; MissingExtraError where it is not installed."""
    try:
        _without_clients()
        return import_module(f"{PACKAGE}.types")
    except ImportError as error:
        raise MissingExtraError("google-cloud-compute", Provider.GCP) from error


def client(name: str) -> Any:
    """A client's class by its name, ``InstancesClient``."""
    service = _WORD.sub("_", name.removesuffix("Client")).lower()
    return getattr(import_module(f"{PACKAGE}.services.{service}"), name)


def _without_clients() -> None:
    """Put up the SDK's package with its modules, and without what it imports itself: all clients. It does so when
    anybody asks it for anything that is no module, so that whoever else uses it in this process finds it whole."""
    if PACKAGE in sys.modules:
        return
    spec = find_spec(PACKAGE)
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no {PACKAGE}")
    package, loader = module_from_spec(spec), spec.loader

    def rest(name: str) -> object:
        if find_spec(f"{PACKAGE}.{name}") is not None:
            raise AttributeError(name)  # which makes Python import that module
        if vars(package).pop("__getattr__", None):
            loader.exec_module(package)
        return _found(package, name)

    vars(package)["__getattr__"] = rest
    sys.modules[PACKAGE] = package
    above, _, own = PACKAGE.rpartition(".")
    setattr(import_module(above), own, package)


def _found(package: ModuleType, name: str) -> object:
    try:
        return vars(package)[name]
    except KeyError:
        raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}") from None
