"""Answers of CloudWatch and Prometheus as demand."""

from __future__ import annotations

import cProfile
import json
import pstats
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hcloud.errors import InputError
from hcloud.model.workload import Demand
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import HEAD_BYTES

START = 1_793_520_000


def iso(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def statistics(values: list[float], unit: str = "Percent") -> dict[str, object]:
    """CloudWatch gives the points of get-metric-statistics in no order."""
    points = [{"Timestamp": iso(START + 300 * n), "Average": v, "Unit": unit} for n, v in enumerate(values)]
    return {"Label": "CPUUtilization", "Datapoints": points[::-1]}


def metric_data(series: dict[str, list[float]]) -> dict[str, object]:
    results = [
        {
            "Id": f"m{n}",
            "Label": f"{name} CPUUtilization",
            "Timestamps": [iso(START + 300 * i) for i in range(len(values))],
            "Values": values,
            "StatusCode": "Complete",
        }
        for n, (name, values) in enumerate(series.items())
    ]
    return {"MetricDataResults": results, "Messages": []}


def matrix(series: dict[str, list[tuple[int, float]]]) -> dict[str, object]:
    results = [
        {"metric": {"instance": name}, "values": [[START + at, str(v)] for at, v in samples]}
        for name, samples in series.items()
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": results}}


def demand(folder: Path, document: object, **keys: object) -> Demand:
    path = folder / "answer.json"
    path.write_text(json.dumps(document))
    said = {"series_value": "cores"} if "resultType" in path.read_text() else {}  # a query says not what it returned
    found = read_workload(path, options=WorkloadOptions(**{"series_cores": 8.0, **said, **keys}))  # type: ignore[arg-type]
    assert isinstance(found, Demand)
    return found


def test_the_same_use_in_three_forms_is_the_same_demand(tmp_path: Path) -> None:
    percent = [10.0, 50.0, 100.0, 0.0]
    cores = [(300 * n, value / 100 * 8) for n, value in enumerate(percent)]
    forms = [
        demand(tmp_path, statistics(percent)),
        demand(tmp_path, metric_data({"i-1": percent})),
        demand(tmp_path, matrix({"web-1": cores})),
    ]
    for found in forms:
        assert (found.start, found.step_seconds) == (START, 300)
        assert list(found.cores) == pytest.approx([0.8, 4.0, 8.0, 0.0])


def test_an_answer_of_prometheus_does_not_say_whether_it_is_cores_or_percent(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(matrix({"web-1": [(0, 54.0), (60, 50.0)]})))
    with pytest.raises(InputError, match="the unit of") as refused:
        read_workload(path)
    assert refused.value.hint is not None
    assert "series_value=percent" in refused.value.hint


def test_series_are_added_up_while_their_machines_are_there(tmp_path: Path) -> None:
    long_off = [(0, 1.0), (60, 1.0), (120, 1.0), (60 * 800, 2.0), (60 * 801, 2.0)]
    short = [(60, 3.0), (120, 3.0), (240, 3.0)]
    found = demand(tmp_path, matrix({"a": long_off, "b": short}))
    assert list(found.cores[:6]) == [1.0, 4.0, 4.0, 3.0, 3.0, 0.0]
    assert list(found.cores[-2:]) == [2.0, 2.0]
    assert found.provenance.repaired == {
        "missing samples: filled with the value before": 1,
        "missing for long: counted as switched off": 797,
    }


def test_what_a_value_is_can_be_said(tmp_path: Path) -> None:
    found = demand(tmp_path, metric_data({"i-1": [50.0, 50.0]}), series_value="percent", series_cores=4.0)
    assert list(found.cores) == [2.0, 2.0]
    found = demand(tmp_path, matrix({"a": [(0, 600.0), (60, 600.0)]}), series_value="requests")
    assert list(found.cores) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"status": "error", "errorType": "bad_data", "error": "parse error"}, "refused the query: parse error"),
        ({"Label": "x", "Datapoints": []}, "holds no sample"),
        ({**metric_data({"a": [1.0, 2.0]}), "NextToken": "t"}, "a part of an answer"),
        (statistics([1.0]), "at least two samples"),
        (statistics([1.0, 250.0]), "250 at"),
        (matrix({"a": [(0, -1.0), (60, 1.0)]}), "a number from 0"),
        (matrix({"a": [(0, float("inf")), (60, 1.0)]}), "a number from 0"),
        (matrix({"a": [(60 * n, -1.0) for n in range(2311)]}), "2,311 problems (5 of them named)"),
        (matrix({"a": [(10**14, 1.0), (10**14 + 60, 1.0)]}), "not in seconds"),
        (statistics([1.0, 2.0], "Bytes"), "the unit of Datapoints (CPUUtilization) is unknown"),
        ({"Datapoints": [{"Timestamp": "yesterday", "Average": 1.0}]}, "a time and a number"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(tmp_path: Path, document: object, says: str) -> None:
    with pytest.raises(InputError) as caught:
        demand(tmp_path, document)
    assert says in " ".join([str(caught.value), *map(str, caught.value.problems)])


def test_an_answer_that_breaks_off_is_refused_wherever_it_does(tmp_path: Path) -> None:
    text = json.dumps(metric_data({"i-1": [50.0, 50.0]}))
    path = tmp_path / "answer.json"
    for length in range(1, len(text), 7):
        path.write_text(text[:length])
        with pytest.raises(InputError):
            read_workload(path)


def test_samples_of_prometheus_that_are_nan_are_counted_and_are_no_use(tmp_path: Path) -> None:
    nan = float("nan")
    document = matrix({"a": [(0, 1.0), (60, nan), (120, 3.0)], "b": [(0, 2.0), (60, 2.0), (120, nan)]})
    found = demand(tmp_path, document)
    assert list(found.cores) == [3.0, 3.0, 3.0]
    assert found.provenance.repaired["samples that are NaN: no sample"] == 2
    assert found.provenance.machines == 2


@pytest.mark.parametrize("asked", [{}, {"series_value": "cores"}])
def test_a_counter_is_refused_with_its_rate(tmp_path: Path, asked: dict[str, str]) -> None:
    rising = matrix({"a": [(60 * n, 12.0 * n) for n in range(100)]})
    with pytest.raises(InputError, match="never falls") as refused:
        demand(tmp_path, rising, **asked)
    assert refused.value.hint == "ask for its rate, which is in vCPUs: rate(METRIC[5m])"
    named = matrix({"a": [(0, 5.0), (60, 4.0)]})
    named["data"]["result"][0]["metric"]["__name__"] = "node_cpu_seconds_total"  # type: ignore[index]
    with pytest.raises(InputError, match="is by its name a counter") as refused:
        demand(tmp_path, named, **asked)
    assert refused.value.hint is not None
    assert "rate(node_cpu_seconds_total[5m])" in refused.value.hint
    path = tmp_path / "table.csv"  # of which 59,970 s were read as vCPUs
    path.write_text("time,pod,cpu_seconds_total\n" + "".join(f"{60 * n},a,{12 * n}\n" for n in range(3)))
    columns = "timestamp=time,name=pod,value=cpu_seconds_total"
    with pytest.raises(InputError) as refused:
        read_workload(path, options=WorkloadOptions(columns=columns, **asked))  # type: ignore[arg-type]
    assert "rate(cpu_seconds_total[5m])" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("file", "header", "told"),
    [
        ("use.csv", "timestamp,value", "its values are cores"),
        ("discount.csv", "timestamp,value", "its values are cores"),
        ("counter.csv", "timestamp,value", "its values are cores"),
        ("request_count.csv", "timestamp,value", "its values are requests"),
        ("use.csv", "Time,Value", "they are vCPUs in use (the largest is 1200; no value falls: "),
    ],
)
def test_a_table_that_only_rises_is_asked_about(tmp_path: Path, file: str, header: str, told: str) -> None:
    """Seconds of CPU since a machine started were planned as vCPUs, or as requests of a file that is called counter."""
    path = tmp_path / file
    path.write_text(f"{header}\n" + "".join(f"{60 * n},{12 * n}\n" for n in range(101)))
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert refused.value.hint is not None
    assert told in refused.value.hint
    assert "export the rate: rate(METRIC[5m])" in refused.value.hint
    found = read_workload(path, options=refused.value.hint.on(WorkloadOptions()))  # type: ignore[attr-defined]
    assert len(found) == 101


@pytest.mark.parametrize(
    "name",
    [
        "sum(rate(cpu_seconds_total[5m]))",
        'rate(cpu_seconds_total{pod="a"}[5m])',
        "pod:cpu_seconds_total:sum_irate",
        '{job="cpu_seconds_total"}',
    ],
)
def test_a_rate_of_a_counter_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text('time,"' + name.replace('"', '""') + '"\n0,1\n60,2\n')
    options = WorkloadOptions(series_value="cores", columns="timestamp=time")
    found = read_workload(path, options=options)
    assert isinstance(found, Demand)
    assert list(found.cores) == [1.0, 2.0]
    answer = matrix({"a": [(0, 5.0), (60, 4.0)]})
    answer["data"]["result"][0]["metric"] = {"__name__": name, "job": "cpu_seconds_total"}  # type: ignore[index]
    assert list(demand(tmp_path, answer, series_value="cores").cores) == [5.0, 4.0]


@pytest.mark.parametrize(
    ("header", "name", "told", "asked"),
    [("timestamp,name,value", "a,", "3 problems", {"series_value": "cores"}), ("Time,Value", "", "the unit of", {})],
)
def test_values_beyond_all_numbers_are_told_and_not_counted_with(
    tmp_path: Path, header: str, name: str, told: str, asked: dict[str, str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\n" + "".join(f"{60 * n},{name}1e999\n" for n in range(3)))
    with pytest.raises(InputError, match=told):
        read_workload(path, options=WorkloadOptions(**asked))  # type: ignore[arg-type]


def test_a_machine_that_grows_busier_is_no_counter(tmp_path: Path) -> None:
    grows = [(60 * n, n / 50 + (n % 3) / 10) for n in range(100)]
    assert demand(tmp_path, matrix({"a": grows})).cores.max() > 1
    assert demand(tmp_path, matrix({"a": [(60 * n, 2.0) for n in range(100)]})).cores.max() == 2


PERCENT: dict[str, object] = {"family": "percentage", "name": "percent"}
NANO: dict[str, object] = {"family": "cpu", "name": "nanocore", "scale_factor": 1e-9}


@pytest.mark.parametrize(
    ("unit", "values", "cores"),
    [
        (PERCENT, [50.0, 75.0, None, 25.0], [4, 6, 6, 2]),
        (NANO, [2e9, 3e9, None, 1e9], [2, 3, 3, 1]),
        (None, [2, 3, None, 1], [2, 3, 3, 1]),
    ],
)
def test_answers_of_datadog_are_read(
    tmp_path: Path, unit: dict[str, object] | None, values: list[float | None], cores: list[float]
) -> None:
    """They had to be made a table, which said no unit."""
    times = [1_790_000_000_000 + 300_000 * at for at in range(4)]
    one = {"metric": "system.cpu.user", "unit": unit and [unit, None], "scope": "host:web"}
    first = {"series": [{**one, "pointlist": list(zip(times, values, strict=True))}]}
    tagged = [{"unit": unit and [unit, None], "group_tags": ["host:web"]}]
    rows = {"series": tagged, "times": times, "values": [values]}
    second = {"data": {"type": "timeseries_response", "attributes": rows}}
    found = demand(tmp_path, first, series_value="auto" if unit else "cores")
    assert found.cores.tolist() == cores
    assert found.provenance.left_out == {"samples without a value": 1}
    first["series"].append({**one, "scope": "host:off", "pointlist": []})
    assert demand(tmp_path, first, series_value="auto" if unit else "cores").cores.tolist() == cores
    told = "cores" if unit is None else "auto" if unit is NANO else "percent"
    assert demand(tmp_path, second, series_value=told).cores.tolist() == cores
    sorted_keys = {
        "data": {"attributes": {**rows, "series": tagged, "x": "x" * HEAD_BYTES}, "type": "timeseries_response"}
    }
    assert demand(tmp_path, sorted_keys, series_value=told).cores.tolist() == cores
    if unit:
        first["series"][0]["metric"] = "system.cpu.idle"
        with pytest.raises(InputError, match=r"system\.cpu\.idle,host:web\) is not CPU use"):
            demand(tmp_path, first)
    twice = {**rows, "series": [{**tagged[0], "query_index": at} for at in (0, 1)], "values": [values, values]}
    with pytest.raises(InputError, match="a machine in several queries"):
        demand(tmp_path, {"data": {"type": "timeseries_response", "attributes": twice}}, series_value=told)
    broken: list[list[object]] = [[[1.0]], [], [["x", 1, {}, {}]]]
    for cells in broken:
        with pytest.raises(InputError, match="series 1"):
            demand(tmp_path, {"data": {"type": "timeseries_response", "attributes": {**rows, "values": cells}}})


def test_the_hint_for_values_of_no_unit_names_vcpus_too(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(matrix({"10.0.0.0:9100": [(0, 7.0), (60, 5.0)]})))
    with pytest.raises(InputError) as refused:
        read_workload(path, options=WorkloadOptions(series_cores=8.0))
    assert refused.value.hint is not None
    assert refused.value.hint.count("series_cores=8") == 1
    assert "if they are vCPUs in use, say --set series_value=cores" in refused.value.hint


def test_other_metrics_are_no_use_of_cpus(tmp_path: Path) -> None:
    alone = {**statistics([10.0, 20.0], "Bytes"), "Label": "NetworkIn"}
    with pytest.raises(InputError, match=r"NetworkIn.* is not CPU use"):
        demand(tmp_path, alone)
    both = metric_data({"i-1": [50.0, 50.0], "i-2": [7.0, 7.0]})
    both["MetricDataResults"][1]["Label"] = "i-1 mem_used_percent"  # type: ignore[index]
    found = demand(tmp_path, both)
    assert list(found.cores) == [4.0, 4.0]
    assert found.provenance.left_out == {"metrics other than of CPUs": 1}


def test_maxima_and_parts_of_answers_are_told(tmp_path: Path) -> None:
    points = statistics([10.0, 20.0])
    points["Datapoints"] = [{**p, "Maximum": p["Average"]} for p in points["Datapoints"]]  # type: ignore[attr-defined]
    assert demand(tmp_path, points).provenance.repaired == {}
    for point in points["Datapoints"]:  # type: ignore[attr-defined]
        del point["Average"]
    found = demand(tmp_path, points).provenance.repaired
    assert found == {"Maximum of each period in place of Average, which the answer lacks": 2}
    part = metric_data({"i-1": [50.0, 50.0]})
    part["MetricDataResults"][0]["StatusCode"] = "PartialData"  # type: ignore[index]
    told = demand(tmp_path, part).provenance.left_out
    assert told == {"answers that CloudWatch calls PartialData: samples are missing from them": 1}


MACHINES = [f"{name},{START + 300 * at},{'' if at == 7 else at % 5 / 10}" for name in "bac" for at in range(600)]


def table_of(path: Path, *more: str) -> tuple[Demand, int]:
    """What is read of three machines over two days, and how often a time was read."""
    path.write_text("\n".join(["server,time,cpu", *MACHINES, *more]) + "\n", encoding="utf-8")
    profile = cProfile.Profile()
    demand = profile.runcall(read_workload, path, "auto", WorkloadOptions(series_value="cores"))
    assert isinstance(demand, Demand)
    stats = pstats.Stats(profile).get_stats_profile().func_profiles
    return demand, int(stats["seconds"].ncalls.partition("/")[0])


def test_each_time_of_a_plain_table_is_read_once_with_the_same_result(tmp_path: Path) -> None:
    plain, looked_at = table_of(tmp_path / "plain.csv")
    quoted, each = table_of(tmp_path / "quoted.csv", f'"c",{START + 300 * 600},0.5')
    assert looked_at == 600, "as many as there are, not one a row"
    assert each > len(MACHINES), "with quotes row by row"
    assert plain.provenance.repaired == quoted.provenance.repaired
    assert plain.provenance.repaired["empty cells: no sample"] == 3
    assert plain.cores.tobytes() == quoted.cores[:-1].tobytes()
