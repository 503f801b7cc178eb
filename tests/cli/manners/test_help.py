"""Help is whole: every verb, option and example, every exit code and every variable of the environment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hcloud import errors
from hcloud.cli.examples import EXAMPLES
from hcloud.cli.main import run
from hcloud.cli.root import build
from hcloud.cli.verb_groups import VERBS

SOURCE = Path(__file__).parents[3] / "hcloud"
EXPLAINED = Path(__file__).parents[3] / "docs/reference/configuration.md"
OWN_USE = {"HYC_CRASH_AT", "HYC_PROFILE_RUN", "HYC_MACHINE", "HYC_JOB"}
"""Variables that hcloud and its tests set for processes of their own."""


def verbs() -> Iterator[tuple[str, Any]]:
    root = build()
    for name in VERBS:
        yield from below(name, root.get_command(None, name))


def below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, found in (getattr(command, "commands", None) or {}).items():
        yield from below(f"{path} {name}", found)


def test_no_verb_and_no_option_lacks_help() -> None:
    lacking = [path for path, command in verbs() if not (command.help or "").strip()]
    for path, command in verbs():
        lacking += [f"{path} {p.name}" for p in command.params if len((p.help or "").strip()) < 5]
    assert lacking == []


def test_strategies_have_their_short_flag_in_every_verb() -> None:
    options = [(path, p.opts) for path, command in verbs() for p in command.params if "--strategy" in p.opts]
    assert len(options) > 5
    assert [path for path, opts in options if "-s" not in opts] == []


def test_every_verb_has_an_example_below_its_help() -> None:
    runs = {path: command for path, command in verbs() if not getattr(command, "commands", None)}
    assert [path for path in runs if path not in EXAMPLES] == []
    assert [path for path in EXAMPLES if path not in runs] == []
    assert [path for path in runs if f"Example: {EXAMPLES[path]}" not in runs[path].epilog] == []


@pytest.mark.parametrize("path", list(EXAMPLES))
def test_an_example_is_a_command_line_that_its_verb_takes(path: str) -> None:
    line = EXAMPLES[path].partition(" > ")[0].partition(" < ")[0]
    words = shlex.split(re.sub(r"^(HYC_\w+=\S+ )+", "", line))
    assert words[0] == "hcloud"
    assert words[1 : 1 + len(path.split())] == path.split()
    command = dict(verbs())[path]
    context = command.make_context(path, words[1 + len(path.split()) :])
    assert not context.args


def test_the_root_names_every_exit_code_and_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for code, text in errors.EXIT_CODES.items():
        assert f"{code} {text.partition(';')[0].partition(':')[0]}" in shown
    assert "HYC_ALLOW_PURCHASE" in shown


def test_every_error_has_an_exit_code_that_is_explained() -> None:
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.HcloudError)]
    assert len(found) > 15
    assert {e.exit_code for e in found} <= set(errors.EXIT_CODES)


def test_every_variable_of_the_environment_is_explained() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    used = set(re.findall(r"\bHYC_[A-Z]+(?:_[A-Z]+)*\b(?!__)", text)) - OWN_USE
    explained = set(
        re.findall(r"^\| `(\w+)` \|", EXPLAINED.read_text(encoding="utf-8").rpartition("## Environment")[2], re.M)
    )
    assert {name for name in used if not name.startswith(("HYC_LIVE", "HYC_SECTION"))} <= explained
