"""The same use, as each kind of monitoring exports it, is the same demand; what is no use of CPUs is asked about."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from advised import demand_as_advised

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Jobs
from hcloud.readers.workloads.commands import Advice
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions

START = 1_793_520_000
USE = {"web-1": [10.0, 50.0, 100.0, 0.0], "web-2": [20.0, 20.0, 40.0, 5.0]}
CORES = [1.2, 2.8, 5.6, 0.2]
"""Of machines with four vCPUs each."""


def iso(step: int) -> str:
    return datetime.fromtimestamp(START + 300 * step, UTC).isoformat()


def google(kind: str = "instance/cpu/utilization", of: str = "GAUGE", scale: float = 0.01, **more: Any) -> str:
    """timeSeries.list, newest point first."""
    found = []
    for name, values in USE.items():
        points = [
            {"interval": {"startTime": iso(n - 1), "endTime": iso(n)}, "value": {"doubleValue": value * scale}}
            for n, value in enumerate(values)
        ]
        metric = {"type": f"compute.googleapis.com/{kind}", "labels": {"instance_name": name}}
        found.append({"metric": metric, "resource": {"labels": {}}, "metricKind": of, "points": points[::-1]})
    return json.dumps({"timeSeries": found, **more})


def azure_answer(name: str, metric: str = "Percentage CPU", unit: str = "Percent") -> dict[str, Any]:
    data = [{"timeStamp": iso(n), "average": value} for n, value in enumerate(USE[name])]
    one = {"name": {"value": metric}, "unit": unit, "timeseries": [{"data": data, "metadatavalues": []}]}
    return {"resourceid": f"/virtualMachines/{name}", "interval": "PT5M", "value": [one]}


def wide() -> str:
    rows = "".join(f"{iso(n)},{a}%,{b}%\n" for n, (a, b) in enumerate(zip(*USE.values(), strict=True)))
    return f"Time,{','.join(USE)}\n{rows}"


def long() -> str:
    rows = [f"{iso(n)};{name};{value}\n" for name, values in USE.items() for n, value in enumerate(values)]
    return "timestamp;host;percent\n" + "".join(rows)


def thousandths() -> str:
    rows = [
        f"{iso(n)},{name},{value * 40:.0f}m,1Gi\n" for name, values in USE.items() for n, value in enumerate(values)
    ]
    return "time,pod,cpu,memory\n" + "".join(rows)


def pods() -> str:
    rows = [f"{iso(n)},a,{name},{v / 25},{2**30}\n" for name, values in USE.items() for n, v in enumerate(values)]
    return "timestamp,namespace,pod,cpu_usage_cores,memory_bytes\n" + "".join(rows)


FORMS: dict[str, Callable[[], str]] = {
    "Google's utilisation": google,
    "Google's seconds of use": lambda: google("instance/cpu/usage_time", "DELTA", 4 / 100 * 300),
    "Google's seconds of use, as a rate": lambda: google("instance/cpu/usage_time", "GAUGE", 4 / 100),
    "as gcloud lists it": lambda: json.dumps(json.loads(google())["timeSeries"]),
    "Azure's answer for several machines": lambda: json.dumps({"values": [azure_answer(name) for name in USE]}),
    "a column a machine": wide,
    "a row a machine": long,
    "a column a machine, as JSON": lambda: json.dumps([*csv.DictReader(wide().splitlines())]),
    "a row a machine, as JSON in lines": lambda: "\n".join(
        map(json.dumps, csv.DictReader(long().splitlines(), delimiter=";"))
    ),
    "a row a group of tags": lambda: long().replace("timestamp;host", "time;group"),
    "times of spreadsheets": lambda: wide().replace("-", "/").replace("web/", "web-").replace("+00:00", ""),
    "times of browsers": lambda: wide().replace("+00:00", " GMT+0000 (Coordinated Universal Time)"),
    "thousandths of a vCPU": thousandths,
}


def read(path: Path, text: str) -> Demand:
    path.write_text(text)
    found = read_workload(path, options=WorkloadOptions(series_cores=4))
    assert isinstance(found, Demand)
    return found


def test_a_duration_beside_the_use_of_a_machine_makes_no_jobs_of_it(tmp_path: Path) -> None:
    """Rows were taken for jobs of 45.5 vCPUs."""
    path = tmp_path / "table.csv"
    rows = "".join(f"2026-11-01T10:0{at}:00Z,{host},4{at}.5,12\n" for at in range(3) for host in "ab")
    path.write_text(f"timestamp,host,cpu,executionTime\n{rows}")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert "--set series_value=percent --set series_cores=4 --set extra_columns=ignore" in caught.value.hint
    keys = WorkloadOptions(series_value="percent", series_cores=4, extra_columns="ignore")
    assert isinstance(read_workload(path, options=keys), Demand)
    path.write_text(f"timestamp,host,cpu,executionTime\n{rows.replace('.5', '')}")
    with pytest.raises(InputError, match="unknown column 'executionTime'"):
        read_workload(path)
    path.write_text(f"timestamp,host,cpu,executionTime\n{rows.replace('.5', '').replace(',b,', ',a,')}")
    with pytest.raises(InputError) as jobs:
        read_workload(path)
    assert "duration=executionTime,cores=cpu" in jobs.value.hint


@pytest.mark.parametrize(("column", "cells"), [("percent", "40 50m 40"), ("requests", "900 1.5k 800")])
def test_a_cell_with_a_unit_makes_no_vcpus_of_other_things(column: str, cells: str, tmp_path: Path) -> None:
    """One 50m in a column of percent made 40 vCPUs of 40 %."""
    path = tmp_path / "use.csv"
    rows = [f"{iso(n)},web,{cell}\n" for n, cell in enumerate(cells.split())]
    path.write_text(f"time,host,{column}\n" + "".join(rows))
    with pytest.raises(InputError, match="a number, or a per cent") as caught:
        read_workload(path, options=WorkloadOptions(series_cores=4, requests_per_core_second=100))
    assert "web" not in caught.value.hint


def test_machines_that_are_named_in_rows_under_another_name_are_read_as_the_refusal_says(tmp_path: Path) -> None:
    """Each name was refused as no number, and nothing said what reads them."""
    path = tmp_path / "datadog.csv"
    path.write_text(long().replace(";", ",").replace("host,percent", "group,system.cpu.user"))
    told = WorkloadOptions(series_value="percent", series_cores=4)
    with pytest.raises(InputError) as caught:
        read_workload(path, options=told)
    assert isinstance(caught.value.hint, Advice)
    found = read_workload(path, options=caught.value.hint.on(told))
    assert isinstance(found, Demand)
    assert list(found.cores) == pytest.approx(CORES)


def test_a_column_beside_names_says_itself_that_it_has_vcpus_or_bytes(tmp_path: Path) -> None:
    """Pods' use was told to be percent of machines, of which nothing was read in the end."""
    (path := tmp_path / "pods.csv").write_text(pods())
    found = read_workload(path)
    assert isinstance(found, Demand)
    assert list(found.cores) == pytest.approx(CORES)
    assert found.memory.max() == 2
    told = {}
    for column, cells in {"memory_bytes": "1 1", "mem_usage_gb": "2 2", "memory_gb": "512Mi 1", "memory_mb": "1Gi 2Gi",
                          "memory_limit_gb": "8 8", "requested_memory_gb": "8 8"}.items():  # fmt: skip
        rows = "".join(f"{iso(n)},a,1,{cell}\n" for n, cell in enumerate(cells.split()))
        path.write_text(f"timestamp,name,cores,{column}\n{rows}")
        table = read_workload(path, options=WorkloadOptions(extra_columns="ignore"))
        told[column] = [one.rule for one in table.provenance.modelled if one.column == "memory"]
    beside = "4 GiB per vCPU"  # no limit is memory in use
    assert told == {
        "memory_bytes": ["read from column memory_bytes as B"],
        "mem_usage_gb": [beside],
        "memory_gb": ["read from column memory_gb as GiB; cells name their unit; GB is GiB"],
        "memory_mb": ["read from column memory_mb; cells name their unit; GB is GiB"],
        "memory_limit_gb": [beside],
        "requested_memory_gb": [beside],
    }


@pytest.mark.parametrize("apart", ["namespace,pod", "pod,container", "container,pod"])
def test_columns_that_name_a_series_together_are_read(apart: str, tmp_path: Path) -> None:
    """The containers of a pod at one time were its samples that are there twice."""
    rows = [f"{iso(n)},{name},{core}\n" for n, core in enumerate(CORES) for name in ("a,b", "b,a", "b,b")]
    text = f"time,{apart},cores\n" + "".join(rows)
    found = read(path := tmp_path / "use.csv", text)
    assert list(found.cores) == pytest.approx([3 * core for core in CORES])
    assert found.provenance.machines == 3
    with pytest.raises(InputError, match="a machine's name"):  # cAdvisor has the sum of a pod where it names none
        read(path, text.replace("b,b", "b,"))


@pytest.mark.parametrize("called", ["bucket", "hour"])
def test_a_column_a_machine_beside_times_of_another_name_is_met_with_its_command(called: str, tmp_path: Path) -> None:
    """What to say of jobs was all that was said."""
    rows = "".join(f"{iso(n)};{str(core).replace('.', ',')};1\n" for n, core in enumerate(CORES))
    (path := tmp_path / "use.csv").write_text(f"{called};web-1;web-2\n{rows}")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    assert caught.value.hint.keys["columns"] == f"timestamp={called}"
    found = read_workload(path, options=replace(caught.value.hint.on(WorkloadOptions()), series_value="cores"))
    assert isinstance(found, Demand)
    assert list(found.cores) == pytest.approx([core + 1 for core in CORES])


def test_cells_of_a_series_may_name_their_unit(tmp_path: Path) -> None:
    """500m was met with how to write durations."""
    path = tmp_path / "use.csv"
    rows = [f"{iso(n)};{core * 1000:.0f}m;{n + 1}Gi\n" for n, core in enumerate(CORES)]
    found = read(path, "timestamp;cores;memory\n" + "".join(rows))
    assert list(found.cores) == pytest.approx(CORES)
    assert list(found.memory) == [1, 2, 3, 4]
    assert ("cores", "of cells with a unit in that") in [(one.column, one.rule) for one in found.provenance.modelled]
    with pytest.raises(InputError, match=r"'1k' .*Formatted data off"):  # of thousands, of whatever it is
        read(path, f"timestamp,value\n{iso(0)},1k\n{iso(1)},900\n")
    with pytest.raises(InputError, match="'2800m'") as caught:
        read(path, "timestamp;percent\n" + "".join(row.rpartition(";")[0] + "\n" for row in rows))
    assert not caught.value.hint


@pytest.mark.parametrize("form", FORMS)
def test_the_same_use_in_every_form(form: str, tmp_path: Path) -> None:
    found = read(tmp_path / "use", FORMS[form]())
    assert list(found.cores) == pytest.approx(CORES)
    assert (found.start, found.step_seconds) == (START, 300)


def test_a_folder_with_an_answer_a_machine(tmp_path: Path) -> None:
    for name in USE:
        (tmp_path / f"{name}.json").write_text(json.dumps(azure_answer(name)))
    found = read_workload(tmp_path, options=WorkloadOptions(series_cores=4))
    assert list(found.cores) == pytest.approx(CORES)
    assert (found.provenance.format, found.provenance.rows) == ("monitoring", 8)


def test_columns_that_only_sound_like_another_use(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(wide().replace("web-2", "disk-2"))
    found = read_workload(path, options=WorkloadOptions(series_cores=4, columns="timestamp=Time"))
    assert list(found.cores) == pytest.approx(CORES)


@pytest.mark.parametrize("named", ["cores,memory", "vCPUs,memory_gib", "cpu_cores,Memory (GB)", "web cpus,mem_gb"])
def test_where_only_the_time_is_said_memory_is_no_machine(named: str, tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"when,{named}\n{iso(0)},4,17\n{iso(1)},5,20\n")
    found = read_workload(path, options=WorkloadOptions(columns="timestamp=when"))
    assert isinstance(found, Demand)
    assert (list(found.cores), list(found.memory)) == ([4, 5], [17, 20])
    assert not found.provenance.left_out
    path.write_text(f"when,{named},note\n{iso(0)},4,17,good\n{iso(1)},5,20,\n")
    noted = read_workload(path, options=WorkloadOptions(columns="timestamp=when"))
    assert ("columns", "left out: note") in [(rule.column, rule.rule) for rule in noted.provenance.modelled]


@pytest.mark.parametrize(
    ("named", "other"), [("cores,cpu", "value=cpu"), ("cores,pct", "percent=pct"), ("avg,max", "value=max")]
)
def test_which_of_two_columns_has_the_values_is_asked(named: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"when,{named},memory,date,disk\n0,4,5,16,9,7\n60,5,6,20,9,7\n")
    with pytest.raises(InputError, match="the values may be in column") as refused:
        read_workload(path, options=WorkloadOptions(columns="timestamp=when"))
    other += ",memory=memory"
    assert f" or --columns timestamp=when,{other}" in str(refused.value.hint)
    asked = WorkloadOptions(columns="timestamp=when", series_value="percent", series_cores=100)
    found = read_workload(path, options=replace(asked, columns=f"timestamp=when,{other}"))
    assert any(
        rule.rule.startswith("left out: ") and rule.rule.endswith("date, disk") for rule in found.provenance.modelled
    )
    path.write_text(path.read_text().replace(named.split(",")[1], "swap"))  # the time that was said, not the second
    found = read_workload(path, options=asked)
    assert found.start == 0


@pytest.mark.parametrize(
    "table",
    [
        "date,time,host,cores\n2026-11-01,{},web,4\n2026-11-01,{},web,5\n",
        "Datum,Zeit,web\n2026-11-01,{},4\n2026-11-01,{},5\n",
        "time,date,web\n{},2026-11-01,4\n{},2026-11-01,5\n",
        "date,time,web\n{},0.3,4\n{},0.2,5\n",
    ],
)
def test_a_day_beside_a_whole_time_is_neither_a_time_nor_a_machine(table: str, tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(table.format(iso(0), iso(1)))
    with pytest.raises(InputError) as refused:
        read_workload(path)
    hint = refused.value.hint
    assert isinstance(hint, Advice)
    assert hint.keys["extra_columns"] == "ignore"
    found = read_workload(path, options=WorkloadOptions(extra_columns="ignore", series_value="cores"))
    assert isinstance(found, Demand)
    assert (found.start, found.step_seconds, list(found.cores)) == (START, 300, [4, 5])


def test_when_a_machine_was_stopped_makes_no_job_of_its_use(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"time,host,cpu_percent,started,stopped\n{iso(0)},a,40,{iso(0)},\n{iso(1)},a,50,{iso(0)},\n")
    assert list(read_as_advised(path).cores) == [1.6, 2]


def test_times_that_cannot_be_read_are_no_names_of_machines(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text("Time,web,db\nnoon,1,2\nnight,1,2\n")
    with pytest.raises(InputError, match="column Time: 'noon'") as refused:
        read_workload(path, options=WorkloadOptions(series_value="cores"))
    assert "machine of each row" not in (refused.value.hint or "")


def test_machines_called_as_times_seldom_are_and_rows_without_a_time_are_told(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"Time,de,at,clock\n{iso(0)},1,2,4\n{iso(1)},1,3,4\n")
    found = read_workload(path, options=WorkloadOptions(series_value="cores"))
    assert isinstance(found, Demand)
    assert found.cores.tolist() == [7, 8]
    path.write_text(f"date,host,cores,time\n2026-11-01,a,1\n2026-11-01,a,1,{iso(1)}\n")
    with pytest.raises(InputError, match="unknown column 'time'"):
        read_workload(path)


@pytest.mark.parametrize(
    "header",
    [
        '"(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\\\WEB\\Processor(0)\\% Processor Time",'
        '"\\\\WEB\\Processor(_Total)\\% Processor Time"',
        "Timestamp,Elapsed time,CPU (%)",
    ],
)
def test_counters_of_one_machine_are_read_as_its_use_alone(header: str, tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f'{header}\n"09/21/2026 10:00:00.123"," ","50"\n"09/21/2026 10:05:00.123","20","25"\n')
    assert list(read_as_advised(path).cores) == [2, 1]


@pytest.mark.parametrize(
    "table",
    [
        ",result,table,_start,_stop,_time,_value,_field,host\n,,0,{0},{1},{0},4,used,web\n,,0,{0},{1},{1},5,used,web\n",
        '@timestamp,host.name,cpu.used\n"Oct 30, 2026 @ 20:00:00.000",web,4\n"Oct 30, 2026 @ 20:05:00.000",web,5\n',
    ],
)
def test_what_influx_and_kibana_export_is_the_use_of_machines(table: str, tmp_path: Path) -> None:
    """Of the one, times of the question were jobs, of the other the time was called the machine."""
    path = tmp_path / "use.csv"
    path.write_text(table.format(iso(0), iso(1)))
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert isinstance(refused.value.hint, Advice)
    asked = replace(refused.value.hint.on(WorkloadOptions()), series_value="cores", series_cores=None)
    found = read_workload(path, options=asked)
    assert isinstance(found, Demand)
    assert (found.step_seconds, list(found.cores)) == (300, [4, 5])


def test_columns_with_german_names_are_read_with_one_command(tmp_path: Path) -> None:
    path = tmp_path / "nutzung.csv"
    path.write_text("Zeit;Kerne\n01.11.2026 00:00;1.234,5\n01.11.2026 00:05;1.200,5\n")
    assert list(read_as_advised(path).cores) == [1234.5, 1200.5]
    path.write_text("Auftrag;Beginn;Ende;Kerne;Speicher (GB)\na;01.11.2026 10:00;01.11.2026 12:00;4;16\n")
    found = read_as_advised(path)
    assert isinstance(found, Jobs)
    assert [list(column) for column in (found.duration, found.cores, found.memory)] == [[7200], [4], [16]]


def read_as_advised(path: Path) -> Jobs | Demand:
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert isinstance(refused.value.hint, Advice)
    return read_workload(path, options=refused.value.hint.on(WorkloadOptions()))


def test_where_only_the_time_is_said_a_sum_is_no_machine(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(wide().replace("Time", "when").replace("web-2", "total"))
    with pytest.raises(InputError, match="if it is, give it another name"):
        read_workload(path, options=WorkloadOptions(series_cores=4, columns="timestamp=when"))


def test_machines_whose_samples_are_at_other_seconds_keep_their_use(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("timestamp,cores\n0,1\n60,2\n120,1\n")
    (tmp_path / "b.csv").write_text("timestamp,cores\n30,1\n90,2\n150,1\n")
    found = read_workload(tmp_path)
    assert isinstance(found, Demand)
    assert list(found.cores) == pytest.approx([1.5, 3.5, 2.5, 0.5])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (google(nextPageToken="x"), "is a part of an answer (nextPageToken)"),
        (google("instance/cpu/usage_time", "CUMULATIVE"), "since the machine began"),
        (google("instance/memory/percent_used", unit="%"), "is not CPU use, by its name"),
        (google("instance/network/received_bytes_count"), "is not CPU use, by its name"),
        (json.dumps(azure_answer("web-1", "Available Memory Bytes", "Bytes")), "the unit of"),
        (json.dumps({"values": [azure_answer("web-1")] * 2}), "is there before"),
        (wide().replace("web-2", "web-1"), "appears 2 times"),
        (wide().replace("web-2", "web-1 memory"), "is no machine's use of CPUs"),
        (wide().replace("web-2", "Total"), "is no machine's use of CPUs"),
        ("Time,Memory usage\n" + f"{iso(0)},5%\n{iso(1)},6%\n", "is no machine's use of CPUs"),
        (long() + f"{iso(3)};web-2;5\n", "line 10, column percent"),
        (long().replace(";100.0", ";100.5"), "line 4, column percent"),
        (long().replace("web-2;40.0", ";40.0"), "line 8, column host"),
        (
            '{"Label": "MemoryUtilization", "Datapoints": [{"Timestamp": "2026-11-01T00:00:00Z", "Average": 5, '
            '"Unit": "Percent"}, {"Timestamp": "2026-11-01T00:05:00Z", "Average": 5, "Unit": "Percent"}]}',
            "is not CPU use, by its name",
        ),
    ],
)
def test_what_is_no_use_of_cpus_or_there_twice(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "use", text)
    assert says in str(caught.value)


@pytest.mark.parametrize("time", ["timestamp", "date", "when"])
def test_a_gap_in_one_series_of_all_use_is_asked_about_whatever_its_time_is_called(time: str, tmp_path: Path) -> None:
    path, asked = tmp_path / "use.csv", WorkloadOptions(columns=f"timestamp={time}")
    rows = [f"{iso(12 * at)},4\n" for at in range(60) if not 10 <= at < 40]
    path.write_text(f"{time},cores\n{''.join(rows)}")
    with pytest.raises(InputError, match="no value for 111,600 s") as refused:
        read_workload(path, options=asked)
    assert "max_gap_seconds=111600; if nothing ran, give it rows of 0" in str(refused.value.hint)
    held = read_workload(path, options=replace(asked, max_gap_seconds=111_600))
    assert isinstance(held, Demand)
    assert list(held.cores) == [4] * 60


def test_a_machine_with_a_file_of_its_own_in_a_folder_was_off_through_a_gap(tmp_path: Path) -> None:
    for name, there in (("web", range(60)), ("db", [*range(10), *range(40, 60)])):
        (tmp_path / f"{name}.csv").write_text("date,cores\n" + "".join(f"{iso(12 * at)},{len(name)}\n" for at in there))
    found = read_workload(tmp_path)
    assert isinstance(found, Demand)
    assert list(found.cores) == [5] * 10 + [3] * 30 + [5] * 20


@pytest.mark.parametrize("time", ["timestamp", "date"])
def test_a_step_of_a_day_is_no_gap(time: str, tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"{time},cores\n" + "".join(f"{iso(288 * at)},{at}\n" for at in range(9)))
    found = read_workload(path)
    assert isinstance(found, Demand)
    assert list(found.cores) == list(range(9))


@pytest.mark.parametrize("header", ["timestamp,cores", "date,cores", "date,web,db"])
@pytest.mark.parametrize(
    "dates",
    [
        [f"{date.fromordinal(date(2026, 3, 15).toordinal() + day)}" for day in range(240)],
        [f"2026-0{month}-01" for month in (4, 5, 6, 7)],
    ],
    ids=["days", "months"],
)
def test_a_value_that_is_only_late_leaves_no_gap(header: str, dates: list[str], tmp_path: Path) -> None:
    """The day with 25 hours was refused, or counted as one on which machines were off, and a month with 31 days was."""
    path, cells = tmp_path / "use.csv", ",4" * header.count(",")
    path.write_text(f"{header}\n" + "".join(f"{day}{cells}\n" for day in dates))
    value: Literal["auto", "cores"] = "auto" if "cores" in header else "cores"
    found = read_workload(path, options=WorkloadOptions(zone="Europe/Berlin", series_value=value))
    assert isinstance(found, Demand)
    assert found.cores == pytest.approx(4 * header.count(","))


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("time,web-nodes,spark-nodes", "4,2", 6),
        ("time,core-micro", "6", 6),
        ("time,group,host,cores", "a,b,4\nTIME,a,c,2", 6),
        ("time,node_name,pod,cores", "a,b,4\nTIME,a,c,2", 6),
        ("time,node,metric,cores", "a,m,4\nTIME,b,m,2", 6),
        ("time,host,total_cores,used_percent", "a,64,25", 16),
        ("time,pod,usageNanoCores", "a,4e9", 4),
        ("time,pod,CPU [m]", "a,4000", 4),
        ("event_time,host_name,cpu_ratio", "a,0.25", 16),
        ("collected_at,machine_name,cpu_usage_percent", "a,25", 16),
        ("eventTime,server_name,cpu_millicores", "a,4000", 4),
    ],
)
def test_names_say_what_columns_hold(header: str, row: str, expected: float, tmp_path: Path) -> None:
    """Groups of nodes and machines of type micro are machines, a host is more than its group, what there is no use."""
    path = tmp_path / "use.csv"
    path.write_text(f"{header}\n" + "".join(f"TIME,{row}\n".replace("TIME", iso(n)) for n in (2, 3)))
    value: Literal["auto", "cores"] = "cores" if "-" in header else "auto"
    found = read_workload(path, options=WorkloadOptions(extra_columns="ignore", series_value=value, series_cores=64))
    assert isinstance(found, Demand)
    assert list(found.cores) == [expected] * 2


def test_columns_of_several_units_of_cpus_are_each_read_in_its_own(tmp_path: Path) -> None:
    """500 millicores beside 3 cores were 503 vCPUs."""
    path = tmp_path / "use.csv"
    path.write_text(f"time,web_cpu_millicores,db_cpu_cores\n{iso(0)},500,3\n{iso(1)},1500,2\n")
    found = read_workload(path)
    assert isinstance(found, Demand)
    assert list(found.cores) == [3.5, 3.5]
    told = "1,000 of a value of web_cpu_millicores are a vCPU, by the column's name"
    assert told in [modelled.rule for modelled in found.provenance.modelled]


def test_a_day_and_a_time_of_day_beside_a_whole_time_are_columns_to_leave_out(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"timestamp,date,time,cores\n{iso(0)},2026-11-02,00:00,3\n{iso(1)},2026-11-02,00:05,4\n")
    found = demand_as_advised(path)
    assert list(found.cores) == [3, 4]


def test_memory_beside_one_series_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    """It was an unknown column where the time is called timestamp, and read where it is called Time."""
    for time in ("timestamp", "Time"):
        path = tmp_path / f"{time}.csv"
        path.write_text(f"{time},cores,memory_gb\n{iso(0)},3,2\n{iso(1)},4,3\n")
        found = read_workload(path)
        assert isinstance(found, Demand)
        assert (list(found.cores), list(found.memory)) == ([3, 4], [2, 3])


@pytest.mark.parametrize(
    ("header", "scale"),
    [
        ("time,pod,cpu_millicores", 1e3),
        ("timestamp,pod,CPU(m),MEM(Mi)", 1e3),
        ("at,pod,cpu_millicores", 1e3),
        ("time,container,cpu_usage_nanocores", 1e9),
        ("timestamp,cpu_usage_millicores", 1e3),
    ],
)
def test_columns_of_parts_of_a_vcpu_are_read_as_such(header: str, scale: float, tmp_path: Path) -> None:
    """5,000 millicores were told to be 5,000 vCPUs."""
    path = tmp_path / "use.csv"
    named, memory = "a," * header.count(",pod,") or "a," * header.count(",container,"), ",2048" * header.count("MEM")
    path.write_text(f"{header}\n" + "".join(f"{iso(n)},{named}{n * scale}{memory}\n" for n in (2, 3)))
    found = read_workload(path, options=WorkloadOptions())
    assert isinstance(found, Demand)
    assert list(found.cores) == [2, 3]
    assert list(found.memory) == ([2, 2] if memory else [8, 12])
    assert f"{scale:,.0f} of a value are a vCPU, by the column's name" in [m.rule for m in found.provenance.modelled]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "ts,cpu_cores_used,mem_used_gib\n{0},4,28\n{1},5,35\n",
            "if mem_used_gib is the memory in use with it, read it with: ",
        ),
        ("ts,cpu_cores_used,mem_used_gib\n{0},4,28\n{1},5,35\n", "cores=cpu_cores_used,memory=mem_used_gib"),
        ("ts,cpu_cores_used,mem_used_pct\n{0},4,28\n{1},5,35\n", "leave such columns out: "),
        ("ts,cpu_cores_used,mem_limit\n{0},4,28\n{1},5,35\n", "leave such columns out: "),
        ("time,cores,memory_used\n{0},4,28\n{1},5,35\n", "timestamp=time,cores=cores,memory=memory_used"),
        ("time,host,cpu_idle\n{0},a,90\n{1},a,80\n", "column 'cpu_idle' is no machine's use of CPUs by its name"),
        (
            "time,host,cpu_idle,dc\n{0},a,90,x\n{1},a,80,x\n",
            "say which of cpu_idle, dc it uses: --columns timestamp=time,",
        ),
        ("time,host,avg_cpu,dc\n{0},a,90,x\n{1},a,80,x\n", "--columns timestamp=time,name=host,value=avg_cpu"),
        ("bucket,host,cpu\n{0},a,90\n{1},a,80\n", "--columns timestamp=bucket,name=host,value=cpu"),
        ("bucket,host,cpu\n{0},1790000000,90\n{1},1790000000,80\n", "--columns timestamp=bucket,name=host,value=cpu"),
        ("hour,host,cpu\n0,1790000000,90\n1,1790000000,80\n", "--columns timestamp=NAME,name=host,value=cpu"),
        ("time,cpu_usage_percent,mem_used_pct\n{0},4,28\n{1},5,35\n", "leave such columns out: "),
        (
            "timestamp,allocated_cpus,total_cpus\n{0},4,64\n{1},5,64\n",
            "column 'total_cpus' is no machine's use of CPUs",
        ),
        ("timestamp,busy_cores,vcpus_per_node\n{0},4,64\n{1},5,64\n", "column 'vcpus_per_node' is no machine's use"),
        ("Time,Usage for web [MHz]\n{0},2400\n{1},1200\n", "is no machine's use of CPUs by its name"),
        (
            "time,host,load1,load5\n{0},a,1,1\n{1},a,2,1\n",
            "if host is the machine of each row, say which of load1, load5",
        ),
        (
            "time,host,cpu_avg,cpu_max\n{0},a,1,2\n{1},a,2,3\n",
            "if host is the machine of each row, say which of cpu_avg, cpu_max it uses: --columns timestamp=time,name",
        ),
        ("time,rack,value\n{0},a,1\n{0},b,1\n{1},a,2\n", "if rows are of several machines, add name=NAME to --columns"),
        (
            "name,tags,time,mean\ncpu,host=a,{0},1\ncpu,host=b,{0},1\ncpu,host=a,{1},2\n",
            "if another column names the machine, say --columns timestamp=time,name=NAME,value=mean; ",
        ),
        (
            "date,slot,host,cpu\n2026-11-02,00:00,a,1\n2026-11-02,00:05,a,1\n",
            "write it behind the date; its other columns",
        ),
        (
            "date,time,host,cpu\n2026-11-02,00:00,a,1\n2026-11-02,00:05,a,1\n",
            "write both into one column: awk -F, ",
        ),
        ("time,web_cpu_percent,db_cpu_cores\n{0},9,1\n{1},9,2\n", "'web_cpu_percent' in percent and 'db_cpu_cores' in"),
        ("time,web (%),db,etl cores\n{0},9,1,2\n{1},9,2,2\n", "'web (%)' in percent and 'etl cores' in cores"),
        ("time,web_millicores,db\n{0},900,1\n{1},900,2\n", "the unit of 'db' is unknown"),
        ("time,web_millicores,db\n{0},900,1\n{1},900,2\n", "if they are vCPUs in use (the largest is 2), read it"),
        (
            "time,web (%),db\n{0},9,1\n{1},9,2\n",
            "if they are percent of machines with 4 vCPUs (the largest is 9), read",
        ),
        ("time,host,cpu\n{0},a,1.5\n{1},a,250\n", "vCPUs in use (the largest is 250; if 100 is one vCPU, as docker"),
        ("time,host,percent\n{0},a,100\n{1},a,250\n", "if 100 is one vCPU, as docker stats and top have it"),
    ],
)
def test_what_would_be_read_as_another_use_is_refused_with_what_to_do(text: str, told: str, tmp_path: Path) -> None:
    """What was idle counted as used, and MHz as vCPUs of a second machine."""
    path = tmp_path / "use.csv"
    path.write_text(text.format(iso(0), iso(1)))
    options, said = WorkloadOptions(series_cores=4), ""
    for _ in range(3):
        try:
            read_workload(path, options=options)
        except InputError as refused:
            said += f"{refused}\n{refused.hint}\n"
            options = refused.hint.on(options) if isinstance(refused.hint, Advice) else options
    assert told in said


def test_all_use_that_is_sampled_now_and_then_is_the_same_by_any_name_of_its_columns(tmp_path: Path) -> None:
    rows = "".join(
        f"{START + at},{use},{use}\n" for at, use in ((0, 4), (60, 8), (300, 2), (600, 3), (1800, 6), (2100, 6))
    )
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    own.write_text("timestamp,cores,memory\n" + rows)
    other.write_text("timestamp,cores,memory_gib\n" + rows)
    found = [read_workload(path) for path in (own, other)]
    assert [one.provenance.format for one in found] == ["series", "machines"]
    for one in found:
        assert isinstance(one, Demand)
        assert one.cores == pytest.approx([7.2, 2, 3, 3, 3, 3, 6, 6])
        assert one.memory == pytest.approx(one.cores)


@pytest.mark.parametrize(
    ("highest", "likely", "other"),
    [
        (
            3.4,
            "vCPUs in use (the largest is 3.4; if they are percent of machines, say --set series_value=percent",
            "cores",
        ),
        (97, "percent of machines with 4 vCPUs (the largest is 97; if they are vCPUs in use, say ", "percent"),
        (0.9, "a fraction of machines with 4 vCPUs (the largest is 0.9; if they are vCPUs in use, say ", "fraction"),
    ],
)
def test_what_values_of_no_unit_are_likely_to_be_comes_first(
    highest: float, likely: str, other: str, tmp_path: Path
) -> None:
    """Of 0.2 to 3.4 vCPUs the command said percent of 4: a 25th of the demand."""
    path = tmp_path / "use.csv"
    path.write_text(f"time,host,cpu\n{iso(0)},a,0.2\n{iso(1)},a,{highest}\n")
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert f"if they are {likely}" in str(refused.value.hint)
    assert f"use.csv --set series_value={other}" in str(refused.value.hint)


@pytest.mark.parametrize("column", ["GroupInServiceInstances", "replicas", "instance_count", "Running Pods"])
def test_numbers_of_machines_are_not_taken_for_vcpus(column: str, tmp_path: Path) -> None:
    """Of eleven instances with four vCPUs each eleven vCPUs were offered."""
    path = tmp_path / "use.csv"
    path.write_text(f"time,{column}\n{iso(0)},11\n{iso(1)},5\n")
    with pytest.raises(InputError, match="is by its name how many machines run, and not their vCPUs") as refused:
        read_workload(path)
    assert isinstance(refused.value.hint, Advice)
    read = read_workload(path, options=refused.value.hint.on(WorkloadOptions()))
    assert isinstance(read, Demand)
    assert read.cores.tolist() == [44.0, 20.0]
    path.write_text(f"time,{column}\n{iso(0)},11.5\n{iso(1)},5\n")
    with pytest.raises(InputError, match="is by its name how many machines run, and not their vCPUs"):
        read_workload(path)


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (("DesiredCapacity", "TotalInstances", "InService"), "InService"),
        (("GroupTotalInstances", "GroupDesiredCapacity"), "GroupTotalInstances"),
        (("web_desired_replicas", "web_ready_replicas", "web replicas"), "web_ready_replicas"),
    ],
)
def test_one_fleet_counted_in_several_states_is_not_added_up(
    columns: tuple[str, ...], kept: str, tmp_path: Path
) -> None:
    """Three columns of one group of four to seven instances were 84 vCPUs, where 28 ran."""
    path = tmp_path / "use.csv"
    path.write_text(f"time,{','.join(columns)}\n{iso(0)}{',4' * len(columns)}\n{iso(1)}{',7' * len(columns)}\n")
    for options in (WorkloadOptions(), WorkloadOptions(series_value="machines", series_cores=4.0)):
        with pytest.raises(InputError, match="count the machines of one fleet by their names") as refused:
            read_workload(path, options=options)
        assert isinstance(refused.value.hint, Advice)
        chosen = refused.value.hint.on(WorkloadOptions(series_value="machines", series_cores=4.0))
        assert f"value={kept}" in chosen.columns
        read = read_workload(path, options=chosen)
        assert isinstance(read, Demand)
        assert read.cores.tolist() == [16.0, 28.0]


def test_two_fleets_in_two_states_are_refused_and_two_fleets_are_not(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text(f"time,web_running_pods,web_desired_pods,db_pods\n{iso(0)},4,4,2\n{iso(1)},7,7,2\n")
    with pytest.raises(InputError, match="count the machines of one fleet") as refused:
        read_workload(path)
    assert refused.value.hint == "leave one column for each fleet"
    path.write_text(f"time,web_running_pods,db_running_pods\n{iso(0)},4,2\n{iso(1)},7,2\n")
    read = read_workload(path, options=WorkloadOptions(series_value="machines", series_cores=2.0))
    assert isinstance(read, Demand)
    assert read.cores.tolist() == [12.0, 18.0]


@pytest.mark.parametrize("column", ["Usage in MHz", "web01 CPU MHz", "cpu.usagemhz.average"])
def test_mhz_are_not_offered_as_vcpus(column: str, tmp_path: Path) -> None:
    """Of 2,500 MHz of a virtual machine 2,500 vCPUs were offered."""
    path = tmp_path / "use.csv"
    path.write_text(f"time,{column}\n{iso(0)},2500\n{iso(1)},900\n")
    with pytest.raises(InputError, match="is by its name in MHz, and not in vCPUs") as refused:
        read_workload(path, options=WorkloadOptions(columns=f"timestamp=time,value={column}"))
    assert "divide the values by the MHz of one vCPU" in str(refused.value.hint)


@pytest.mark.parametrize(
    "name", ["{h:02}:00", "{h}", "h{h}", "Hour {h}", "{h}h", "{h:02}:00:00", "{h:02}-{to:02}", "{half}"]
)
def test_hours_in_columns_are_no_machines(name: str, tmp_path: Path) -> None:
    """Twenty-four columns of hours were added up as machines: 24 times the vCPU-hours."""
    path = tmp_path / "days.csv"
    hours = [name.format(h=h, to=h + 1, half=f"{h % 12 or 12} {'AP'[h // 12]}M") for h in range(24)]
    path.write_text("date," + ",".join(hours) + "\n" + "".join(f"2026-11-0{d},{'2,' * 23}3\n" for d in (1, 2)))
    with pytest.raises(InputError, match="each row is a day, with a column for each 60 minutes of it") as refused:
        read_workload(path)
    mended = subprocess.run(refused.value.hint.partition(": ")[2], shell=True, cwd=tmp_path, check=True)
    assert not mended.returncode
    read = read_workload(tmp_path / "mended.csv")
    assert isinstance(read, Demand)
    assert read.cores.tolist() == ([2.0] * 23 + [3.0]) * 2
    path.write_text("date,web1,web2\n2026-11-01,1,2\n")
    with pytest.raises(InputError, match="the unit of"):
        read_workload(path)


@pytest.mark.parametrize(("beside", "cells"), [("Total", "49"), ("Weekday,VM", "Sunday,a"), ("Wochentag", "So")])
@pytest.mark.parametrize("is_before", [False, True])
def test_columns_beside_those_of_hours_are_no_hours(beside: str, cells: str, is_before: bool, tmp_path: Path) -> None:
    """With a column of sums the hint left it out and added up the hours: 525,175 vCPU-hours of 21,882."""
    path = tmp_path / "days.csv"
    hours = [",".join(f"{h:02}:00" for h in range(24)), ",".join(["2"] * 23 + ["3"])]
    lines = [f"{two},{one}" if is_before else f"{one},{two}" for one, two in zip(hours, (beside, cells), strict=True)]
    path.write_text(f"date,{lines[0]}\n" + "".join(f"2026-11-0{d},{lines[1]}\n" for d in (1, 2)))
    with pytest.raises(InputError, match="each row is a day, with a column for each 60 minutes of it") as refused:
        read_workload(path)
    subprocess.run(refused.value.hint.partition(": ")[2], shell=True, cwd=tmp_path, check=True)
    read = read_workload(tmp_path / "mended.csv", options=WorkloadOptions(series_value="cores"))
    assert isinstance(read, Demand)
    assert read.cores.tolist() == ([2.0] * 23 + [3.0]) * 2
