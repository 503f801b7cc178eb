"""Strings that a cloud, a file or a person can give, and what no writer may let them do."""

from __future__ import annotations

import re

from hypothesis import strategies as st

FORGED = "0 machines to launch, 0 to end"
"""What a string tries to say on a line of its own."""
HOSTILE = (
    f"web\n{FORGED}", f"web\r\n{FORGED}", f"web\r{FORGED}", f"web\x0b{FORGED}", f"web\x85{FORGED}",
    f"web\u2028{FORGED}", f"web{' ' * 90}{FORGED}", f"{'w' * 300} {FORGED}", "\x1b[2J\x1b[1;31mred\x1b[0m",
    "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\y", "\x9b31mred", "\x9d0;title\x9c", "\x00\x08\x7f",
    "\u202eevil\u202c", "\u2066a\u2069", "we\u200bb\u200d\ufeff", "\ud800", "a\udcff", "[red]x[/red]", "[/]",
    "[link=http://x]y[/link]", "[bold", ":smile:", "a | b | c", "`a` **b** _c_ ~~d~~", "![x](http://x/y.png)",
    "[x](javascript:alert(1))", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "]]>", "&amp;&#10;",
    "{{7*7}}", "${x}", "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "\uff1d1+1",
    '"=1+1"', "a\x0c=1", "::error::x", "\ufffe\uffff", "x" * 100_000, "e\u0301" * 50, "\u3042" * 60, "",
)  # fmt: skip
STRINGS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=60),
    st.text(st.characters(categories=("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs")), max_size=10),
    st.lists(st.sampled_from(HOSTILE[:-6]), min_size=2, max_size=3).map("".join),
)
STEERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
"""All that can move a cursor, turn the direction of text, or be there unseen; a newline is judged by who wrote it."""


def begins_no_line(screen: str) -> bool:
    """No line of a screen begins with what was forged, and nothing on it steers."""
    lines = screen.split("\n")
    return not STEERS.search(screen) and not any(line.startswith((FORGED, "machines to launch")) for line in lines)
