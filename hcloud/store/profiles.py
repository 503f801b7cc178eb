"""Profile files written whole or not at all, in one order of keys, every number with its interval and its origin."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from hcloud.model.json_text import stamp
from hcloud.model.measured.profile import RESOURCES, Aspect, Measured, Profile
from hcloud.store.files.looked_at import check_target as check_replaced
from hcloud.store.files.whole import write_whole

FORMAT_VERSION = "1.0"
_MARK = b"format_version"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_ ./+-]*[A-Za-z0-9]|[A-Za-z]", re.ASCII)


class _Writer(yaml.SafeDumper):
    """Quotes every text that another YAML version could take for something else."""


def _text(writer: yaml.SafeDumper, text: str) -> yaml.Node:
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=None if _PLAIN.fullmatch(text) else '"')


_Writer.add_representer(str, _text)


def profile_document(profile: Profile) -> dict[str, object]:
    """The plain data of a profile in the order it is written; ValueError where a number is not finite."""
    return {
        "format_version": FORMAT_VERSION,
        "app": profile.app,
        "kind": profile.kind.name.lower(),
        "metric": {"name": profile.metric.name, "unit": profile.metric.unit, "rising": profile.metric.rising},
        "command": list(profile.command),
        "entries": {
            a.value: _columns(profile.entries[a], interference=a.is_interference)
            for a in Aspect
            if a in profile.entries
        },
        **({"failures": failures} if (failures := _failures(profile)) else {}),
        "unmeasurable": {r: profile.unmeasurable[r] for r in RESOURCES if r in profile.unmeasurable},
        "notes": list(profile.notes),
    }


def _failures(profile: Profile) -> dict[str, object]:
    return {
        aspect.value: {
            column: {"why": f.why, "at": stamp(f.at), "machine": f.machine, "source": f.source}
            for column, f in sorted(profile.failures[aspect].items(), key=lambda one: _natural(one[0]))
        }
        for aspect in Aspect
        if profile.failures.get(aspect)
    }


def profile_text(profile: Profile) -> str:
    """The YAML of a profile."""
    document = profile_document(profile)
    return yaml.dump(document, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=120)


def check_target(path: Path) -> None:
    """Refuse, with InputError, to write where no profile can or should be (a profile may replace a profile)."""
    check_replaced(path, "a profile", lambda head: head.startswith(_MARK), ".yaml", ".yml")


def save_profile(profile: Profile, path: Path) -> None:
    """Write a profile next to its final name, then rename: a crash leaves the old file or the new one, never half.

    Raises InputError as :func:`check_target` does.
    """
    check_target(path)
    text = profile_text(profile)
    write_whole(path, [text])


def _columns(columns: Mapping[str, Measured], *, interference: bool) -> dict[str, object]:
    names = [r for r in RESOURCES if r in columns] if interference else sorted(columns, key=_natural)
    return {name: _entry(columns[name]) for name in names}


def _natural(name: str) -> tuple[list[int], str]:
    return [int(digits[:9]) for digits in re.findall("[0-9]+", name)], name


def _entry(measured: Measured) -> dict[str, object]:
    numbers = (measured.value, measured.low, measured.high)
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"a profile holds finite numbers only, not {numbers}")
    return {
        "value": float(measured.value),
        "low": float(measured.low),
        "high": float(measured.high),
        "samples": measured.samples,
        "at": stamp(measured.at),
        "machine": measured.machine,
        "source": measured.source,
    }
