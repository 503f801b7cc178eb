"""``harvest types``: patterns and classes of use, what each has to spare, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable

from hcloud.harvest.classes import use_types
from hcloud.harvest.results import TypedUse
from hcloud.usecases.harvesting.opened import UseRequest, open_use


def types_of_use(request: UseRequest, progress: Callable[[float], None] | None = None) -> TypedUse:
    """The types of the histories that are asked for."""
    opened = open_use(request, progress)
    return TypedUse(opened, use_types(opened.histories, opened.policy, request.seed, sized=not opened.unsized))
