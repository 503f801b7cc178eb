"""Between a provider's settings and the template of a plan, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hcloud.model.holdings.live import Launch, LaunchImage, LaunchTemplate, Setting

Settings = TypeVar("Settings", bound=Any)


def template_of(
    settings: object, names: Sequence[str], images: Mapping[str, Sequence[str]], disk: str
) -> LaunchTemplate:
    """The template of these settings; ``images`` are instance types by the name of their image."""
    return LaunchTemplate(
        images=tuple(LaunchImage(name, "", tuple(sorted(types))) for name, types in sorted(images.items())),
        settings={name: _plain(getattr(settings, name)) for name in names},
        disk=disk,
    )


def _plain(value: object) -> Setting:
    if isinstance(value, Mapping):
        return {str(k): str(v) for k, v in sorted(value.items())}
    if isinstance(value, (tuple, list)):
        return tuple(map(str, value))
    return value if isinstance(value, bool) else str(value)


def by_image(instance_types: Sequence[str], image_of: Callable[[str], str]) -> dict[str, list[str]]:
    """Instance types by the name of the image they are launched from."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(instance_types):
        found.setdefault(image_of(name), []).append(name)
    return found


def as_planned(settings: Settings, names: Sequence[str], order: Launch) -> Settings:
    """The settings with what the template of an order says instead of their own; all have a field ``image``."""
    template = order.template
    if template is None:
        return settings
    values: dict[str, object] = {name: template.settings[name] for name in names if name in template.settings}
    if image := template.image_of(order.instance_type):
        values["image"] = image
    return replace(settings, **values)
