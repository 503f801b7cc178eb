"""What a series of bare values is taken to mean is told after short history, with the flag that says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.store.plan_file import load_plan

pytestmark = pytest.mark.usefixtures("coarse_steps")

NOW = ("--now", "2026-11-20T12:00:00Z")
M6I = ("--family", "m6i")


@pytest.mark.parametrize("prefix", ["", "workload.options."])
def test_guesses_of_a_series_are_warned_of_next_to_short_history_until_they_are_set(
    tmp_path: Path, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{300 * i},{30 + i % 40}" for i in range(600)]
    (tmp_path / "util.csv").write_text("\n".join(["timestamp,value", *rows]) + "\n", encoding="utf-8")
    words = ["plan", str(tmp_path / "util.csv"), *M6I, "--out", str(tmp_path / "plan.json"), *NOW, "-q"]
    assert run(words) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "the number of vCPUs of a machine is unknown: the values are percent of one (from the file's name)" in told
    assert "-q --set series_cores=4" in told
    assert run([*words, "--set", f"{prefix}series_cores=64"]) == 0
    history, value = load_plan(tmp_path / "plan.json").warnings[:2]
    assert "planning.history_1y" in history
    assert "--set series_value=" in value
    assert run([*words, "--set", f"{prefix}series_cores=64", "--set", f"{prefix}series_value=percent"]) == 0
    plan = load_plan(tmp_path / "plan.json")
    assert not any("series_" in warning for warning in plan.warnings)
    assert "100% of a series is 64 vCPUs" in str(plan.assumptions)


CLUSTER = ("avg_cpu,avg_mem", "0.4,0.3")
REQUESTS = ("TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 {:02d}:{:02d}:46.6805900,374,44")


@pytest.mark.parametrize(
    ("rows", "key", "said"),
    [
        (CLUSTER, "cluster_cores", "the whole cluster has 1000 vCPUs"),
        (REQUESTS, "requests_per_core_second", "10 requests per core-second"),
    ],
)
def test_the_vcpus_that_a_whole_series_hangs_on_are_warned_of(
    tmp_path: Path, rows: tuple[str, str], key: str, said: str
) -> None:
    lines = [rows[0], *(rows[1].format(i // 60 % 24, i % 60) for i in range(600))]
    (tmp_path / "series.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["plan", str(tmp_path / "series.csv"), *M6I, "--out", str(tmp_path / "plan.json"), *NOW, "-q"]
    assert run(words) == 0
    told = [warning for warning in load_plan(tmp_path / "plan.json").warnings if key in warning]
    assert told == [f"the file does not state the unit of its values; assumed: {said} (--set {key}=...)"]
    assert run([*words, "--set", f"{key}=64"]) == 0
    assert not any(key in warning for warning in load_plan(tmp_path / "plan.json").warnings)


def test_a_mix_for_a_series_is_told_to_rest_on_work_that_differs(tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_text("\n".join([CLUSTER[0], *([CLUSTER[1]] * 600)]) + "\n", encoding="utf-8")
    words = ["plan", str(tmp_path / "series.csv"), "--out", str(tmp_path / "plan.json"), *NOW, "-q"]
    for families, told in ((("m5", "c5"), True), (("m5",), False)):
        assert run([*words, *(word for name in families for word in ("--family", name))]) == 0
        plan = load_plan(tmp_path / "plan.json")
        assert (len({line.instance_type.split(".")[0] for line in plan.mix}) > 1) is told
        assert any("planning.mix_types" in warning for warning in plan.warnings) is told


def test_the_screen_says_of_how_many_machines_a_demand_is_the_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (f"{300 * n},{n % 7},{n % 5}\n" for n in range(600))
    (tmp_path / "use.csv").write_text("timestamp,web vcpus,db vcpus\n" + "".join(rows), encoding="utf-8")
    assert run(["plan", str(tmp_path / "use.csv"), *NOW, "-q"]) == 0
    assert "use.csv: 600 rows of 2 machines · vCPU" in " ".join(capsys.readouterr().out.split())
    assert run(["workload", "show", str(tmp_path / "use.csv"), "-q"]) == 0
    assert "machines 2, added up" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "header", "row", "likely"),
    [
        ("cpu_util.csv", "timestamp,value", "{t},0.{v}", "fraction"),
        ("cpu_used.csv", "timestamp,value", "{t},3{v}", "cores"),
        ("asg.csv", "timestamp,value", "{t},{v}", "percent"),
        ("cpu.csv", "time,host,cpu_pct", "{t},a,0.{v}", "fraction"),
    ],
)
def test_values_that_hardly_are_the_percent_that_a_name_says_are_asked_about(
    tmp_path: Path, name: str, header: str, row: str, likely: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row.format(t=1_793_520_000 + 300 * i, v=10 + i % 40) for i in range(100)]
    (tmp_path / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    words = ["workload", "show", str(tmp_path / name), "--set", "series_cores=64"]
    assert run(words) == 1
    command = f"--set series_cores=64 --set series_value={likely}"
    assert command in " ".join(capsys.readouterr().err.split())
    assert run([*words, "--set", f"series_value={likely}"]) == 0


def test_little_use_of_a_machine_is_percent_where_the_name_of_its_file_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a machine in use to 12% the command said vCPUs: 25 times the demand."""
    (tmp_path / "cpu_percent.csv").write_text("timestamp,value\n0,12\n300,0.4\n", encoding="utf-8")
    assert run(["workload", "show", str(tmp_path / "cpu_percent.csv")]) == 1
    assert "cpu_percent.csv --set series_cores=4" in " ".join(capsys.readouterr().err.split())


def test_what_disks_do_is_no_use_of_vcpus_because_nothing_else_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "disk_write_bytes.csv").write_text("timestamp,value\n0,5000\n300,4000\n", encoding="utf-8")
    assert run(["workload", "show", str(tmp_path / "disk_write_bytes.csv")]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "the largest of its values is 5000, and nothing says what they are hint: if they are vCPUs in use" in told
    (tmp_path / "disk-team.csv").write_text("timestamp,value\n0,50\n300,40\n", encoding="utf-8")
    assert run(["workload", "show", str(tmp_path / "disk-team.csv")]) == 1
    assert "if they are percent (else say series_value=cores), and" in " ".join(capsys.readouterr().err.split())
