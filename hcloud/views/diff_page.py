"""A difference of plans as a page, and the page as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from hcloud.model.plan_difference import PlanDifference
from hcloud.views import diff_rows
from hcloud.views.escaped import in_html
from hcloud.views.page.parts import Page, Section
from hcloud.views.tables import Figures

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid #8886; text-align: left; }
.t { min-width: 7rem; overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; }
"""


def difference_page(found: PlanDifference) -> Page:
    """The difference as a page."""
    sections = [Section("Totals", tables=(diff_rows.totals(found),))]
    if found.base is not None:
        sections.append(Section("Why", (f"{diff_rows.why(found).capitalize()}.",)))
    sections += [Section(table.title, tables=(table,)) for table in diff_rows.tables(found)]
    said_new, said_gone, new, gone = diff_rows.warnings(found)
    told = ((said_new, new), (said_gone, gone))
    sections += [Section(said.capitalize(), notes=warnings) for said, warnings in told if warnings]
    lead = (f"{diff_rows.headline(found).capitalize()}.", *found.notes)
    return Page("What changes from one plan to the next", lead, tuple(sections))


def html_difference(found: PlanDifference) -> str:
    """The page as HTML."""
    return "\n".join(_html(difference_page(found))) + "\n"


def _html(page: Page) -> Iterator[str]:
    title = in_html(page.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>"
    yield from (f"<p>{in_html(words)}</p>" for words in page.lead)
    for section in page.sections:
        yield f"<h2>{in_html(section.heading)}</h2>"
        yield from (f"<p>{in_html(words)}</p>" for words in section.words)
        for table in section.tables:
            yield from _table(table, section.heading)
        if section.notes:
            yield f"<ul>{''.join(f'<li>{in_html(note)}</li>' for note in section.notes)}</ul>"
    yield "</main>\n</body>\n</html>"


def _table(table: Figures, heading: str) -> Iterator[str]:
    kinds = [_kind(table, column) for column in range(len(table.names))]
    label = in_html(heading)
    yield f'<div class="wide" role="region" aria-label="{label}" tabindex="0"><table>\n<thead><tr>'
    for kind, name in zip(kinds, table.names, strict=True):
        yield f'<th scope="col"{kind}>{in_html(name)}</th>' if name else "<td></td>"
    yield "</tr></thead>\n<tbody>"
    for row in table.rows:
        yield f"<tr>{''.join(f'<td{k}>{in_html(cell)}</td>' for k, cell in zip(kinds, row, strict=True))}</tr>"
    yield "</tbody></table></div>"


def _kind(table: Figures, column: int) -> str:
    """Numbers stand to the right; text gets room to fold in."""
    if column in table.numbers:
        return ' class="n"'
    return ' class="t"' if any(len(cell) > 1 for cell in table.cells(column)) else ""
