"""``hcloud harvest`` on the command line: what it prints, and what it says of files that cannot be used."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from harvesting import MONDAY, daily, util_csv
from jsonschema import Draft202012Validator

from hcloud.cli.main import run
from hcloud.readers.harvest.servers import read_servers
from hcloud.views.document import schema_of
from hcloud.views.harvesting.documents import HarvestTypesDocument

NOW = ("--now", "2026-11-20T12:00:00Z")
STEP = 900
SERVERS = """server,tenant,environment,rack,cores,market
a1,web,shop,r1,16,reserved
a2,web,shop,r2,16,reserved
b1,db,shop,r1,8,reserved
c1,new,lab,r1,8,spot
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """servers.csv and util.csv of two weeks, in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("servers.csv").write_text(SERVERS, encoding="utf-8")
    day = daily(14, mean=0.25, swing=0.15)
    util_csv(Path("util.csv"), {"a1": day, "a2": day, "b1": np.full(len(day), 0.5)})
    return tmp_path


def refused(capsys: Capture, *words: str) -> tuple[int, str]:
    code = run(["harvest", *words])
    return code, capsys.readouterr().err


def test_types_print_classes_headroom_the_day_and_trust(pool: Path, capsys: Capture) -> None:
    assert run(["harvest", "types", "util.csv", "--servers", "servers.csv"]) == 0
    told = capsys.readouterr().out
    assert "2 tenants on 3 servers over the last 14 days in steps of 15min: 1 periodic, 1 constant" in told
    assert "Trust: 100% of the tenants have the type that they had in the 7 days before" in told
    assert "1 tenant of servers.csv without a history, not typed: new." in told
    line = next(line for line in told.splitlines() if line.startswith("periodic-1"))
    assert line.split()[1:6] == ["1", "2", "32", "25%", "40%"]
    assert len(line.split()[-1]) == 24
    assert len(set(line.split()[-1])) > 2


def test_types_as_json_csv_and_markdown_say_the_same(pool: Path, capsys: Capture) -> None:
    words = ["harvest", "types", "util.csv", "--servers", "servers.csv", *NOW]
    told = {}
    for form in ("json", "csv", "md"):
        assert run([*words, "-o", form]) == 0
        told[form] = capsys.readouterr().out
    document = json.loads(told["json"])
    Draft202012Validator(schema_of(HarvestTypesDocument)).validate(document)
    rows = list(csv.DictReader(io.StringIO(told["csv"])))
    assert [row["name"] for row in rows] == [c["name"] for c in document["classes"]] == ["periodic-1", "constant-1"]
    assert document["trust"] == {"days": 7, "alike": 1.0}
    assert [(t["tenant"], t["use_class"]) for t in document["tenants"]] == [("db", "constant-1"), ("web", "periodic-1")]
    assert "| periodic-1 | 1 | 2 |" in told["md"]
    assert run([*words, "-o", "json"]) == 0
    assert capsys.readouterr().out == told["json"]


def test_machines_without_servers_are_tenants_of_their_own(pool: Path, capsys: Capture) -> None:
    assert run(["harvest", "types", "util.csv", "--json", *NOW]) == 0
    assert [t["tenant"] for t in json.loads(capsys.readouterr().out)["tenants"]] == ["a1", "a2", "b1"]
    assert run(["harvest", "types", "util.csv"]) == 0
    assert "The vCPUs of 3 machines are unknown, so that each counts as one" in capsys.readouterr().out


def test_percent_is_said_with_what_to_add(pool: Path, capsys: Capture) -> None:
    util_csv(Path("percent.csv"), {"a1": 100 * daily(8), "a2": 100 * daily(8)})
    code, said = refused(capsys, "types", "percent.csv")
    assert code == 1
    assert "percent.csv: line 2, column cpu: 30 at 1767571200 (fraction: a number from 0 to 1)" in said
    asked = "percent (the largest is 50; if they are vCPUs in use, say series_value=cores), read it with: "
    assert f"{asked}hcloud harvest types percent.csv --set series_value=percent" in said
    assert run(["harvest", "types", "percent.csv", "--set", "series_value=percent"]) == 0


def test_all_that_is_wrong_with_a_history_is_said_at_once(pool: Path, capsys: Capture) -> None:
    text = Path("util.csv").read_text(encoding="utf-8").splitlines()
    text[3], text[5], text[6], text[8] = f"a1,{MONDAY},abc", text[5] + "x", f"a1,{MONDAY + 99},-2", "a1,soon,0.5"
    more = [f"zz,{MONDAY},0.4", f"b1,{MONDAY + 2 * STEP},0.5", "b1,0.5"]
    Path("util.csv").write_text("\n".join([*text, *more]) + "\n", encoding="utf-8")
    code, said = refused(capsys, "types", "util.csv", "--servers", "servers.csv")
    assert (code, said.splitlines()[0]) == (1, "error: util.csv: 7 problems")
    for words in (
        "line 4, column cpu: 'abc' (a number",
        "line 9, column time: 'soon' (a time",
        ": 2 fields (3 fields",
        "line 6, column cpu: '0.2888x'",
        "line 7, column cpu: -2 at 1767571299 (fraction: a number from 0",
        "the time 1767573000 is there before (one sample",
        "'zz' has no servers (a server or a tenant of",
    ):
        assert words in said, said


def test_vcpus_in_use_need_the_size_of_the_servers(pool: Path, capsys: Capture) -> None:
    util_csv(Path("vcpus.csv"), {"a1": 16 * daily(8)})
    code, said = refused(capsys, "types", "vcpus.csv", "--set", "series_value=cores")
    assert code == 1
    assert "--servers servers.csv" in said
    words = ["harvest", "types", "vcpus.csv", "--set", "series_value=cores", "--servers", "servers.csv", "--json", *NOW]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["classes"][0]["mean"] == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["a1,web,,,0,reserved"], ["column cores: '0' (a number above 0"]),
        (["a1,,,,4,reserved", "a2,web,,,4,rented"], ["column tenant: ''", "one of reserved, on-demand, spot"]),
        (["a1,web,,,4,spot", "a1,web,,,4,spot"], ["line 3, column server: 'a1' (each server once)"]),
        (["a1,web,shop,,4,spot", "a2,web,lab,,4,spot"], ["line 3, column environment: 'lab' ('shop', as the first"]),
        (
            ["a1,web,shop,,x,spot", "a1,web,lab,,4,spot"],
            ["3 problems", "line 2, column cores", "line 3, column server", "line 3, column environment"],
        ),
        ([], ["no rows"]),
    ],
)
def test_all_of_servers_that_cannot_be_is_said_at_once(
    rows: list[str], said: list[str], pool: Path, capsys: Capture
) -> None:
    Path("servers.csv").write_text("\n".join([SERVERS.splitlines()[0], *rows]) + "\n", encoding="utf-8")
    code, told = refused(capsys, "types", "util.csv", "--servers", "servers.csv")
    assert code == 1
    assert [words for words in said if words not in told] == []


def test_columns_of_servers_are_named_and_not_mapped_as_those_of_the_use(pool: Path, capsys: Capture) -> None:
    Path("servers.csv").write_text(SERVERS.replace("cores", "cpus", 1), encoding="utf-8")
    code, told = refused(capsys, "types", "util.csv", "--servers", "servers.csv")
    assert (code, "a csv with the columns server, tenant and cores" in told, "--columns" in told) == (1, True, False)


def test_histories_of_no_servers_are_all_named(pool: Path, capsys: Capture) -> None:
    util_csv(Path("other.csv"), {"a1": daily(8), "a9": daily(8), "wbe": daily(8)})
    code, said = refused(capsys, "types", "other.csv", "--servers", "servers.csv")
    assert code == 1
    assert "'a9' has no servers" in said
    assert "'wbe' has no servers (a server or a tenant of servers.csv; did you mean web?)" in said


def test_series_of_monitoring_are_of_the_server_that_a_label_names(pool: Path, capsys: Capture) -> None:
    """Prometheus names a series by all of its labels; one history of each server."""
    day = [[MONDAY + at * STEP, str(u)] for at, u in enumerate(daily(8, mean=0.3))]
    labels = [{"__name__": "cpu", "instance": f"{one}:9100"} for one in ("a1", "a2", "b1")]

    def export(*more: dict[str, str]) -> None:
        series = [{"metric": metric, "values": day} for metric in (*labels, *more)]
        answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
        Path("prometheus.json").write_text(json.dumps(answer), encoding="utf-8")

    export()
    assert run(["harvest", "types", "prometheus.json", "--servers", "servers.csv"]) == 0
    assert "2 tenants on 3 servers over the last 8 days" in capsys.readouterr().out
    export({"__name__": "cpu", "instance": "a1:9100", "core": "1"}, {"instance": "a1", "peer": "a2"})
    code, said = refused(capsys, "types", "prometheus.json", "--servers", "servers.csv")
    assert (code, said.count("\n  prometheus.json: result")) == (1, 2)
    assert "is 'a1', as '__name__=cpu,instance=a1:9100' is (one history of each)" in said
    assert "'instance=a1,peer=a2' has no servers" in said


def test_servers_without_a_history_beside_others_of_their_tenant_are_said(pool: Path, capsys: Capture) -> None:
    told = []
    for name in ("a1", "web"):
        util_csv(Path("part.csv"), {name: daily(8)})
        assert run(["harvest", "types", "part.csv", "--servers", "servers.csv"]) == 0
        told.append(" ".join(capsys.readouterr().out.split()))
    assert "1 server of servers.csv without a history beside others of their tenants" in told[0]
    assert "not counted here" not in told[1]


def test_a_server_with_gaps_beside_others_of_its_tenant_is_said(pool: Path, capsys: Capture) -> None:
    """What is missing of it is no longer than a short gap, which holds its value, and a day, which does not count."""
    rows = Path("util.csv").read_text(encoding="utf-8").splitlines()
    kept = [row for at, row in enumerate(rows) if not row.startswith("a2,") or at % 1344 not in (5, *range(200, 296))]
    Path("util.csv").write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert run(["harvest", "types", "util.csv", "--servers", "servers.csv"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "1 server with gaps: the use of the tenant is the mean of its other servers there: a2 (web, 7.1%" in told
    assert "Gaps: 1 step of short gaps" in told


def test_tenants_without_an_environment_have_one_of_their_own(pool: Path, capsys: Capture) -> None:
    text = Path("servers.csv").read_text(encoding="utf-8").replace(",shop,", ",,")
    Path("servers.csv").write_text(text, encoding="utf-8")
    assert run(["harvest", "types", "util.csv", "--servers", "servers.csv"]) == 0
    found = read_servers(Path("servers.csv"))
    assert found.groups["environment"].of.tolist() == [1, 1, 2, 0]


def test_a_time_that_is_there_twice_is_refused_as_clocks_do_it(pool: Path, capsys: Capture) -> None:
    text = Path("util.csv").read_text(encoding="utf-8")
    Path("util.csv").write_text(f"{text}a1,{MONDAY + 5 * STEP},0.5\n", encoding="utf-8")
    code, said = refused(capsys, "types", "util.csv")
    assert code == 1
    assert "where clocks were put back, export times in UTC" in said


@pytest.mark.parametrize(("text", "said"), [("", "util.csv is empty"), ("server,time,cpu\n", "util.csv: no rows")])
def test_an_empty_history_is_refused(text: str, said: str, pool: Path, capsys: Capture) -> None:
    Path("util.csv").write_text(text, encoding="utf-8")
    code, told = refused(capsys, "types", "util.csv", "--servers", "servers.csv")
    assert code == 1
    assert said in told


@pytest.mark.parametrize(("days", "code", "said"), [(1, 9, "2 whole days"), (3, 0, "no tenant can be periodic")])
def test_short_histories(days: int, code: int, said: str, pool: Path, capsys: Capture) -> None:
    util_csv(Path("short.csv"), {"a1": daily(days), "a2": daily(days)})
    assert run(["harvest", "types", "short.csv"]) == code
    told = capsys.readouterr()
    assert said in " ".join((told.out + told.err).split())


def test_jobs_are_no_history(pool: Path, capsys: Capture) -> None:
    Path("jobs.csv").write_text("submit,duration,cores\n0,60,1\n60,60,2\n", encoding="utf-8")
    code, said = refused(capsys, "types", "jobs.csv")
    assert code == 1
    assert "types of use are of machines" in said


CASES = Path(__file__).parents[2] / "cases" / "workloads"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("metric_data.json", ()),
        ("prometheus.json", ("series_value=cores",)),
        ("google.json", ()),
        ("grafana.csv", ("series_value=percent",)),
        ("tasks.parquet", ()),
        ("bitbrains", ()),
        ("cluster.csv", ()),
    ],
)
def test_every_reader_of_series_gives_histories(name: str, keys: tuple[str, ...]) -> None:
    from hcloud.readers.workloads.histories import read_histories
    from hcloud.readers.workloads.options import WorkloadOptions, with_keys

    options = with_keys(WorkloadOptions(), dict(key.split("=") for key in keys))
    found = read_histories(CASES / name, "auto", options)
    assert found.machines
    for machine in found.machines:
        assert len(machine.times) == len(machine.use)
        assert np.all(np.diff(machine.times) > 0)
        assert np.all((machine.use >= 0) & ((machine.use <= 1) | machine.in_cores))


def test_the_numbers_are_shown_with_their_origins_and_a_file_of_ones_own_is_checked(
    pool: Path, capsys: Capture
) -> None:
    assert run(["strategy", "show", "harvest", "--json", *NOW]) == 0
    assert json.loads(capsys.readouterr().out)["mechanisms"]["typing"]["parameters"]["sigma"]["value"] == 0.04
    from hcloud.readers.bundle import bundled

    text = (bundled("policies") / "harvest.yaml").read_text(encoding="utf-8")
    Path("mine.yaml").write_text(
        text.replace("value: 0.04", "value: 4").replace("restarts:", "starts:"), encoding="utf-8"
    )
    code, said = refused(capsys, "types", "util.csv", "--policy", "mine.yaml")
    assert code == 1
    assert "harvesting.typing.parameters.sigma.value: 4 (a number from 0 to 1)" in said
    assert "harvesting.classes.parameters.starts: unknown key (did you mean restarts?)" in said
    assert run(["simulate", "scenario:static", "--strategy", "harvest"]) == 64
