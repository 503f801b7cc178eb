"""Saving pictures, and what all of them look like."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcloud.errors import UsageError
from hcloud.store.files.looked_at import check_place
from hcloud.store.files.whole import write_shown
from hcloud.views.escaped import in_xml

if TYPE_CHECKING:
    import altair as alt

    from hcloud.views.page.drawn import Drawn

SUFFIXES = (".png", ".svg", ".html")


def check_picture(path: Path) -> None:
    """UsageError where a picture cannot be saved under that name: ask before long work."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: write to a name that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    check_place(path, "a picture", UsageError)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")


def check_page(path: Path) -> None:
    """UsageError where a page cannot be written to that name; a page may replace a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: a page is written to a name that ends in .html")
    check_place(path, "a page", UsageError)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")


def check_folder(path: Path, suffix: str) -> None:
    """UsageError where no pictures can be written to a folder, or not in that format."""
    if suffix not in ("png", "svg"):
        raise UsageError(f"--picture-format {suffix}: must be png or svg")
    if path.is_symlink():
        raise UsageError(f"{path} is a symbolic link; pictures are only drawn into a folder")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no folder")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")


def save_picture(picture: Any, path: Path, title: str) -> None:
    """Save an Altair chart as PNG, SVG or self-contained HTML by the suffix; nothing is fetched from anywhere."""
    check_picture(path)
    suffix = path.suffix.lower()
    if suffix == ".html":
        text = picture.to_html(inline=True, embed_options={"actions": False})
        write_shown(path, text.replace("<head>", f"<head><title>{in_xml(title)}</title>", 1))
    elif suffix == ".svg":
        drawn = io.StringIO()
        picture.save(drawn, format="svg")
        write_shown(path, drawn.getvalue())
    else:
        pixels = io.BytesIO()
        picture.save(pixels, format="png", scale_factor=2)
        write_shown(path, pixels.getvalue())


def save_drawn(drawn: Drawn, path: Path, title: str) -> None:
    """Save a picture of a page as PNG, SVG or self-contained HTML by the suffix."""
    from hcloud.views.page.drawn import standalone
    from hcloud.views.page.parts import Page, PageSection
    from hcloud.views.page.render import render

    check_picture(path)
    suffix = path.suffix.lower()
    if suffix == ".html":
        alone = Page(title, (), (PageSection(drawn.title, figures=(replace(drawn.figure(), title=""),)),))
        write_shown(path, render(alone))
        return
    text = standalone(drawn, title)
    if suffix == ".svg":
        write_shown(path, text)
    else:
        import vl_convert

        write_shown(path, vl_convert.svg_to_png(text, scale=2))


def styled(picture: Any) -> alt.TopLevelMixin:
    """The house style: light grid, small grey subtitles, no frames."""
    made: alt.TopLevelMixin = (
        picture.configure_view(stroke=None)
        .configure_axis(grid=True, gridColor="#e6e6e6", domainColor="#888", labelFontSize=11, titleFontSize=11)
        .configure_title(fontSize=13, subtitleFontSize=11, subtitleColor="#555", anchor="start")
        .configure_legend(labelFontSize=11, titleFontSize=11)
    )
    return made
