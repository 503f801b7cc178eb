"""A page within another document, such as a notebook: in a frame, where neither's style meets the other's."""

from __future__ import annotations

from hcloud.views.escaped import in_xml
from hcloud.views.page.parts import Page
from hcloud.views.page.render import render

HEIGHT = 640  # ours: pixels; the frame's corner can be dragged


def embedded(page: Page) -> str:
    """The page as an element of HTML. It runs no script, and its frame would not let it."""
    size = f"box-sizing: border-box; width: 100%; height: {HEIGHT}px; resize: vertical; overflow: auto"
    style = f"{size}; border: 1px solid #8888"
    return f'<iframe title="{in_xml(page.title)}" sandbox="" style="{style}" srcdoc="{in_xml(render(page))}"></iframe>'
