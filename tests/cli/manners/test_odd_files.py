"""Whatever a verb is told to read or write, a pipe, a device or text without end is refused at once, in a sentence."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.errors import InputError
from hcloud.model.json_text import TOO_DEEP, TOO_LONG
from hcloud.store import plan_file, profiles, purchase_file
from hcloud.store.files import lock
from hcloud.store.files.strict_json import load_strict
from hcloud.store.journals import journal

DEEP, DIGITS = "[" * 100_000 + "]" * 100_000, "9" * 20_000
HEADS = {
    "plan": '{"format_version": "1.0", "digests": {}, "horizon_hours": %s}\n',
    "changes": '{"format_version": "1.0", "base": {}, "slots": %s}\n',
    "purchases": '{"format_version": "1.0", "purchase_plan": %s}\n',
    "journal": '{"journal": "1.0", "rules": %s}\n',
    "yaml": "planning: %s\n",
    "strategy": "mechanisms: %s\n",
}
READERS = {
    "plan": (
        ["apply"], ["explain"], ["page"], ["report", "cost"], ["report", "quality"], ["simulate"], ["iam", "print"],
        ["diff", "-"], ["policy", "check"], ["commit", "plan", "--out", "bought.json"],
    ),
    "changes": (["apply"], ["explain"], ["iam", "print"]),
    "purchases": (["commit", "apply"], ["explain"]),
    "journal": (["explain", "--job", "a"], ["report", "cost"]),
    "yaml": (["validate"], ["plan", "--file"], ["status", "--cloud", "fake", "--file"]),
    "strategy": (["strategy", "show"], ["simulate", "jobs.csv", "--strategy"]),
}  # fmt: skip
NAMED = [(*verb, sort) for sort, verbs in READERS.items() for verb in verbs]
MORE = [("profile", "show", ""), ("fake", "up", "aws", "--faults", ""), ("workload", "show", ""), ("state", "push", "")]
WRITERS = (
    ["plan", "jobs.csv", "--out"],
    ["plan", "jobs.csv", "--strategy", "OdM", "--picture"],
    ["simulate", "jobs.csv", "--strategy", "OdM", "--journal"],
    ["simulate", "jobs.csv", "--strategy", "OdM", "--picture"],
    ["compare", "jobs.csv", "--strategy", "OdM", "--picture"],
    ["sweep", "jobs.csv", "--vary", "price_ratio=1,2", "--csv"],
    ["sweep", "jobs.csv", "--vary", "price_ratio=1,2", "--picture"],
    ["page", "plan.json", "--out"],
    ["workload", "show", "jobs.csv", "--out"],
    ["workload", "convert", "jobs.csv", "--force", "--to"],
    ["classify", "--save-matrices"],
)
SUFFIX = {"--picture": ".svg", "--csv": ".csv", "--to": ".csv", "--save-matrices": ".json"}


class HungError(BaseException):
    """A verb waits for something that does not come."""


@pytest.fixture(autouse=True)
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty directory, and an alarm for whoever hangs there."""

    def hung(number: int, frame: object) -> None:
        raise HungError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("HYC_ALLOW_PURCHASE", "1")
    (tmp_path / "hcloud.yaml").write_text("commitments: {enabled: true}\n")
    (tmp_path / "rules.yaml").write_text("rules: [{monthly: 5000}]\n")
    (tmp_path / "jobs.csv").write_text("id,submit,duration,cores,memory\na,0,100,1,1\nb,5,100,1,1\n")
    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(words) in (1, 64)
    said = capsys.readouterr().err
    assert "bug in hcloud" not in said
    assert "did you mean" not in said
    assert len(said) < 1000
    return said


@pytest.mark.parametrize("words", [*NAMED, *MORE], ids=" ".join)
def test_K9_what_is_no_plain_file_is_not_read(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe.yaml")
    for name, kind in (("pipe.yaml", "pipe"), ("/dev/zero", "device")):
        said = _refused([*words[:-1], name], capsys)
        assert kind in said or "not a regular file" in said or words[0] in ("validate", "state"), said


@pytest.mark.parametrize("words", NAMED, ids=" ".join)
def test_K3_text_without_end_is_refused_by_its_name(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    *verb, sort = words
    for text, why in ((DEEP, (TOO_DEEP, "nests deeper")), (DIGITS, (TOO_LONG,))):
        Path("odd.yaml").write_text(HEADS[sort] % text)
        said = _refused([*verb, "odd.yaml"], capsys)
        assert any(w in said for w in why) or " is a plan of changes" in said or verb == ["validate"], said


def _suffix(words: list[str]) -> str:
    return SUFFIX.get(words[-1], ".html" if words[0] == "page" else ".svg" if words[0] == "workload" else "")


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_a_folder_that_is_not_there_is_a_mistake_of_the_command_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """For some verbs it was a file that cannot be used: exit code 1, and another sentence."""
    assert run([*words, f"none/result{_suffix(words)}"]) == 64
    assert "folder none does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_K9_nothing_is_written_to_a_pipe(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    suffix = _suffix(words)
    os.mkfifo(f"pipe{suffix}")
    said = _refused([*words, f"pipe{suffix}"], capsys)
    assert Path(f"pipe{suffix}").is_fifo()
    assert "is a pipe; " in said


@pytest.mark.parametrize(
    "check", [plan_file.check_target, purchase_file.check_target, profiles.check_target, journal.check_target]
)
def test_K9_no_store_writes_over_a_pipe(check: Callable[[Path], None]) -> None:
    os.mkfifo("pipe")
    with pytest.raises(InputError, match=r"is a pipe; a .* is only written to a plain file"):
        check(Path("pipe"))


@pytest.mark.parametrize(("text", "why"), [(DEEP, TOO_DEEP), (DIGITS, TOO_LONG)], ids=["deep", "digits"])
def test_K3_no_part_of_a_state_may_be_without_end(text: str, why: str) -> None:
    document = f'{{"lineage": "a", "serial": {text}}}'
    with pytest.raises(InputError, match=why):
        load_strict(document.encode(), "state.json")
    assert lock.noted(document.encode()) is None  # the note of a holder is only a note


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("operate run", 64, "no work is running there\nhint: hcloud operate run jobs.csv begins some"),
        ("operate run nowhere", 1, "nowhere: no such file of jobs\nhint: write one: CSV with id and command"),
        ("operate run folder", 1, "folder: is a directory, not a file of jobs\nhint: name a file in it"),
        ("state push folder", 1, "folder: is a directory, not a state\nhint: name a file in it"),
        ("state push nowhere", 1, "nowhere: no such state\nhint: hcloud state pull > FILE writes one"),
        ("state push other.json", 1, "other.json: is not a state: it has no format_version\nhint: push a file that"),
        ("iam print other.json", 1, "other.json: has no format_version: not a document of hcloud\nhint: a plan"),
        ("export karpenter other.json", 1, "other.json: has no format_version: not a document of hcloud\nhint: a pl"),
    ],
)
def test_a_file_that_is_not_there_or_is_none_is_told_and_nothing_is_left(
    line: str, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("other.json").write_text('{"a": 1}')
    before = sorted(tmp_path.rglob("*"))
    assert run(line.split()) == code
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
