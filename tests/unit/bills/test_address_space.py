"""The command reads a bill in a bounded address space (``ulimit -v``), however large its file is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, bounds addresses as Linux does")
REPORT = Path(__file__).parents[2] / "cases" / "bills" / "cur_legacy.csv"
BOUND = 420 << 20
"""Linux libraries alone took 370 MiB, and the pool of pyarrow 1 GiB beside them."""
MIB = 1 << 20
SHOW = """
import resource, sys
from pathlib import Path
from hcloud import __main__ as entry
bound, *paths = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (int(bound), int(bound)))
entry._leave_at_once = lambda code: None
for path in paths:
    sys.argv[1:] = ["workload", "show", path]
    try:
        entry.main()
    except SystemExit as left:
        assert not left.code
    status = Path("/proc/self/status").read_text().split()
    print("peak", int(status[status.index("VmPeak:") + 1]))
"""


@pytest.mark.slow
def test_the_addresses_that_the_command_takes_for_a_bill_do_not_grow_with_its_file(tmp_path: Path) -> None:
    head, *lines = REPORT.read_bytes().splitlines(keepends=True)
    block, paths = b"".join(lines), [REPORT]
    for size in (22, 46):  # by 22 MiB the pools are full: between the two only what holds the file can grow
        paths.append(tmp_path / f"{size}.csv")
        paths[-1].write_bytes(head + block * (size * MIB // len(block)))
    words = [sys.executable, "-c", SHOW, str(BOUND), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "$59.37" in done.stdout.partition("peak")[0]
    _, small, large = (int(line[5:]) * 1024 for line in done.stdout.splitlines() if line.startswith("peak "))
    assert large - small < 16 * MIB
