"""What came of a plan's rules: on a terminal, as Markdown, and as a JUnit report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.padding import Padding
from rich.text import Text

from hcloud.model.plans.gate import Finding, Level, Status, Verdict
from hcloud.units import counted, harmless, some_of
from hcloud.views.comment import LONGEST_CELL, VERDICT, fitting
from hcloud.views.console import Terminal
from hcloud.views.escaped import (
    BLANK,
    Written,
    Xml,
    markdown_document,
    md,
    xml,
    xml_document,
)
from hcloud.views.markdown import points, table
from hcloud.views.tables import Figures

KEPT_FREE = 100  # ours: bytes for what is said of what is left out
NAMED = 5  # ours: addresses that are told with a rule that is not kept
SUITE = "hcloud policy check"
_COLOURS = {"passed": "green", "denied": "red", "warning": "yellow", "unknown": "magenta"}


def word(finding: Finding) -> str:
    """What came of a rule in a word."""
    if finding.status is Status.FAILED:
        return "denied" if finding.rule.level is Level.DENY else "warning"
    return finding.status.value


def summary(found: Verdict) -> str:
    """What came of all rules in a sentence."""
    denied, warned = found.count(Status.FAILED, Level.DENY), found.count(Status.FAILED, Level.WARN)
    unknown, passed = found.count(Status.UNKNOWN), found.count(Status.PASSED)
    result = {0: "allowed", 3: "denied", 9: "not enough is known"}[found.exit_code]
    parts = [f"{passed} passed", f"{denied} denied", f"{counted(warned, 'warning')}", f"{unknown} unknown"]
    return f"{result}: {counted(len(found.findings), 'rule')}, {', '.join(parts)}"


def show_verdict(found: Verdict, terminal: Terminal) -> None:
    """Every rule in a line, then what is wrong and what to do."""
    terminal.show(_rules(found), "")
    for finding in found.findings:
        if finding.status is not Status.PASSED:
            terminal.show(Text.assemble((f"{word(finding)} ", _COLOURS[word(finding)]), finding.rule.name))
            terminal.show(*(Padding(line, (0, 0, 0, 2)) for line in told(finding)))
    terminal.show(Text(summary(found), style="bold"))


def _rules(found: Verdict) -> Figures:
    rows = [[word(f), f.rule.name, f.actual, f.allowed] for f in found.findings]
    return Figures(("", "rule", "actual", "allowed"), rows)


def told(finding: Finding) -> Iterator[str]:
    """What a rule found, where, why there is the rule, and what to do."""
    yield f"{finding.actual}; rule: {finding.allowed}"
    if finding.where:
        yield f"where: {some_of(finding.where, NAMED)}"
    if finding.rule.why:
        yield f"why: {finding.rule.why}"
    if finding.advice:
        yield f"do: {finding.advice}"


def markdown_verdict(found: Verdict) -> Written:
    """The same as Markdown."""
    lines = [md("### hcloud policy: {}", summary(found)), BLANK]
    lines += table(_rules(found), LONGEST_CELL)
    for finding in found.findings:
        if finding.status is not Status.PASSED:
            lines += [BLANK, md("**{}** ({})", finding.rule.name, word(finding)), BLANK]
            lines += points(told(finding))
    kept = fitting(lines, VERDICT - KEPT_FREE)
    left_out = len(lines) - len(kept)
    left = md("*{} left out: hcloud policy check -o json has all*", counted(left_out, "line"))
    return markdown_document([BLANK, *kept, *([BLANK, left] if left_out else [])])


def junit_report(found: Verdict, at: datetime) -> Written:
    """A JUnit report: one case a rule. A rule that denies is a failure, evidence that is required and missing an error;
    the other unknown ones are skipped, and what is only a warning passes with a word on its output."""
    failures = sum(f.denies for f in found.findings)
    errors = sum(f.lacks for f in found.findings)
    skipped = sum(f.status is Status.UNKNOWN and not f.lacks for f in found.findings)
    numbers = map(str, (len(found.findings), failures, errors))
    counts = xml('tests="{}" failures="{}" errors="{}"', *numbers)
    when = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    suite = xml('name="{}" {} skipped="{}" time="0.000" timestamp="{}"', found.plan, counts, str(skipped), when)
    return xml_document(
        [
            xml('<testsuites name="{}" {} time="0.000">', SUITE, counts),
            xml('  <testsuite {} hostname="localhost">', suite),
            *_cases(found.findings, found),
            xml("  </testsuite>"),
            xml("</testsuites>"),
        ]
    )


def _cases(findings: Sequence[Finding], found: Verdict) -> Iterator[Xml]:
    for finding in findings:
        head = xml('testcase classname="{}" name="{}" file="{}" time="0.000"', SUITE, finding.rule.name, found.plan)
        inner = _outcome(finding)
        yield xml("    <{}>{}</testcase>", head, inner) if inner else xml("    <{}/>", head)


def _outcome(finding: Finding) -> Xml:
    text = "\n".join(map(harmless, told(finding)))
    message, kind = f"{finding.actual}; {finding.allowed}", finding.rule.check.value
    if finding.denies:
        return xml('<failure message="{}" type="{}">{}</failure>', message, kind, text)
    if finding.lacks:
        return xml('<error message="{}" type="{}">{}</error>', message, kind, text)
    if finding.status is Status.UNKNOWN:
        return xml('<skipped message="{}"/>', message)
    return xml("<system-out>{}</system-out>", text) if finding.status is Status.FAILED else Xml()
