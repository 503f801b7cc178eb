"""``hcloud plan`` of jobs that require something of their machine: one plan, or plans apart and what they save."""

from __future__ import annotations

import json
import re
import shlex
from decimal import Decimal
from pathlib import Path

import pytest
from building import base_and_burst

from hcloud.cli.main import run
from hcloud.errors import UsageError
from hcloud.model.workload import Jobs, Window, WindowRule
from hcloud.readers.configuration.window import parse_window
from hcloud.readers.typed import typed
from hcloud.readers.workloads.commands import commands_apart
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.store.plan_file import load_plan
from hcloud.units import format_money
from hcloud.usecases.deciding.planned_apart import window_text
from hcloud.usecases.workloads.journals import read_trace
from hcloud.usecases.workloads.workload import WorkloadRequest, open_request

NOW = ("--now", "2026-11-20T12:00:00Z")
ON_AWS = (
    "--family",
    "m5",
    "--family",
    "m5a",
    "--family",
    "m6i",
    "--family",
    "r5",
    "--family",
    "r5a",
    "--family",
    "r6i",
)
"""What jobs require, what is cheapest for the others, and more: of six families, not of all."""
ON_GOOGLE = ("--provider", "gcp", "--family", "e2", "--family", "n2")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two days of services and a burst."""
    return base_and_burst(tmp_path / "trace.csv")


def _requiring(trace: Path, *required: str) -> Path:
    """The trace with what its first jobs require."""
    head, *rows = trace.read_text().splitlines()
    wanted = [*required, *[""] * len(rows)]
    path = trace.with_name("requiring.csv")
    path.write_text("\n".join([f"{head},requires", *(f"{r},{w}" for r, w in zip(rows, wanted, strict=False))]) + "\n")
    return path


@pytest.mark.parametrize("more", [(), pytest.param(("--strategy", "OdF", "--seeds", "1"))])
def test_types_are_chosen_that_all_jobs_may_run_on(
    more: tuple[str, ...], trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = trace.with_name("plan.json")
    assert run(["plan", str(_requiring(trace, "type=r5*|r6i.4xlarge")), "--out", str(out), *more, *ON_AWS, *NOW]) == 0
    plan = load_plan(out)
    assert {line.instance_type[:2] for line in plan.mix} == {"r5"}
    (said,) = (one for one in plan.warnings if "require" in one)
    assert re.match(r"1 job \(.*% of the vCPU-hours\) requires type=r5", said)
    assert "only such types" in said
    assert said.endswith("a month less by arithmetic") == bool(more)
    assert len(re.findall("^hcloud plan ", capsys.readouterr().err, re.MULTILINE)) == 2
    assert any(r.reason == "job s0 requires type=r5*|r6i.4xlarge" for r in plan.refusals)


def test_what_some_jobs_require_is_said_with_what_it_costs(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The warning named no dollars: nobody could tell whether a plan apart was worth the work."""
    whole = _requiring(trace, "type=r5*")
    head, first, *rest = whole.read_text().splitlines()
    costs = {}
    for name, rows in (("whole", [first, *rest]), ("apart", [first]), ("others", rest)):
        path = trace.with_name(f"{name}.csv")
        path.write_text("\n".join([head, *rows]) + "\n")
        window = ("--window", "0..172800")
        assert run(["plan", str(path), *window, "--out", str(path.with_suffix(".json")), *ON_AWS, *NOW]) == 0
        costs[name] = load_plan(path.with_suffix(".json")).after.monthly
    saved = costs["whole"] - costs["apart"] - costs["others"]
    (said,) = (one for one in load_plan(trace.with_name("whole.json")).warnings if "require" in one)
    assert said.endswith(f"run on any type, for {format_money(saved)} a month less")


def test_jobs_that_no_planned_type_holds_are_counted_and_what_nothing_meets_is_refused(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = trace.with_name("plan.json")
    assert run(["plan", str(_requiring(trace, "type=r5*", "type=m5*")), "--out", str(out), *ON_AWS, *NOW]) == 0
    plan = load_plan(out)
    assert not any(line.instance_type.startswith("r5") for line in plan.mix)
    assert any("requires a machine that this plan does not have (type=r5*" in one for one in plan.warnings)
    capsys.readouterr()
    assert run(["plan", str(_requiring(trace, "", "type=z99*")), *ON_AWS, *NOW]) == 9
    assert "job s1 requires type=z99*, and no allowed type meets that" in capsys.readouterr().err


def _cost(path: Path) -> Decimal:
    return sum((line.monthly for line in load_plan(path).mix), Decimal(0))


def test_the_commands_that_a_plan_names_cost_what_it_says_less(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever followed the plan paid for types that few jobs require, and nothing could be copied that did not."""
    whole, required = trace.with_name("whole.json"), ("type=n2-highmem*", "memory>=100")
    words = ["plan", str(_requiring(trace, *required)), *ON_GOOGLE, "--window=1d", "--out", str(whole)]
    assert run([*words, *NOW]) == 0
    told = capsys.readouterr().err
    commands = [shlex.split(line)[1:] for line in told.splitlines() if line.startswith("hcloud plan ")]
    assert len(commands) == 1 + len(required)
    for command in commands:
        assert run(command) == 0
    parts = [whole.with_name(f"whole-{at}.json") for at in range(1, 2 + len(required))]
    saved = _cost(whole) - sum(map(_cost, parts))
    assert saved > 0
    said = re.search(r"for \$([\d,]+) a month less", " ".join(told.split()))
    assert said is not None
    assert abs(Decimal(said[1].replace(",", "")) - saved) < 1
    reopened = [load_plan(part).trace for part in parts]
    assert [t and t.options["requires"] for t in reopened] == ["nothing", *required]


def test_beside_what_is_owned_plans_apart_have_a_figure_too(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It named neither dollars nor commands; what is owned serves one of the parts alone."""
    config, path = trace.with_name("owns.yaml"), str(_requiring(trace, "type=r5*"))
    config.write_text(
        'format_version: "1.0"\nowned: [{provider: aws, region: us-east-1, instance_type: m6i.4xlarge,'
        " option: reserved-instance, term_years: 1, payment: all-upfront, count: 2, expires: 2027-12-31}]\n"
    )
    beside = ("--provider", "aws", "--window", "0..172800", *ON_AWS, *NOW)

    def planned(name: str, *more: str) -> Decimal:
        out = trace.with_name(name)
        assert run(["plan", path, *beside, *more, "--out", str(out)]) == 0
        return sum((x.monthly for x in load_plan(out).mix if not x.address.startswith("owned/")), Decimal(0))

    whole = planned("whole.json", "-f", str(config))
    (said,) = (one for one in load_plan(trace.with_name("whole.json")).warnings if "require" in one)
    assert not re.findall("^hcloud plan ", capsys.readouterr().err, re.MULTILINE), "no flag leaves out what is owned"
    found = re.search(
        r"--set '?(\S+?)'?, and again with --set '?(\S+?)'? but without what is owned, .* for (\$\S+) a", said
    )
    assert found is not None, said
    first, second = (("--set", found[at]) for at in (1, 2))
    apart = planned("first.json", "-f", str(config), *first) + planned("second.json", *second)
    other = planned("third.json", *first) + planned("fourth.json", "-f", str(config), *second)
    assert found[3] == format_money(whole - apart)
    assert apart <= other


def test_plans_apart_are_named_where_one_plan_does_not_hold_all_jobs_and_not_where_they_save_nothing(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", str(trace.with_name("plan.json")), *ON_AWS, *NOW]
    assert run(["plan", str(_requiring(trace, "type=r5*", "type=m5*")), *words]) == 0
    told = capsys.readouterr().err
    assert "; together they cost $" in " ".join(told.split())
    assert sum(line.startswith("hcloud plan ") for line in told.splitlines()) == 3
    assert run(["plan", str(_requiring(trace, "vcpus>=2")), *words]) == 0
    told = capsys.readouterr().err
    assert "plans apart would not cost 1% less" in " ".join(told.split())
    assert not any(line.startswith("hcloud plan ") for line in told.splitlines())


def test_commands_of_plans_apart_write_to_files_of_their_own() -> None:
    """Both drew into one picture: the second overwrote that of the first."""
    with typed(["hcloud", "plan", "jobs.csv", "--picture=p/costs.svg", "--out", "plan.json", "-s", "auto"]):
        assert commands_apart([("--set", "requires=nothing"), ("--set", "requires=type=c5*")]) == [
            "hcloud plan jobs.csv -s auto --set requires=nothing --out plan-1.json --picture p/costs-1.svg",
            "hcloud plan jobs.csv -s auto --set 'requires=type=c5*' --out plan-2.json --picture p/costs-2.svg",
        ]


def test_commands_of_plans_apart_keep_of_which_jobs_the_plan_was() -> None:
    """Parts by memory of the jobs that require nothing were printed as parts of all jobs."""
    with typed(["hcloud", "plan", "jobs.csv", "--window", "7d", "--set", "requires=nothing", "--set=gib_per_vcpu=x"]):
        window = ("--window", "0..9", "--set")
        assert commands_apart([(*window, "gib_per_vcpu=up-to-4"), (*window, "gib_per_vcpu=over-4")]) == [
            "hcloud plan jobs.csv --set requires=nothing --window 0..9 --set gib_per_vcpu=up-to-4",
            "hcloud plan jobs.csv --set requires=nothing --window 0..9 --set gib_per_vcpu=over-4",
        ]
        assert commands_apart([("--set", "requires=memory>8")]) == [
            "hcloud plan jobs.csv --window 7d --set=gib_per_vcpu=x --set 'requires=memory>8'"
        ]


@pytest.mark.parametrize("wanted", ["type=c5*", "anything"])
def test_what_no_job_requires_cannot_be_planned_for(
    wanted: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _requiring(trace, "type=r5*") if wanted == "type=c5*" else trace
    assert run(["plan", str(path), "--set", f"requires={wanted}", *ON_AWS, *NOW]) == 64
    told = capsys.readouterr().err
    assert f"no job requires {wanted}" in told
    assert ("there are type=r5*; or nothing" if path != trace else "its jobs require nothing: leave it out") in told


@pytest.mark.parametrize(
    ("start", "text"), [(90.0, "90"), (90.1 + 0.2, repr(90.1 + 0.2)), (1772387194.0, "2026-03-01T17:46:34Z")]
)
def test_the_window_of_the_commands_is_that_of_the_plan_to_the_bit(start: float, text: str) -> None:
    window = Window(start, start + 0.1, 0.0, start + 1.0, WindowRule.ARRIVALS)
    written = window_text(window)
    assert written.startswith(f"{text}..")
    asked = parse_window(written)
    assert (asked.start, asked.end) == (window.start, window.end)


@pytest.mark.parametrize(
    ("lean", "rich", "types"),
    [((12, 4, 16), (6, 8, 64, 18), 1), ((10, 4, 8), (10, 4, 32, 4), 2)],
    ids=["on one family", "on two families"],
)
def test_jobs_with_much_memory_are_advised_to_be_planned_apart_where_that_saves(
    lean: tuple[int, ...],
    rich: tuple[int, ...],
    types: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was said that no other families would bring the plan nearer to its bound, and two plans cost a sixth less; and
    nothing was said of a plan on two."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{name}{day}-{n},{day * 86_400 + begin + n % 3 * later},{hours * 3600},{cores},{memory}"
        for name, (count, cores, memory, hours), begin, later in (("k", (*lean, 24), 0, 0), ("x", rich, 18_000, 3600))
        for day in range(14)
        for n in range(count)
    ]
    Path("all.csv").write_text("\n".join(["id,submit,duration,cores,memory", *rows]), encoding="utf-8")
    words = ["plan", "all.csv", "--family", "m5a", "--family", "r5a", *NOW, "--json"]
    with typed(words):
        assert run(words) == 0
    printed = capsys.readouterr()
    whole = json.loads(printed.out)
    (told,) = (one for one in whole["reasons"] if "plans by the memory of jobs" in one)
    apart = [shlex.split(line)[1:] for line in printed.err.splitlines() if line.startswith("hcloud plan ")]
    assert len(apart) == len((lean, rich))
    assert len({line["instance_type"].partition(".")[0] for line in whole["mix"]}) == types
    costs = []
    for command in apart:
        assert run(command) == 0
        part = json.loads(capsys.readouterr().out)
        costs.append(float(part["after"]["monthly"]))
        assert command[-1] in told
        assert not [one for one in part["reasons"] if "plans by the memory" in one]
    saved = float(told.rpartition("$")[2].split()[0].replace(",", ""))
    assert saved > 0.08 * float(whole["after"]["monthly"])
    assert saved == pytest.approx(float(whole["after"]["monthly"]) - sum(costs), abs=1.0)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("up-to-4", "ab"),
        ("up-to-3", "b"),
        ("over-4", "cd"),
        ("over-4-up-to-8", "c"),
        ("over-8", "d"),
        ("over-9", "t.csv: no job has so many GiB for each of its vCPUs"),
        ("4-8", "gib_per_vcpu: '4-8' is not as over-4, up-to-4 or over-4-up-to-8"),
        ("over-8-up-to-4", "gib_per_vcpu: 'over-8-up-to-4' is not as over-4, up-to-4 or over-4-up-to-8"),
        ("over-", "gib_per_vcpu: 'over-' is not as"),
    ],
)
def test_jobs_are_taken_by_their_memory(text: str, ids: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,submit,duration,cores,memory\na,0,9,1,4\nb,0,9,0.09,0.27\nc,0,9,2,16\nd,0,9,1,9\n")
    if len(ids) > len("ab"):
        with pytest.raises(UsageError, match=re.escape(ids)):
            read_trace(path, "auto", with_keys(WorkloadOptions(), {"gib_per_vcpu": text}))
        if "not as" in ids:  # all jobs of a scenario were planned
            with pytest.raises(UsageError, match=re.escape(ids)):
                open_request(WorkloadRequest("scenario:high-variability", keys={"gib_per_vcpu": text}))
    else:
        jobs = read_trace(path, "auto", with_keys(WorkloadOptions(), {"gib_per_vcpu": text}))
        assert isinstance(jobs, Jobs)
        assert jobs.ids is not None
        assert [str(one, "ascii") for one in jobs.ids.tolist()] == list(ids)
