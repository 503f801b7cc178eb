"""The service models that come with botocore: what each operation takes and gives, in the cloud's own words."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

Wire = dict[str, Any]
"""What an operation takes or gives, by the names of the service model."""


@lru_cache
def service_model(service: str) -> Any:
    """The model of a service: a ServiceModel of botocore."""
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


@lru_cache
def operation_at(service: str, uri: str) -> str:
    """The operation behind a path, for services that say it in the path; empty where there is none."""
    model = service_model(service)
    found = [n for n in model.operation_names if model.operation_model(n).http.get("requestUri") == uri]
    return str(found[0]) if found else ""
