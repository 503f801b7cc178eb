"""A rule of a strategy is one class: what it declares is read, known by name, and said in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.control.sessions.decode import options, refusals
from hcloud.errors import InputError, UsageError
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.mapping import MappingRule, Situation, choose
from hcloud.policy.registry import RULES
from hcloud.policy.rule import Rule, share
from hcloud.policy.rules import Rules
from hcloud.readers.strategies import parse_strategy
from hcloud.sim.setup.variation import parse_axis
from hcloud.store.journals.journal import read_journal

MAPPINGS = [rule for rule in RULES["mapping"].values() if issubclass(rule, MappingRule)]


def test_a_key_that_no_kernel_reads_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="no kernel reads sof"):

        class Misspelt(Rule):
            soft: float = share("share", "sof")


def test_a_rule_cannot_set_a_number_that_no_kernel_reads() -> None:
    with pytest.raises(TypeError, match="no kernel reads fedback"):

        class Misspelt(Rule, fedback=1):
            pass


def test_mappings_and_their_reasons_are_told_apart() -> None:
    assert len({rule.sets["mapping"] for rule in MAPPINGS}) == len(MAPPINGS) == len(RULES["mapping"])
    words = [reason.word for rule in MAPPINGS for reason in rule.reasons.values()]
    codes = [code for rule in MAPPINGS for code in rule.reasons]
    assert len(set(words)) == len(words)
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("rule", MAPPINGS)
@pytest.mark.parametrize("used", [0.1, 0.7, 0.95])
@pytest.mark.parametrize("room", [0, 1])
def test_every_mapping_says_what_kept_a_job_from_the_other_places(
    rule: type[MappingRule], used: float, room: int
) -> None:
    rules = Rules(mapping=int(rule.sets["mapping"]), reserved_share=0.5, threshold=5000, static_limit=0.6, hard=0.8)
    setup = Setup("x", "0" * 64, rules, False, 3, None, (TypeFacts("m", 16_000, 65_536, 20.0, 8000),))
    now = Situation(used, 0.6, room, 4000, 6000, 5.0, 20.0, 0.4, 0)
    declined = refusals(setup, now, choose(rules, now)[0], 0, 0)
    assert declined
    assert all(option.reason for option in declined)


@pytest.mark.parametrize(
    ("used", "option", "why"),
    [(0.1, "spot m", "the pool is below the soft limit"), (0.7, "on-demand m", "spot capacity costs less")],
)
def test_the_reserve_keeps_a_job_from_spot_and_spot_keeps_it_from_on_demand(used: float, option: str, why: str) -> None:
    """The rule of spot was said to keep jobs off the spot market that it sends there, and another rule to have chosen."""
    mapping = next(rule.sets["mapping"] for rule in MAPPINGS if rule is RULES["mapping"]["dynamic"])
    rules = Rules(mapping=int(mapping), spot=1, spot_quality=9000, static_limit=0.6, hard=0.8)
    setup = Setup("x", "0" * 64, rules, False, 3, None, (TypeFacts("m", 16_000, 65_536, 20.0, 8000),))
    now = Situation(used, 0.6, 1, 7000, 5000, 5.0, 20.0, 0.4, 1)
    told = {o.option: o.reason for o in refusals(setup, now, choose(rules, now)[0], 0, 0)}
    assert why in told[option]


def test_a_pool_exactly_at_the_soft_limit_is_not_said_to_be_above_it_by_nothing() -> None:
    mapping = next(rule.sets["mapping"] for rule in MAPPINGS if rule is RULES["mapping"]["dynamic"])
    rules = Rules(mapping=int(mapping), static_limit=0.6, hard=0.8)
    setup = Setup("x", "0" * 64, rules, False, 3, None, (TypeFacts("m", 16_000, 65_536, 20.0, 8000),))
    now = Situation(0.6, 0.6, 1, 7000, 5000, 5.0, 20.0, 0.4, 1)
    told = list(options(refusals(setup, now, choose(rules, now)[0], 0, 0)))
    assert any(line.endswith("the pool is at or above the soft limit (60%)") for line in told)


def test_a_misspelt_rule_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match=r"must be one of none, fixed, feedback; did you mean feedback\?"):
        parse_axis("limits.rule=fedback")
    document = {"mechanisms": {"limits": {"rule": "fixd", "origin": "C", "why": "Tried.", "parameters": {}}}}
    with pytest.raises(InputError) as refused:
        parse_strategy(document, "mine.yaml")
    told = [p.allowed for p in refused.value.problems if p.where == "mechanisms.limits.rule"]
    assert told == ["rules: none, fixed, feedback; did you mean fixed?"]


@pytest.mark.slow
def test_a_journal_from_before_a_number_was_added_is_read_with_its_default(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert run(["simulate", "scenario:local-40", "--strategy", "SR", "--journal", str(path)]) == 0
    head, rest = path.read_text().split("\n", 1)
    document = json.loads(head)
    assert document["rules"].pop("spot") == 0
    path.write_text(json.dumps(document) + "\n" + rest)
    assert read_journal(path).setup.rules.spot == 0
    document["rules"]["later"] = 1
    path.write_text(json.dumps(document) + "\n" + rest)
    with pytest.raises(InputError, match="rules of a later version: later"):
        read_journal(path)
