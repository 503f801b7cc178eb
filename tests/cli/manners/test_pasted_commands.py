"""Commands in messages can be pasted: they name what was named by flags, as the verb knows them."""

from __future__ import annotations

import pytest
from verbs import command_of, every_leaf

from hcloud.views.console import pasteable

FLAGS = {"--file": "'my conf.yaml'", "--cloud": "fake:aws", "--state": "'my state'"}
ALL = "--file 'my conf.yaml' --cloud fake:aws --state 'my state'"
OF_CLOUD = "--file 'my conf.yaml' --cloud fake:aws"
OF_STATE = "--file 'my conf.yaml' --state 'my state'"


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("'hcloud recover' rebuilds it", f"'hcloud recover {ALL}' rebuilds it"),
        ("hcloud gc --delete --ends 2", f"hcloud gc {ALL} --delete --ends 2"),
        ("'hcloud operate status' shows it", f"'hcloud operate status {OF_STATE}' shows it"),
        ("hcloud operate cancel JOB", f"hcloud operate cancel {OF_STATE} JOB"),
        ("hcloud state force-unlock 7f", f"hcloud state force-unlock {OF_STATE} 7f"),
        ("hcloud destroy --state 'a b' --ends 1", f"hcloud destroy {OF_CLOUD} --state 'a b' --ends 1"),
        ("hcloud gc --cloud gcp --lineage f4 --delete", f"hcloud gc {OF_STATE} --cloud gcp --lineage f4 --delete"),
        ("'hcloud plan' shows it", f"'hcloud plan {ALL}' shows it"),
        (
            "hcloud plan --out a, hcloud operate jobs.csv, hcloud commit list",
            "hcloud plan --out a, hcloud operate jobs.csv, hcloud commit list",
        ),
    ],
)
def test_a_command_names_what_its_verb_knows_and_once(said: str, named: str) -> None:
    assert pasteable(said, FLAGS) == named
    assert pasteable(named, FLAGS) == named
    assert pasteable(said, {}) == said


def test_no_command_names_an_option_that_its_verb_lacks() -> None:
    """'hcloud operate status --cloud' was refused, where a hint had it."""
    for path in every_leaf():
        known = {option for p in command_of(path).params for option in p.opts}
        bare = "hcloud " + " ".join(path)
        assert {flag for flag in FLAGS if f" {flag} " in pasteable(bare, FLAGS)} <= known, bare
