"""The page of a reproduction as Markdown with its pictures, and how a committed page is compared with one made anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hcloud.research.studies.report import RULES, Claim, ClaimVerdict, Picture, StudyReport, StudyTable
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, SeriesMark, panels
from hcloud.views.pictures import save_drawn

PICTURES = "reproduction"
_MARKER = re.compile(r"^<!-- study: ([a-z0-9-]+) -->$", re.MULTILINE)
_SEEDS = re.compile(r"^Seeds: 1 to (\d+)\.$", re.MULTILINE)
_VERDICTS = "|".join(ClaimVerdict)
_CLAIM = re.compile(rf"^\| ([^|]+) \| ([^|]+) \| [^|]* \| (?:\*\*)?(?:{_VERDICTS})(?:\*\*)? \|$", re.MULTILINE)
_HEAD = """# The published studies of HCloud, reproduced

Made by `hcloud reproduce hcloud`; do not edit. Every study of the text (dissertation of C. Delimitrou, Stanford,
chapter 8) is run once with the model that was calibrated on three figures and frozen
([decision 0016](../decisions/0016-what-neighbours-press-on.md)); nothing was tuned to please this page. We have the
text's words and numbers, not the values in its figures: where a value is in a figure only, ours is marked "not compared
here".

Seeds: 1 to {seeds}.

Figures are means over the seeds ± the half-width of the 95 % interval (Student's t). What is drawn has the same
intervals as bands or rules. The rules by which the program judges, fixed before any study was run:

{rules}
"""
_STRATEGIES = {name: f"p-c{at}" for at, name in enumerate(("SR", "OdF", "OdM", "HF", "HM"), 1)}
"""HM is dashed: it often coincides with HF."""
_SIZES = {f"{1 << power} vCPU": f"p-c2 p-h{4 + 3 * power}" for power in range(5)}
_CLASSES = {**_STRATEGIES, "reserved": "p-c1", **_SIZES, "on demand": "p-c2"}
_HEIGHT = 220.0


def page(reports: Sequence[StudyReport], seeds: int) -> str:
    """The whole page."""
    rules = "\n".join(f"- {rule};" for rule in RULES)[:-1] + "."
    return "\n".join([_HEAD.format(seeds=seeds, rules=rules), summary(reports), *map(section, reports)])


def summary(reports: Sequence[StudyReport]) -> str:
    """How many claims hold, and every one that does not."""
    rows = [(r.title, *(str(_count(r, v)) for v in ClaimVerdict)) for r in reports]
    totals = ("**all**", *(f"**{sum(_count(r, v) for r in reports)}**" for v in ClaimVerdict))
    table = _table(StudyTable("", ("study", *(str(v) for v in ClaimVerdict)), (*rows, totals)))
    missed = [f"- {c.section}: {c.text}. Here: {c.got}." for c in claims_with(reports, ClaimVerdict.FAILS)]
    told = "\n".join(missed) if missed else "Every claim holds."
    return f"## Summary\n\n{table}\n\n### What does not hold\n\n{told}\n"


def claims_with(reports: Sequence[StudyReport], verdict: ClaimVerdict) -> list[Claim]:
    """The claims of all reports that fared so."""
    return [claim for report in reports for claim in report.claims if claim.verdict is verdict]


def _count(report: StudyReport, verdict: ClaimVerdict) -> int:
    return sum(claim.verdict is verdict for claim in report.claims)


def section(report: StudyReport) -> str:
    """One study: what was done, pictures, claims, tables."""
    parts = [f"<!-- study: {report.key} -->", f"## {report.title}", report.about]
    parts += [f"![{p.title}]({PICTURES}/{file_name(p)})" for p in report.pictures]
    rows = tuple((c.section, c.text, c.got, _verdict(c)) for c in report.claims)
    parts.append(_table(StudyTable("", ("", "the text", "here", ""), rows)))
    for table in report.tables:
        parts += [f"**{table.title}**", _table(table)]
    return "\n\n".join(parts) + "\n"


def file_name(picture: Picture) -> str:
    """Drawn as lines and text, so that neither the fonts nor the pixels of a machine are in the file."""
    return f"{picture.name}.svg"


def _verdict(claim: Claim) -> str:
    return f"**{claim.verdict}**" if claim.verdict is ClaimVerdict.FAILS else str(claim.verdict)


def _table(table: StudyTable) -> str:
    lines = [table.columns, tuple("---" if at == 0 else "---:" for at in range(len(table.columns))), *table.rows]
    if table.columns[:2] == ("", "the text"):
        lines[1] = ("---",) * 4
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def sections(text: str) -> dict[str, str]:
    """The studies of a page by their keys."""
    parts = _MARKER.split(text)
    return {key: body.strip() for key, body in zip(parts[1::2], parts[2::2], strict=True)}


def seeds_of(text: str) -> int:
    """How many seeds a page was made with; 0 where it does not say."""
    found = _SEEDS.search(text)
    return int(found[1]) if found else 0


def differences(committed: str, made: Sequence[StudyReport], seeds: int, *, whole: bool) -> list[str]:
    """What a committed page has otherwise than the reports: their sections word by word where the seeds are the same,
    else studies and claims only; with ``whole`` the page may hold no other study."""
    before, after = sections(committed), {report.key: section(report) for report in made}
    same_seeds = seeds_of(committed) == seeds
    found = [f"{key}: the page has a study that is gone" for key in before if whole and key not in after]
    for key, text in sections("\n".join(after.values())).items():
        if key not in before:
            found.append(f"{key}: the page lacks this study")
        elif _claims(before[key]) != _claims(text):
            found.append(f"{key}: the claims differ")
        elif same_seeds and before[key] != text:
            lines = zip(before[key].splitlines(), text.splitlines(), strict=False)
            was, now = next(((a, b) for a, b in lines if a != b), ("", "other lines"))
            found.append(f"{key}: the page says {was!r}, now it is {now!r}")
    return found


def _claims(text: str) -> list[tuple[str, str]]:
    return _CLAIM.findall(text)


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
