"""``hcloud commit`` as a user runs it, rehearsed on clouds in memory."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from hcloud.cli.main import run
from hcloud.live.buying.purchase import PurchaseContext
from hcloud.model.catalog import PurchaseOption
from hcloud.readers.configuration.config import load_config
from hcloud.store.plan_file import load_plan
from hcloud.store.purchase_file import load_purchase_plan
from hcloud.units import format_money
from hcloud.views.console import Terminal
from hcloud.views.deciding.plan import show_plan

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "high-variability" / "hcloud.yaml")
MADE, NOW = ("--now", "2026-11-20T12:00:00Z"), ("--now", "2026-11-20T13:00:00Z")
OLD_PRICES = ("--max-price-age", "5y")
FAKE = """\
clock: {start: 2026-11-20T13:30:00Z, speed: 0}
"""
READERS = FAKE + 'roles: {"": [scope, quote, commitments]}\n'

Said = Callable[[], tuple[str, str]]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that commits to reserved instances."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    only = path.parent / "hcloud.yaml"
    config = yaml.safe_load(Path(EXAMPLE).read_text(encoding="utf-8"))
    config["markets"][0]["options"] = ["reserved-instance"]
    config["planning"]["step"] = "1h"
    only.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert run(["plan", "-f", str(only), *MADE, "--out", str(path), "-q"]) == 0
    assert load_plan(path).purchases
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory where purchases are enabled and a fake cloud is described."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hcloud.yaml").write_text("commitments: {enabled: true, ceiling: 100000000}\n", encoding="utf-8")
    (tmp_path / "fake.yaml").write_text(FAKE, encoding="utf-8")
    (tmp_path / "readers.yaml").write_text(READERS, encoding="utf-8")
    monkeypatch.setenv("HYC_ALLOW_PURCHASE", "1")
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")  # what is bought is looked at, not how finely it was counted
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def read() -> tuple[str, str]:
        captured = capsys.readouterr()
        return captured.out, captured.err

    return read


def bought(plan: Path, home: Path) -> Path:
    """A purchase plan of the plan."""
    path = home / "buy.json"
    asked = ["commit", "plan", str(plan), "--out", str(path), "--cloud", "fake:fake.yaml", *OLD_PRICES, *NOW, "-q"]
    assert run(asked) == 0
    return path


def approval(path: Path) -> list[str]:
    made = load_purchase_plan(path)
    return ["--approve-commit", made.digest, "--amount", f"{made.amount:.2f}"]


def test_a_rehearsed_purchase_is_rehearsed_where_no_cloud_is_named(plan: Path, home: Path, said: Said) -> None:
    """The real cloud was opened for it, at an address that is none: what the error named was in no file."""
    path = bought(plan, home)
    assert run(["commit", "apply", str(path), "--cloud", "aws", *approval(path)]) == 64
    assert "the plan was made for --cloud fake:aws (us-east-1), not for aws: nothing was applied" in said()[1]
    assert run(["commit", "apply", str(path), *approval(path)]) == 4
    assert "this purchase plan was made at 2026-11-20" in said()[1], "and what that fake says of its time"


def test_recommend_says_what_why_and_how_to_get_out_again(plan: Path, home: Path, said: Said) -> None:
    assert run(["commit", "recommend", str(plan), *NOW]) == 0
    out, err = said()
    for words in ("wanted", "held", "buy", "break-even", "early exit", "if demand changes", "over the terms"):
        assert words in out
    assert "the oldest price" in err
    assert max(map(len, out.splitlines())) <= 100


def test_recommend_as_json_tells_money_as_text(plan: Path, home: Path, said: Said) -> None:
    assert run(["commit", "recommend", str(plan), *NOW, "--json", "--cloud", "fake:fake.yaml"]) == 0
    document = json.loads(said()[0])
    assert document["format_version"] == "1.0"
    assert document["currency"] == "USD"
    assert document["generated_at"] == "2026-11-20T13:00:00Z"
    assert all(isinstance(c["over_the_term"], str) for c in document["commitments"])
    assert [Decimal(c["upfront"]) for c in document["commitments"]] == [p.upfront for p in load_plan(plan).purchases]
    assert document["commitments"][0]["way_out"]["source"]


def test_recommend_can_plan_by_itself(home: Path, said: Said) -> None:
    assert run(["commit", "recommend", "-f", EXAMPLE, *MADE]) == 0
    assert "wanted" in said()[0]


def test_plan_apply_list_in_a_pipeline(plan: Path, home: Path, said: Said) -> None:
    path = bought(plan, home)
    made = load_purchase_plan(path)
    assert run(["commit", "apply", str(path), "--cloud", "fake:fake.yaml", *approval(path)]) == 0
    assert "bought" in said()[0]
    assert run(["commit", "apply", str(path), "--cloud", "fake:fake.yaml"]) == 0
    assert "bought before" in "".join(said())
    assert run(["commit", "list", "--cloud", "fake:fake.yaml", "--json", *NOW]) == 0
    document = json.loads(said()[0])
    assert document["committed"] == str(round(made.amount, 2)).rstrip("0").rstrip(".")
    assert [c["ledger"]["outcome"] for c in document["commitments"]] == ["bought"] * len(made.items)
    assert [c["cloud"]["state"] for c in document["commitments"]] == ["active"] * len(made.items)
    assert run(["commit", "list", *NOW]) == 0
    assert "not compared with an account" in said()[1]
    once_more = ["commit", "plan", str(plan), "--out", "more.json", "--cloud", "fake:fake.yaml", *OLD_PRICES, *NOW]
    assert run(once_more) == 0
    assert "nothing to buy" in said()[0]
    assert run([*once_more, "--json"]) == 0
    assert json.loads(said()[0])["purchase_plan"]["items"] == []
    assert not Path("more.json").exists()
    more = ["plan", "-f", EXAMPLE, "--cloud", "fake:fake.yaml", "--state", str(home / ".hcloud"), "-o", "json", *NOW]
    assert run(more) == 0
    again = json.loads(said()[0])
    assert [m["address"].partition("/")[0] for m in again["mix"]].count("owned") == len(made.items)
    assert not [m for m in again["mix"] if m["term_years"] and not m["address"].startswith("owned/")]
    ledger = home / ".hcloud" / "purchases.jsonl"
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600


def test_a_savings_plan_that_is_held_is_not_bought_again(home: Path, said: Said) -> None:
    made = home / "plan.json"
    assert run(["plan", "-f", EXAMPLE, *MADE, "--out", str(made), "-q"]) == 0
    assert {line.option for line in load_plan(made).purchases} == {PurchaseOption.INSTANCE_SAVINGS_PLAN}
    path = bought(made, home)
    assert run(["commit", "apply", str(path), "--cloud", "fake:fake.yaml", *approval(path)]) == 0
    said()
    more = ["plan", "-f", EXAMPLE, "--cloud", "fake:fake.yaml", "--state", str(home / ".hcloud"), "-o", "json", *NOW]
    assert run(more) == 0
    again = json.loads(said()[0])
    owned = [m for m in again["mix"] if m["address"].startswith("owned/")]
    wanted = load_plan(made).purchases
    assert [(m["instance_type"], float(m["count"])) for m in owned] == [
        (line.instance_type, float(line.count)) for line in wanted
    ]
    assert not [m for m in again["mix"] if m["term_years"] and not m["address"].startswith("owned/")]


def test_the_same_plan_at_the_same_time_gives_the_same_bytes(plan: Path, home: Path) -> None:
    first = bought(plan, home).read_bytes()
    assert bought(plan, home).read_bytes() == first


@pytest.mark.parametrize("verb", ["recommend", "plan", "list"])
def test_I6_who_may_change_nothing_may_look(verb: str, plan: Path, home: Path, said: Said) -> None:
    more = [str(plan)] if verb != "list" else []
    more += ["--out", "buy.json", *OLD_PRICES] if verb == "plan" else []
    assert run(["commit", verb, *more, "--cloud", "fake:readers.yaml", *NOW]) == 0


def test_who_only_looks_waits_no_longer_than_any_other(home: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """A throttled list was waited for as long as a purchase: three minutes, and the same line each minute."""
    (home / "throttled.yaml").write_text('rules: [{on: "*", answer: throttled}]', encoding="utf-8")
    monkeypatch.setattr("hcloud.usecases.live.ground.LOOKING_SECONDS", 0.0)
    monkeypatch.setattr(PurchaseContext, "ask", lambda *_: pytest.fail("as patient as one who buys"))
    assert run(["commit", "list", "--cloud", "fake:throttled.yaml", *NOW]) == 1
    assert said()[1].count("error: ") == 1


def test_I6_but_buying_is_not(plan: Path, home: Path, said: Said) -> None:
    path = bought(plan, home)
    assert run(["commit", "apply", str(path), "--cloud", "fake:readers.yaml", *approval(path)]) == 1
    assert "may not do this" in said()[1]


def test_I5_without_a_terminal_and_an_approval_nothing_is_bought(plan: Path, home: Path, said: Said) -> None:
    path = bought(plan, home)
    apply = ["commit", "apply", str(path), "--cloud", "fake:fake.yaml"]
    digest, amount = approval(path)[:2], approval(path)[2:]
    for approved in ([], digest, amount):
        assert run([*apply, *approved]) == 7
        assert "--approve-commit" in said()[1]
    assert run([*apply, *digest, "--amount", "1.00"]) == 3
    assert run([*apply, "--approve-commit", "0" * 64, *amount]) == 3
    assert run(["commit", "list", "--json", *NOW]) == 0
    said()


@pytest.mark.parametrize(
    ("config", "allowed", "words"),
    [
        ("", "1", "commitments.enabled"),
        ("commitments: {enabled: true}", "", "HYC_ALLOW_PURCHASE=1"),
        ("commitments: {enabled: true}", "true", "HYC_ALLOW_PURCHASE=1"),
        ("commitments: {enabled: true}", "1", "commitments.ceiling"),
        ("commitments: {enabled: true, ceiling: 1}", "1", "exceeds the ceiling"),
    ],
)
def test_I5_every_gate_says_how_it_opens(
    config: str, allowed: str, words: str, plan: Path, home: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bought(plan, home)
    (home / "hcloud.yaml").write_text(config, encoding="utf-8")
    monkeypatch.setenv("HYC_ALLOW_PURCHASE", allowed)
    assert run(["commit", "apply", str(path), "--cloud", "fake:fake.yaml", *approval(path)]) == 3
    assert words in said()[1]


def test_I5_the_environment_cannot_enable_purchases(home: Path, monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    monkeypatch.setenv("HYC_COMMITMENTS__ENABLED", "true")
    assert run(["commit", "list"]) == 1
    assert "in a file" in said()[1]
    monkeypatch.delenv("HYC_COMMITMENTS__ENABLED")
    assert load_config().config.commitments.enabled


def test_I4_a_price_that_moved_is_stale(plan: Path, home: Path, said: Said) -> None:
    path = bought(plan, home)
    (home / "dear.yaml").write_text(FAKE + "price_factor: 1.05\n", encoding="utf-8")
    assert run(["commit", "apply", str(path), "--cloud", "fake:dear.yaml", *approval(path)]) == 4
    assert "moved from" in said()[1]


def test_K8_a_price_far_from_the_book_is_not_planned_with(plan: Path, home: Path, said: Said) -> None:
    (home / "cents.yaml").write_text(FAKE + "price_factor: 100\n", encoding="utf-8")
    asked = ["commit", "plan", str(plan), "--out", "buy.json", "--cloud", "fake:cents.yaml", *OLD_PRICES, *NOW]
    assert run(asked) == 9
    assert "the plan was made with" in said()[1]
    assert not (home / "buy.json").exists()


def test_prices_that_moved_since_the_plan_are_named(plan: Path, home: Path, said: Said) -> None:
    """The sum alone said it; of dollars an hour, which cost the same and buy less, nothing did."""
    (home / "dear.yaml").write_text(FAKE + "price_factor: 1.05\n", encoding="utf-8")
    document = json.loads(plan.read_text(encoding="utf-8"))
    [line] = [m for m in document["mix"] if m["term_years"]]
    line["address"] = line["address"].replace("reserved-instance", "compute-savings-plan")
    spends = json.dumps({**document, "mix": [{**line, "option": "compute-savings-plan"}]})
    Path("spends.json").write_text(spends, encoding="utf-8")
    asked = ["commit", "plan", str(plan), "--out", "buy.json", "--cloud", "fake:dear.yaml", *OLD_PRICES, *NOW]
    assert run(asked) == 0
    (wanted,), (item,) = load_plan(plan).purchases, load_purchase_plan(Path("buy.json")).items
    rise = f"({float(item.amount / wanted.total - 1):+.1%})"
    told = f"quoted at {format_money(item.amount, 2)} over its term, and the plan was made with"
    assert f"{wanted.address}: {told} {format_money(wanted.total, 2)} {rise}" in " ".join(said()[1].split())
    assert run(["commit", "plan", "spends.json", *asked[3:]]) == 0
    assert "/h by the prices here now (+" in " ".join(said()[1].split())


def test_J3_old_plans_and_old_prices_are_refused_unless_allowed(plan: Path, home: Path, said: Said) -> None:
    asked = ["commit", "plan", str(plan), "--out", "buy.json", "--cloud", "fake:fake.yaml"]
    assert run([*asked, *NOW]) == 9
    assert "--max-price-age" in said()[1]
    late = ("--now", "2026-12-20T12:00:00Z")
    assert run([*asked, *late, *OLD_PRICES]) == 4
    assert "--max-plan-age" in said()[1]
    assert run([*asked, *late, *OLD_PRICES, "--max-plan-age", "60d"]) == 0


def planned_later(cloud: str, starts_hour: int) -> Path:
    """A plan of a cloud whose first purchase is for a later hour."""
    path = Path(f"{cloud}.json")
    assert run(["plan", "scenario:static", "--provider", cloud, *MADE, "--out", str(path), "-q"]) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    next(line for line in document["mix"] if line["term_years"])["starts_hour"] = starts_hour
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("cloud", ["gcp", "azure"])
def test_later_purchases_are_offered_only_where_the_cloud_takes_them(cloud: str, home: Path, said: Said) -> None:
    asked = ["commit", "plan", str(planned_later(cloud, 2000)), "--out", "buy.json", *OLD_PRICES, *NOW]
    asked += ["--cloud", f"fake:{cloud}"]
    said()
    assert run(asked) == 0
    out, err = said()
    assert f"{cloud} takes no purchase for a later day: plan again then" in " ".join(err.split())
    assert "--later" not in out + err
    assert run([*asked, "--later"]) == 64
    assert f"{cloud} takes no purchase for a later day" in said()[1]


@pytest.mark.parametrize(("cloud", "family", "is_configured"), [("gcp", "e2", True), ("azure", "Dsv5", False)])
def test_commitments_for_windows_are_bought_without_the_licence(
    cloud: str, family: str, is_configured: bool, home: Path, said: Said
) -> None:
    """The machine alone was quoted, and refused: it is far from the plan's price, which holds the licence."""
    market = {"provider": cloud, "os": "windows", "families": [family]}
    made = yaml.safe_load((home / "hcloud.yaml").read_text(encoding="utf-8")) | {"markets": [market]}
    (home / "windows.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
    asked = ["plan", "scenario:static", "-f", "windows.yaml", *MADE, "--out", "made.json"]
    assert run(asked) == 0
    out = " ".join(said()[0].split())
    planned = sum((line.total for line in load_plan(Path("made.json")).purchases), Decimal(0))
    assert f"'commit plan' buys {format_money(planned)} less the licences in it" in out
    flags = ["-f", "windows.yaml"] if is_configured else []
    assert run(["commit", "recommend", "made.json", *flags, "--json", *NOW]) == 0
    needs = json.loads(said()[0])["commitments"]
    bare = sum((Decimal(need["over_the_term"]) for need in needs), Decimal(0))
    assert bare < planned / 2
    assert all(Decimal(need["break_even"]) < Decimal("0.7") for need in needs)
    flags += ["--cloud", f"fake:{cloud}", *OLD_PRICES, *NOW]
    assert run(["commit", "plan", "made.json", "--out", "buy.json", *flags]) == 0
    amount = load_purchase_plan(Path("buy.json")).amount
    assert amount == pytest.approx(bare, rel=Decimal("0.25"))
    out = " ".join(said()[0].split())
    assert f"the plan commits ${planned:,.2f} over the terms; - ${planned - bare:,.2f} licences, which are" in out


def test_what_an_old_plan_wanted_later_is_bought_now_once_its_day_has_passed(home: Path, said: Said) -> None:
    asked = ["commit", "plan", str(planned_later("gcp", 240)), "--out", "buy.json", *OLD_PRICES, "--cloud", "fake:gcp"]
    said()
    assert run([*asked, "--max-plan-age", "60d", "--now", "2026-12-10T12:00:00Z"]) == 0
    out, err = said()
    assert "begins later" not in out + err
    made = load_purchase_plan(Path("buy.json"))
    assert {item.quote.order.starts for item in made.items} == {None}
    assert len(made.items) == len({item.key for item in made.items}) == len(load_plan(Path("gcp.json")).purchases)


def test_nothing_of_an_old_plan_is_bought_whose_term_is_over(plan: Path, home: Path, said: Said) -> None:
    asked = ["commit", "plan", str(plan), "--out", "buy.json", "--cloud", "fake:fake.yaml", "--max-plan-age", "9y"]
    assert run([*asked, "--max-price-age", "9y", "--now", "2030-12-10T12:00:00Z"]) == 0
    out = " ".join(said()[0].split())
    assert "nothing to buy" in out
    assert "for terms that are over = $0.00 to buy" in out
    assert not Path("buy.json").exists()
    assert not (home / ".hcloud" / "purchases.jsonl").exists(), "where nothing is bought nothing is written"
    assert run([*asked, "--max-price-age", "9y", "--now", "2030-12-10T12:00:00Z", "--json"]) == 0
    Path("buy.json").write_text(said()[0], encoding="utf-8")
    assert run(["commit", "apply", "buy.json", "--cloud", "fake:fake.yaml"]) == 0
    assert said() == ("there is nothing to buy in this purchase plan\n", "")


def test_what_is_queued_for_its_day_is_not_offered_again(plan: Path, home: Path, said: Said) -> None:
    document = json.loads(plan.read_text(encoding="utf-8"))
    for line in document["mix"]:
        line["starts_hour"] = 2000
    Path("later.json").write_text(json.dumps(document), encoding="utf-8")
    asked = ["commit", "plan", "later.json", "--out", "buy.json", "--cloud", "fake:fake.yaml", *OLD_PRICES, *NOW]
    assert run([*asked, "--later"]) == 0
    assert run(["commit", "apply", "buy.json", "--cloud", "fake:fake.yaml", *approval(Path("buy.json"))]) == 0
    said()
    assert run(asked) == 0
    out, err = said()
    assert "nothing to buy: the account has all planned commitments" in out
    assert "begins later" not in out + err


def test_reserved_instances_of_windows_are_set_aside_and_the_rest_is_bought(plan: Path, home: Path, said: Said) -> None:
    """One line of them had the whole purchase plan refused. They are not bought, not counted as bought elsewhere, and
    not said to be there already."""
    document = json.loads(plan.read_text(encoding="utf-8"))
    wanted = load_plan(plan).purchases
    special = [{**m, "address": f"{m['address']}/windows"} for m in document["mix"] if m["term_years"]]
    dollars = sum((line.total for line in wanted), Decimal(0))
    asked = ["commit", "plan", "mixed.json", "--out", "buy.json", "--cloud", "fake:fake.yaml", *OLD_PRICES, *NOW]
    for rest, total in ((document["mix"], len(wanted)), ([], 0)):
        text = json.dumps({**document, "mix": [*special, *rest]})
        Path("mixed.json").write_text(text, encoding="utf-8")
        assert run(["commit", "recommend", "mixed.json", *NOW]) == 0
        told = " ".join(said()[1].split())
        assert "hcloud does not buy aws/" in told
        assert "console" in told
        Path("buy.json").unlink(missing_ok=True)
        assert run(asked) == 0
        out, err = (" ".join(text.split()) for text in said())
        assert f"- {format_money(dollars, 2)} bought in the cloud's console" in out
        assert err.count("windows Standard RI") == len(special)
        assert "in other places" not in out
        assert "the account has all" not in out
        assert len(load_purchase_plan(Path("buy.json")).items if total else ()) == total
        show_plan(load_plan(Path("mixed.json")), Terminal.open(color=False))
        assert f"and not {format_money(dollars)} of reserved instances of windows" in " ".join(said()[0].split())


def test_an_unknown_outcome_is_told_and_a_person_can_settle_it(plan: Path, home: Path, said: Said) -> None:
    path = bought(plan, home)
    lost = FAKE + "rules: [{on: buy, answer: dropped-before}]\n"
    (home / "lost.yaml").write_text(lost, encoding="utf-8")
    assert run(["commit", "apply", str(path), "--cloud", "fake:lost.yaml", *approval(path)]) == 6
    key = load_purchase_plan(path).items[0].key
    assert key in said()[1]
    again = ["commit", "plan", str(plan), "--out", "other.json", "--cloud", "fake:fake.yaml", *OLD_PRICES, *NOW]
    assert run(again) == 6
    assert "commit resolve" in said()[1]
    assert run(["commit", "resolve", "--cloud", "fake:fake.yaml"]) == 6
    assert run(["commit", "resolve", "f" * 32, "--not-bought", "--cloud", "fake:fake.yaml"]) == 64
    assert run(["commit", "resolve", key, "--bought", "nothing", "--cloud", "fake:fake.yaml"]) == 64
    assert run(["commit", "resolve", key, "--cloud", "fake:fake.yaml"]) == 64
    assert run(["commit", "resolve", key, "--not-bought", "--cloud", "fake:fake.yaml"]) == 0
    said()
    assert run(["commit", "resolve", "--cloud", "fake:fake.yaml"]) == 0
    assert "no purchase has an unknown outcome" in said()[0]
    assert run(["commit", "apply", str(path), "--cloud", "fake:fake.yaml", *approval(path)]) == 0


def test_cancel_wants_a_commitment_that_is_held_and_somebody_who_agrees(home: Path, said: Said) -> None:
    assert run(["commit", "cancel", "ri-1", "--cloud", "fake:fake.yaml"]) == 64
    assert "no commitment ri-1" in said()[1]
    (home / "hcloud.yaml").write_text("", encoding="utf-8")
    assert run(["commit", "cancel", "ri-1", "--cloud", "fake:fake.yaml"]) == 3
    assert "commitments.enabled" in said()[1]


def test_wrong_words_are_usage_errors(plan: Path, home: Path, said: Said) -> None:
    assert run(["commit", "list", "--cloud", "ibm"]) == 64
    assert "aws" in said()[1]
    assert run(["commit", "apply", "nowhere.json"]) == 1
    assert run(["commit", "plan", str(plan)]) == 64
    for flag in ("--max-plan-age", "--max-price-age"):
        assert run(["commit", "plan", str(plan), "--out", "x.json", flag, "soon", "--cloud", "fake"]) == 64
        assert f"{flag}: 'soon' is not a duration" in said()[1]
