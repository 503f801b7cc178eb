"""What a configuration is put together from: files, and the environment over them. Each problem is told of the one that
it stands in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_origin

from hcloud.errors import FileError, InputError, did_you_mean
from hcloud.model.files import HEAD, check_sort
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import Section, keys_at
from hcloud.units import and_last, counted

ENVIRONMENT = "HYC_"
STATE = "HYC_STATE"
_ANYBODYS = ("os", "vcpus", "options", "gpus")
"""Keys of a market that mean other things too, so that a variable named after one alone may be anybody's."""
_EVERY_KEY = "'hcloud init --dir DIRECTORY' writes every key with what it does"

Content = Mapping[str, object]
Layer = tuple[str, Content]
"""The name of a file or a variable, and the sections in it."""


def read_layer(path: Path) -> Layer:
    """The sections in a file; InputError where it holds something else, FileError where it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    if not data.strip():
        return str(path), {}
    check_sort(path, data[:HEAD], "a configuration")
    try:
        content = load_yaml(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    if content is None:
        return str(path), {}
    if not isinstance(content, dict) or not all(isinstance(k, str) for k in content):
        raise InputError(f"{path}: the configuration must be a mapping of sections", hint="see 'hcloud init'")
    return str(path), content


def environment_layers(model: type[Section], environment: Mapping[str, str]) -> Iterator[Layer]:
    """What ``HYC_<SECTION>__<KEY>`` and ``HYC_STATE`` say; InputError for a key that there is not, and for settings of
    purchases."""
    fields = {name: field.annotation for name, field in model.model_fields.items()}
    sections = [name for name, annotation in fields.items() if isinstance(annotation, type)]
    lists = [name for name, annotation in fields.items() if get_origin(annotation) is tuple]
    of_markets = {_singular(key) for key in keys_at(model, ("markets",)) if key not in _ANYBODYS}
    keys = {f"{section}__{key}": (section, key) for section in sections for key in keys_at(model, (section,))}
    for name, text in sorted(environment.items()):
        if not name.startswith(ENVIRONMENT) or name == STATE:
            continue
        bare = name.removeprefix(ENVIRONMENT).lower()
        meant = [one for one, (section, key) in keys.items() if bare in (one, f"{section}_{key}", key)]
        if bare.startswith("commitments__") or any(keys[one][0] == "commitments" for one in meant):
            raise InputError(f"{name}: purchase settings must be in a file, not in the environment")
        if bare in keys:
            section, key = keys[bare]
            yield name, {section: {key: load_yaml(text, name)}}
        elif meant:
            told = " or ".join(f"{ENVIRONMENT}{one}".upper() for one in meant)
            raise InputError(f"{name}: a section stands before the key, and two underscores; did you mean {told}?")
        elif found := next(
            (one for one in lists if _singular(bare.partition("_")[0]) == _singular(one)),
            "markets" if _singular(bare) in of_markets else "",
        ):
            raise InputError(f"{name}: {found} is a list: write it in a file, not in the environment", hint=_EVERY_KEY)
        elif "__" in bare:
            asked = bare.replace("__", ".", 1)
            guess = did_you_mean(asked, [".".join(place) for place in keys.values()])
            raise InputError(f"{name}: the configuration has no key {asked}{guess}", hint=_EVERY_KEY)
    if place := environment.get(STATE):
        yield STATE, {"live": {"state": place if "://" in place else str(Path(place).absolute())}}


def _singular(word: str) -> str:
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")


def merged(layers: Iterable[Layer]) -> dict[str, object]:
    """The layers over one another, the last on top."""
    found: dict[str, object] = {}
    for _, content in layers:
        found = _merge(found, content)
    return found


def _merge(under: Content, over: Content) -> dict[str, object]:
    found = dict(under)
    for key, value in over.items():
        below = found.get(key)
        found[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def told_of(error: InputError, layers: Sequence[Layer]) -> InputError:
    """The same problems, each with the layer that its value is from."""
    if not error.problems:
        return error
    problems = [replace(p, file=_source(layers, p.where.split("."), p.file)) for p in error.problems]
    sources = and_last(list(dict.fromkeys(p.file for p in problems)))
    return InputError(f"{sources}: {counted(len(problems), 'problem')} in the configuration", problems, hint=error.hint)


def _source(layers: Sequence[Layer], place: Sequence[str], usual: str) -> str:
    """The layer that says most of a place, of several the topmost, which went over the others."""
    depth, _, source = max((_depth(content, place), at, name) for at, (name, content) in enumerate(layers))
    return source if depth else usual


def _depth(content: object, place: Sequence[str]) -> int:
    if not place or not isinstance(content, dict) or place[0] not in content:
        return 0
    return 1 + _depth(content[place[0]], place[1:])
