"""YAML read defensively: no tags that run code, no duplicate keys, no alias bombs, no bottomless nesting."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import yaml

from hcloud.errors import InputError
from hcloud.model.json_text import said

if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DEEPEST = 60
MOST_NODES = 3_000_000
_MOST_EXPANSION = 4
_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", "<<", "<"),
)
_DEEP_LINE = re.compile(rf"^ {{{4 * DEEPEST},}}|(?:[-?:][ \t]+){{{DEEPEST},}}", re.MULTILINE)


class _Loader(_Base):
    """Resolves the scalars of YAML 1.2: ``NO``, ``010``, ``1_000``, ``12:30:00`` and dates stay text."""


class _DecimalLoader(_Loader):
    """The same with exact decimals in place of binary floats, for files of prices."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z", re.ASCII), _first)


def _finite_float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    value = float(str(loader.construct_scalar(node)))
    if not math.isfinite(value):
        raise ValueError(f"line {_line(node)}: {node.value!r} is not a finite number")
    return value


def _exact_decimal(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Decimal:
    return Decimal(str(loader.construct_scalar(node)))


_Loader.add_constructor("tag:yaml.org,2002:float", _finite_float)
_DecimalLoader.add_constructor("tag:yaml.org,2002:float", _exact_decimal)


def load_yaml(text: str, name: str, *, decimals: bool = False) -> object:
    """The one document in ``text`` as dicts, lists, strings, ints, floats (or Decimals), booleans and None.

    Raises InputError naming the line for everything that is not plain, finite data: broken syntax, a second document,
    tags, duplicate keys, self-reference, aliases that multiply the document, nesting deeper than 60 levels.
    """
    try:
        _check_depth(text, name)
        loader = (_DecimalLoader if decimals else _Loader)(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_nodes(node, name)
            value: object = loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        sort, why = "JSON" if name.endswith(".json") else "YAML", said(error).replace('in "<unicode string>", ', "at ")
        raise InputError(f"{name} cannot be read as {sort}: {why}") from error
    return value


def _check_depth(text: str, name: str) -> None:
    """Refuse deep nesting before it is composed: composing recurses in C, where no Python limit holds it."""
    if text.count("[") + text.count("{") <= DEEPEST and _DEEP_LINE.search(text) is None:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise InputError(f"{name}: line {_line(event)} nests deeper than {DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_nodes(root: yaml.Node, name: str) -> None:
    """Refuse duplicate keys, cycles and aliases that make a small document large."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, closing = stack.pop()
        if closing:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(c)] for c in _children(node))
            continue
        if id(node) in open_nodes:
            raise InputError(f"{name}: line {_line(node)} contains itself")
        if id(node) in sizes:
            continue
        if isinstance(node, yaml.MappingNode):
            _check_keys(node, name)
        if isinstance(node, yaml.ScalarNode):
            sizes[id(node)] = 1
            continue
        open_nodes.add(id(node))
        stack.append((node, True))
        stack.extend((c, False) for c in _children(node))
    if sizes[id(root)] > min(MOST_NODES, 1000 + _MOST_EXPANSION * len(sizes)):
        raise InputError(f"{name}: its aliases blow {len(sizes)} nodes up to {sizes[id(root)]}")


def _check_keys(node: yaml.MappingNode, name: str) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(f"{name}: line {_line(key)} uses a list or mapping as a key")
        if (key.tag, key.value) in seen:
            raise InputError(f"{name}: line {_line(key)} repeats the key {key.value!r}")
        seen.add((key.tag, key.value))


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _line(place: yaml.Node | yaml.Event) -> int:
    return place.start_mark.line + 1 if place.start_mark is not None else 0
