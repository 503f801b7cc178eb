"""Write docs/reference from the code: ``python docs/make_reference.py``; tests hold the pages against it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_calls import what_it_touches

from hcloud import errors
from hcloud.cli.examples import ENVIRONMENT, EXAMPLES
from hcloud.cli.main import VERBS, build
from hcloud.readers.configuration.config import Config
from hcloud.usecases.tools.init import DURATION, KEYS, SECTIONS, KeyText, yaml_value
from hcloud.usecases.tools.init import EXAMPLES as LISTS

REFERENCE = Path(__file__).resolve().parent / "reference"
WRITTEN = "Written by `python docs/make_reference.py`; do not edit."
FROM_FILES_ONLY = "commitments"
CONFIGURING = """\
`hcloud init` writes all of it with comments; `hcloud validate` checks a file and what it names; the schema is
[hcloud.schema.json](../schemas/hcloud.schema.json). A flag goes over `HYC_<SECTION>__<KEY>` in the environment, that
over `hcloud.yaml` (or `-f FILE`), and that over the user's own file. Durations: 90s, 10min, 1h, 7d, 2w, 1y."""


def commands() -> Iterator[str]:
    """Every verb with its arguments and options."""
    yield from ("# Commands", "", WRITTEN, "", "Flags that may stand anywhere: see [the root](#hcloud).", "")
    root = build()
    yield "| verb | what it does |"
    yield "|---|---|"
    yield from (f"| [`{name}`](#hcloud-{name}) | {text} |" for name, text in VERBS.items())
    yield from ("", "## hcloud", "", *_options(root))
    for name in VERBS:
        yield from _command(name, root.get_command(None, name))


def _command(path: str, command: Any) -> Iterator[str]:
    below = getattr(command, "commands", None) or {}
    arguments = [p for p in command.params if _is_argument(p)]
    words = " ".join(_placeholder(p) for p in arguments)
    yield from (f"## hcloud {path}", "", *(line.strip() for line in (command.help or "").splitlines()), "")
    if below:
        yield from (" · ".join(f"[`{path} {name}`](#hcloud-{path}-{name})" for name in below), "")
    else:
        yield from ("```", f"hcloud {path} [OPTIONS] {words}".rstrip(), EXAMPLES[path], "```", "")
        yield from (f"- `{_placeholder(p)}`: {_cell(p.help)}" for p in arguments)
        yield from ("",) if arguments else ()
        yield from _options(command)
    for name, found in below.items():
        yield from _command(f"{path} {name}", found)


def _is_argument(parameter: Any) -> bool:
    return not any(str(opt).startswith("-") for opt in parameter.opts)


def _placeholder(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper()).strip("[]")
    return name if parameter.required else f"[{name}]"


def _options(command: Any) -> Iterator[str]:
    options = [p for p in command.params if not _is_argument(p)]
    if not options:
        return
    yield from ("| option | default | what it does |", "|---|---|---|")
    for option in options:
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        yield f"| {names} | {_default(option)} | {_cell(option.help)} |"
    yield ""


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    if value is None or value is False or callable(value) or str(value).startswith(("/", "Sentinel")):
        return ""
    return f"`{value}`"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def configuration() -> Iterator[str]:
    """Every key of hcloud.yaml with its default, its variable and what it does."""
    yield from ("# Configuration", "", WRITTEN, "")
    yield CONFIGURING
    for section, texts in KEYS.items():
        yield from ("", f"## {section}", "", f"{SECTIONS[section]}.", "")
        yield from _section(section, texts)
    yield from ("", "## Environment", "", "| variable | what it does |", "|---|---|")
    yield from (f"| `{name}` | {text} |" for name, text in ENVIRONMENT.items())
    yield from ("", "The SDKs of the clouds read their own variables: `AWS_*`, `GOOGLE_*`, `AZURE_*`.")


def _section(section: str, texts: Mapping[str, KeyText]) -> Iterator[str]:
    is_list = section in LISTS or section == "markets"
    model: Any = LISTS[section][0] if section in LISTS else None
    values: Any = None
    if model is None:
        value = getattr(Config(), section)
        values = value[0] if isinstance(value, tuple) else value
        model = type(values)
    yield "A list; each entry has:" if is_list else "| key | default | variable | what it does |"
    yield from ("", "| key | default | what it does |", "|---|---|---|") if is_list else ("|---|---|---|---|",)
    for key, text in texts.items():
        field = model.model_fields[key]
        value = getattr(values, key) if values is not None else field.default
        shown = "needed" if field.is_required() else f"`{yaml_value(value, is_duration=text.unit == DURATION)}`"
        variable = "" if section == FROM_FILES_ONLY else f"`HYC_{section.upper()}__{key.upper()}`"
        middle = "" if is_list else f" {variable} |"
        yield f"| `{key}` | {shown} |{middle} {_cell(text.comment)} |"


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


PAGES = {
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
