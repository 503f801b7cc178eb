"""``hcloud init`` and ``hcloud validate``: the file states every default, and every check is made."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import jsonschema
import pytest

from hcloud.cli.main import run
from hcloud.readers.configuration.config import Config, MarketSection, config_schema, parse_config
from hcloud.readers.configuration.live_sections import FleetSection
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import Section
from hcloud.usecases.tools.init import EXAMPLES, config_text, texts_of, yaml_value

SCHEMAS = importlib.import_module("docs.make_schemas")
NOW = ("--now", "2026-11-20T12:00:00Z")
TRACE = "submit,duration,cores\n0,3600,4\n1800,3600,8\n3600,7200,2\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def loaded(path: Path) -> Config:
    content = load_yaml(path.read_text(encoding="utf-8"), str(path))
    assert isinstance(content, dict)
    return parse_config(content, str(path))


def test_every_key_is_written_with_its_default_and_what_it_does(home: Path) -> None:
    assert run(["init"]) == 0
    assert loaded(home / "hcloud.yaml") == Config()
    content = load_yaml((home / "hcloud.yaml").read_text(encoding="utf-8"), "x")
    assert isinstance(content, dict)
    assert list(content) == list(Config.model_fields)
    for name, section in Config.model_fields.items():
        if name != "format_version" and name not in EXAMPLES:
            written = content["markets"][0] if name == "markets" else content[name]
            default = section.default[0] if name == "markets" else section.default
            assert list(written) == list(type(default).model_fields)


def test_the_commented_example_of_owned_loads_once_uncommented() -> None:
    text = config_text()
    example = text[text.index("# owned:") :]
    plain = text.replace("owned: []\n", "").replace(example, re.sub(r"^# ?", "", example, flags=re.MULTILINE))
    content = load_yaml(plain, "x")
    assert isinstance(content, dict)
    assert list(content["owned"][0]) == list(OwnedSection.model_fields)
    owned = parse_config(content, "x").owned[0]
    assert f"{owned.count} {owned.term_years} {owned.payment}" == "10 1 no-upfront"


def test_every_key_stands_beside_its_comment() -> None:
    lines = config_text().splitlines()
    assert max(map(len, lines)) <= 130
    sections: list[type[Section]] = [type(part) for _, part in Config() if isinstance(part, Section)]
    sections += [MarketSection, OwnedSection, FleetSection]
    for section in sections:
        for key, text in texts_of(section).items():
            assert text
            assert any(f"{key}: " in line and text.split()[0] in line for line in lines)


def test_it_never_replaces_a_file_unasked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = home / "hcloud.yaml"
    mine.write_text("planning:\n  seed: 7\n", encoding="utf-8")
    assert run(["init"]) == 1
    said = capsys.readouterr()
    assert "already exists" in said.err
    assert "--force" in said.err
    assert mine.read_text(encoding="utf-8") == "planning:\n  seed: 7\n"
    assert run(["init", "--force"]) == 0
    assert loaded(mine) == Config()
    assert [p.name for p in home.iterdir()] == ["hcloud.yaml"]


def test_it_says_what_to_do_next_and_only_on_stderr(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--dir", "new/place"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "hcloud validate new/place/hcloud.yaml" in said.err
    assert "hcloud plan TRACE.csv --file new/place/hcloud.yaml" in said.err
    assert run(["init", "--dir", "other", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("trace.csv", "trace.csv"),
        ("a b, c.csv", "a b, c.csv"),
        ("it's #1: x.csv", "it's #1: x.csv"),
        ("1.0", "1.0"),
        ("x" * 100, "x" * 100),
    ],
)
def test_a_workload_is_named_relative_to_the_file(home: Path, name: str, written: str) -> None:
    (home / name).write_text(TRACE, encoding="utf-8")
    assert run(["init", "--workload", name]) == 0
    assert str(loaded(home / "hcloud.yaml").workload.path) == written
    assert run(["init", "--workload", name, "--dir", "sub"]) == 0
    assert loaded(home / "sub" / "hcloud.yaml").workload.path == home / name


def test_a_path_that_fills_the_line_is_explained_beside_it(home: Path) -> None:
    place = home / "folder of a long name" / "of another that is as long" / "and of a third one, longer still than they"
    place.mkdir(parents=True)
    (place / "trace.csv").write_text(TRACE, encoding="utf-8")
    assert run(["init", "--workload", str(place / "trace.csv"), "--dir", str(home / "elsewhere")]) == 0
    assert loaded(home / "elsewhere" / "hcloud.yaml").workload.path == place / "trace.csv"


def test_a_scenario_or_a_missing_workload(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--workload", "scenario:static"]) == 0
    assert loaded(home / "hcloud.yaml").workload.scenario == "static"
    assert run(["init", "--workload", "nowhere.csv", "--dir", "x"]) == 64
    assert "no such workload" in capsys.readouterr().err
    assert run(["init", "--dir", "hcloud.yaml"]) == 64


@pytest.mark.parametrize("value", ["yes: no", "a,b", "007", "null", "true", "'", '"', "x # y", "[1]", "1e3", " x"])
def test_texts_survive_yaml(value: str) -> None:
    assert load_yaml(f"k: {yaml_value(value)}", "x") == {"k": value}


# ---- validate


def config(home: Path, text: str, name: str = "hcloud.yaml") -> str:
    (home / name).write_text(text, encoding="utf-8")
    (home / "trace.csv").write_text(TRACE, encoding="utf-8")
    return name


SOUND = """\
workload: {path: trace.csv}
prices: {book: bundled, warn_age: 20y}
markets: [{provider: aws, families: [m6i], vcpus: 4}]
"""


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("operation: {strategy: 'HF,HX'}", "there is no strategy 'HX'"),
        ("operation: {strategy: HF, cloud: measured-awz}", "did you mean measured-aws?"),
        ("profiles: {folder: nowhere}", "no such folder of profiles"),
    ],
)
def test_what_a_plan_would_trip_over_is_found(
    home: Path, section: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config(home, f"{SOUND}\n{section}\n")
    assert run(["validate", *NOW]) == 1
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("live: {cloud: 'fake:nosuch.yaml'}", "nosuch.yaml: cannot be read: no such file"),
        ("live: {project: A b}", "live.project: 'A b' (must be 1 to 41 lower-case letters, digits, - and _, a letter"),
        ("fleet: [{address: operate-1, instance_type: m5.large, count: 1}]", "begin with operate-"),
    ],
)
def test_what_a_cloud_would_trip_over_is_found(
    home: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    config(home, text)
    assert run(["validate"]) == 1
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_sound_configuration(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config(home, SOUND)
    assert run(["validate", *NOW]) == 0
    shown = capsys.readouterr().out
    assert "ok      configuration  hcloud.yaml: 4 keys set" in shown
    assert "3 rows of jobs-csv, 3 jobs over 3h" in shown
    assert "aws us-east-1: " in shown
    assert run(["validate", "hcloud.yaml", "--json", *NOW]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["generated_at"] == "2026-11-20T12:00:00Z"
    assert [c["name"] for c in document["checks"]] == [
        *("configuration", "workload", "prices", "market", "overlay", "profiles", "operation")
    ]
    assert run(["validate", "--file", "hcloud.yaml", "-o", "json", *NOW]) == 0
    assert json.loads(capsys.readouterr().out) == document


def test_a_backlog_that_must_grow_is_told_before_the_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for scenario, grows in (("local-40-oversubscribed", True), ("local-40-medium", False)):
        config(home, f"workload: {{scenario: {scenario}}}\noperation: {{strategy: SR+paragon+multi-class}}\n")
        assert run(["validate", *NOW]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert ("times the reserve's 178 vCPUs while they come, so the backlog must grow" in shown) == grows


def test_what_init_writes_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    assert run(["validate"]) == 0
    assert "none configured" in capsys.readouterr().out


def test_all_problems_are_shown_together(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "prices.yaml").write_text("rules: 3\n", encoding="utf-8")
    config(
        home,
        "workload: {path: nowhere.csv}\n"
        "prices: {book: bundled, overlay: prices.yaml}\n"
        "markets: [{provider: aws, regions: [mars-1]}, {provider: gcp, families: [zz9]}]\n"
        "owned: [{provider: aws, region: us-east-1, instance_type: none.large, option: reserved-instance,"
        " term_years: 1, expires: 2020-01-01}]\n",
    )
    assert run(["validate", *NOW]) == 1
    shown = capsys.readouterr().out
    for expected in ("nowhere.csv", "mars-1", "zz9", "none.large", "count or dollars_per_hour", "prices.yaml"):
        assert expected in shown
    assert sum(line.startswith("error") for line in shown.splitlines()) == 5


def test_every_wrong_key_of_a_configuration(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config(home, "planning: {horizn: 1y, headroom: -3}\nmarkets: []\n")
    assert run(["validate"]) == 1
    shown = capsys.readouterr().out
    for expected in ("did you mean horizon?", "planning.headroom", "markets", "skipped workload", "skipped prices"):
        assert expected in shown


def test_old_prices_warn_and_too_old_ones_fail(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config(home, SOUND.replace("warn_age: 20y", "warn_age: 1d"))
    assert run(["validate", *NOW]) == 0
    assert "older than 1d (prices.warn_age)" in capsys.readouterr().out
    config(home, SOUND.replace("warn_age: 20y", "max_age: 1d"))
    assert run(["validate", "--now", "2036-01-01"]) == 1
    assert "prices.max_age" in capsys.readouterr().out


def test_a_workload_that_had_to_be_repaired_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config(home, SOUND)
    (home / "trace.csv").write_text(TRACE + "4000,-5,2\n", encoding="utf-8")
    code = run(["validate", *NOW])
    shown = capsys.readouterr().out
    assert "workload" in shown
    assert code in (0, 1)
    assert ("left out" in shown or "repaired" in shown) if code == 0 else "error   workload" in shown


def test_both_or_no_configuration(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate"]) == 64
    assert "hcloud init" in capsys.readouterr().err
    assert run(["validate", "nowhere.yaml"]) == 64
    config(home, SOUND)
    assert run(["validate", "hcloud.yaml", "--file", "hcloud.yaml"]) == 64
    (home / "latin.yaml").write_bytes("workload: {path: gr\u00fcn}".encode("latin-1"))
    assert run(["validate", "latin.yaml"]) == 1


# ---- schemas


def test_published_schemas_are_what_the_code_generates() -> None:
    for name, schema in SCHEMAS.schemas().items():
        there = (SCHEMAS.SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
        assert there == SCHEMAS.text_of(schema), "run python docs/make_schemas.py"


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == config_schema()


@pytest.mark.parametrize(
    "text",
    [
        config_text(),
        SOUND,
        "planning: {horizon: 720h, step: auto, warm_up: 3600}",
        "planning: {step: 5min}\nmarkets: [{terms: [1y, 3]}]",
    ],
)
def test_what_the_reader_takes_the_schema_takes(text: str) -> None:
    content = load_yaml(text, "x")
    assert isinstance(content, dict)
    parse_config(content, "x")
    jsonschema.Draft202012Validator(dict(config_schema())).validate(content)


@pytest.mark.parametrize(
    "text",
    [
        "planing: {}",
        "planning: {horizon: soon}",
        "planning: {step: 59}",
        "prices: {book: mine}",
        "markets: [{terms: [2]}]",
        "markets: [{vcpus: 0}]",
        "owned: [{provider: aws}]",
        "format_version: '2.0'",
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(text: str) -> None:
    content = load_yaml(text, "x")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(dict(config_schema())).validate(content)
    assert isinstance(content, dict)
    with pytest.raises(Exception, match="problem"):
        parse_config(content, "x")
