"""Turns what a verb raised into sentences on stderr (or a line of JSON there) and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import typer

from hcloud.errors import FileError, HcloudError, Problem, UsageError
from hcloud.model.json_text import written
from hcloud.model.must_be import must_be
from hcloud.units import harmless
from hcloud.views.refusal import refusal_document, refusal_text

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

USAGE_EXIT = 64
KEY_ALIKE = 0.8  # ours: how alike a key of the configuration must be to an option that is none
NO_THREAD = "can't start new thread"
MEMORY_HINT = "free some, or raise the limit (ulimit -v); what was asked of a cloud is noted: run the command again"

MADE_OF_CTRL_C = (typer.Abort, RuntimeError, SystemError)


@dataclass(frozen=True, slots=True)
class ErrorScreen:
    """What went wrong, what to do next, and the exit code it stands for; ``shown`` where Typer has its own words."""

    lines: Sequence[str]
    hint: str = ""
    exit_code: int = 1
    problems: tuple[Problem, ...] = ()
    shown: Any = None


def report_error(error: Exception, words: Sequence[str], *, debug: bool = False) -> int:
    """Say on stderr why there is no result; returns the exit code. With ``debug`` the error itself is shown."""
    if debug:
        raise error
    if isinstance(error, typer.Exit):
        return error.exit_code
    refusal = refusal_of(error)
    if wants_json(words):
        said = ("\n".join(map(harmless, refusal.lines)), harmless(refusal.hint))
        document = refusal_document(said, refusal.exit_code, refusal.problems, _moment(words))
        sys.stderr.write(f"{written(document)}\n")
    elif refusal.shown is not None:
        refusal.shown.show()
    else:
        sys.stderr.write(refusal_text(refusal.lines, refusal.hint))
    return refusal.exit_code


def was_interrupted(error: Exception) -> bool:
    """Whether it was Ctrl-C: a prompt makes the same exception of it as of a no, and Python one of its own where
    classes are made."""
    return isinstance(error, MADE_OF_CTRL_C) and isinstance(error.__context__, KeyboardInterrupt)


def refusal_of(error: Exception) -> ErrorScreen:
    """What an exception means to people."""
    if isinstance(error, HcloudError):
        problems = getattr(error, "problems", ())
        return ErrorScreen(error.lines(), error.hint, error.exit_code, problems)
    if isinstance(error, typer.Abort):
        said = "there was no answer" if isinstance(error.__context__, EOFError) else "the answer was no"
        return ErrorScreen([f"aborted: {said}"], "nothing was changed")
    if hasattr(error, "format_message"):
        return _of_typer(error)
    if isinstance(error, OSError):
        found = FileError.of(error)
        _leave_stdout(error)
        return ErrorScreen(found.lines(), found.hint)
    if isinstance(error, MemoryError) or str(error) == NO_THREAD:
        return ErrorScreen(["the memory that hcloud may use ran out"], MEMORY_HINT)
    bug = f"this is a bug in hcloud: {type(error).__name__}: {error}"
    return ErrorScreen([bug], "--debug shows where; please report it with that")


def _of_typer(error: Any) -> ErrorScreen:
    name = str(getattr(error, "option_name", "")).lstrip("-")  # the dashes of all are alike
    if found := getattr(error, "possibilities", None):
        close = get_close_matches(name, [one.lstrip("-") for one in found]) if name else found
        told = f". Did you mean {' or '.join(one for one in found if one.lstrip('-') in close)}?" if close else ""
        vars(error).update(message=f"{error}{_as_key(name, error, is_alike=not told) or told}", possibilities=None)
    elif name:
        vars(error).update(message=f"{error}{_as_key(name, error)}")
    if checked := getattr(error.__cause__, "errors", None):
        vars(error).update(message=_of_value(checked()[0]))
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if context is not None else ""
    return ErrorScreen([error.format_message()], hint, USAGE_EXIT, shown=error)


def _as_key(option: str, error: Any, *, is_alike: bool = True) -> str:
    """The key of the configuration that is meant by an option that is none, where the verb reads one: of its very name,
    or one that ``is_alike``."""
    context = getattr(error, "ctx", None)
    if not hasattr(error, "possibilities") or context is None:
        return ""
    if all(p.name != "file" or "-c" not in p.opts for p in context.command.params):  # another file than hcloud.yaml
        return ""
    from hcloud.readers.configuration.config import Config, MarketSection

    sections = {name: type(section) for name, section in Config()} | {"markets": MarketSection}
    fields = {name: getattr(section, "model_fields", ()) for name, section in sections.items()}
    keys: dict[str, list[str]] = {}
    for name, inside in fields.items():
        for key in inside:
            keys.setdefault(key, []).append(f"{name}.{key}")
    word = option.replace("-", "_")
    close = [word] if word in keys else []
    if is_alike and not close:
        close = [k for k in keys if k.startswith(f"{word}_")] or get_close_matches(word, list(keys), 1, KEY_ALIKE)
    return f". hcloud.yaml sets it as {' or '.join(keys[close[0]])}" if close else ""


def _of_value(detail: ErrorDetails) -> str:
    """What the value of a flag has to be, in our words."""
    said = must_be(detail) + _as_share(detail)
    return harmless(f"{str(detail['input'])[:80]!r} {said}" if said.startswith("must ") else said)


def _as_share(detail: ErrorDetails) -> str:
    """The share that is meant where somebody wrote percent for a flag that is at most 1."""
    percent = detail["input"]
    if detail.get("ctx", {}).get("le") != 1 or not isinstance(percent, int | float | str):
        return ""
    return f"; {percent}% is {float(percent) / 100:g}" if float(percent) <= 100 else ""


def _leave_stdout(error: OSError) -> None:
    """Python would try to flush what a full disk did not take once more on its way out, and say so."""
    if error.filename is None:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def wants_json(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON: --json, -o json, -ojson, --output json or --output=json."""
    end = words.index("--") if "--" in words else len(words)
    found = False
    for at, word in enumerate(words[:end]):
        value = words[at + 1] if word in ("-o", "--output") and at + 1 < end else word.partition("=")[2]
        value = word.removeprefix("-o") if word.startswith("-o") and len(word) > 2 else value
        found = found or word == "--json" or (word.startswith(("-o", "--output")) and value == "json")
    return found


def _moment(words: Sequence[str]) -> datetime:
    """The time that --now says, where it can be read; else the clock."""
    from hcloud.usecases.asked import moment

    given = [b for a, b in pairwise(words) if a == "--now"]
    try:
        return moment(given[-1] if given else None)
    except UsageError:
        return datetime.now(UTC).replace(microsecond=0)
