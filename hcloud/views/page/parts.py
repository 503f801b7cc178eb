"""What a page consists of. What is said here is plain text: the page escapes all of it, but the SVG of a figure."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.views.tables import Figures


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture in SVG that was made here, what it shows in words for who cannot see it, a caption below it and a title
    above it."""

    svg: str
    alternative: str
    caption: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading with what stands below it, in this order; ``points`` are sentences of a list, ``commands``
    are to be copied."""

    heading: str
    words: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Figures, ...] = ()
    notes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One large figure below the title: what it is, its value with its unit, and what it is compared with."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, the decision in a few sentences, sections, a few large figures, what it was made from, and
    warnings that belong to the decision: they stand above it."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[PageSection, ...]
    key_figures: tuple[KeyFigure, ...] = ()
    foot: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
