"""``hcloud size``: from a target to servers and what they cost an hour, and everything that a target cannot be."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hcloud.cli.main import run

ON_TYPES = {"m5.large": 9_000.0, "m5.4xlarge": 58_000.0, "c5.xlarge": 20_000.0}
HOURLY = {"m5.large": Decimal("0.096"), "m5.4xlarge": Decimal("0.768"), "c5.xlarge": Decimal("0.17")}
AT = ("--now", "2026-11-20T12:00:00Z")
TARGET = "{qps: 100k, tail_ms: 10, scale_out: linear}"
SERVERS = "server,type,vcpus,memory_gib,free_vcpus,free_memory_gib\n"
SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "size.schema.json"


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_profile(tmp_path, {"types": ON_TYPES})
    return tmp_path


def write_profile(
    folder: Path, entries: Mapping[str, Mapping[str, float]], *, rising: bool = True, kind: str = "", unit: str = "s"
) -> None:
    kind = kind or ("service" if rising else "batch")
    head = {"format_version": "1.0", "app": "frontend", "kind": kind, "command": ["serve"]}
    how = {"samples": 3, "at": "2026-11-19T12:00:00Z", "machine": "m5", "source": "load"}
    made = {a: {c: {"value": v, "low": v, "high": v, **how} for c, v in row.items()} for a, row in entries.items()}
    metric = {"name": "throughput", "unit": "req/s" if rising else unit, "rising": rising}
    text = json.dumps({**head, "metric": metric, "entries": made})
    (folder / "frontend.profile.yaml").write_text(text, encoding="utf-8")


def sized(target: str, *words: str, head: str = "name: frontend") -> int:
    Path("app.yaml").write_text(f"{head}\ntarget: {target}\n", encoding="utf-8")
    return run(["size", "app.yaml", *words, *AT])


def document(capsys: pytest.CaptureFixture[str], target: str, *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert sized(target, *words, "--json") in (0, 8)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).iter_errors(found)) == []
    return found


def taken(found: Mapping[str, Any], answer: str = "cheapest") -> list[str]:
    return [one["server"] for one in found["servers"] if one["answer"] == answer]


def test_the_cheapest_servers_meet_the_target(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, TARGET)
    assert taken(found) == ["c5.xlarge"] * 5
    assert Decimal(found["hourly"]) == sum(HOURLY[name] for name in taken(found))
    assert (found["met"], found["reached"], found["needed"]) == (True, 100_000, 100_000)
    assert taken(found, "by quality")[0] == "m5.4xlarge"
    assert Decimal(found["hourly_by_quality"]) == sum(HOURLY[name] for name in taken(found, "by quality"))
    assert [one["together"] for one in found["servers"][:5]] == [20_000 * n for n in range(1, 6)]
    assert {"type": "c5.large", "reason": "its performance is not known"} in found["left_out"]


def test_it_says_the_answer_its_price_and_the_walk_by_quality(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sized(TARGET) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "100,000 requests a second within 10 ms takes 5 x c5.xlarge (20 vCPUs), $0.8500 an hour ($621 a month)" in said
    )
    assert "The fastest servers first (by quality) would take 2 x m5.4xlarge" in said
    assert "The lower price decides" in said
    assert sized(TARGET, "-o", "md") == 0
    assert "| c5.xlarge | 5 | 4 | 8 | 20,000 | 100,000 | 100,000 | 0.8500 |" in capsys.readouterr().out


def test_a_row_a_server_in_csv(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sized(TARGET, "-o", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["hourly"] for row in rows if row["answer"] == "cheapest"] == ["0.17"] * 5


def test_a_tail_near_the_services_own_takes_more(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needed = [document(capsys, f"{{qps: 40k, tail_ms: {ms}, own_ms: 2, scale_out: linear}}")["needed"]
              for ms in (200, 10, 4)]  # fmt: skip
    assert needed == pytest.approx([40_000 / 0.99, 50_000, 80_000])


def test_work_by_a_deadline_counts_from_now(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for deadline in ("2h", "2026-11-20T14:00:00Z"):
        found = document(capsys, f"{{deadline: '{deadline}', work: 252M, scale_out: linear}}")
        assert found["needed"] == pytest.approx(35_000)
        assert taken(found) == ["c5.xlarge", "c5.xlarge"]


def test_a_share_of_the_best_rate_takes_one_server(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert taken(document(capsys, "{rate: 30%}")) == ["c5.xlarge"]
    assert taken(document(capsys, "{rate: 0.95}")) == ["m5.4xlarge"]


def test_scaling_out_as_it_was_measured(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_profile(at_home, {"types": ON_TYPES, "scale_out": {"1": 100.0, "4": 300.0}})
    found = document(capsys, "{qps: 45k, tail_ms: 10}")
    assert found["reached"] < sum(one["alone"] for one in found["servers"] if one["answer"] == "cheapest")
    assert found["met"]


def test_what_nobody_reaches_is_told_with_the_best(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_profile(at_home, {"types": ON_TYPES, "scale_out": {"1": 100.0, "4": 300.0}})
    assert sized("{qps: 1M, tail_ms: 10}") == 8
    assert "The best reachable is 17% of it, with 4 x m5.4xlarge" in " ".join(capsys.readouterr().out.split())
    Path("free.csv").write_text(f"{SERVERS}a,c5.xlarge,4,8,4,8\n", encoding="utf-8")
    assert sized(TARGET, "--free", "free.csv") == 8
    assert "20% of it, with 4 vCPUs of 1 free server" in " ".join(capsys.readouterr().out.split())


def test_where_scaling_out_is_known_no_further_it_says_so(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That no servers reach a target was said of a market with enough of them."""
    write_profile(at_home, {"types": ON_TYPES, "scale_out": {"1": 100.0, "4": 300.0}})
    assert sized("{qps: 1M, tail_ms: 10}") == 8
    said = " ".join(capsys.readouterr().out.split())
    assert "as many servers as it was measured on (4) do not reach 1,000,000 requests" in said
    assert "How it scales out is known up to 4 servers: measure it on more" in said


def test_runs_that_are_not_done_by_a_deadline_are_counted(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a run is none: 334 servers that need 200 s do 334 runs in five minutes, not 500."""
    write_profile(at_home, {"types": {"c5.large": 200.0}}, rising=False)
    assert sized("{deadline: 5m, work: 500, scale_out: linear}", "--family", "c5") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "takes 334 x c5.large (668 vCPUs), $28.3900 an hour ($2.37 for 5min)" in said
    assert "in whole runs (of up to 200 s each) these do 334 of 500 within 5min" in said
    assert sized("{deadline: 200s, work: 500, scale_out: linear}", "--family", "c5") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "takes 500 x c5.large" in said
    assert "whole runs" not in said
    write_profile(at_home, {"types": {"c5.large": 200_000.0}}, rising=False, unit="ms/frame")
    assert sized("{deadline: 200s, work: 500, scale_out: linear}", "--family", "c5") == 0
    assert "takes 500 x c5.large" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "unit"), [("service", "ms"), ("batch", "MiB")])
def test_what_is_no_rate_meets_no_target(
    at_home: Path, capsys: pytest.CaptureFixture[str], kind: str, unit: str
) -> None:
    """One over a latency of 0.5 ms was taken for two requests a second."""
    write_profile(at_home, {"types": {"c5.large": 0.5}}, rising=False, kind=kind, unit=unit)
    assert sized(TARGET, "--family", "c5") == 9
    assert f"measured by its throughput in {unit}, which does not say how much it does" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["0", "-5"])
def test_a_speed_that_cannot_be_is_refused(at_home: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    """Zero seconds ended as a bug, a negative rate was left out in silence."""
    write_profile(at_home, {"types": {"c5.large": 200.0}}, rising=False)
    words = ("--family", "c5", "--observed", f"types.c5.xlarge={value}")
    assert sized("{deadline: 1h, work: 5, scale_out: linear}", *words) == 1
    assert "types of frontend, c5.xlarge" in capsys.readouterr().err


def test_free_servers_are_taken_in_part(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"1c": 4_500.0, "2c": 9_000.0, "4c": 18_000.0}
    write_profile(at_home, {"types": ON_TYPES, "scale_up": sizes})
    Path("free.csv").write_text(f"{SERVERS}a,c5.xlarge,4,8,2,8\nb,c5.xlarge,4,8,,\n", encoding="utf-8")
    found = document(capsys, "{qps: 24k, tail_ms: 10, scale_out: linear}", "--free", "free.csv")
    cheapest = [one for one in found["servers"] if one["answer"] == "cheapest"]
    assert sorted((one["server"], one["vcpus"], one["alone"]) for one in cheapest) == [
        ("a", 1.0, 5_000.0), ("b", 4.0, 20_000.0),
    ]  # fmt: skip
    assert (found["hourly"], found["vcpus"]) == (None, 5.0)


def test_servers_under_pressure_do_less(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = dict.fromkeys(("llc", "membw"), 30.0)
    write_profile(at_home, {"types": ON_TYPES, "tolerated": scores, "caused": scores})
    head = SERVERS.strip()
    Path("free.csv").write_text(
        f"{head},pressure_llc,room_llc\na,c5.xlarge,4,8,,,90,\nb,c5.xlarge,4,8,,,,\n", encoding="utf-8"
    )
    found = document(capsys, "{qps: 15k, tail_ms: 10}", "--free", "free.csv")
    assert taken(found) == ["b"]


def test_best_effort_rents_nothing(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sized("none") == 0
    assert "It uses spare capacity and is evicted first" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entries", "target", "words", "wanted"),
    [
        ({"types": ON_TYPES}, "{qps: 100k, tail_ms: 10}", (), "how frontend scales out is not known"),
        ({"scale_up": {"2c": 5.0}}, TARGET, (), "how fast frontend is on the types at hand is not known"),
        ({"types": ON_TYPES}, TARGET, ("--provider", "gcp"), "it is known on c5.xlarge, m5.4xlarge, m5.large"),
    ],
)
def test_without_evidence_it_names_the_measurement(
    at_home: Path,
    capsys: pytest.CaptureFixture[str],
    entries: Mapping[str, Mapping[str, float]],
    target: str,
    words: tuple[str, ...],
    wanted: str,
) -> None:
    write_profile(at_home, entries)
    assert sized(target, *words) == 9
    said = capsys.readouterr().err
    assert wanted in said
    assert "measure it on" in said
    assert "--observed" in said


def test_neighbours_need_to_know_what_it_tolerates(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("free.csv").write_text("server,type,vcpus,memory_gib,pressure_llc\na,c5.xlarge,4,8,50\n", encoding="utf-8")
    assert sized(TARGET, "--free", "free.csv") == 9
    assert "what frontend tolerates and causes is not known" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("{qps: 100q, tail_ms: 10}", "target.qps: '100q' (write for example 500, 100k or 2.4M)"),
        ("{qps: 1k, tail_ms: 10m}", "target.tail_ms: '10m' (write for example 10ms, 200us or 1s)"),
        ("{qps: 1k, tail_ms: -1}", "target.tail_ms: -1 (a number above 0)"),
        ("{qps: 1k}", "target.tail_ms: missing (qps and tail_ms go together)"),
        ("{qps: 1k, tail_ms: 1, own_ms: 2ms}", "above the service's own time: it takes 2 ms by itself"),
        ("{qps: 1k, deadline: 2h}", "contradictory: qps, deadline"),
        ("{deadline: 2, work: 5}", "target.deadline: '2' (a time with its unit or a date"),
        ("{deadline: 2026-11-01, work: 5}", "is in the past; a time to come"),
        ("{deadline: 2026-13-01, work: 5}", "a time with its unit or a date"),
        ("{deadline: 2h, work: 5, tail: 1}", "target.tail: unknown key (did you mean tail_ms?)"),
        ("{deadline: 2h, work: 5, own_ms: 1}", "target.own_ms: does not go with deadline"),
        ("{rate: 2}", "a share of the best rate, for example 0.95 or 95%"),
        ("{rate: true}", "a share of the best rate"),
        ("{scale_out: sideways, rate: 1}", "linear (n servers do n times as much)"),
        ("fast", "a mapping with the keys qps, tail_ms"),
        ("{}", "one of qps with tail_ms, deadline with work, rate, none"),
    ],
)
def test_what_a_target_cannot_be(at_home: Path, capsys: pytest.CaptureFixture[str], target: str, wanted: str) -> None:
    assert sized(target) == 1
    assert wanted in capsys.readouterr().err


def test_all_problems_of_a_file_are_told_at_once(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = "name: frontend\ncores: 4"
    assert sized("{qps: 100q, tail_ms: 1, own_ms: 2ms, work: -3}", head=head) == 1
    said = capsys.readouterr().err
    assert "4 problems in the application" in said
    assert "stated beside cores (which of them counts? leave out the other)" in said


def test_what_a_file_of_servers_cannot_be(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("free.csv").write_text(f"{SERVERS}a,c5.xlarge,4,8,5,8\na,,x,8,,\n", encoding="utf-8")
    assert sized(TARGET, "--free", "free.csv") == 1
    said = capsys.readouterr().err
    for wanted in ("line 2, free_vcpus: '5' (a number from 0 to 4)", "line 3, type: empty", "line 3, vcpus: 'x'",
                   "line 3, server: 'a' (line 2 has it already)"):  # fmt: skip
        assert wanted in said
    Path("free.csv").write_text("server,typ\n", encoding="utf-8")
    assert sized(TARGET, "--free", "free.csv") == 1
    assert "column 'typ': unknown (did you mean type?)" in capsys.readouterr().err
    assert sized(TARGET, "--free", "none.csv") == 64


def test_the_file_of_profile_run_may_state_a_target(at_home: Path) -> None:
    from hcloud.readers.applications.app import load_app

    Path("app.yaml").write_text(f"name: frontend\ncommand: [serve]\ntarget: {TARGET}\n", encoding="utf-8")
    assert load_app(Path("app.yaml"), {}).name == "frontend"


def test_the_applications_own_file_is_no_profile(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"name: frontend\ntarget: {TARGET}\n"
    Path("frontend.yaml").write_text(text, encoding="utf-8")
    assert run(["size", "frontend.yaml", *AT]) == 0
    assert "takes 5 x c5.xlarge" in capsys.readouterr().out
    Path("frontend.profile.yaml").unlink()
    assert run(["size", "frontend.yaml", *AT]) == 64
    assert "no profile of that name" in capsys.readouterr().err


def widen(folder: Path, low: float, high: float) -> None:
    """The profile with every interval as wide as these shares of the value."""
    path = folder / "frontend.profile.yaml"
    document = json.loads(path.read_text(encoding="utf-8"))
    for entry in document["entries"]["types"].values():
        entry["low"], entry["high"] = low * entry["value"], high * entry["value"]
    path.write_text(json.dumps(document), encoding="utf-8")


def test_it_says_whether_the_answer_keeps_the_target_at_the_low_end_of_what_is_known(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five servers of 20,000 for 100,000 were given without a word of the 18,000 to 21,000 that was measured."""
    widen(at_home, 0.9, 1.05)
    assert sized(TARGET) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "one whole server: c5.xlarge 18,000 to 21,000 req/s, measured." in said
    assert "At the low end these servers do 90,000 req/s, and 100,000 are needed: the target is missed." in said
    assert sized(TARGET.replace("100k", "89500")) == 0
    assert "do 90,000 req/s, and 89,500 are needed: the target is kept." in " ".join(capsys.readouterr().out.split())


def test_a_speed_that_was_predicted_says_so(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer was a type that nobody measured, and its basis named the measured ones alone."""
    (corpus := at_home / "corpus").mkdir()
    for number in range(8):
        factor = 1 + number / 50
        row = {"m5.large": 9_000.0, "m5.4xlarge": 58_000.0 * factor, "c5.xlarge": 20_000.0 / factor}
        write_profile(corpus, {"types": row})
        text = (corpus / "frontend.profile.yaml").read_text(encoding="utf-8")
        (corpus / f"a{number}.profile.yaml").write_text(text.replace("frontend", f"a{number}"), encoding="utf-8")
    (corpus / "frontend.profile.yaml").unlink()
    write_profile(at_home, {"types": {"m5.large": 9_000.0, "m5.4xlarge": 62_000.0}})
    assert sized(TARGET, "--corpus", "corpus") == 0
    assert "req/s, predicted, not measured there" in " ".join(capsys.readouterr().out.split())


def test_times_have_their_interval_the_other_way_round(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_profile(at_home, {"types": {"c5.xlarge": 10.0}}, rising=False)
    widen(at_home, 0.8, 1.25)
    assert sized("{deadline: 1h, work: 360}") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "c5.xlarge 0.08 to 0.125 runs/s, measured. At the low end these servers do 0.08 runs/s, and 0.1 are needed"
        in said
    )


def test_scaling_out_has_its_interval_too(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six servers were said to keep a target by speeds alone, however vague it was how they do together."""
    write_profile(at_home, {"types": ON_TYPES, "scale_out": {"1": 100.0, "6": 480.0}})
    assert sized("{qps: 90k, tail_ms: 10}", "--family", "c5") == 0
    assert "95% interval" not in capsys.readouterr().out
    path = at_home / "frontend.profile.yaml"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["entries"]["scale_out"]["6"] |= {"low": 432.0, "high": 528.0}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert sized("{qps: 90k, tail_ms: 10}", "--family", "c5") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "95% interval of 6 servers together: 72% to 88% of what they do alone, measured." in said
    assert "At the low end these servers do 86,400 req/s, and 90,000 are needed: the target is missed." in said
