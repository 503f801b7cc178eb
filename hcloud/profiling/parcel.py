"""A probe that travels: the start-up script that measures an application elsewhere, and what comes back of it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hcloud import __version__
from hcloud.errors import HcloudError, UsageError
from hcloud.installation import pinned_source, requirement
from hcloud.model.json_text import parsed
from hcloud.model.measured.app import App, CompletionTime, HttpLoad, PrintedMetric
from hcloud.model.measured.profile import Metric
from hcloud.model.workload import JobKind

LARGEST_SCRIPT = 16_384
"""Bytes of user data that EC2 takes, the least of the clouds."""
LARGEST_PACKED = 256 << 10  # ours: a full profile takes 4 KiB
LARGEST_RESULT = 1 << 20  # ours
LARGEST_CONSOLE = 8 << 20  # ours: clouds keep 1 MiB at most
SHOWN = 300
_WORD = "hcloud-probe"
_SECRET = re.compile("SECRET|TOKEN|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY")

_SCRIPT = """#!/bin/sh
# hcloud {version}: measure one application here, and print its profile to the console in lines that begin {word}.
umask 077
tell() {{ printf '%s %s none %s\\n' {word} {nonce} "$1"; exit 1; }}
cd "$(mktemp -d)" || tell 'no folder can be made'
cat > app.yaml <<'{nonce}'
{app}
{nonce}
cat > tell.py <<'{nonce}'
{teller}
{nonce}
command -v python3 > tell.txt || tell 'this image has no python3'
export PYTHONPATH="$PWD/lib${{PYTHONPATH:+:$PYTHONPATH}}"
if ! python3 -c 'import hcloud.profiling' 2> tell.txt; then
  {install} > tell.txt 2>&1 || tell "hcloud cannot be installed here: $(tail -n 1 tell.txt)"
fi
python3 -m hcloud profile run -f app.yaml --json --out profile.yaml {flags} > run.json 2> error.txt
python3 tell.py $?
"""
_TELLER = """import base64, hashlib, json, os, sys, zlib
def text(name):
    return open(name, errors="replace").read() if os.path.isfile(name) else ""
said = {"exit": int(sys.argv[1]), "error": text("error.txt")[-2000:], "profile": text("profile.yaml")}
packed = base64.b64encode(zlib.compress(json.dumps(said).encode(), 9)).decode()
print(MARK, "begin", len(packed), hashlib.sha256(packed.encode()).hexdigest())
for at in range(0, len(packed), 64):
    print(MARK, "%06d" % at, packed[at:at + 64])
print(MARK, "end", flush=True)"""


class ParcelError(HcloudError):
    """What came back from a machine is no result."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What came back: how the probe ended there, what it complained about, and the text of the profile."""

    exit_code: int
    error: str
    profile: str


def start_up(app: App, flags: Sequence[str], nonce: str) -> str:
    """The script; UsageError where no cloud would take it. Nothing of this machine but the description goes along."""
    teller = _TELLER.replace("MARK", repr(f"{_WORD} {nonce}"))
    script = _SCRIPT.format(
        version=__version__,
        word=_WORD,
        nonce=nonce,
        app=json.dumps(app_document(app), indent=1, ensure_ascii=False),
        teller=teller,
        install=_install(),
        flags=shlex.join(flags),
    )
    try:
        size = len(script.encode())
    except UnicodeEncodeError:
        raise UsageError("the description of the application is not UTF-8 text") from None
    if size > LARGEST_SCRIPT:
        raise UsageError(f"the start-up script has {size} bytes, clouds take {LARGEST_SCRIPT}")
    return script


def _install() -> str:
    """What installs this hcloud on another machine: never by the name on the package index, which is nobody's."""
    if pinned_source() is None:
        return "(echo 'it is not in the image, and was not installed from a repository where the probe began'; exit 1)"
    return f"python3 -m pip install --quiet --target lib {shlex.quote(requirement())}"


def check_no_secrets(script: str, environment: Mapping[str, str]) -> None:
    """Refuse a script that holds what the environment calls a secret: clouds show start-up scripts to many."""
    for name, value in sorted(environment.items()):
        if _SECRET.search(name) and len(value) >= 8 and value in script:
            raise UsageError(
                f"the description of the application holds the value of {name}",
                hint="a start-up script is no place for a secret: whoever may look at the machine can read it",
            )


def app_document(app: App) -> dict[str, object]:
    """An application as app.yaml has it; without a budget, which is kept from here."""
    found: dict[str, object] = {
        "format_version": "1.0",
        "name": app.name,
        "kind": app.kind.name.lower(),
        "command": list(app.command),
        "shape": _given({"vcpus": app.shape.vcpus, "memory_gib": app.shape.memory_gib}),
        "warm_up": f"{int(app.warm_up)}s",
        "time_cap": f"{int(app.limits.total_seconds)}s",
        "run_cap": f"{int(app.limits.run_seconds)}s",
    }
    if app.ready is not None and app.kind is JobKind.SERVICE:
        found["ready"] = _given({"port": app.ready.port, "url": app.ready.url, "line": app.ready.line})
    if (metric := _metric(app)) is not None:
        found["metric"] = metric
    return found


def _metric(app: App) -> dict[str, object] | None:
    measure = app.measure
    if isinstance(measure, CompletionTime):
        return None
    if isinstance(measure, HttpLoad):
        of = "throughput" if measure.metric.rising else "p99"
        return {"url": measure.url, "connections": measure.connections, "seconds": measure.seconds, "of": of}
    if isinstance(measure, PrintedMetric):
        return {"printed": measure.pattern, **_named(measure.metric)}
    return {"load": list(measure.command), "pattern": measure.pattern, **_named(measure.metric)}


def _named(metric: Metric) -> dict[str, object]:
    return {"name": metric.name, "unit": metric.unit, "better": "higher" if metric.rising else "lower"}


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {k: v for k, v in values.items() if v is not None}


def opened(console: str, nonce: str) -> Parcel | None:
    """What came back by what a console shows until now; None while it is not all there.

    Raises ParcelError where it never will be: the machine says why, or what it sent is damaged.
    """
    if len(console) > LARGEST_CONSOLE:
        raise ParcelError(f"the console holds {len(console)} characters, more than any cloud keeps")
    mark = f"{_WORD} {nonce} "
    said = [line.partition(mark)[2].strip() for line in console.splitlines() if mark in line]
    for words in said:
        if words.startswith("none "):
            raise ParcelError(f"nothing was measured there: {shown(words.removeprefix('none '))}")
    if "end" not in said:
        return None
    heads = [found for words in said if (found := re.fullmatch(r"begin (\d{1,9}) ([0-9a-f]{64})", words))]
    if not heads:
        raise ParcelError("the console shows the end of a result without its beginning")
    length, digest = int(heads[-1][1]), heads[-1][2]
    if length > LARGEST_PACKED:
        raise ParcelError(f"a result of {length} characters is announced; a profile never takes {LARGEST_PACKED}")
    chunks = [found for words in said if (found := re.fullmatch(r"(\d{6}) ([A-Za-z0-9+/=]{1,64})", words))]
    packed = "".join(part for _, part in sorted({int(c[1]): c[2] for c in chunks}.items()))
    if len(packed) != length or hashlib.sha256(packed.encode()).hexdigest() != digest:
        raise ParcelError(f"the result is damaged: {len(packed)} of {length} characters came back as they were sent")
    return _unpacked(packed)


def _unpacked(packed: str) -> Parcel:
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(base64.b64decode(packed, validate=True), LARGEST_RESULT)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise ParcelError(f"the result is larger than {LARGEST_RESULT} bytes, or cut off")
        found = parsed(data)
        exit_code, error, profile = found["exit"], found["error"], found["profile"]
    except (ValueError, zlib.error, KeyError, TypeError) as broken:
        raise ParcelError(f"the result makes no sense: {broken}") from broken
    if type(exit_code) is not int or not isinstance(error, str) or not isinstance(profile, str):
        raise ParcelError("the result makes no sense: it is not what a probe sends")
    return Parcel(exit_code, error, profile)


def shown(text: str, most: int = SHOWN) -> str:
    """The end of a foreign text on one line, without anything that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))[-most:]


def complaint(parcel: Parcel) -> str:
    """What a probe complained about: the error that ends its words as JSON, without what surrounds it."""
    try:
        return shown(parsed(parcel.error.strip().rpartition("\n")[2])["error"]["what"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return shown(parcel.error)
