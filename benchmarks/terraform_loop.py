"""terraform beside B10: the same machines, killed and run again, where it and its AWS provider are installed.

``HYC_BENCH_TERRAFORM_PLUGINS`` names the directory its provider is in; nothing is ever downloaded. It asks for more of
EC2 than the front of our fake tells (volumes, attributes, credits), so it runs on plain moto, which answers at once and
obeys no token; its provider draws a token anew for each attempt in any case. Orphans are instances that its state does
not name after it has been run again in peace.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.naive_loop import client

PLUGINS = "HYC_BENCH_TERRAFORM_PLUGINS"
TRIALS = 5
LATEST_SECONDS = 9.0  # ours, after the first instance is there: its provider needs about eleven for each
FIRST_SECONDS = 60.0
CONFIGURATION = """
terraform {{
  required_providers {{
    aws = {{ source = "hashicorp/aws" }}
  }}
}}
provider "aws" {{
  region = "us-east-1"
  access_key = "rehearsal"
  secret_key = "rehearsal"
  skip_credentials_validation = true
  skip_metadata_api_check = true
  skip_requesting_account_id = true
  endpoints {{
    ec2 = "{url}"
    sts = "{url}"
  }}
}}
resource "aws_instance" "web" {{
  count = {count}
  ami = "ami-12c6146b"
  instance_type = "m5.large"
}}
"""


def told(count: int, seed: int) -> str:
    """A line of the output: what came of it, or why it was left out."""
    program, plugins = shutil.which("terraform"), os.environ.get(PLUGINS, "")
    if program is None:
        return "terraform: not installed, left out"
    if not Path(plugins).is_dir() or not plugins:
        return f"terraform: installed without its AWS provider ({PLUGINS} names none), left out"
    kills, orphans, doubles = _run(program, plugins, count, seed)
    lost = f"{orphans:3} orphans {doubles:3} double launches"
    return f"terraform, on moto {TRIALS:4} applies {kills:5} kills (all by SIGKILL) {lost}"


def _run(program: str, plugins: str, count: int, seed: int) -> tuple[int, int, int]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    chance, kills, orphans, doubles = Random(seed), 0, 0, 0
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        ec2 = client(url)
        before = _ids(ec2)
        for _ in range(TRIALS):
            with tempfile.TemporaryDirectory(prefix="hcloud-terraform-") as scratch:
                directory = Path(scratch)
                (directory / "main.tf").write_text(CONFIGURATION.format(url=url, count=count))
                _finished([program, "init", f"-plugin-dir={plugins}", "-input=false"], directory)
                kills += _killed(
                    program,
                    directory,
                    partial(_has_more, ec2, frozenset(before)),
                    chance.uniform(0, LATEST_SECONDS),
                )
                _finished([program, "apply", "-auto-approve", "-input=false", "-lock=false"], directory)
                live = _ids(ec2) - before
                orphans += len(live - _known(directory))
                doubles += max(len(live) - count, 0)
                before |= live
    finally:
        server.stop()
    return kills, orphans, doubles


def _environment() -> dict[str, str]:
    kept = {n: os.environ[n] for n in ("PATH", "HOME", "TMPDIR") if n in os.environ}
    return {**kept, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "AWS_EC2_METADATA_DISABLED": "true"}


def _finished(command: list[str], directory: Path) -> None:
    subprocess.run(command, cwd=directory, env=_environment(), check=True, capture_output=True, timeout=300)


def _killed(program: str, directory: Path, begun: Callable[[], bool], after_seconds: float) -> int:
    """Start an apply and kill it with its plugins, so long after its first instance; 1 where it was still at work."""
    process = subprocess.Popen(
        [program, "apply", "-auto-approve", "-input=false"],
        cwd=directory,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + FIRST_SECONDS
    while not begun() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(after_seconds)
    was_running = process.poll() is None
    if was_running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return int(was_running)


def _has_more(ec2: Any, old: frozenset[str]) -> bool:
    return bool(_ids(ec2) - old)


def _ids(ec2: Any) -> set[str]:
    pages = ec2.get_paginator("describe_instances").paginate()
    return {i["InstanceId"] for page in pages for r in page["Reservations"] for i in r["Instances"]}


def _known(directory: Path) -> set[str]:
    state = json.loads((directory / "terraform.tfstate").read_text())
    return {i["attributes"]["id"] for r in state["resources"] for i in r["instances"]}
