"""Bytes and YAML that mean harm: bombs, truncation, duplicate keys, bottomless nesting, tags, odd files."""

from __future__ import annotations

import gzip
import os
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.errors import InputError
from hcloud.readers.prices.json_text import JsonCursor, load_json
from hcloud.readers.prices.payload import decode, read_bytes
from hcloud.readers.safe_yaml import load_yaml

BOMB = "a: &a [1,2,3,4,5,6,7,8,9]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)


def test_K6_plain_yaml_resolves_scalars_as_yaml_1_2() -> None:
    text = "a: NO\nb: 010\nc: 12:30:00\nd: 2024-01-01\ne: 1_000\ng: 1e3\nh: true\ni: ~\nj:\nk: .5\nl: '1'\nm: ١٢\nn: -3"
    assert load_yaml(text, "y") == {
        "a": "NO", "b": "010", "c": "12:30:00", "d": "2024-01-01", "e": "1_000", "g": 1000.0, "h": True, "i": None,
        "j": None, "k": 0.5, "l": "1", "m": "١٢", "n": -3,
    }  # fmt: skip


def test_decimals_are_exact_on_request() -> None:
    assert load_yaml("a: 0.1\nb: 3", "y", decimals=True) == {"a": Decimal("0.1"), "b": 3}


def test_anchors_within_reason_are_fine() -> None:
    assert load_yaml("a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  k: 2", "y") == {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 2}}


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "aliases blow"),
        ("[" * 100_000, "deeper than 60"),
        ("{a: " * 100_000, "deeper than 60"),
        ("- " * 100_000, "deeper than 60"),
        ("? " * 100_000, "deeper than 60"),
        ("\n".join(" " * i + "a:" for i in range(1000)), "deeper than 60"),
        ("&a [*a]", "contains itself"),
        ("a: 1\nb: 2\na: 3", "line 3 repeats the key 'a'"),
        ("{a: 1, 'a': 2}", "repeats the key"),
        ("? [a, b]\n: 1", "as a key"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: 1\n---\nb: 2", "another document"),
        ("a: *nowhere", "undefined alias"),
        ("a: @", "cannot start any token"),
        ("a: !!int 1x", "invalid literal"),
    ],
    ids=range(15),
)
def test_K6_hostile_yaml_is_an_input_error(text: str, words: str, decimals: bool) -> None:
    with pytest.raises(InputError, match=r"^file") as error:
        load_yaml(text, "file", decimals=decimals)
    assert words in str(error.value)


@pytest.mark.parametrize("text", ["a: 1e999", "a: !!float .nan", "a: !!float -.inf"])
def test_floats_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        load_yaml(text, "file")


def test_empty_yaml_is_nothing() -> None:
    assert load_yaml("", "file") is None
    assert load_yaml("# only a comment\n", "file") is None


def test_gzip_is_unpacked_also_in_several_members() -> None:
    assert decode(gzip.compress(b"one\n") + gzip.compress(b"two\n"), "x.gz") == "one\ntwo\n"


@pytest.mark.parametrize("cut", [5, 30, -9, -1])
def test_K7_truncated_gzip_is_refused(cut: int) -> None:
    packed = gzip.compress(os.urandom(200))
    with pytest.raises(InputError, match="gzip"):
        decode(packed[:cut], "x.gz")


@pytest.mark.slow
def test_gzip_bomb_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(InputError, match="gzip bomb"):
        decode(gzip.compress(bytes(1 << 20), 9) * 200, "bomb.gz", limit=1 << 26)
    with pytest.raises(InputError, match="gzip bomb"):
        decode(gzip.compress(b"1\n" * (1 << 20), 9) * 9, "bomb.gz")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_honoured(encoding: str) -> None:
    assert decode("größe,1\n".encode(encoding), "x") == "größe,1\n"


@pytest.mark.parametrize("data", [b"", b" \n", b"\xff\xfe\xff", b"gr\xf6\xdfe", b"a\0b", "ab".encode("utf-16-le")])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode(data, "x")


def test_only_regular_files_within_the_limit_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "big").write_bytes(bytes(100))
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "absent", Path("/dev/zero")):
        with pytest.raises(InputError):
            read_bytes(path)
    with pytest.raises(InputError, match="more than the limit of 99"):
        read_bytes(tmp_path / "big", 99)


def test_json_is_exact_and_refuses_repeated_members() -> None:
    assert load_json('{"a": 0.1, "b": NaN}', "j") == {"a": Decimal("0.1"), "b": "NaN"}
    for text in ('{"a": 1, "a": 2}', '{"a": 1', "[" * 100_000, '{"a": ' + "1" * 5000 + "}", "nonsense"):
        with pytest.raises(InputError, match="not valid JSON"):
            load_json(text, "j")


def test_cursor_walks_members_and_skips_the_rest() -> None:
    cursor = JsonCursor('{"a": {"x": 1, "y": [2, {}]}, "skip": {"deep": {"er": [1]}}, "b": {}, "c": 3}', "j")
    seen: list[object] = []
    for name in cursor.names():
        if name == "a":
            seen += [(inner, cursor.value()) for inner in cursor.names()]
        elif name == "c":
            seen.append(cursor.value())
        else:
            seen.append(name)
    assert seen == [("x", 1), ("y", [2, {}]), "skip", "b", 3]


@pytest.mark.parametrize("text", ["", "[]", '{"a"', '{"a": 1 "b": 2}', '{"a": 1,', "{1: 2}", '{"a": {"b": }}'])
def test_cursor_refuses_broken_json(text: str) -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        list(JsonCursor(text, "j").names())
