"""``hcloud diff`` as a user and a pipeline run it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from building import Built
from markdown_it import MarkdownIt

from hcloud.cli.main import run
from hcloud.model.holdings.live import Launch, Owner
from hcloud.planning.explanations.plan_figures import figures_of
from hcloud.store.diff_codec import difference_schema
from hcloud.store.plan_file import load_changes

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "high-variability" / "hcloud.yaml")
NOW = ("--now", "2026-11-20T12:00:00Z")
NAMES = ("<script>alert(1)</script>", "| x | @everyone", "[a](javascript:alert(1))", '"><img src=x>', "=cmd|' /C x'!A0")
Shown = Callable[..., str]


@pytest.fixture(scope="session")
def plans(built: Built) -> Path:
    """Plans of one workload: base, head (another family and three years), and base again."""

    def made(directory: Path) -> None:
        for name, more in (("base", ()), ("head", ("--family", "m6i", "--horizon", "3y"))):
            assert run(["plan", "-f", EXAMPLE, *NOW, "--out", str(directory / f"{name}.json"), *more]) == 0
        shutil.copy(directory / "base.json", directory / "same.json")

    return built("plans-to-compare", made)


@pytest.fixture
def folder(plans: Path, tmp_path: Path) -> Path:
    """Copies of them, which a test may change."""
    for path in plans.glob("*.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Runs the verb in the folder of plans and gives what is on stdout."""
    monkeypatch.chdir(folder)

    def once(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["diff", *words, *NOW]) == code
        return capsys.readouterr().out

    return once


def altered(folder: Path, name: str, change: Callable[[dict[str, Any]], None], source: str = "base.json") -> str:
    """A plan file beside the others, with something in it changed."""
    document = json.loads((folder / source).read_text(encoding="utf-8"))
    change(document)
    (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return name


def test_it_says_what_changes_and_why(shown: Shown) -> None:
    out = shown("base.json", "head.json")
    assert re.search(r"^\$15,581 → \$\d", out)
    for words in ("$ upfront", "longest commitment, years", "prices", "demand", "decisions", "planning.horizon"):
        assert words in out
    assert re.search(r"^\$ aws/us-east-1/m6i.4xlarge/ec2-instance-savings-plan-3y", out, re.MULTILINE)
    assert re.search(r"^- aws/us-east-1/m6i.4xlarge/ec2-instance-savings-plan-1y", out, re.MULTILINE)


@pytest.mark.parametrize("width", ["80", "200"])
def test_it_fits_its_terminal(width: str, shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    out = shown("base.json", "head.json")
    assert max(map(len, out.splitlines())) <= int(width)
    assert "…" not in out


def test_the_exit_code_says_whether_they_differ(shown: Shown) -> None:
    assert "no difference" in shown("base.json", "same.json", "--detailed-exitcode")
    shown("base.json", "head.json", "--detailed-exitcode", code=2)
    shown("base.json", "head.json")


def test_a_plan_made_a_day_later_is_no_difference(folder: Path, shown: Shown) -> None:
    def older(document: dict[str, Any]) -> None:
        document.update(generated_at="2026-11-21T12:00:00Z", price_age_days=999, tool_version="9.9", warnings=["older"])

    assert "no difference" in shown("base.json", altered(folder, "later.json", older), "--detailed-exitcode")


def test_json_follows_the_published_schema_and_adds_up(shown: Shown) -> None:
    for words in (("base.json", "head.json"), ("base.json", "same.json"), ("-", "head.json")):
        document = json.loads(shown(*words, "-o", "json"))
        jsonschema.Draft202012Validator(dict(difference_schema())).validate(document)
        effects = sum(Decimal(document["effects"][name]) for name in ("prices", "demand", "decisions"))
        assert effects == Decimal(document["hourly"]["difference"])
    assert document["base"] is None
    assert document["is_different"] is True


def test_exchanging_the_plans_negates_the_figures(shown: Shown) -> None:
    there, back = (json.loads(shown(*w, "--json")) for w in (("base.json", "head.json"), ("head.json", "base.json")))
    for name in ("hourly", "monthly", "upfront", "longest_term_years"):
        assert Decimal(there[name]["difference"]) == -Decimal(back[name]["difference"])
    for name in ("prices", "demand", "decisions"):
        assert Decimal(there["effects"][name]) == -Decimal(back["effects"][name])


def test_a_dearer_price_is_told_apart(folder: Path, shown: Shown) -> None:
    def dearer(document: dict[str, Any]) -> None:
        line = next(m for m in document["mix"] if m["option"] == "on-demand")
        more = Decimal(line["hourly"]) / 10
        line["hourly"] = str(Decimal(line["hourly"]) + more)
        document["after"]["hourly"] = str(Decimal(document["after"]["hourly"]) + more)
        document["after"]["monthly"] = str((Decimal(document["after"]["hourly"]) * 730).quantize(Decimal("0.01")))

    out = shown("base.json", altered(folder, "dearer.json", dearer))
    assert "prices +0.5696, demand 0, decisions 0" in out
    assert "Prices that moved" in out
    assert "+10.0%" in out


def test_a_first_pull_request_has_no_plan_before(shown: Shown) -> None:
    for words in (("-", "head.json"), ("absent.json", "head.json", "--base-missing-ok")):
        out = shown(*words, "-o", "md")
        assert "a first plan" in out
        assert "everything is new" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("absent.json", "head.json"), 64, "--base-missing-ok"),
        (("base.json", "absent.json", "--base-missing-ok"), 1, "no such plan"),
        (("base.json", "head.json", "--name", "x --> <script>", "-o", "md"), 64, "--name"),
        (("base.json", "head.json", "--name", "a--b", "-o", "md"), 64, "--name"),
    ],
)
def test_what_cannot_be_compared_is_told(
    words: tuple[str, ...], code: int, said: str, shown: Shown, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", *words]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("format_version", "2.0", "format_version '2.0'"),
        ("currency", "EUR", "EUR"),
        ("after", {"hourly": "1.00"}, "its parts add up to"),
        ("after", {"monthly": "1.00"}, "dollars a month"),
        ("workload", {"mean_cores": float("nan")}, "no number"),
    ],
)
def test_other_versions_currencies_and_altered_sums_are_refused(
    key: str, value: Any, said: str, folder: Path, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(document: dict[str, Any]) -> None:
        document[key] = {**document[key], **value} if isinstance(value, dict) else value

    name = altered(folder, "altered.json", change)
    shown("base.json", name, code=1)
    assert run(["diff", "base.json", name]) == 1
    assert said in capsys.readouterr().err


def hostile(document: dict[str, Any]) -> None:
    """Names of everything that comes from outside try to be markup."""
    document["workload"]["name"] = NAMES[0]
    document["digests"]["workload"] = NAMES[2]
    document["warnings"] = list(NAMES)
    document["assumptions"] = [{"key": n, "value": n, "why": n} for n in NAMES]
    for line, name in zip(document["mix"], NAMES, strict=False):
        line["address"] = f"{name}/on-demand"


def test_L2_names_do_nothing_in_the_comment(folder: Path, shown: Shown) -> None:
    out = shown("base.json", altered(folder, "hostile.json", hostile), "-o", "md")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(out)
    tags = set(re.findall(r"<([a-z!][a-z0-9-]*)", html))
    assert tags <= {
        "!--",
        "h3",
        "p",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "strong",
    }
    assert "javascript:alert" not in re.sub(r"<[^>]*>", "", html) or "href" not in html
    assert not re.search(r"@\w", html)
    assert html.count("<!--") == 1
    rows = [line for line in out.splitlines() if line.startswith("| ") and "script" in line]
    assert rows
    assert all(re.sub(r"\\.", "", row).count("|") in (4, 6) for row in rows)


def test_L2_names_do_nothing_in_html(folder: Path, shown: Shown) -> None:
    out = shown("base.json", altered(folder, "hostile.json", hostile), "-o", "html")
    assert "<script" not in out
    assert "<img" not in out
    assert "&lt;script&gt;" in out
    assert "http://" not in out
    assert "https://" not in out


def test_the_marker_is_the_first_line_and_keeps_its_name(shown: Shown) -> None:
    assert shown("base.json", "head.json", "-o", "md").startswith("<!-- hcloud-diff: plan -->\n")
    named = shown("base.json", "same.json", "-o", "md", "--name", "team-a/capacity 2")
    assert named.startswith("<!-- hcloud-diff: team-a/capacity 2 -->\n")


def test_a_comment_is_never_too_long_and_counts_what_it_leaves_out(folder: Path, shown: Shown) -> None:
    def long(document: dict[str, Any]) -> None:
        document["assumptions"] = [{"key": f"k{i}", "value": "<>" * 80, "why": ""} for i in range(3000)]
        document["warnings"] = [f"{i} " + "@|" * 300 for i in range(2000)]

    out = shown("base.json", altered(folder, "long.json", long), "-o", "md")
    assert 20_000 < len(out.encode()) <= 65_536 * 3 // 4
    left_out = [int(n.replace(",", "")) for n in re.findall(r"\*([\d,]+) lines? of", out)]
    kept_settings, kept_warnings = (
        len(re.findall(r"^\| k\d", out, re.MULTILINE)),
        len(re.findall(r"^- &#\d+;\d* ", out, re.MULTILINE)),
    )
    assert left_out[0] + kept_settings == 3000
    assert left_out[1] + kept_warnings == 2000
    assert out.count("<details") == out.count("</details>")


def test_fleets_that_are_written_down_are_compared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count in (("base", 2), ("head", 5)):
        fleet = f"[{{address: web, instance_type: m5.large, count: {count}}}]"
        text = f"markets: [{{provider: aws}}]\nlive: {{cloud: fake}}\nfleet: {fleet}\n"
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        assert run(["plan", "-f", f"{name}.yaml", "--cloud", "fake", "--out", f"{name}.json"]) == 0
    capsys.readouterr()
    assert run(["diff", "base.json", "head.json", "--detailed-exitcode"]) == 2
    out = capsys.readouterr().out
    assert "web (m5.large, on-demand)" in out
    assert "2 → 5" in out
    assert "+0.2880" in out
    [part] = figures_of(load_changes(tmp_path / "head.json")).parts
    assert part.tags == tuple(Launch("", "web", "m5.large", "", 5, Owner("", "", "")).tags())
    edited = (tmp_path / "head.json").read_text(encoding="utf-8").replace('"count": 5', '"count": 1', 1)
    (tmp_path / "head.json").write_text(edited, encoding="utf-8")
    assert run(["diff", "base.json", "head.json"]) == 1
    assert "altered" in capsys.readouterr().err


def test_a_setting_that_only_one_plan_says_is_shown_with_its_default(folder: Path, shown: Shown) -> None:
    document = json.loads((folder / "base.json").read_text(encoding="utf-8"))
    for key, value in (("planning.commit_min_saving", "0.2"), ("planning.spread_min_saving", "0.01")):
        document["assumptions"].append({"key": key, "value": value, "why": ""})
    (folder / "head.json").write_text(json.dumps(document), encoding="utf-8")
    rows = [row.split() for row in shown("base.json", "head.json").splitlines()]
    assert ["planning.commit_min_saving", "0.05", "0.2"] in rows
    assert not any("planning.spread_min_saving" in row for row in rows), "it is the default"
