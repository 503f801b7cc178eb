"""What a stranger tripped over: one word for one thing on every verb, names found everywhere, help without types."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.cli.verb_groups import GROUPS, VERBS
from hcloud.errors import MissingExtraError
from hcloud.readers.bundle import bundled
from hcloud.units import natural
from hcloud.usecases.live import connect


def test_every_verb_is_in_one_group_of_the_help() -> None:
    assert sorted(verb for verbs in GROUPS.values() for verb in verbs) == sorted(VERBS)


@pytest.mark.parametrize("words", [[], ["plan"], ["workload", "convert"]])
def test_help_names_no_type_beside_a_flag(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    assert "bool" not in capsys.readouterr().out


def test_a_workload_is_converted_to_the_file_that_out_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("id,submit,duration,cores,memory,kind\na,0,3600,2,4,batch\n", encoding="utf-8")
    for flag in ("--to", "--out"):
        assert run(["workload", "convert", str(tmp_path / "t.csv"), flag, str(tmp_path / f"{flag}.csv")]) == 0
    capsys.readouterr()
    assert (tmp_path / "--to.csv").read_bytes() == (tmp_path / "--out.csv").read_bytes()


def test_a_bundled_profile_is_shown_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["profile", "show", "sort", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["profile"]["app"] == "sort"
    assert run(["profile", "show", "srot"]) == 64
    assert "sort" in capsys.readouterr().err


def test_prices_are_listed_by_size(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--provider", "aws", "--region", "us-east-1", "--family", "m6i", "--option", "on-demand"]
    assert run(["pricing", "list", *words, "--json"]) == 0
    types = [row["instance_type"] for row in json.loads(capsys.readouterr().out)["offers"]]
    assert types == sorted(types, key=natural)
    assert types.index("m6i.2xlarge") < types.index("m6i.12xlarge")


def test_tests_can_interrupt_what_they_start_where_a_shell_ignores_ctrl_c() -> None:
    look = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_profiles_are_listed_beside_other_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hcloud.yaml").write_text("workload: {path: trace.csv}\n", encoding="utf-8")
    (tmp_path / "sort.yaml").write_bytes((bundled("profiles") / "sort.profile.yaml").read_bytes())
    assert run(["profile", "list", str(tmp_path), "--json"]) == 0
    assert [p["app"] for p in json.loads(capsys.readouterr().out)["profiles"]] == ["sort"]
    (tmp_path / "broken.yaml").write_text("app: x\n", encoding="utf-8")
    assert run(["profile", "list", str(tmp_path)]) == 1


def test_an_extra_is_named_for_a_missing_sdk_only() -> None:
    assert isinstance(connect._missing("aws", ModuleNotFoundError(name="boto3.session")), MissingExtraError)
    for own in ("hcloud.providers.aws.offers", "sqlite3"):
        error = ModuleNotFoundError(name=own)
        assert connect._missing("aws", error) is error
