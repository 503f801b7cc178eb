"""Where pictures and pages are written to, and how."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import UsageError
from hcloud.store.files.looked_at import check_folder_of, check_place
from hcloud.store.files.whole import write_shown

if TYPE_CHECKING:
    from hcloud.views.page.drawn import Drawn

SUFFIXES = (".png", ".svg", ".html")


def check_picture(path: Path | None) -> None:
    """UsageError where a picture is asked for that cannot be saved under that name: ask before long work."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: the file name must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    check_place(path, "a picture", UsageError)


def check_page(path: Path) -> None:
    """UsageError where a page cannot be written to that name; a page may replace a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: the file name of a page must end in .html")
    check_place(path, "a page", UsageError)


def check_folder(path: Path, suffix: str) -> None:
    """UsageError where no pictures can be written to a folder, or not in that format."""
    if suffix not in ("png", "svg"):
        raise UsageError(f"--picture-format {suffix}: must be png or svg")
    if path.is_symlink():
        raise UsageError(f"{path} is a symbolic link; pictures are only drawn into a folder")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no folder")
    check_folder_of(path)


def save_drawn(drawn: Drawn, path: Path, title: str = "") -> None:
    """Save a picture, under its own or another title, as PNG, SVG or self-contained HTML by the suffix; nothing is
    fetched from anywhere."""
    from hcloud.views.page.drawn import standalone
    from hcloud.views.page.parts import Page, PageSection
    from hcloud.views.page.render import render

    check_picture(path)
    title = title or drawn.title
    suffix = path.suffix.lower()
    if suffix == ".html":
        heading = drawn.title if drawn.title != title else "Picture"
        alone = Page(title, (), (PageSection(heading, figures=(replace(drawn.figure(), title=""),)),))
        write_shown(path, render(alone))
        return
    text = standalone(drawn, title)
    if suffix == ".svg":
        write_shown(path, text)
    else:
        import vl_convert

        write_shown(path, vl_convert.svg_to_png(text, scale=2))
