"""What a plan launches machines with, against what the configuration says now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcloud.model.holdings.live import TAG_PROJECT, LaunchTemplate, Setting

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Departure:
    """A setting by its name in hcloud.yaml that is another now than in the plan."""

    setting: str
    planned: str
    now: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.planned} in the plan, {self.now} now"


def departures(planned: LaunchTemplate, now: LaunchTemplate) -> tuple[Departure, ...]:
    """Every setting that differs. To which id an image's name leads now does not count: the plan's id is launched."""
    before, after = _settings(planned), _settings(now)
    return tuple(
        Departure(name, written(before.get(name, "")), written(after.get(name, "")))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _settings(template: LaunchTemplate) -> Mapping[str, Setting]:
    """Everything that can be set, by its name in hcloud.yaml."""
    images = {i.name: i.instance_types for i in template.images}
    single = {"live.settings.image": next(iter(images))} if len(images) == 1 else {}
    several = {f"live.settings.image of {t}": name for name, types in images.items() for t in types}
    return {
        **(single or several),
        **{f"live.settings.{name}": value for name, value in template.settings.items()},
        "live.project": template.tags.get(TAG_PROJECT, ""),
        "live.user_data": f"sha256:{template.user_data}" if template.user_data else "",
        "disk": template.disk,
    }


def written(value: Setting) -> str:
    """A setting in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in sorted(value.items())) or NOTHING
    return (value if isinstance(value, str) else ", ".join(value)) or NOTHING
