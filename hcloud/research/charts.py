"""Pictures of a reproduction: panels with curves, bars, boxes, stacked areas or a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hcloud.research.page import file_name
from hcloud.research.studies.report import Picture
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, SeriesMark, panels
from hcloud.views.pictures import save_drawn

_STRATEGIES = {name: f"p-c{at}" for at, name in enumerate(("SR", "OdF", "OdM", "HF", "HM"), 1)}
"""HM is dashed: it often coincides with HF."""
_SIZES = {f"{1 << power} vCPU": f"p-c2 p-h{4 + 3 * power}" for power in range(5)}
_CLASSES = {**_STRATEGIES, "reserved": "p-c1", **_SIZES, "on demand": "p-c2"}
_HEIGHT = 220.0


def save_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Every picture under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        save_drawn(drawn(picture), folder / file_name(picture), picture.title)


def drawn(picture: Picture) -> Drawn:
    """The picture: panels with one upright scale where the axis has a name."""
    names = dict.fromkeys(mark.panel for mark in picture.marks)
    fields = [
        Panel(
            name,
            picture.kind,
            picture.x,
            picture.y,
            [SeriesMark(m.series, m.x, m.values) for m in picture.marks if m.panel == name],
            log=picture.log,
        )
        for name in names
    ]
    present = {mark.series for mark in picture.marks}
    kinds = {name: kind for name, kind in _CLASSES.items() if name in present}
    groups = [PanelGroup(fields, shared=True, kinds=kinds, height=_HEIGHT, own_scales=not picture.y)]
    said = f"{picture.title}: {', '.join(name for name in names if name) or picture.y}."
    return Drawn(picture.title, lambda width: panels(groups, width), said, "", WIDTH)
