"""Write docs/reference from the code: ``python docs/make_reference.py``; tests hold the pages against it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_calls import what_it_touches

from hcloud import errors
from hcloud.cli.examples import EXAMPLES
from hcloud.cli.root import build
from hcloud.cli.verb_groups import VERBS
from hcloud.readers.configuration.config import Config
from hcloud.readers.section import DURATION
from hcloud.units import DURATIONS
from hcloud.usecases.tools.init import EXAMPLES as LISTS
from hcloud.usecases.tools.init import texts_of, yaml_value

REFERENCE = Path(__file__).resolve().parent / "reference"
WRITTEN = "Written by `python docs/make_reference.py`; do not edit."
COMMON = 2
"""Verbs that have an option in common, from which on it stands in one table for all."""
INTRODUCTION = "`hcloud VERB --help` prints the same, with the formats that an option takes."

CONFIGURING = f"""\
`hcloud init` writes every key with a comment; `hcloud validate` checks a file and the files it names; the schema is
[hcloud.schema.json](../schemas/hcloud.schema.json). A flag overrides the environment variable `HYC_<SECTION>__<KEY>`,
the variable overrides `hcloud.yaml` (or `-f FILE`), and that overrides the user's own file. There is no variable for a
list and none for the section `commitments`. Durations: {DURATIONS} or in words (2 years)."""

ENVIRONMENT: Mapping[str, str] = {
    "HYC_SECTION__KEY": "any key of hcloud.yaml but those of commitments, for example HYC_LIVE__CLOUD=fake",
    "HYC_CONFIG": "the configuration, where --file names none",
    "HYC_STATE": "the state, where --state names none",
    "HYC_PRICES": "the folder of imported prices",
    "HYC_ALLOW_PURCHASE": "1 opens one of the five gates before a purchase",
    "HYC_AWS_PRICE_ENDPOINT": "where 'pricing refresh' asks, instead of Amazon's own address",
    "HYC_AZURE_PRICE_ENDPOINT": "the same for Azure",
    "HYC_GCP_PRICE_ENDPOINT": "the same for Google",
    "HYC_GCP_API_KEY": "the key that Google's price interface asks for",
    "HYC_GCP_ACCESS_TOKEN": "a token instead of that key",
    "HYC_UNSAFE_STORE": "1 takes a bucket that ignores conditional writes, as --unsafe-store",
    "NO_COLOR": "no colour, as --no-color",
    "CI": "never ask",
    "COLUMNS": "the width of tables",
}
"""What is read from the environment; the SDKs read AWS_*, GOOGLE_*, AZURE_* themselves."""


class Option(NamedTuple):
    """An option: its names, what it does and its default."""

    names: str
    text: str
    default: str


def commands() -> Iterator[str]:
    """Every verb with its arguments and options; an option that several verbs have in common stands once."""
    root = build()
    verbs = [(name, root.get_command(None, name)) for name in VERBS]
    common = _common(command for _, command in _leaves(verbs))
    yield from (
        "# Commands",
        "",
        WRITTEN,
        "",
        INTRODUCTION,
        "",
        f"Verbs: {', '.join(f'[`{name}`](#hcloud-{name})' for name in VERBS)}.",
        "",
    )
    yield from ("## Options of every verb", "", "Write these before the verb.", "", *_lines(_options(root)), "")
    yield from ("## Common options", "", "Each verb names those that it takes.", "", *_lines(common), "")
    for name, command in verbs:
        below = list(_leaves([(name, command)]))
        if below == [(name, command)]:
            yield from _verb("##", name, command, common)
            continue
        yield from (f"## hcloud {name}", "", *_help(command), "")
        for path, found in below:
            yield from _verb("###", path, found, common)


def _leaves(commands: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, command in commands:
        below = getattr(command, "commands", None) or {}
        yield from _leaves((f"{name} {word}", found) for word, found in below.items()) if below else [(name, command)]


def _common(commands: Iterable[Any]) -> list[Option]:
    """Options of several verbs; of a name with several texts the most frequent one."""
    counted = Counter(option for command in commands for option in _options(command)).most_common()
    first = {option.names: option for option, verbs in reversed(counted) if verbs >= COMMON}
    return sorted(first.values())


def _verb(mark: str, path: str, command: Any, common: Collection[Option]) -> Iterator[str]:
    arguments = [p for p in command.params if _is_argument(p)]
    yield from (f"{mark} hcloud {path}", "", *_help(command), "")
    yield from ("```", EXAMPLES[path], "```", "")
    own = [option for option in _options(command) if option not in common]
    lines = [*(f"- `{_placeholder(p)}`: {_words(p.help)}" for p in arguments), *_lines(own)]
    yield from (*lines, "") if lines else ()
    if shared := [option.names.partition(", ")[0] for option in _options(command) if option in common]:
        yield from (f"Common options: {', '.join(shared)}.", "")


def _help(command: Any) -> list[str]:
    return [line.strip() for line in (command.help or "").splitlines()]


def _is_argument(parameter: Any) -> bool:
    return not any(str(opt).startswith("-") for opt in parameter.opts)


def _placeholder(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper()).strip("[]")
    return name if parameter.required else f"[{name}]"


def _options(command: Any) -> list[Option]:
    options = [p for p in command.params if not _is_argument(p)]
    return [
        Option(", ".join(f"`{name}`" for name in (*p.opts, *p.secondary_opts)), _words(p.help), _default(p))
        for p in options
    ]


def _lines(options: Iterable[Option]) -> list[str]:
    return [f"- {o.names}: {o.text}{f' Default: `{o.default}`.' if o.default else ''}" for o in options]


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    if value is None or value is False or callable(value) or str(value).startswith(("/", "Sentinel")):
        return ""
    return str(value)


def _words(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str | None) -> str:
    return _words(text).replace("|", "\\|")


def configuration() -> Iterator[str]:
    """Every key of hcloud.yaml with its default, its variable and what it does."""
    yield from ("# Configuration", "", WRITTEN, "")
    yield CONFIGURING
    for section, text in texts_of(Config).items():
        if section != "format_version":
            yield from ("", f"## {section}", "", f"{text}.", "")
            yield from _section(section)
    yield from ("", "## Environment", "", "| variable | what it does |", "|---|---|")
    yield from (f"| `{name}` | {text} |" for name, text in ENVIRONMENT.items())
    yield from ("", "The SDKs of the clouds read their own variables: `AWS_*`, `GOOGLE_*`, `AZURE_*`.")


def _section(section: str) -> Iterator[str]:
    model: Any = LISTS[section][0] if section in LISTS else None
    values: Any = None
    if model is None:
        value = getattr(Config(), section)
        values = value[0] if isinstance(value, tuple) else value
        model = type(values)
    yield from ("A list; each entry has:", "") if section in LISTS or section == "markets" else ()
    yield from ("| key | default | what it does |", "|---|---|---|")
    for key, text in texts_of(model).items():
        field = model.model_fields[key]
        value = getattr(values, key) if values is not None else field.default
        shown = "required" if field.is_required() else f"`{yaml_value(value, is_duration=text.endswith(DURATION))}`"
        yield f"| `{key}` | {shown} | {_cell(text)} |"


def exit_codes() -> Iterator[str]:
    """What each exit code means, and the errors behind it."""
    yield from ("# Exit codes", "", WRITTEN, "", "| code | what it means | errors |", "|---|---|---|")
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.HcloudError)]
    for code, text in errors.EXIT_CODES.items():
        names = [f"`{e.__name__}`" for e in found if e.exit_code == code and e is not errors.HcloudError]
        yield f"| {code} | {text} | {', '.join(names) if code > 1 else ''} |"
    yield from (
        "",
        "An error says what, where, why and, after `hint:`, what to do next; `--debug` shows where in the code.",
        "",
        "Where JSON was asked for (`--json`, `-o json`), the last line of stderr is the error as JSON, by",
        "[error.schema.json](../schemas/error.schema.json): `what`, `hint`, `exit_code` and `problems`, each with its",
        "file, place, value and what is allowed. stdout then stays empty: it carries results only. Every other",
        "document that a verb prints has a schema beside it, too.",
    )


PAGES: Mapping[str, Callable[[], Iterable[str]]] = {
    "commands.md": commands,
    "configuration.md": configuration,
    "exit-codes.md": exit_codes,
    "what-it-touches.md": lambda: what_it_touches(WRITTEN),
}


def page(name: str) -> str:
    """One page as it should be."""
    return "\n".join(PAGES[name]()).rstrip("\n") + "\n"


def main() -> None:
    """Write all pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name in PAGES:
        (REFERENCE / name).write_text(page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
