"""Pages as a browser shows them: nothing is fetched, nothing overflows, nothing keeps anybody from reading them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

Scheme = Literal["light", "dark"]
PHONE, TABLET, DESKTOP = (360, 740), (700, 900), (1280, 900)
SMALLEST_LETTERS = 10.5  # ours: pixels


@dataclass(slots=True)
class Shown:
    """A page in a browser, and what it asked for and complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def told(self, script: str) -> Any:
        """What a script of ours finds out about the page."""
        return self.page.evaluate(script)

    def resize(self, size: tuple[int, int]) -> None:
        """A window of another size."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})

    def comes_to(self, script: str) -> None:
        """Wait until it holds; asked from outside, since the page's policy allows no script to be evaluated in it."""
        for _ in range(100):
            if self.told(script):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never held: {script}")


@contextmanager
def shown(browser: Browser, path: Path, size: tuple[int, int] = DESKTOP, **more: Any) -> Iterator[Shown]:
    """A page opened from its file; every other request is recorded and refused."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **more)
    result = Shown(context.new_page())

    def answer(route: Route) -> None:
        result.requests.append(route.request.url)
        if route.request.url == path.as_uri():
            route.continue_()
        else:
            route.abort()

    def dismiss(dialog: Any) -> None:
        result.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context.route("**/*", answer)
    result.page.on("console", lambda message: result.complaints.append(f"{message.type}: {message.text}"))
    result.page.on("pageerror", lambda error: result.complaints.append(f"error: {error}"))
    result.page.on("dialog", dismiss)
    result.page.goto(path.as_uri())
    try:
        yield result
    finally:
        context.close()


@pytest.mark.parametrize(
    ("name", "scheme", "scripts"),
    [
        *((name, "light", True) for name in ("plain", "simulated", "hostile", "report", "compared")),
        ("simulated", "dark", False),  # where there is no script, to allow none changes nothing
    ],
)
def test_L2_a_page_asks_for_nothing_complains_of_nothing_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, scheme: str, scripts: bool
) -> None:
    with shown(browser, pages[name], PHONE, color_scheme=scheme, java_script_enabled=scripts) as it:
        for size in (PHONE, DESKTOP):
            it.resize(size)
            wide, room = it.told("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert room == size[0] >= wide
            assert it.page.get_by_role("heading", level=1).is_visible()
            assert it.page.get_by_role("img").first.is_visible()
        assert it.requests == [pages[name].as_uri()]
        assert it.complaints == []
        assert it.told("[document.scripts.length, document.images.length, document.querySelectorAll('h1').length]") == [
            0, 0, 1,
        ]  # fmt: skip


CHECK = "axe.run(document, { resultTypes: ['violations'] })"
"""Of what passes it tells the names, without every element."""


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("simulated", [(PHONE, "dark"), (DESKTOP, "light")]),  # of a plan's pages the one with most on it
        ("report", [(PHONE, "light")]),
        ("compared", [(DESKTOP, "dark")]),
    ],
    ids=["simulated", "report", "compared"],
)
def test_the_checker_finds_nothing_serious(
    browser: Browser, pages: dict[str, Path], axe: str, name: str, looks: list[tuple[tuple[int, int], Scheme]]
) -> None:
    with shown(browser, pages[name], looks[0][0]) as it:
        it.told("document.querySelectorAll('details').forEach(d => { d.open = true })")
        it.told(axe + "; 0")
        for size, scheme in looks:
            it.resize(size)
            it.page.emulate_media(color_scheme=scheme)
            found = it.told(CHECK)
            assert len(found["passes"]) > 20  # it did look
            broken = [(v["id"], v["impact"], v["nodes"][0]["html"]) for v in found["violations"]]
            assert broken == [], (size, scheme)


def test_the_checker_would_find_something(browser: Browser, tmp_path: Path, axe: str) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<html><body><img src='data:,'><p style='color:#ccc'>pale</p></body></html>", encoding="utf-8")
    with shown(browser, bad) as it:
        it.told(axe + "; 0")
        found = {v["id"] for v in it.told(CHECK)["violations"]}
    assert {"image-alt", "color-contrast", "html-has-lang"} <= found


def test_what_leaves_a_page_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://example.invalid/x.png'><script>console.error('said')</script>", encoding="utf-8")
    with shown(browser, bad) as it:
        assert "http://example.invalid/x.png" in it.requests
        assert "error: said" in it.complaints


LABELS = """() => [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width).map(svg => {
  const frame = svg.getBoundingClientRect();
  return {
    said: svg.parentElement.getAttribute('aria-label').slice(0, 60),
    labels: [...svg.querySelectorAll('text')].map(t => {
      const box = t.getBoundingClientRect();
      const scale = frame.width / svg.viewBox.baseVal.width;
      return {
        text: t.textContent, pixels: parseFloat(getComputedStyle(t).fontSize) * scale,
        out: Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom),
        box: [box.left, box.top + box.height * 0.2, box.right, box.bottom - box.height * 0.2],
      };
    }),
  };
})"""


@pytest.mark.parametrize(
    ("name", "least"),
    [("plain", 4), ("simulated", 9), ("report", 1), ("compared", 7), ("panels", 1), ("swept", 1), ("demand", 1)],
    ids=str,
)  # fmt: skip
def test_every_label_of_a_picture_is_large_enough_whole_and_on_no_other(
    browser: Browser, pages: dict[str, Path], name: str, least: int
) -> None:
    pictures = []
    with shown(browser, pages[name], PHONE) as it:
        for size in (PHONE, TABLET, DESKTOP):
            it.resize(size)
            found = it.told(LABELS)
            assert len(found) >= least
            pictures += found
    for picture in pictures:
        labels = picture["labels"]
        assert min(label["pixels"] for label in labels) >= SMALLEST_LETTERS, picture["said"]
        assert [label["text"] for label in labels if label["out"] > 1] == [], picture["said"]
        clashes = [
            (a["text"], b["text"]) for n, a in enumerate(labels) for b in labels[:n] if _overlap(a["box"], b["box"])
        ]
        assert clashes == [], picture["said"]


def _overlap(a: list[float], b: list[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_pictures_follow_the_scheme(browser: Browser, pages: dict[str, Path]) -> None:
    colours = []
    with shown(browser, pages["plain"]) as it:
        for scheme in get_args(Scheme):
            it.page.emulate_media(color_scheme=scheme)
            colours.append(it.told("getComputedStyle(document.querySelector('svg .p-t')).fill"))
    assert colours == ["rgb(22, 32, 42)", "rgb(232, 237, 242)"]


def test_one_of_two_widths_of_a_picture_is_shown(browser: Browser, pages: dict[str, Path]) -> None:
    count = "k => [...document.querySelectorAll('svg.' + k)].filter(s => s.getBoundingClientRect().width).length"
    with shown(browser, pages["simulated"], PHONE) as it:
        assert it.page.evaluate(count, "wide") == 0
        assert it.page.evaluate(count, "narrow") == it.page.locator(".picture").count()
        it.resize(DESKTOP)
        assert (
            it.page.evaluate(count, "wide") + it.page.evaluate(count, "narrow") == it.page.locator(".picture").count()
        )
        assert it.page.evaluate(count, "wide") > 0


def test_the_first_key_leads_past_the_contents(browser: Browser, pages: dict[str, Path]) -> None:
    with shown(browser, pages["plain"]) as it:
        it.page.keyboard.press("Tab")
        it.comes_to("document.activeElement.textContent == 'Skip to the content'")
        assert it.told("document.activeElement.getBoundingClientRect().left") >= 0
        it.page.keyboard.press("Enter")
        it.comes_to("document.activeElement.id == 'content'")


def test_a_wide_table_scrolls_in_itself_by_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    with shown(browser, pages["compared"], (780, 900)) as it:
        it.page.evaluate("[...document.querySelectorAll('.scroll')].find(s => s.scrollWidth > s.clientWidth).focus()")
        it.page.keyboard.press("ArrowRight")
        it.comes_to("[...document.querySelectorAll('.scroll')].some(s => s.scrollLeft > 0)")


@pytest.mark.parametrize(
    ("name", "title", "widths"),
    [
        ("simulated", "Alternatives by arithmetic", [800]),
        ("plain", "Alternatives by arithmetic", [1024, 1100, 1279]),
        ("held", "Commitments", [660, 780]),
    ],
    ids=["below", "beside", "commitments"],
)
def test_beside_and_below_the_contents_tables_are_whole(
    browser: Browser, pages: dict[str, Path], name: str, title: str, widths: list[int]
) -> None:
    """Their last column, by how much each is dearer, was cut off on screens that just hold both."""
    with shown(browser, pages[name]) as it:
        group = it.page.get_by_role("group", name=title)
        for width in widths:
            it.resize((width, 900))
            assert group.evaluate("it => it.scrollWidth <= it.clientWidth"), width


def test_on_a_phone_each_figure_of_a_table_stands_beside_the_name_of_its_column(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with shown(browser, pages["simulated"], PHONE) as it:
        group = it.page.get_by_role("group", name="The mix")
        assert group.evaluate("it => it.scrollWidth <= it.clientWidth")
        cell = group.get_by_role("cell").filter(visible=True).last
        assert cell.evaluate("it => getComputedStyle(it, '::before').content") == '"upfront"'
        assert cell.evaluate("it => getComputedStyle(it, '::before').textAlign") == "left"  # a name of several lines
        assert group.get_by_role("columnheader").count() == 9  # still a table to who cannot see it
        rows = group.locator("tbody tr, tfoot tr").count()
        assert group.get_by_role("rowheader").count() == rows >= 2  # what is held or rented, and the total


def test_printed_it_has_no_contents_and_every_row(browser: Browser, pages: dict[str, Path]) -> None:
    with shown(browser, pages["simulated"], color_scheme="dark") as it:
        folded = it.page.locator("details tbody tr").last
        assert not folded.is_visible()
        it.page.emulate_media(media="print", color_scheme="dark")
        assert not it.page.locator("nav").is_visible()
        assert folded.is_visible()
        assert it.told("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert it.page.pdf(format="A4", print_background=True).startswith(b"%PDF")
