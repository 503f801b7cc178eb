"""Recorded use becomes a profile: the size that holds it, by format, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.errors import UsageError
from hcloud.model.measured.profile import Aspect
from hcloud.readers.applications.profiles import load_profile
from hcloud.usecases.measuring.profile_names import profile_file
from hcloud.usecases.measuring.profile_run import check_name, file_name

STAMPS = [1_700_000_000 + 60 * i for i in range(100)]
CORES = [1.5] * 95 + [3.5] * 5  # the 95th percentile fits in 2, the maximum needs 4
BYTES = [3 * (1 << 30) + 5] * 100


def run(path: Path, *words: str) -> int:
    return main.run(["profile", "import", str(path), "--app", "shop", "--out", str(path.parent / "p.yaml"), *words])


def as_csv() -> str:
    rows = (f"{t},{c},{b}\n" for t, c, b in zip(STAMPS, CORES, BYTES, strict=True))
    return "timestamp,cpu_cores,memory_bytes\n" + "".join(rows)


def as_json() -> str:
    rows = zip(STAMPS, CORES, BYTES, strict=True)
    return json.dumps([{"timestamp": t, "cpu_percent": 100 * c / 8, "memory_bytes": b} for t, c, b in rows])


def as_prometheus() -> str:
    def series(labels: dict[str, str], values: list[float] | list[int]) -> dict[str, object]:
        return {"metric": labels, "values": [[t, str(v)] for t, v in zip(STAMPS, values, strict=True)]}

    result = [series({"series": "cpu"}, CORES), series({"__name__": "container_memory_working_set_bytes"}, BYTES)]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def as_cloudwatch() -> str:
    stamps = ["2026-11-20T10:00:00+00:00"] * 100
    cpu = {"Id": "a", "Label": "CPUUtilization", "Timestamps": stamps, "Values": [100 * c / 8 for c in CORES]}
    memory = {
        "Id": "b",
        "Label": "mem_used_percent",
        "Timestamps": stamps,
        "Values": [b / (1 << 30) / 0.16 for b in BYTES],
    }
    return json.dumps({"MetricDataResults": [cpu, memory]})


@pytest.mark.parametrize(
    ("name", "text"),
    [("csv", as_csv()), ("json", as_json()), ("prometheus", as_prometheus()), ("cloudwatch", as_cloudwatch())],
)
def test_the_sizes_that_hold_the_use_are_found(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "use"
    path.write_text(text)
    assert run(path, "--format", name, "--vcpus", "8", "--memory-gib", "16") == 0
    found = load_profile(tmp_path / "p.yaml")
    sizes = found.entries[Aspect.SCALE_UP]
    assert {size: entry.value for size, entry in sizes.items()} == {"2c4g": 0.95, "4c4g": 1.0}
    assert all(entry.low < entry.value <= entry.high for entry in sizes.values())
    assert all(entry.source.startswith("imported from") for entry in sizes.values())
    assert set(found.entries) == {Aspect.SCALE_UP}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("csv", "timestamp,cpu_cores\n1,2\n", "holds no memory series"),
        ("csv", "timestamp,cpu_cores,memory_gib\n1,2\n", "another number of cells"),
        ("csv", "timestamp,cpu_cores,memory_gib\n1,nan,1\n", "a finite number from 0"),
        ("csv", "timestamp,cpu_cores,memory_gib\n1,-1,1\n", "a finite number from 0"),
        ("csv", "timestamp,cpu_cores,memory_gib\nnoon,1,1\n", "not usable as csv"),
        ("csv", "timestamp,cpu_cores,memory_gib\n1e30,1,1\n", "not usable as csv"),
        ("csv", "time,cpu_cores\n0,1\n", "not usable as csv: unknown column 'time'"),
        ("csv", "time,cpu\n1,1\n", "unknown column 'time'"),
        ("csv", "timestamp,cpu_percent,memory_gib\n1,50,1\n", "is a share"),
        ("csv", "", "holds no CPU series"),
        ("json", "{", "not usable as json"),
        ("json", "[1]", "not usable as json"),
        ("prometheus", '{"status": "error"}', "not the successful answer"),
        ("prometheus", "[]", "not usable as prometheus"),
        ("cloudwatch", '{"MetricDataResults": [{"Label": "x"}]}', "known are CPUUtilization"),
        ("cloudwatch", "3", "not usable as cloudwatch"),
        ("xml", "", "no such format"),
    ],
)
def test_what_is_no_record_of_use_is_refused(
    tmp_path: Path, name: str, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "use"
    path.write_text(text)
    assert run(path, "--format", name) in (1, 64)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "p.yaml").exists()


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "use"
    path.write_bytes(b"\xff\xfe\x00\x81")
    assert run(path, "--format", "csv") == 1
    assert "not usable as csv" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a/b", "../a", ".hidden", " ", "a\tb"])
def test_a_name_is_no_path(name: str) -> None:
    with pytest.raises(UsageError, match="is no name of an application"):
        check_name(name)


def test_a_profile_is_found_by_a_name_with_a_space(tmp_path: Path) -> None:
    (tmp_path / file_name("my app")).touch()
    assert profile_file("my app", tmp_path).name == "my-app.profile.yaml"


def test_a_profile_is_found_by_the_application_within_whatever_its_file_is_called(tmp_path: Path) -> None:
    of = "app: {}\nentries: {{}}\n".format
    (tmp_path / "frontend.profile.yaml").write_text(of("checkout"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"frontend\.profile\.yaml is a profile of checkout"):
        profile_file("frontend", tmp_path)
    assert profile_file("checkout", tmp_path).name == "frontend.profile.yaml"
    (tmp_path / "old.yaml").write_text(of("checkout"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"frontend\.profile\.yaml, old\.yaml are profiles of checkout"):
        profile_file("checkout", tmp_path)
    (tmp_path / "checkout.profile.yml").write_text(of("checkout"), encoding="utf-8")
    assert profile_file("checkout", tmp_path).name == "checkout.profile.yml"
