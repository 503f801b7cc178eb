"""``hcloud strategy`` and the policy files: complete, sourced, composing, and strict about files of one's own."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hcloud.cli.main import run
from hcloud.errors import InputError
from hcloud.model.running.strategy import Mechanism, Parameter, ParameterOrigin
from hcloud.policy.registry import RULES
from hcloud.policy.rule import OPTIONAL
from hcloud.readers.bundle import bundled
from hcloud.readers.harvest.policy import HARVEST
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.strategies import STRATEGIES, load_strategy, parse_strategy, read_strategy

NOW = ("--now", "2026-11-20T12:00:00Z")


def document(name: str = "HM") -> dict[str, Any]:
    loaded = load_yaml((bundled("policies") / f"{name}.yaml").read_text(encoding="utf-8"), name)
    assert isinstance(loaded, dict)
    return loaded


def test_all_run_where_none_is_named_also_the_one_for_least_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """Without it the hybrids reserve the least load, and what reserves the peak looks cheapest."""
    assert sorted(STRATEGIES) == sorted(p.stem for p in bundled("policies").glob("*.yaml") if p.stem != HARVEST)
    assert run(["compare", "scenario:high-variability", "--seeds", "2", "--json", *NOW]) == 0
    compared = json.loads(capsys.readouterr().out)["strategies"]
    assert [one["name"] for one in compared] == list(STRATEGIES) == ["SR", "OdF", "OdM", "HF", "HM", "HC"]


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_number_has_origin_source_and_reason(name: str) -> None:
    strategy = load_strategy(name)
    assert [m.name for m in strategy.mechanisms] == [name for name in RULES if name not in OPTIONAL]
    for mechanism in strategy.mechanisms:
        stated_all: tuple[Mechanism | Parameter, ...] = (mechanism, *mechanism.parameters)
        for stated in stated_all:
            assert stated.origin is ParameterOrigin.OURS or stated.source
            assert stated.why.endswith(".")
        assert {p.key for p in mechanism.parameters} == {
            k.name for k in RULES[mechanism.name][mechanism.rule].keys if k.default is None
        }


def test_figures_of_the_thesis() -> None:
    reserved, hybrid = load_strategy("SR"), load_strategy("HM")
    assert reserved.mechanism("reserved").parameter("overprovision").value == 0.15
    assert hybrid.mechanism("retention").parameter("factor").value == 10
    assert hybrid.mechanism("queueing").parameter("wait_quantile").value == 0.99
    assert hybrid.mechanism("on_demand").parameter("sizes_vcpus").value == (1, 2, 4, 8, 16)
    limits = hybrid.mechanism("limits")
    assert (limits.parameter("soft_start").value, limits.parameter("hard").value) == (0.625, 0.8)
    assert hybrid.mechanism("quality").parameter("q90_mode").value == "guarantee"
    assert hybrid.mechanism("retention").parameter("probe_before_reuse").value


def test_ours_differs_from_the_published_hybrid_where_it_says_so() -> None:
    hybrid, ours = load_strategy("HM"), load_strategy("HC")
    changed = {m.name for m, o in zip(hybrid.mechanisms, ours.mechanisms, strict=True) if m != o}
    assert changed == {"reserved", "limits", "queueing", "placement", "retention"}
    assert ours.mechanism("limits").parameter("hard").value == 1.0
    assert ours.mechanism("retention").parameter("factor").origin is ParameterOrigin.OURS


def test_rules_of_the_table() -> None:
    rules = {s.name: {m.name: m.rule for m in s.mechanisms} for s in tuple(map(load_strategy, STRATEGIES))}
    assert {n: (r["reserved"], r["on_demand"], r["mapping"], r["retention"]) for n, r in rules.items()} == {
        "SR": ("peak-overprovisioned", "none", "reserved-only", "none"),
        "OdF": ("none", "full-servers", "on-demand-only", "spin-up-multiple"),
        "OdM": ("none", "smallest-fitting", "on-demand-only", "spin-up-multiple"),
        "HF": ("steady-minimum", "full-servers", "dynamic", "spin-up-multiple"),
        "HM": ("steady-minimum", "smallest-fitting", "dynamic", "spin-up-multiple"),
        "HC": ("steady-minimum", "smallest-fitting", "dynamic", "spin-up-multiple"),
    }


def test_what_strategies_share_is_the_same_in_all_of_them() -> None:
    """Retention is one policy in OdF, OdM, HF and HM; the hybrids share limits, queue and reserve."""
    one = {s.name: s for s in tuple(map(load_strategy, STRATEGIES))}
    assert len({one[n].mechanism("retention") for n in ("OdF", "OdM", "HF", "HM")}) == 1
    assert len({s.mechanism("information") for s in one.values()}) == 1
    assert len({s.mechanism("placement") for s in one.values()} - {one["HC"].mechanism("placement")}) == 1
    for shared in ("limits", "queueing", "reserved"):
        assert one["HF"].mechanism(shared) == one["HM"].mechanism(shared)


def test_the_digest_is_of_rules_and_values_only() -> None:
    changed = document()
    changed["summary"] = "other words"
    changed["mechanisms"]["limits"]["parameters"]["hard"]["why"] = "Because."
    assert parse_strategy(changed, "x").digest() == load_strategy("HM").digest()
    changed["mechanisms"]["limits"]["parameters"]["hard"]["value"] = 0.85
    assert parse_strategy(changed, "x").digest() != load_strategy("HM").digest()


def test_list_as_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["strategy", "list"]) == 0
    table = capsys.readouterr()
    assert all(name in table.out for name in STRATEGIES)
    assert "strategy show NAME" in table.err
    assert run(["strategy", "list", "-o", "json", *NOW]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["format_version"] == "1.0"
    assert listed["generated_at"] == "2026-11-20T12:00:00Z"
    assert [s["name"] for s in listed["strategies"]] == list(STRATEGIES)


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_list_breaks_no_word(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["strategy", "list"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    for strategy in tuple(map(load_strategy, STRATEGIES)):
        words = {strategy.name, strategy.mechanism("mapping").rule, *strategy.summary.split()}
        assert words <= set(out.split())


def test_show_says_where_numbers_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["strategy", "show", "hm"]) == 0
    shown = capsys.readouterr().out
    assert "limits: feedback" in shown
    assert "0.625" in shown
    assert "T §8.3.2" in shown
    assert run(["strategy", "show", "HM", "--json", *NOW]) == 0
    first = capsys.readouterr().out
    assert run(["strategy", "show", "HM", "-o", "json", *NOW]) == 0
    assert capsys.readouterr().out == first
    factor = json.loads(first)["mechanisms"]["retention"]["parameters"]["factor"]
    assert (factor["value"], factor["unit"], factor["origin"], factor["source"]) == (10, "times spin-up", "T", "§8.3.2")


def test_a_file_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.yaml"
    text = (bundled("policies") / "HM.yaml").read_text(encoding="utf-8").replace("name: HM", "name: mine")
    mine.write_text(text, encoding="utf-8")
    assert run(["strategy", "show", str(mine), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "mine"


def test_unknown_names_are_usage_errors_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["strategy", "show", "odx"]) == 64
    assert "did you mean Od" in capsys.readouterr().err
    assert run(["strategy", "show", "nowhere/x.yaml"]) == 64
    assert run(["strategy", "show"]) == 64
    assert run(["strategy", "list", "-o", "yaml"]) == 64


def test_all_problems_of_a_file_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = document()
    mechanisms = bad["mechanisms"]
    mechanisms["limits"]["rule"] = "feedbak"
    mechanisms["retention"]["parameters"]["factor"]["value"] = -1
    mechanisms["retention"]["parameters"]["facter"] = mechanisms["retention"]["parameters"]["factor"]
    mechanisms["placement"]["parameters"]["examined"] = mechanisms["retention"]["parameters"]["factor"]
    mechanisms["monitoring"]["origin"] = "Z"
    del mechanisms["quality"]["parameters"]["level"]
    del mechanisms["queueing"]["source"]
    mechanisms["placement"]["parameters"]["violation_tolerance"]["unit"] = "%"
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump(bad), encoding="utf-8")
    assert run(["strategy", "show", str(file)]) == 1
    said = capsys.readouterr().err
    for expected in (
        "mechanisms.limits.rule: 'feedbak' (rules: none, fixed, feedback; did you mean feedback?)",
        "mechanisms.retention.parameters.factor.value: -1 (a number from 0 to 10000)",
        "facter: unknown key (did you mean factor?)",
        "placement.parameters.examined: unknown key (leave it out: the search finds what a look at every server would",
        "mechanisms.monitoring.origin: 'Z'",
        "mechanisms.quality.parameters.level: missing",
        "mechanisms.queueing.source: missing",
        "mechanisms.placement.parameters.violation_tolerance.unit: '%'",
    ):
        assert expected in said
    assert "Traceback" not in said


def test_ways_to_watch_need_what_a_move_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = yaml.safe_load((bundled("policies") / "watchings" / "adjust-to-target.yaml").read_text(encoding="utf-8"))
    for key in ("move_seconds", "move_gib_seconds"):
        del known["monitoring"]["parameters"][key]
    known["monitoring"]["parameters"]["measured_on"]["value"] = "nowhere"
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(known), encoding="utf-8")
    assert run(["simulate", "scenario:local-40", "--strategy", "SR", "--watching", str(file)]) == 1
    said = capsys.readouterr().err
    for expected in ("move_seconds: missing", "move_gib_seconds: missing", "'nowhere'", "empty-server"):
        assert expected in said


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m["reserved"].update(rule="none", parameters={}), "mapping.rule: dynamic (needs a rule"),
        (lambda m: m["on_demand"].update(rule="none", parameters={}), "needs a rule other than none for on_demand"),
        (lambda m: m["queueing"].update(rule="none", parameters={}), "a reserve can be full"),
        (lambda m: m["limits"].update(rule="none", parameters={}), "the dynamic mapping needs fixed or feedback"),
        (lambda m: m["quality"].update(rule="none", parameters={}), "the dynamic mapping needs monitored"),
        (lambda m: m["mapping"].update(rule="reserved-only", parameters={}), "never uses what on_demand rents"),
        (lambda m: m["mapping"].update(rule="on-demand-only", parameters={}), "never uses what reserved holds"),
        (lambda m: m["limits"]["parameters"]["soft_start"].update(value=0.79), "from soft_floor to hard - gap"),
        (lambda m: m["on_demand"]["parameters"]["sizes_vcpus"].update(value=[4, 2]), "a rising list of numbers"),
        (lambda m: m["on_demand"]["parameters"]["shared"].update(value=1), "true or false"),
        (lambda m: m["reserved"]["parameters"]["instance_vcpus"].update(value=1.5), "a whole number from 1 to 1024"),
        (lambda m: m.update(retention=["x"]), "mechanisms.retention: ['x'] (a mapping with the keys"),
    ],
)
def test_rules_that_do_not_fit_together_are_refused(change: Change, problem: str) -> None:
    broken = copy.deepcopy(document())
    change(broken["mechanisms"])
    with pytest.raises(InputError) as caught:
        parse_strategy(broken, "mine.yaml")
    assert problem in str(caught.value)


@pytest.mark.parametrize("content", [None, [], "text", {"mechanisms": 3}, {"format_version": "2.0"}])
def test_what_is_no_strategy_is_an_input_error(content: object) -> None:
    with pytest.raises(InputError):
        parse_strategy(content, "x.yaml")


def test_text_of_another_encoding_is_an_input_error(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("name: gr\u00fcn".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_strategy(file)


def stated(**values: object) -> dict[str, dict[str, object]]:
    units = {"reserved_share": "share of jobs", "threshold": "quality", "limit": "share of reserved vCPUs"}
    words = {"origin": "C", "why": "A study."}
    return {k: {"value": v, **words, **({"unit": units[k]} if k in units else {})} for k, v in values.items()}


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        ("random", stated(reserved_share=0.5)),
        ("quality-threshold", stated(threshold=0.8, reading="absolute")),
        ("quality-threshold", stated(threshold=0.5, reading="job-quantile")),
        ("static-limit", stated(limit=0.7)),
    ],
)
@pytest.mark.parametrize("name", ["HF", "HM"])
def test_the_compared_mapping_policies_are_a_change_of_one_mechanism(
    name: str, rule: str, parameters: dict[str, object]
) -> None:
    """P1 to P7 of the thesis need no key that the files do not have."""
    changed = document(name)
    changed["mechanisms"]["mapping"].update(rule=rule, parameters=parameters)
    assert parse_strategy(changed, "x").mechanism("mapping").rule == rule


def test_studies_need_no_new_keys() -> None:
    """Without profiling information, at fixed limits and with the literal reading of Q90."""
    changed = document("HM")["mechanisms"]
    changed["information"]["rule"] = "requested"
    changed["quality"]["parameters"]["q90_mode"]["value"] = "literal"
    changed["retention"]["parameters"]["factor"]["value"] = 0
    strategy = parse_strategy({**document("HM"), "mechanisms": changed}, "x")
    assert strategy.mechanism("information").parameter("oversized_factor").value == 10
