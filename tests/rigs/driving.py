"""Runs the driver of the stores' tests and reads what it tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("state_driver.py")


def driven(*words: str | Path, **environment: str) -> list[dict[str, Any]]:
    """The JSON objects that the driver tells; its own failure is the test's."""
    command = [sys.executable, str(DRIVER), *map(str, words)]
    known = {"PYTHONPATH": os.pathsep.join([str(DRIVER.parent), str(DRIVER.parents[2])])}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=240, env={**os.environ, **known, **environment}
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
