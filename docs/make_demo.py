"""Write docs/research/transcripts/demo.md from a run of the demo: ``python docs/make_demo.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "research" / "transcripts" / "demo.md"
HEAD = """\
# What the demo shows

Written by `python docs/make_demo.py` from a real run. Digests and times differ between runs. Without `--no-measure`,
the first step measures a small program on your machine instead of showing a bundled profile.

```
$ hcloud demo --no-measure
"""


def main() -> None:
    """Run it and write what it printed."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "hcloud", "demo", "--no-measure", "--no-input"]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    PAGE.write_text(f"{HEAD}{told.rstrip()}\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
