"""``hcloud init``: a commented hcloud.yaml, every key of the schema with its default, its unit and what it does."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

from pydantic import BaseModel

from hcloud.errors import HcloudError, UsageError, writing
from hcloud.model.catalog import USUAL_PROVIDER
from hcloud.readers.configuration.config import FILE_NAME, Config, MarketSection
from hcloud.readers.configuration.live_sections import FleetSection
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import DURATION
from hcloud.store.files.whole import write_shown
from hcloud.units import DURATIONS, format_duration
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX

COMMENT_COLUMN, WIDTH, NARROWEST = 30, 110, 30
_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*")


_HEAD = (
    "hcloud.yaml: what ran, at which prices, which offers a plan may choose from, and how far it looks ahead.",
    "Every key is here with its default; delete those you do not change.",
    f"Durations: {DURATIONS} or in words (2 years).",
    "'hcloud validate' checks this file and what it names; 'hcloud validate --schema' prints its JSON schema.",
    "HYC_<SECTION>__<KEY> in the environment goes over this file, flags of a verb over both.",
)
EXAMPLES: Mapping[str, tuple[type[BaseModel], Mapping[str, object]]] = {
    "owned": (
        OwnedSection,
        {
            "provider": USUAL_PROVIDER,
            "region": "us-east-1",
            "instance_type": "m6i.4xlarge",
            "option": "reserved-instance",
            "term_years": 1,
            "count": 10,
            "expires": "2027-06-30",
        },
    ),
    "fleet": (FleetSection, {"address": "web", "instance_type": "m6i.4xlarge", "count": 4}),
}
"""Lists that are empty by default, with an entry to start from."""


def write_config(directory: Path, workload: str | None, *, force: bool) -> Path:
    """Write hcloud.yaml into a directory and give its path.

    Raises HcloudError where one is there already (without ``force``), UsageError for a directory or workload that
    cannot be used.
    """
    path = directory / FILE_NAME
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: is not a directory")
    if (path.exists() or path.is_symlink()) and not force:
        raise HcloudError(f"{path} already exists and is left unchanged", hint="--force replaces it")
    text = config_text(_workload(workload, directory))
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    write_shown(path, text)
    return path


def config_text(workload: Mapping[str, str] | None = None) -> str:
    """The commented file; it loads to the defaults, with the workload's keys in place of theirs."""
    config = Config()
    lines = [*(f"# {line}" for line in _HEAD)]
    texts = texts_of(Config)
    lines += _key("format_version", config.format_version, texts.pop("format_version"), "")
    for name, text in texts.items():
        lines += ["", f"# {text}"]
        if name == "markets":
            lines += ["markets:", *_entry(MarketSection())]
        elif name in EXAMPLES:
            lines += [f"{name}: []", f"# {name}:", *_example(name)]
        else:
            given = workload if name == "workload" and workload else {}
            lines += [f"{name}:", *_section(getattr(config, name), given)]
    return "\n".join(lines) + "\n"


def texts_of(section: type[BaseModel]) -> dict[str, str]:
    """What each key of a section does, in their order."""
    return {name: field.description or "" for name, field in section.model_fields.items()}


def _section(section: BaseModel, given: Mapping[str, str]) -> Iterator[str]:
    for key, text in texts_of(type(section)).items():
        yield from _key(key, given.get(key, getattr(section, key)), text, "  ")


def _entry(section: BaseModel) -> Iterator[str]:
    lines = [
        line for key, text in texts_of(type(section)).items() for line in _key(key, getattr(section, key), text, "    ")
    ]
    yield f"  - {lines[0].removeprefix('    ')}"
    yield from lines[1:]


def _example(name: str) -> Iterator[str]:
    """The keys of a list that is empty by default, as an example that only has to be uncommented."""
    section, example = EXAMPLES[name]
    fields = section.model_fields
    indent = "#   - "
    for key, text in texts_of(section).items():
        value = example.get(key, None if fields[key].is_required() else fields[key].default)
        yield from _key(key, value, text, indent)
        indent = "#     "


def _key(key: str, value: object, text: str, indent: str) -> Iterator[str]:
    shown = yaml_value(value, is_duration=text.endswith(DURATION))
    left = f"{indent}{key}: {shown}"
    column = max(COMMENT_COLUMN, len(left) + 1)
    words = textwrap.wrap(text, width=max(WIDTH - column - 2, NARROWEST))
    yield f"{left:<{column}}# {words[0]}"
    yield from (f"{'#' if indent.startswith('#') else '':<{column}}# {more}" for more in words[1:])


def yaml_value(value: object, *, is_duration: bool = False) -> str:
    """A default as a person writes it in YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and is_duration:
        return format_duration(value)
    if isinstance(value, tuple):
        return f"[{', '.join(yaml_value(v) for v in value)}]"
    if isinstance(value, dict):
        return "{}"
    text = str(value.value if isinstance(value, Enum) else value)
    if not isinstance(value, str) or (_PLAIN.fullmatch(text) and load_yaml(text, FILE_NAME) == text):
        return text
    escaped = text.replace("'", "''")
    return f'"{text}"' if text.replace(".", "").isdigit() else f"'{escaped}'"


def _workload(named: str | None, directory: Path) -> Mapping[str, str]:
    if named is None:
        return {}
    if named.startswith(SCENARIO_PREFIX):
        return {"scenario": named.removeprefix(SCENARIO_PREFIX)}
    path, home = Path(named).absolute(), directory.absolute()
    if not path.exists():
        raise UsageError(f"{named}: no such workload", hint=f"a file, or {SCENARIO_PREFIX}high-variability")
    return {"path": str(path.relative_to(home) if path.is_relative_to(home) else path)}
