"""A bill is read in a bounded address space (``ulimit -v``), however large its file is."""

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
READ = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
from hcloud.address_space import fit_into_bounds
fit_into_bounds()
from hcloud.readers.bills.reading import read_bill
read_bill(Path(sys.argv[1]))
status = Path("/proc/self/status").read_text().split()
print(int(status[status.index("VmPeak:") + 1]))
"""


def peak_of(path: Path, size: int) -> int:
    """The most addresses that reading a bill of such a size took, in bytes."""
    head, *lines = REPORT.read_bytes().splitlines(keepends=True)
    block = b"".join(lines)
    path.write_bytes(head + block * (size // len(block)))
    words = [sys.executable, "-c", READ, str(path), str(BOUND)]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) * 1024


@pytest.mark.slow
def test_the_addresses_that_a_bill_takes_do_not_grow_with_its_file(tmp_path: Path) -> None:
    small, large = peak_of(tmp_path / "small.csv", 12 * MIB), peak_of(tmp_path / "large.csv", 32 * MIB)
    assert large - small < 12 * MIB


@pytest.mark.slow
def test_the_command_reads_a_bill_in_a_bounded_address_space() -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({BOUND}, {BOUND})); "
    run = f"{limited}from hcloud.__main__ import main; import sys; sys.argv[1:] = ['workload', 'show', {str(REPORT)!r}]"
    done = subprocess.run([sys.executable, "-c", f"{run}; main()"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "$59.37" in done.stdout
