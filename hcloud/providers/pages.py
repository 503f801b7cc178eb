"""Follows the pages of a JSON listing and joins them into one JSON array."""

from __future__ import annotations

from collections.abc import Callable

from hcloud.errors import UnreachableError
from hcloud.model.json_text import parsed
from hcloud.providers.http import Fetcher, Progress, shown

MOST_PAGES = 5_000
_TYPICAL_PAGES = 40

# From a page's members to the URL of the next page, empty after the last
NextPage = Callable[[dict[str, object]], str]


def fetch_pages(first: str, fetcher: Fetcher, next_page: NextPage, progress: Progress) -> bytes:
    """All pages as one JSON array; raises UnreachableError for nonsense, endless paging and pages that repeat."""
    pages: list[bytes] = []
    seen: set[str] = set()
    size, url = 0, first
    while url:
        if url in seen or len(seen) >= MOST_PAGES:
            raise UnreachableError(f"{shown(first)} does not come to an end after {len(seen)} pages")
        seen.add(url)
        body = fetcher.get(url)
        url = next_page(_members(body, url))
        pages.append(body)
        size += len(body)
        if size > fetcher.limits.largest_bytes:
            raise UnreachableError(f"{shown(first)} sends more than the limit of {fetcher.limits.largest_bytes} bytes")
        progress(1 - 1 / (1 + len(pages) / _TYPICAL_PAGES))
    return b"[" + b",".join(pages) + b"]"


def _members(body: bytes, url: str) -> dict[str, object]:
    try:
        page = parsed(body)
    except ValueError as error:
        raise UnreachableError(f"{shown(url)} sent no sound JSON: {error}; stored prices are unchanged") from error
    if not isinstance(page, dict):
        raise UnreachableError(f"{shown(url)} sent no page of a listing; stored prices are unchanged")
    return page
