"""Help, the version and completion answer without loading what only planning needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hcloud import __version__
from hcloud.cli.main import USAGE_EXIT, run
from hcloud.cli.verb_groups import VERBS
from hcloud.providers.slurm.site import FILE_NAME, SlurmSite, site_text

HEAVY = ("numpy", "pandas", "boto3", "numba", "google", "azure", "pyarrow", "pydantic")
PROBE = (
    "import sys\n"
    "from hcloud.cli.main import run\n"
    "for words in sys.argv[1:]:\n"
    "    assert run(words.split()) == 0, words\n"
    f"    print('heavy:', *[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
)


def test_help_loads_nothing_heavy() -> None:
    """One process asks for one after the other: what one loads, the next has."""
    light = ["--help", "--version"]
    words = [*light, "strategy --help", "init --help", "plan --help", "commit --help"]
    done = subprocess.run([sys.executable, "-c", PROBE, *words], check=True, capture_output=True, text=True)
    loaded = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("heavy:")]
    assert len(loaded) == len(words)
    assert loaded[: len(light)] == [[], []]
    # Typer itself converts the parameters of verbs with pydantic; the root has only switches
    assert all(found in ([], ["pydantic"]) for found in loaded)


def test_completing_loads_nothing_heavy() -> None:
    environment = {**os.environ, "_HCLOUD_COMPLETE": "complete_bash", "COMP_WORDS": "hcloud ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, ""], check=True, capture_output=True, text=True, env=environment
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] in ("heavy:", "heavy: pydantic")
    assert sorted(done.stdout.split()) == sorted(VERBS)  # help names them in groups


def test_the_version_answers_before_anything_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hcloud", "--version"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"hcloud {__version__}\n")
    assert "typer" not in done.stderr


def test_what_slurmctld_calls_loads_no_typer_and_says_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / FILE_NAME
    site.write_text(site_text(SlurmSite(tmp_path)))
    code = "import sys; from hcloud.cli.main import run; print(*map(run, map(str.split, sys.argv[1:])), *sys.modules)"
    words = [f"slurm {verb} --site {site} hc-0 hc-1" for verb in ("suspend", "suspend --quiet")]
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("0 0 ")
    assert {"typer", "pydantic"}.isdisjoint(done.stdout.split())
    assert run(["slurm", "suspend", f"--site={site}", "hc-0", "hc-1"]) == 0  # through Typer
    assert done.stderr == capsys.readouterr().err != ""
    for nodes in (["hc-0", "a b"], ["hc-0", ""], ["-x"], []):
        forms = (["--site", str(site)], [f"--site={site}"])
        first, second = ((run(["slurm", "suspend", *form, *nodes]), capsys.readouterr()) for form in forms)
        assert first == second
        assert first[0] == USAGE_EXIT


def test_a_plan_of_a_trace_loads_nothing_that_reads_bills(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("submit,duration,cores\n" + "".join(f"{n * 900},1800,4\n" for n in range(200)))
    words = "import sys; from hcloud.cli.main import run; code = run(sys.argv[1:]); print('loaded:', *sys.modules)"
    plan = ["plan", str(trace), "--family", "m5", "--now", "2026-11-20T00:00:00Z"]
    by_the_hour = {**os.environ, "HYC_PLANNING__STEP": "1h"}
    done = subprocess.run(
        [sys.executable, "-c", words, *plan], check=True, capture_output=True, text=True, env=by_the_hour
    )
    loaded = done.stdout.rpartition("loaded:")[2].split()
    assert "hcloud.usecases.deciding.plan" in loaded
    assert [
        name for name in loaded if name.startswith(("hcloud.readers.bills.reading", "hcloud.planning.billed"))
    ] == []
    assert "hcloud.usecases.deciding.billed.plan" not in loaded


def test_verbs_that_look_at_machines_load_nothing_that_decides() -> None:
    words = "import sys, hcloud.usecases.live.apply, hcloud.usecases.live.status; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == 0


def test_arrow_loads_no_pandas_for_a_command() -> None:
    """With pandas installed its first scalar loaded it, which took a second."""
    words = "import sys; from hcloud.address_space import fit_into_bounds as fit; fit(); import pyarrow as pa\n"
    words += "pa.scalar(1.0); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
