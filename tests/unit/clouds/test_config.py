"""hcloud.yaml: strict keys, durations, the order of precedence, flags on top."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from hcloud.errors import InputError, Problem, UsageError
from hcloud.model.catalog import Payment, Provider
from hcloud.readers.configuration.config import Config, config_schema, load_config
from hcloud.readers.permissions import PermissionTable
from hcloud.readers.prices.overlay import _Overlay
from hcloud.readers.rules import RulesFile
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import Section, validated
from hcloud.usecases.workloads.sources import Flags, with_flags


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hcloud.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_need_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_config().config.settings()
    assert settings.markets[0].provider is Provider.AWS
    assert settings.markets[0].regions == ("us-east-1",)
    assert settings.outlook.horizon_hours == 8760


def test_units_and_sections(tmp_path: Path) -> None:
    text = """
markets: [{provider: gcp, vcpus: 8, terms: [1y], payments: [no-upfront]}]
planning: {horizon: 90d, step: 5min, regret_quantile: 0.9}
prices: {max_age: 2w}
"""
    loaded = load_config(write(tmp_path, text))
    settings = loaded.config.settings()
    assert settings.markets[0].regions == ("us-central1",)
    assert settings.markets[0].terms == (1,)
    assert settings.markets[0].payments == (Payment.NONE,)
    assert settings.outlook.horizon_hours == 2160
    assert settings.outlook.step_seconds == 300
    assert loaded.config.prices.max_age == 14 * 86_400


def test_every_problem_is_shown_with_its_place_and_a_hint(tmp_path: Path) -> None:
    text = """
workload: {pth: x.csv}
planing: {}
planning: {horizon: 90min, growth_per_year: lots, falls: [1.5]}
markets: [{provider: awz}]
"""
    with pytest.raises(InputError) as caught:
        load_config(write(tmp_path, text))
    shown = str(caught.value)
    assert "6 problems in the configuration" in shown
    assert "workload.pth: unknown key (did you mean path?)" in shown
    assert "planing: unknown key (did you mean planning?)" in shown
    assert "planning.horizon" in shown
    assert "whole number of hours" in shown
    assert "markets.0.provider: 'awz'" in shown


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("markets: [{vcpus: [1]}]", "markets.0.vcpus: [1] (must be a whole number, or auto)"),
        ("markets: [{vcpus: -1}]", "markets.0.vcpus: -1 (must be 1 or more, or auto)"),
        ("limits: 3", "limits: 3 (must be a section of keys: {key: value})"),
        ("format_version: 1.0", "format_version: 1.0 (must be '1.0')"),
        ("prices: {max_age: [1]}", "prices.max_age: [1] (must be a time span such as 90s, 2h or 30d)"),
        ("bill: {held_until: soon}", "bill.held_until: 'soon' (must be a date such as 2026-01-31)"),
        ("markets: [{gpus: 3}]", "markets.0.gpus: 3 (must be true or false)"),
        ("markets: [{options: [spto]}]", "committed-use, flexible-committed-use, reservation or savings-plan; did you"),
        ("planning: {falls: null}", "planning.falls: null (must be a list, for example [first, second])"),
    ],
)
def test_a_value_of_a_wrong_kind_is_told_in_plain_words(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(write(tmp_path, text))
    assert says in str(caught.value)


OF_A_LIBRARY = re.compile(
    "Input should|valid |instance of|Value error|parse|greater than|less than|constrained|function-|literal"
)
SECTIONS = (Config, RulesFile, _Overlay, PermissionTable)
WRONG = (3, -1, 2.5, "x", True, None, [1], ["x"], {"a": 1}, [[1]], 10**30, float("nan"))


def places(model: type[Section], before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for name, field in model.model_fields.items():
        yield (*before, field.alias or name)
        inner = next(iter(sections_in(field.annotation)), None)
        if inner is not None:
            yield from places(inner, (*before, name, *([0] if "tuple" in str(field.annotation) else [])))


def sections_in(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from sections_in(part)


def placed(place: tuple[str | int, ...], value: object) -> object:
    for part in reversed(place):
        value = [value] if part == 0 else {part: value}
    return value


def problems(model: type[Section], content: object) -> Sequence[Problem]:
    try:
        validated(model, content, "file", "content")
    except InputError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("model", SECTIONS)
def test_no_key_of_any_section_is_refused_in_the_words_of_a_library(model: type[Section]) -> None:
    contents = [placed(place, value) for place in places(model) for value in WRONG]
    refused = [problem for content in contents for problem in problems(model, content)]
    assert len(refused) > len(contents) / 2
    assert not [p for p in refused if OF_A_LIBRARY.search(f"{p.where} {p.allowed}")]


@pytest.mark.parametrize(
    "text", ["- a", "a: 1\na: 2\n", "planning: &a [*a]", "!!python/object/apply:os.system [ls]", "{" * 5000]
)
def test_hostile_yaml_is_an_error_not_a_crash(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        load_config(write(tmp_path, text))


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hcloud.yaml"
    path.write_bytes(b"planning: {seed: 1} # caf\xe9")
    with pytest.raises(InputError, match="not UTF-8"):
        load_config(path)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such configuration"):
        load_config(tmp_path / "nowhere.yaml")


def test_flags_beat_environment_beats_file_beats_user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = Path(tmp_path / "config" / "hcloud-hybrid")
    user.mkdir(parents=True)
    write(user, "planning: {seed: 1, futures: 7, headroom: 0.5, growth_per_year: 0.3}")
    path = write(tmp_path, "planning: {seed: 2, futures: 8, headroom: 0.6}")
    loaded = load_config(path, {"HYC_PLANNING__SEED": "3", "HYC_PLANNING__FUTURES": "9", "HCLOUD_TOKEN": "secret"})
    planning = with_flags(loaded, Flags(seed=4)).config.planning
    assert (planning.seed, planning.futures, planning.headroom, planning.growth_per_year) == (4, 9, 0.6, 0.3)
    with pytest.raises(InputError, match=r"^HYC_PLANNING__HEADROOM: 1 problem"):  # was blamed on hcloud.yaml
        load_config(path, {"HYC_PLANNING__HEADROOM": "15"})
    with pytest.raises(InputError, match="did you mean HYC_PLANNING__HORIZON"):  # it was ignored without a word
        load_config(path, {"HYC_PLANNING_HORIZON": "3y", "HYC_PRICES": "/prices", "HYC_PROFILE_RUN": "1"})
    with pytest.raises(InputError, match="did you mean HYC_PLANNING__HORIZON"):
        load_config(path, {"HYC_HORIZON": "3y"})
    for name in (  # they were ignored, too
        "PROVIDER", "FAMILY", "TERM", "MARKETS", "MARKETS_OS", "MARKET", "MARKET_PROVIDER", "MARKETS_0_PROVIDER",
        "FLEETS", "OWNED__COUNT",
    ):  # fmt: skip
        with pytest.raises(InputError, match="is a list: write it in a file"):
            load_config(path, {f"HYC_{name}": "1"})
    anybodys = {f"HYC_{name}": "1" for name in ("OS", "COUNT", "ADDRESS", "OPTION", "VCPU", "TYPE", "MARKETING")}
    load_config(path, anybodys)
    write(user, "planning: {headroom: 15}")
    with pytest.raises(InputError, match=r"hcloud-hybrid.hcloud\.yaml: 1 problem"):
        load_config(write(tmp_path, "planning: {seed: 2}"), {})
    write(user, "planning: {step: 7h}")  # is wrong alone, and right beside the other's horizon
    path = write(tmp_path, "planning: {horizon: 70h}\noperation: {qos: 7}")
    with pytest.raises(InputError) as told:
        load_config(path, {"HYC_PLANNING__SEED": "x"})
    assert {(p.file, p.where) for p in told.value.problems} == {
        (str(path), "operation.qos"),
        ("HYC_PLANNING__SEED", "planning.seed"),
    }
    with pytest.raises(InputError, match="purchase settings must be in a file"):  # not sent to another refusal
        load_config(path, {"HYC_COMMITMENTS_ENABLED": "true"})


def test_flags_choose_providers_and_narrow_markets(tmp_path: Path) -> None:
    path = write(tmp_path, "markets: [{provider: aws, families: [m7i]}, {provider: gcp}]")
    config = with_flags(load_config(path), Flags(providers=(Provider.AZURE, Provider.AWS), vcpus=8)).config
    assert [(m.provider, m.families, m.vcpus) for m in config.markets] == [
        (Provider.AZURE, (), 8),
        (Provider.AWS, ("m7i",), 8),
    ]


def test_a_workload_flag_replaces_the_configured_one(tmp_path: Path) -> None:
    loaded = load_config(write(tmp_path, "workload: {path: old.csv}"))
    by_flag = with_flags(loaded, Flags(workload="scenario:static", options=("memory_per_core=2",)))
    assert by_flag.config.workload.path is None
    assert by_flag.config.workload.scenario == "static"
    assert by_flag.config.workload.options == {"memory_per_core": "2"}
    with pytest.raises(UsageError, match="KEY=VALUE"):
        with_flags(loaded, Flags(options=("oops",)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("planning: {horizon: 6m}", "for example 720h, 90d, 6mo or 1y; m is minutes"),
        (
            "owned: [{provider: aws, region: us-east-1, instance_type: m5a.large, option: reserved-instance,"
            " term_years: 1, dollars_per_hour: 0.25, expires: 2028-06-01}]",
            "dollars_per_hour is for savings plans and other commitments in dollars; of a reserved-instance give count",
        ),
        (
            "owned: [{provider: aws, region: us-east-1, instance_type: m5a.large, option: on-demand,"
            " term_years: 1, count: 2, expires: 2028-06-01}]",
            "on-demand is no commitment: state what was bought, for example reserved-instance",
        ),
        ("markets: [{provider: aws, terms: [548d]}]", "must be 1 or 3"),  # it was taken for a year
        ("planning: {horizon: 1M}", "may be months or minutes; write 1mo or 1min"),
        ("markets: {provider: aws}", "must be a list, for example [first, second]"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_it_may_be(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(write(tmp_path, text))
    assert said in str(caught.value)


def test_a_year_may_be_written_in_words(tmp_path: Path) -> None:
    schema = Draft202012Validator(config_schema())
    for terms in ("1 year, 36 Months", "366d, 1096 DAYS"):  # with a leap day
        text = f"markets: [{{provider: aws, terms: [{terms}]}}]\nplanning: {{horizon: 3Y}}"
        config = load_config(write(tmp_path, text)).config
        assert (config.markets[0].terms, config.planning.horizon) == ((1, 3), 3 * 8760 * 3600)
        assert schema.is_valid(load_yaml(text, "hcloud.yaml"))
    assert not schema.is_valid({"planning": {"horizon": "1M"}})


@pytest.mark.parametrize("option", ["ec2-instance-savings-plan", "compute-savings-plan"])
def test_a_savings_plan_is_owned_in_dollars(option: str, tmp_path: Path) -> None:
    text = (
        f"owned: [{{provider: aws, region: us-east-1, instance_type: m5a.large, option: {option},"
        " term_years: 1, dollars_per_hour: 0.25, expires: 2028-06-01}]"
    )
    (owned,) = load_config(write(tmp_path, text)).config.owned
    assert str(owned.dollars_per_hour) == "0.25"
