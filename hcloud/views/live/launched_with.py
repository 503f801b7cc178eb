"""What a plan launches machines with, in one block of names and values."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from hcloud.model.holdings.live import LaunchImage, LaunchTemplate, Setting
from hcloud.planning.changes.launched_with import written
from hcloud.views.comment import LONGEST_TEXT
from hcloud.views.escaped import one_line
from hcloud.views.lines import hanging
from hcloud.views.tables import Figures

TITLE = "launched with"
SHOWN_DIGITS = 12
SHOWN_KEY = 16
UNSET = {
    "subnets": "the default subnet of each zone",
    "security_groups": "the network's default",
    "subnetwork": "the network's own",
}
"""What an empty setting means where it does not mean none."""


def launched_with(template: LaunchTemplate) -> Iterator[tuple[str, str]]:
    """Each setting by its name, with its value on one line."""
    yield from ((name, one_line(value, LONGEST_TEXT)) for name, value in _told(template))


def _told(template: LaunchTemplate) -> Iterator[tuple[str, str]]:
    for image in template.images:
        yield "image", _image(image, several=len(template.images) > 1)
    for name, value in template.settings.items():
        yield name.replace("_", " "), _shown(name, value)
    yield "disk", template.disk or "none"
    yield "user data", f"SHA-256 {template.user_data[:SHOWN_DIGITS]}" if template.user_data else "none"
    shared = ", ".join(f"{name}={value}" for name, value in sorted(template.tags.items()))
    yield "tags", f"{shared}, and of each machine its plan, address and key"


def _image(image: LaunchImage, *, several: bool) -> str:
    behind = f" (now behind {image.name})" if image.id and image.id != image.name else ""
    types = f" for {', '.join(image.instance_types)}" if several else ""
    return f"{image.id or image.name}{behind}{types}"


def _shown(name: str, value: Setting) -> str:
    if name == "ssh_public_key" and isinstance(value, str) and value:
        kind, _, rest = value.partition(" ")
        key, _, who = rest.partition(" ")
        return " ".join(part for part in (kind, f"...{key[-SHOWN_KEY:]}" if key else "", who) if part)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return written(value) if value else UNSET.get(name, "none")


def as_lines(template: LaunchTemplate, width: int) -> Iterator[Text]:
    """The block for a terminal: names in one column, values in the other."""
    rows = list(launched_with(template))
    widest = max(len(name) for name, _ in rows)
    yield Text(f"  {TITLE}", style="dim")
    for name, value in rows:
        yield hanging(value, width, f"    {name:<{widest}}  ", "dim")


def as_table(template: LaunchTemplate) -> Figures:
    """The block as a table."""
    return Figures((TITLE, "value"), [list(row) for row in launched_with(template)])
