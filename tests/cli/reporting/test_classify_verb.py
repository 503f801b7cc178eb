"""``hcloud classify`` and ``--profiles`` as a user runs them: estimates, abstention, feedback, hostile files."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcloud.cli.main import run
from hcloud.model.measured.profile import RESOURCES, Aspect, Measured, Metric, Profile
from hcloud.model.workload import JobKind
from hcloud.store.profiles import save_profile

NOW = ("--now", "2026-11-21T00:00:00Z")
SIZES = ("1c4g", "2c8g", "4c16g", "8c32g")
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


def measured(value: float) -> Measured:
    return Measured(value, value, value, 5, MOMENT, "a machine", "a run")


def saved(folder: Path, app: str, entries: Mapping[Aspect, Mapping[str, float]]) -> None:
    made = {a: {c: measured(v) for c, v in columns.items()} for a, columns in entries.items()}
    metric = Metric("throughput", "req/s", rising=True)
    save_profile(Profile(app, JobKind.SERVICE, metric, (app,), made), folder / f"{app}.yaml")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twelve applications of two families: those that scale and feel memory, those that do neither."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    chance = np.random.default_rng(7)
    for number in range(12):
        scales = number % 2 == 0
        factor = float(chance.uniform(0.95, 1.05))
        curve = [1, 1.95, 3.8, 7.4] if scales else [1, 1.03, 1.05, 1.06]
        tolerated = np.where(np.arange(10) < 5, 30 if scales else 90, 95) + chance.uniform(-2, 2, 10)
        saved(
            folder,
            f"app{number:02}",
            {
                Aspect.SCALE_UP: dict(zip(SIZES, (1000 * factor * c for c in curve), strict=True)),
                Aspect.TOLERATED: dict(zip(RESOURCES, tolerated.tolist(), strict=True)),
                Aspect.CAUSED: dict(zip(RESOURCES, (100 - tolerated).tolist(), strict=True)),
            },
        )
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two new applications with two entries each: a flat one and a scaling one."""
    made = tmp_path / "mine"
    made.mkdir()
    flat, steep = {"8c32g": 530.0, "2c8g": 515.0}, {"8c32g": 7400.0, "2c8g": 1950.0}
    saved(made, "flat", {Aspect.SCALE_UP: flat, Aspect.TOLERATED: {"l1i": 90.0, "llc": 91.0}})
    saved(
        made,
        "steep",
        {Aspect.SCALE_UP: steep, Aspect.TOLERATED: {"l1i": 30.0, "llc": 31.0}, Aspect.CAUSED: {"llc": 70.0}},
    )
    return made


def words(folder: Path, corpus: Path, *more: str) -> list[str]:
    return ["classify", "--profiles", str(folder), "--corpus", str(corpus), *NOW, *more]


def test_what_was_measured_is_shown_though_too_little_is_known_to_predict_more(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "one"
    mine.mkdir()
    saved(mine, "one", {Aspect.SCALE_UP: {"2c8g": 515.0}, Aspect.TYPES: {"m5.large": 3210.0}})
    assert run(words(mine, corpus)) == 9
    shown = capsys.readouterr().out
    assert re.search(r"2c8g +515 .*measured", shown)
    assert re.search(r"m5\.large +3,210 .*measured", shown), "the corpus has no types at all"
    assert "too little is known of size" in shown
    command = r"'hcloud profile run --resources \w+(,\w+)?' with the same command and file adds them"
    assert re.search(command, " ".join(shown.split()))
    assert run(words(mine, corpus, "--aspect", "scale_up")) == 9
    shown = capsys.readouterr().out
    assert "m5.large" not in shown
    assert "--resources" not in shown
    for more, said in (
        (["--target", "500"], "smallest size that reaches the target of 500 req/s for sure: 2c8g"),
        (["--target", "520"], "no known size reaches the target of 520 req/s for sure"),
        (["--target", "500", "--aspect", "types"], "no size is known that could reach the target of 500 req/s"),
    ):
        assert run(words(mine, corpus, *more)) in (0, 9)
        assert said in " ".join(capsys.readouterr().out.split())


def test_a_corpus_that_can_predict_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for app in ("one", "two"):
        saved(tmp_path, app, {Aspect.SCALE_UP: {"1c": 515.0}})
    assert run(words(tmp_path, tmp_path)) == 0
    assert capsys.readouterr().out.count("nothing is predicted: the applications seen before were measured in no") == 2


def test_without_a_name_the_profiles_of_the_working_directory_are_meant(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had just measured a program was shown the 26 bundled ones."""
    monkeypatch.chdir(folder)
    assert run(["classify", "--json", *NOW]) in (0, 9)
    assert [a["app"] for a in json.loads(capsys.readouterr().out)["applications"]] == ["flat", "steep"]


def test_an_application_is_told_from_two_entries(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(words(folder, corpus, "steep", "--target", "3000")) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for said in ("steep: service, throughput in req/s", "beside 12 applications", "predicted", "measured", "app0"):
        assert said in out, said
    assert "smallest size that reaches the target of 3,000 req/s for sure: 4c16g" in " ".join(out.split())


def test_a_target_that_no_size_reaches_is_told(folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words(folder, corpus, "steep", "--target", "1e9")) == 0
    assert "no known size reaches the target of 1e+09 req/s for sure" in " ".join(capsys.readouterr().out.split())


def test_a_folder_without_profiles_is_refused(tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words(tmp_path, corpus)) == 64
    assert "has no profiles" in capsys.readouterr().err


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    """Eight applications on four types: the larger a type the faster, but not by as much as it costs more."""
    made = tmp_path / "typed"
    made.mkdir()
    for number in range(8):
        speeds = [100 * f for f in (1, 1.6 + number / 50, 2.4 + number / 20, 5.0)]
        types = ("m5.large", "m5.xlarge", "m5.2xlarge", "own.rack")
        saved(made, f"app{number}", {Aspect.TYPES: dict(zip(types, speeds, strict=True))})
    return made


def test_types_are_compared_by_what_the_work_costs(
    typed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    saved(mine, "new", {Aspect.TYPES: {"own.rack": 480.0, "m5.2xlarge": 240.0}})
    line = ["classify", "new", "--profiles", str(mine), "--corpus", str(typed), *NOW]
    answer = run_json([*line, "--json"], capsys)
    assert [r["type"] for r in answer["type_ranking"]] == ["own.rack", "m5.2xlarge", "m5.xlarge", "m5.large"]
    assert [r["type"] for r in answer["type_ranking_by_cost"]] == ["m5.large", "m5.xlarge", "m5.2xlarge"]
    assert run(line) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cheapest type for the work: m5.large at $0.0960 an hour (on demand in us-east-1, prices of 20" in said
    assert "fastest type: own.rack, which has no price" in said
    assert "1 type without a price is not compared by money" in said


def test_the_column_that_performance_is_compared_to_can_be_chosen(
    typed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    saved(mine, "new", {Aspect.TOLERATED: {"llc": 5.0}})
    line = ["classify", "new", "--profiles", str(mine), "--corpus", str(typed), *NOW]
    assert run([*line, "--reference", "types.m5.large", "--json"]) == 9
    assert json.loads(capsys.readouterr().out)["applications"][0]["probes"][0]["column"] == "m5.large"
    assert run([*line, "--reference", "types.m5.huge"]) == 64
    assert "m5.large" in capsys.readouterr().err


def test_what_failed_is_said_and_not_ranked(typed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    saved(mine, "new", {Aspect.TYPES: {"own.rack": 480.0, "m5.2xlarge": 240.0}})
    line = ["classify", "new", "--profiles", str(mine), "--corpus", str(typed), *NOW]
    assert run([*line, "--observed", "types.m5.large=failed"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "type m5.large: it did not run there (failed, 2026-11-21)" in said
    assert "cheapest type for the work: m5.xlarge" in said


def test_both_solvers_agree(folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for solver in ("ridge", "sgd"):
        assert run(words(folder, corpus, "steep", "--solver", solver, "--json")) == 0
        found.append(json.loads(capsys.readouterr().out)["applications"][0]["aspects"])
    for aspect, row in found[0].items():
        for column, predicted in row["columns"].items():
            assert found[1][aspect]["columns"][column]["value"] == pytest.approx(predicted["value"], rel=1e-3)


def test_too_little_evidence_abstains_and_names_the_next_probe(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words(folder, corpus, "flat")) == 9  # nothing at all is known of what it causes
    out = " ".join(capsys.readouterr().out.split())
    assert "too little is known of caused: measure" in out
    assert run(words(folder, corpus, "flat", "--aspect", "tolerated", "--aspect", "scale_up")) == 0
    assert run(words(folder, corpus, "flat", "--aspect", "tolerated", "--largest-error", "0")) == 9


def test_an_observation_overwrites_and_a_surprise_is_told(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run_json(words(folder, corpus, "steep", "--json"), capsys)
    after = run_json(
        words(folder, corpus, "steep", "--json", "--observed", "tolerated.membw=90", "--largest-error", "1"), capsys
    )
    told = after["aspects"]["tolerated"]["columns"]["membw"]
    assert (told["value"], told["measured"]) == (90.0, True)
    assert before["aspects"]["tolerated"]["columns"]["membw"]["value"] < 50
    assert "tolerated membw was expected at" in after["surprises"][0]


def run_json(line: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(line) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["applications"][0]
    return found


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_matrices_are_saved_and_read_again(
    folder: Path, corpus: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / f"matrices.{suffix}"
    assert run(words(folder, corpus, "steep", "--json", "--save-matrices", str(target))) == 0
    first = json.loads(capsys.readouterr().out)["applications"]
    assert run(words(folder, target, "steep", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["applications"] == first


def test_without_a_corpus_nothing_is_predicted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(words(folder, empty, "steep")) == 9
    assert "no application is known yet" in capsys.readouterr().err


def test_an_application_is_not_predicted_from_itself_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was said to be "beside 0 applications seen before", with nothing predicted and exit code 0."""
    (alone := tmp_path / "alone").mkdir()
    (folder / "steep.yaml").rename(alone / "steep.yaml")
    assert run(["classify", "steep", "--profiles", str(alone), "--corpus", str(alone), *NOW]) == 9
    assert "no application but steep is known yet" in capsys.readouterr().err


class Trap:
    """Would run code if it were ever unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('unpickled')",))


def test_L5_a_pickle_in_place_of_a_matrix_is_refused_unread(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "corpus.npz"
    plain.write_bytes(pickle.dumps(Trap()))
    assert run(words(folder, plain, "steep")) == 1
    assert "not an npz archive" in capsys.readouterr().err
    hidden = tmp_path / "hidden.npz"
    np.savez(hidden, **{"tolerated.values": np.array([Trap()], dtype=object)})  # type: ignore[arg-type]
    assert run(words(folder, hidden, "steep")) == 1
    assert "not a matrix of plain numbers and texts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "no mapping 'matrices'"),
        ('{"format_version": "2.0", "matrices": {}}', "cannot be read"),
        ('{"format_version": "1.0", "matrices": {}}', "holds no matrix"),
        ('{"format_version": "1.0", "matrices": {"mood": {}}}', "is not one of"),
        ('{"format_version": "1.0", "matrices": {"tolerated": {}}}', "must have apps"),
        (
            '{"format_version": "1.0", "matrices": {"tolerated": {"apps": ["a"], "columns": ["llc"], "values": [[101]],'
            ' "rising": [true], "reference": ""}}}',
            "is no matrix",
        ),
    ],
)
def test_bad_matrices_say_what_is_wrong(
    folder: Path, tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "corpus.json"
    path.write_text(text, encoding="utf-8")
    assert run(words(folder, path, "steep")) == 1
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("nobody",), "no profile of that name"),
        (("pyproject.toml",), "no profile: their names end with .yaml"),
        (("steep", "--aspect", "mood"), "must be one of"),
        (("steep", "--observed", "tolerated.llc"), "write ASPECT.COLUMN=NUMBER"),
        (("steep", "--observed", "tolerated.soul=3"), "the resources are"),
    ],
)
def test_bad_flags_say_what_to_do(
    folder: Path, corpus: Path, more: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words(folder, corpus, *more)) == 64
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two days of services that ask for eight vCPUs each, and jobs nobody has profiled."""
    rows = ["id,submit,duration,cores,memory,kind,app"]
    rows += [f"f{i},0,172800,8,32,service,flat" for i in range(10)]
    rows += [f"s{i},0,172800,8,32,service,steep" for i in range(4)]
    rows += [f"b{i},{3600 * i},3000,2,8,batch,etl" for i in range(40)]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join([*rows, "end,172799,1,1,4,batch,etl"]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def config(tmp_path: Path, trace: Path, corpus: Path) -> Path:
    path = tmp_path / "hcloud.yaml"
    path.write_text(
        f"workload: {{path: {trace}}}\nmarkets: [{{provider: aws, families: [m6i]}}]\n"
        f"profiles: {{folder: mine, corpus: {corpus}}}\n",
        encoding="utf-8",
    )
    return path


def test_a_plan_buys_what_the_profiles_say_is_needed(
    folder: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.yaml"
    plain.write_text(config.read_text(encoding="utf-8").replace("profiles:", "# profiles:"), encoding="utf-8")
    assert run(["plan", "-f", str(plain), *NOW, "-o", "json"]) == 0
    asked = json.loads(capsys.readouterr().out)
    target = tmp_path / "plan.json"
    assert run(["plan", "-f", str(config), *NOW, "-o", "json", "--out", str(target)]) == 0
    needed = json.loads(capsys.readouterr().out)
    saved_vcpus = asked["workload"]["mean_cores"] - needed["workload"]["mean_cores"]
    assert saved_vcpus == pytest.approx(10 * 6, abs=0.5)  # ten flat services at two vCPUs instead of eight
    assert float(needed["after"]["monthly"]) < float(asked["after"]["monthly"])
    assert "41 jobs of the workload have no profile: as requested: etl" in needed["warnings"]
    sized = "flat is sized by its profile, not as asked for: 10 from 8 to 2 vCPU (measured)"
    assert any(warning.startswith(sized) for warning in needed["warnings"])
    kept = "profiled, and sized as asked for: steep (no smaller size surely keeps 95% of the performance)"
    assert kept in needed["warnings"]
    assert run(["explain", str(target), "--full"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "profiles.folder flat 10 from 8 to 2 vCPU (measured)" in told
    assert "measured until 2026-11-20" in told


def test_a_simulation_uses_the_vectors_of_the_profiles(
    folder: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "-f", str(config), "-s", "SR", *NOW, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["jobs"] == 55
    said = " ".join(err.split())
    assert "flat: 10 from 8 to 2 vCPU (measured)" in said
    assert "steep: sizes as asked for" in said


def test_profiles_of_other_applications_are_an_error(
    trace: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(trace), "--profiles", str(corpus), *NOW]) == 1
    assert "holds no profile of an application of this workload (flat, steep, etl)" in capsys.readouterr().err


def test_a_plan_takes_the_family_that_the_profiles_say_is_fast(
    folder: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = {"m5.large": 1500.0, "m6i.large": 1000.0}
    for app, size in (("flat", "8c32g"), ("steep", "8c32g")):
        saved(folder, app, {Aspect.SCALE_UP: {size: 100.0}, Aspect.TYPES: fast, Aspect.TOLERATED: {"llc": 40.0}})
    both = config.read_text(encoding="utf-8").replace("[m6i]", "[m5, m6i]")
    config.write_text(both, encoding="utf-8")
    target = tmp_path / "plan.json"
    assert run(["plan", "-f", str(config), *NOW, "-o", "json", "--out", str(target)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {line["instance_type"].split(".")[0] for line in plan["mix"]} == {"m5"}
    assert run(["explain", str(target), "--full"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "work a vCPU does: m5 1.2" in told
    assert re.search(r"Q_T 0\.\d\d", told)


def test_a_profile_in_the_working_directory_is_found_by_its_name(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``profile run --name steep`` writes it here, and ``classify steep`` looked among the bundled ones alone."""
    monkeypatch.chdir(folder)
    assert run(["classify", "steep", "--corpus", str(corpus), *NOW]) == 0
    assert "steep: service" in capsys.readouterr().out
    assert run(["classify", "stepe", "--corpus", str(corpus), *NOW]) == 64
    assert f"in the working directory or {corpus}" in capsys.readouterr().err


def test_the_quality_says_which_resource_sets_it(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words(folder, corpus, "steep")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"quality it needs: 0\.7\d of 1, set by (l1i|llc) at 7\d of 100", said)


def test_a_quality_that_is_only_assumed_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that tolerates everything measured was said to need 50.50 %, "from what it tolerates least"."""
    known, mine = tmp_path / "known", tmp_path / "mine"
    for made in (known, mine):
        made.mkdir()
    for number in range(8):
        saved(known, f"app{number}", {Aspect.TOLERATED: {"llc": 90.0 + number, "disk": 95.0 - number}})
    saved(mine, "new", {Aspect.TOLERATED: {"llc": 99.0, "disk": 99.0}})
    assert run(["classify", "new", "--profiles", str(mine), "--corpus", str(known), *NOW]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "quality it needs: 0.51 of 1, an assumption; not known and counted as 50 of 100: l1i, l1d," in said


def test_numbers_of_different_machines_are_not_taken_together_without_a_word(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "steep.yaml").read_text()
    one, other = "EPYC, 2 cores, 24 GiB, Linux 6.1", "Xeon, 2 cores, 24 GiB, Linux 6.1"
    mixed = text.replace("a machine", one, 1).replace("a machine", other)
    (folder / "steep.yaml").write_text(mixed)
    assert run(words(folder, corpus, "steep")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "size: measured on 2 kinds of machine (EPYC, 2 cores, 24 GiB; Xeon, 2 cores, 24 GiB)" in said
    (folder / "steep.yaml").write_text(mixed.replace(one, "Xeon, 2 cores, 24 GiB, Linux 6.2"))
    assert run(words(folder, corpus, "steep")) == 0
    assert "kinds of machine" not in capsys.readouterr().out


def test_what_a_machine_cannot_measure_is_named_in_one_line(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "new.profile.yaml"
    saved(tmp_path, "new", {Aspect.TOLERATED: {"llc": 30.0}})
    text = (tmp_path / "new.yaml").read_text()
    mine.write_text(text.replace("unmeasurable: {}", "unmeasurable: {l1i: too noisy, tlb: too noisy}"))
    run(["classify", str(mine), "--corpus", str(corpus), *NOW])
    assert "not measurable on the profiled machine: l1i, tlb ('hcloud profile show'" in capsys.readouterr().out
