"""The reference is what the code says now, and every request in it has its permission in the tables."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

from hcloud.cli.main import FLAGS
from hcloud.cli.root import command_of
from hcloud.cli.verb_groups import VERBS
from hcloud.readers.configuration.config import Config
from hcloud.readers.permissions import load_permissions

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *(page for name in ("docs", "examples", "pricing", "profiles") for page in sorted((ROOT / name).rglob("*.md"))),
]
REFERENCE = importlib.import_module("docs.make_reference")
CALLS = importlib.import_module("reference_calls")


@pytest.mark.parametrize("name", list(REFERENCE.PAGES))
def test_a_page_of_the_reference_is_current(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == REFERENCE.page(name), "python docs/make_reference.py writes it anew"


def test_the_reference_has_every_verb_and_every_section() -> None:
    commands = REFERENCE.page("commands.md")
    assert all(f"\n## hcloud {name}\n" in commands for name in VERBS)
    configuration = REFERENCE.page("configuration.md")
    assert all(f"\n## {section}\n" in configuration for section in Config.model_fields if section != "format_version")


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_every_request_has_its_permission_in_the_tables(cloud: str) -> None:
    granted = {found.name for found in load_permissions(cloud).permissions}
    needed = {operation.permission for operation in CALLS.operations(cloud)}
    assert len(needed) > 8
    assert needed - granted == set()


def test_what_changes_nothing_costs_nothing_and_what_buys_is_said_to_bind() -> None:
    for cloud in ("aws", "gcp", "azure"):
        costs = {o.name: CALLS.price_of(cloud, o) for o in CALLS.operations(cloud)}
        assert sum(cost == "commits for years" for cost in costs.values()) in (1, 2)
        assert "by the second or hour" in costs.values()
        assert all(costs[o.name] for o in CALLS.operations(cloud) if o.changes)


def test_links_between_the_pages_lead_somewhere() -> None:
    lost = []
    for page in PAGES:
        text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))
        links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link and "mailto:" not in link]
        lost += [(page.relative_to(ROOT), link) for link in links if not _leads_somewhere(page, link)]
    assert lost == []


def test_commands_on_the_pages_have_the_options_that_are_written() -> None:
    unknown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        written = re.findall(rf"(?m)(?<![\w/.-])(?:hcloud|hyc) +({'|'.join(VERBS)})\b([^`\n|#]*)", text)
        unknown += [
            (page.relative_to(ROOT), verb, wrong) for verb, words in written if (wrong := _unknown_options(verb, words))
        ]
    assert unknown == []


def _unknown_options(verb: str, words: str) -> set[str]:
    """The long options among the words after a verb that neither it nor the one below it has."""
    try:
        named = shlex.split(words)
    except ValueError:  # a command that is cut off in the middle
        return set()
    command = command_of(verb)
    below = getattr(command, "commands", {})
    chosen = below.get(next((word for word in named if word in below), "run"), command)  # operate means operate run
    known = {option for one in (command, chosen) for p in one.params for option in (*p.opts, *p.secondary_opts)}
    options = {word.partition("=")[0] for word in named if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word)}
    return options - known - {*FLAGS, "--help", "--version"}


def test_every_page_that_the_code_names_is_there() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "hcloud").rglob("*.py"))
    named = set(re.findall(r"docs/[\w/-]+\.md", code))
    assert len(named) > 4
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not heading or heading in _headings(target))


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
