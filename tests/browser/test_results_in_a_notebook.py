"""Results in another document, as a notebook puts them there: neither's style meets the other's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import hcloud
from browser.test_pages_in_a_browser import shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TRACE = Path(__file__).resolve().parents[2] / "examples" / "six-weeks" / "trace.csv"
DOCUMENT = """<!DOCTYPE html><title>notebook</title>
<style>h1, p, th { color: rgb(9, 9, 9); font-family: monospace } table { width: 300px }</style>
<h1>mine</h1><p>text</p><table><tr><th>own</th></tr></table><div id="first"></div><div id="second"></div>"""
LOOKS = """() => [...document.querySelectorAll('body, h1, p, table, th')].map(element => {
  const { color, backgroundColor, fontFamily, fontSize, width, padding } = getComputedStyle(element);
  return [element.tagName, color, backgroundColor, fontFamily, fontSize, width, padding].join(' ');
})"""


def test_a_result_changes_nothing_around_it_and_is_changed_by_nothing(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "notebook.html"
    page.write_text(DOCUMENT, encoding="utf-8")
    plan = hcloud.plan(TRACE, horizon="1y")
    with shown(browser, page) as here:
        before = here.told(LOOKS)
        for place in ("first", "second"):
            here.page.evaluate(
                "([at, html]) => { document.getElementById(at).innerHTML = html }", [place, plan._repr_html_()]
            )
        inside = here.page.frame_locator("#second iframe")
        assert "saves" in inside.locator(".lead").first.inner_text(timeout=60_000)
        assert "monospace" not in inside.locator("h1").evaluate("e => getComputedStyle(e).fontFamily")
        assert inside.locator(".picture svg:visible").count() >= 3
        assert here.told(LOOKS) == before
        assert here.told("() => document.documentElement.scrollWidth <= innerWidth")
        assert (here.requests, here.complaints) == ([page.as_uri()], [])
