"""A service that is pressed and kept at its target, as it happens: ``python docs/make_target_transcript.py`` writes
research/transcripts/operate-targets.md."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_operate_transcripts import TRANSCRIPTS, Transcript

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "pressed-service"
HEAD = """# A service under interference

Written by `python docs/make_target_transcript.py` from a real run. Times and decisions differ between runs. The
service and the injector that disturbs it come from `examples/pressed-service`.
"""


def main() -> None:
    """Run the example; look at it while it is pressed, and after something was taken back."""
    with tempfile.TemporaryDirectory(prefix="hc-", ignore_cleanup_errors=True) as name:
        folder = Path(name) / "work"
        shutil.copytree(EXAMPLE, folder)
        told, words = Transcript(folder, {}), "hcloud operate run jobs.csv --strategy SR --pool 1 --no-probe --plain"
        words += " --watching adjust-to-target"
        told.run("cat jobs.csv")
        with told.begun(words) as process:
            journal = folder / ".hcloud" / "operate" / "journal.jsonl"
            for what, said in (("enlarge", "While the injector runs:"), ("shrink", "After the request rate drops:")):
                line = f'"decision":"{what}"'
                while process.poll() is None and not (journal.exists() and line in journal.read_text()):
                    time.sleep(0.2)
                time.sleep(0.3)
                told.say(said)
                told.run("hcloud operate status")
            printed = process.communicate(timeout=120)[0]
        told.say("Output of the controller, actions and readings of the injector, and lines of the service's ledger:")
        told.told(words, printed, process.returncode)
        told.run("cat .hcloud/operate/output/injector.1.out")
        told.run("sed -n 1~15p ledger")
        told.run("hcloud operate explain --job web")
    (TRANSCRIPTS / "operate-targets.md").write_text("\n".join([HEAD, *told.lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
