"""A stressor counts what it does in a file that another process reads meanwhile."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

from hcloud.profiling.programs.kernels import COUNTER_BYTES

COUNTING = """
from pathlib import Path
from sys import argv
from hcloud.profiling.programs.kernels import Counter
counter = Counter(Path(argv[1]))
print("begun", flush=True)
while True:
    counter.add(1, 7)
"""


def test_no_look_sees_a_number_half_written(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_bytes(bytes(COUNTER_BYTES))
    with subprocess.Popen([sys.executable, "-c", COUNTING, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        with path.open("rb", buffering=0) as file:
            looks = [struct.unpack("=qq", file.read(COUNTER_BYTES)) for _ in range(50_000) if file.seek(0) == 0]
        process.kill()
    assert looks[-1][0] > 1000
    assert [done for done, _ in looks] == sorted(done for done, _ in looks)
    assert all(busy % 7 == 0 for _, busy in looks)
