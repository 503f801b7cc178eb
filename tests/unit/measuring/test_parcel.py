"""The probe that travels: what goes there, and that nothing which comes back is believed unless it is whole."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import zlib
from pathlib import Path

import pytest

from hcloud.errors import UsageError
from hcloud.profiling.parcel import (
    LARGEST_CONSOLE,
    LARGEST_PACKED,
    Parcel,
    ParcelError,
    app_document,
    check_no_secrets,
    opened,
    shown,
    start_up,
)
from hcloud.readers.applications.app import load_app

NONCE = "0123456789abcdef"
SAID = {"exit": 0, "error": "", "profile": "format_version: '1.0'\n"}
SERVICE = {
    "name": "redis",
    "kind": "service",
    "command": ["redis-server", "--port", "7391", "--save", "", 'it\'s ü "q"'],
    "ready": {"port": 7391},
    "shape": {"vcpus": 1, "memory_gib": 2},
    "warm_up": "2s",
    "metric": {"load": ["bench"], "pattern": r'"([0-9.]+)"', "name": "p99", "unit": "ms", "better": "lower"},
    "time_cap": "10min",
    "run_cap": "90s",
}
BATCH = {
    "name": "etl",
    "command": ["./etl"],
    "metric": {"printed": "r=(.+)", "name": "r", "unit": "1/s", "better": "higher"},
}
HTTP = {
    "name": "web",
    "kind": "service",
    "command": ["w"],
    "metric": {"url": "http://127.0.0.1:1/", "of": "throughput"},
}


def console(said: object = SAID, nonce: str = NONCE, packed: str | None = None) -> str:
    """What a machine prints that has measured."""
    text = packed if packed is not None else base64.b64encode(zlib.compress(json.dumps(said).encode())).decode()
    mark = f"hcloud-probe {nonce}"
    lines = [f"{mark} begin {len(text)} {hashlib.sha256(text.encode()).hexdigest()}"]
    lines += [f"{mark} {at:06d} {text[at : at + 64]}" for at in range(0, len(text), 64)]
    return "\n".join(["[    0.0] Linux", *lines, f"{mark} end", "login:"])


@pytest.mark.parametrize("document", [SERVICE, BATCH, HTTP, {"name": "sleep", "command": ["sleep", "1"]}])
def test_a_description_arrives_as_it_was(document: dict[str, object], tmp_path: Path) -> None:
    app = load_app(None, document)
    path = tmp_path / "app.yaml"
    path.write_text(json.dumps(app_document(app), ensure_ascii=False), encoding="utf-8")
    assert load_app(path, {}) == app


@pytest.mark.parametrize("document", [SERVICE, BATCH, HTTP])
def test_the_script_is_one_that_a_shell_reads(document: dict[str, object]) -> None:
    script = start_up(load_app(None, document), ("--resources", "none"), NONCE)
    assert subprocess.run(["/bin/sh", "-n"], input=script.encode(), check=False).returncode == 0
    assert script.startswith("#!")


def test_a_description_that_no_cloud_would_take_is_refused() -> None:
    with pytest.raises(UsageError, match="bytes"):
        start_up(load_app(None, {"name": "x", "command": ["x", "y" * 20_000]}), (), NONCE)


def test_V7_a_description_that_holds_a_secret_of_the_environment_is_refused() -> None:
    script = start_up(load_app(None, {"name": "x", "command": ["x", "--key", "canary-12345678"]}), (), NONCE)
    with pytest.raises(UsageError, match="AWS_SECRET_ACCESS_KEY") as caught:
        check_no_secrets(script, {"AWS_SECRET_ACCESS_KEY": "canary-12345678"})
    assert "canary" not in str(caught.value)
    check_no_secrets(script, {"AWS_SECRET_ACCESS_KEY": "another-12345678", "HOME": "canary-12345678"})


def test_a_result_is_opened_whatever_stands_between_its_lines() -> None:
    noisy = "\n".join(f"[  12.3] cloud-init[77]: {line}\n[  12.4] kernel: eth0 up" for line in console().splitlines())
    assert opened(noisy, NONCE) == opened(console() * 2, NONCE) == Parcel(0, "", "format_version: '1.0'\n")


@pytest.mark.parametrize("text", ["", "booting", console(nonce="f" * 16), console().partition(" end")[0]])
def test_what_is_not_all_there_is_waited_for(text: str) -> None:
    assert opened(text, NONCE) is None


def test_a_machine_that_cannot_measure_says_why() -> None:
    with pytest.raises(ParcelError, match="there is no python3"):
        opened(f"hcloud-probe {NONCE} none there is no python3\x1b[2J", NONCE)


@pytest.mark.parametrize(
    "text",
    [
        f"hcloud-probe {NONCE} end",
        console().replace("begin", "bogus"),
        console().replace(" 000000 ", " 000001 ").replace("A", "B"),
        "\n".join(line for line in console().splitlines() if " 000064 " not in line and " 000000 " not in line),
        f"hcloud-probe {NONCE} begin {LARGEST_PACKED + 1} {'0' * 64}\nhcloud-probe {NONCE} end",
        console(packed="####"),
        console(packed="AAAA"),
        console(packed=base64.b64encode(zlib.compress(b"\0" * (8 << 20))).decode()),
        console(packed=base64.b64encode(zlib.compress(b"[" * 100_000)).decode()),
        console("text"),
        console({"exit": "0", "error": "", "profile": ""}),
        console({"exit": 0, "error": ""}),
        "x" * (LARGEST_CONSOLE + 1),
    ],
)
def test_what_comes_back_damaged_huge_or_senseless_is_an_error(text: str) -> None:
    with pytest.raises(ParcelError):
        opened(text, NONCE)


def test_foreign_words_reach_the_terminal_without_what_it_would_obey() -> None:
    assert shown("a\x1b[31m\tb\nc\u202e") == "a [31m b c "
