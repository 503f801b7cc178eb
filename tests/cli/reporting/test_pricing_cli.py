"""``hcloud pricing`` from the command line: results on stdout, notes on stderr, exit codes."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.catalog import Provider
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.store.prices import PriceStore
from hcloud.usecases.prices.pricing import verify

CASES = Path(__file__).parents[2] / "cases" / "prices"
NOW = ("--now", "2026-11-21T00:00:00Z")
OWN = str(CASES / "own.csv")
HOSTILE = str(CASES / "own_hostile.csv")

Capture = pytest.CaptureFixture[str]


def pricing(capsys: Capture, *words: str, code: int = 0) -> tuple[str, str]:
    """stdout and stderr of a run that must end with the exit code."""
    ended = run(["pricing", *words])
    captured = capsys.readouterr()
    assert ended == code, captured.err
    return captured.out, captured.err


def document(capsys: Capture, *words: str, code: int = 0) -> dict[str, object]:
    out, _ = pricing(capsys, *words, "-o", "json", *NOW, code=code)
    read = json.loads(out, parse_float=lambda text: pytest.fail(f"a float in JSON: {text}"))
    assert isinstance(read, dict)
    assert {k: read[k] for k in ("format_version", "generated_at", "currency")} == {
        "format_version": "1.0", "generated_at": "2026-11-21T00:00:00Z", "currency": "USD",
    }  # fmt: skip
    return read


def rows(read: dict[str, object], name: str) -> list[dict[str, object]]:
    found = read[name]
    assert isinstance(found, list)
    return found


def test_list_as_a_table_fits_and_shows_every_figure(capsys: Capture) -> None:
    words = ("--family", "m6i", "--os", "linux", "--option", "reserved-instance")
    out, err = pricing(capsys, "list", "--region", "us-east-1", *words, *NOW)
    lines = out.splitlines()
    assert lines[0].strip() == "aws us-east-1"
    assert max(map(len, lines)) <= 100
    assert re.search(r"m6i\.large +Standard RI 3y all upfront +[\d,.]+ +0\.\d{4} +\d\d\.\d% +\d+d", out)
    assert "derived" in err
    assert "…" not in out


def test_list_says_what_it_leaves_out(capsys: Capture) -> None:
    words = ("list", "--region", "us-east-1", "--option", "on-demand", "--limit", "3", *NOW)
    out, err = pricing(capsys, *words)
    assert "offers not shown" in err
    assert len(out.splitlines()) <= 6
    _, quiet = pricing(capsys, *words, "-q")
    assert quiet == ""


def test_list_as_json_holds_money_as_text_and_is_reproducible(capsys: Capture) -> None:
    words = ("list", "--provider", "aws", "--region", "us-east-1", "--family", "m6i", "--os", "linux")
    read = document(capsys, *words)
    offers = rows(read, "offers")
    assert offers
    for offer in offers:
        for name in ("hourly", "upfront", "effective_hourly"):
            assert re.fullmatch(r"\d+(\.\d+)?", str(offer[name]))
            assert isinstance(offer[name], str)
    commitments = [o for o in offers if o["term_years"]]
    assert all(o["break_even_utilisation"] is not None and o["discount"] is not None for o in commitments)
    assert document(capsys, *words) == read


def test_list_as_csv_can_be_imported_again(capsys: Capture, tmp_path: Path) -> None:
    words = ("list", "--region", "us-east-1", "--family", "m6i")
    out, _ = pricing(capsys, *words, "-o", "csv")
    path = tmp_path / "again.csv"
    path.write_text(out, encoding="utf-8", newline="")
    read = document(capsys, "import", str(path), "--strict")
    assert rows(read, "sources")[0]["good"] == len(out.splitlines()) - 1
    assert pricing(capsys, *words, "-o", "csv")[0] == out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("list", "--provider", "oracle"), 64, "must be one of aws, gcp, azure"),
        (("list", "--option", "free"), 64, "must be one of on-demand"),
        (("list", "--family", "mars"), 9, "no such offers"),
        (("list", "--family", "m5.*"), 9, "a family has no size in its name: --family m5"),
        (("list", "--region", "mars-1"), 64, "no such region"),
        (("list", "--region", "us-east-1", "--region", "eu-wst-1"), 64, "did you mean eu-west-1"),
        (("list", "--provider", "gcp", "--region", "us-east-1"), 64, "no such region of gcp"),
        (("list", "--provider", "asw"), 64, "did you mean aws"),
        (("list", "--now", "yesterday"), 64, "ISO 8601"),
        (("list", "-o", "xml"), 64, "xml"),
        (("show", "m6i.larg"), 9, "did you mean m6i.large"),
        (("show", "m99.large"), 9, "did you mean m5.large"),
        (("show", "m6i.large", "--region", "us-est-1"), 64, "did you mean us-east-1"),
        (("show", "m6i.large", "--os", "plan9"), 9, "no offer of 'm6i.large' for plan9"),
        (("import", "/nowhere.csv"), 1, "/nowhere.csv cannot be read: there is no such file"),
        (("import", OWN, "--format", "xls"), 64, "no price format"),
        (("import", OWN, "--date", "soon"), 64, "not a day"),
        (("import", str(CASES / "two_columns.csv")), 1, "which region"),
        (("import", str(CASES)), 1, "is a directory, not a regular file"),
        (("diff", "bundled", "user"), 64, "you have stored no prices"),
        (("refresh", "--provider", "aws", "--region", "us-east-1", "--endpoint", "http://x.example"), 64, "encrypted"),
        (("refresh", "--provider", "gcp", "--region", "us-central1"), 1, "API key"),
    ],
    ids=range(22),
)
def test_errors_have_their_exit_codes_and_nothing_on_stdout(
    capsys: Capture, words: tuple[str, ...], code: int, message: str
) -> None:
    out, err = pricing(capsys, *words, code=code)
    assert out == ""
    assert message in err.replace("\n", " ")


def test_show_has_every_option_of_a_type_on_one_screen(capsys: Capture) -> None:
    out, err = pricing(capsys, "show", "m6i.large", *NOW)
    assert out.startswith("m6i.large in aws us-east-1: 2 vCPUs, 8 GiB, x86_64\n")
    for word in (
        "on-demand",
        "spot",
        "Standard RI 3y all upfront",
        "Compute SP 1y no upfront",
        "break-even: ",
        "source: ",
    ):
        assert word in out
    assert max(map(len, out.splitlines())) <= 100
    assert "…" not in out
    assert "also sold in" in err
    for line in out.splitlines():
        if line.startswith("Standard RI"):
            off, even = re.findall(r"([\d.]+)%", line)
            assert abs(float(off) + float(even) - 100) < 1


SHOWN = ("hourly", "upfront", "effective_hourly", "discount", "break_even_utilisation", "age_days")


def written(name: str, value: object) -> str:
    """A figure of the JSON document as the table has it; what is zero or unknown is left empty."""
    if value is None or not (number := Decimal(str(value))):
        return ""
    if name in ("discount", "break_even_utilisation"):
        return f"{number:.1%}"
    return f"{number}d" if name == "age_days" else f"{number:,.2f}" if name == "upfront" else f"{number:.4f}"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "m5a.4xlarge"), ("show", "m6i.metal"), ("show", "n2-standard-8"), ("show", "Standard_D8s_v5"),
        ("list", "--region", "us-east-1", "--family", "m6i"),
        ("list", "--provider", "aws", "--region", "eu-west-1", "--family", "m6a*", "--os", "windows"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_figure_is_cut_at_any_width(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    shown = SHOWN if words[0] == "show" else [n for n in SHOWN if n != "break_even_utilisation"]
    offers = rows(document(capsys, *words), "offers")[:200]
    figures = Counter(f for offer in offers for name in shown if (f := written(name, offer[name])))
    for width in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        out, _ = pricing(capsys, *words, *NOW)
        assert max(map(len, out.splitlines())) <= width
        assert out == re.sub(r"[ \t]+$", "", out, flags=re.MULTILINE)
        table = re.findall(r"\S+", out)
        assert not figures - Counter(table)
        assert Counter(table)["~"] >= sum(bool(offer["derived"]) for offer in offers)
        for word in {str(o["payment"]).replace("-", " ") for o in offers if o["term_years"]}:
            assert word in re.sub(r"\s+", " ", out)
        if words[0] == "list":
            assert {str(o["instance_type"]) for o in offers} <= set(table)


def test_show_tells_which_price_is_in_quarantine(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    head = "provider,region,instance_type,os,tenancy,option,term_years,payment,hourly,upfront,date,source\n"
    path.write_text(f"{head}aws,us-east-1,m5a.4xlarge,linux,shared,on-demand,0,,0,0,2026-11-01,me\n"
                    "aws,us-east-1,m5a.xlarge,linux,shared,on-demand,0,,0.2,0,2020-01-01,me\n"
                    "aws,us-east-1,m5a.large,linux,shared,on-demand,0,,0.09,0,2026-11-01,me\n")  # fmt: skip
    pricing(capsys, "import", str(path))
    listed = pricing(capsys, "list", "--family", "m5a", "--region", "us-east-1")[1]
    assert "1 imported price hides a newer bundled one" in listed
    assert "$0.200000/h of 2020-01-01, bundled" in " ".join(pricing(capsys, "show", "m5a.xlarge")[1].split())
    assert "newer bundled" not in pricing(capsys, "show", "m5a.large")[1]
    out, _ = pricing(capsys, "show", "m5a.4xlarge", *NOW)
    assert "on-demand  quarantined: the price is zero (mine.csv: line 2)" in out
    read = document(capsys, "show", "m5a.4xlarge")
    assert [q["reason"] for q in rows(read, "quarantined")] == ["the price is zero"]
    assert "quarantined" not in pricing(capsys, "show", "m5a.large", *NOW)[0]


def test_user_in_diff_is_what_was_imported_over_the_bundled_prices(capsys: Capture) -> None:
    pricing(capsys, "import", OWN)
    out, _ = pricing(capsys, "diff", "bundled", "user")
    assert "5 added, 0 removed, 0 changed" in out
    out, _ = pricing(capsys, "diff", OWN, "user")
    assert "0 added, 0 removed, 0 changed, 5 unchanged" in out


def test_a_book_is_compared_with_a_file_where_the_file_has_prices(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "one_2026-11-01.csv"
    path.write_text("instance_type,usd_per_hour\nm6i.large,0.09\nm6i.new,0.5\n", encoding="utf-8")
    region = path.rename(tmp_path / "us-east-1_2026-11-01.csv")
    out, _ = pricing(capsys, "diff", "bundled", str(region))
    assert "1 added, 0 removed, 1 changed, 0 unchanged" in out
    assert "covers (2 types in 1 region);" in " ".join(out.split())
    assert "other offers ignored" in " ".join(out.split())
    read = document(capsys, "diff", str(region), "bundled")
    assert (read["within"], len(rows(read, "changes"))) == (str(region), 2)
    for flag, other in (("--region", "eu-west-1"), ("--provider", "gcp")):
        assert run(["pricing", "import", str(region), flag, other]) == 1  # it was stored as what the flag says
        said = capsys.readouterr().err
        assert f"has no price of {other}" in said
        assert ("by its name it is of us-east-1" in said) == (flag == "--region")


@pytest.mark.parametrize("name", ["my-prices-2.csv", "moved-us-east-1-eu-west-1.csv"])
def test_a_name_that_is_of_no_region_or_of_the_asked_one_among_others_is_no_obstacle(
    name: str, capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("instance_type,usd_per_hour\nm6i.new,0.09\nn1-standard-1,0.05\n", encoding="utf-8")
    words = ("import", str(path), "--region", "eu-west-1", "--provider", "aws", "--dry-run")
    assert f"{name}: 1 price of other clouds or regions left out" in pricing(capsys, *words)[1]
    (taken,) = rows(document(capsys, *words), "sources")
    assert (taken["good"], taken["left_out"]) == (1, 1)


def test_file_names_stay_whole(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = tmp_path / "prices-of-our-own-as-negotiated-in-spring.csv"
    path.write_text(Path(OWN).read_text(encoding="utf-8"), encoding="utf-8")
    out, _ = pricing(capsys, "import", str(path), "--dry-run")
    assert path.name in out


def test_show_in_another_region_and_system(capsys: Capture) -> None:
    read = document(capsys, "show", "m6i.large", "--region", "eu-west-1", "--os", "windows")
    assert {(o["region"], o["os"]) for o in rows(read, "offers")} == {("eu-west-1", "windows")}


def test_import_keeps_good_rows_and_counts_the_others(capsys: Capture) -> None:
    out, err = pricing(capsys, "import", OWN, HOSTILE)
    assert re.search(r"own\.csv +own-csv +5 +0", out)
    assert re.search(r"own_hostile\.csv +own-csv +1 +16", out)
    assert "quarantined: line 3: the price is zero" in err
    assert "11 more quarantined rows" in err
    assert "stored in" in err
    offers = rows(document(capsys, "list", "--family", "q7"), "offers")
    assert {o["instance_type"] for o in offers} == {"q7.large", "q7.xlarge"}
    reserved = next(o for o in offers if o["option"] == "reserved-instance")
    assert (reserved["upfront"], reserved["effective_hourly"], reserved["discount"]) == ("525.6", "0.06", "0.4")


@pytest.mark.parametrize("replace", [(), ("--replace",)])
def test_a_file_without_a_usable_price_is_refused_and_replaces_nothing(
    capsys: Capture, tmp_path: Path, replace: tuple[str, ...]
) -> None:
    pricing(capsys, "import", OWN)
    euros = tmp_path / "prices.json"
    item = {"currencyCode": "EUR", "retailPrice": 0.21, "armRegionName": "germanywestcentral", "type": "Consumption",
            "armSkuName": "Standard_D4s_v5", "productName": "Virtual Machines Dsv5 Series", "skuName": "D4s v5",
            "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour", "meterName": "D4s v5"}  # fmt: skip
    euros.write_text(json.dumps({"BillingCurrency": "EUR", "Items": [item], "NextPageLink": None, "Count": 1}))
    _, err = pricing(capsys, "import", str(euros), *replace, code=9)
    assert "is in EUR, not in USD" in err
    assert "nothing was stored" in err
    assert rows(document(capsys, "list", "--family", "q7"), "offers")
    offer = (CASES / "aws_offer.json").read_text(encoding="utf-8")
    for text, why in ((offer.replace('"USD"', '"CNY"'), "in CNY"), (offer.replace('"Hrs"', '"Second"'), "by 'Second'")):
        euros.write_text(text)
        _, err = pricing(capsys, "import", str(euros), *replace, code=9)
        assert why in err
        assert "nothing was stored" in err


def test_an_import_without_a_usable_price_exits_9_though_it_takes_prices_out_of_use(
    capsys: Capture, tmp_path: Path
) -> None:
    lines = Path(HOSTILE).read_text(encoding="utf-8").splitlines()
    (tmp_path / "own.csv").write_text("\n".join([lines[0], lines[2]]), encoding="utf-8")
    _, err = pricing(capsys, "import", str(tmp_path / "own.csv"), code=9)
    assert "stored in" in err


def test_import_says_which_prices_are_older_than_those_replaced(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "old_2001-01-01.csv"
    path.write_text("instance_type,usd_per_hour\nm6i.large,0.09\n", encoding="utf-8")
    _, err = pricing(capsys, "import", str(path), "--region", "us-east-1")
    assert "1 of its prices are older" in err.replace("\n", " ")


def test_strict_import_exits_9_and_stores_nothing(capsys: Capture) -> None:
    _, err = pricing(capsys, "import", HOSTILE, "--strict", code=9)
    assert "nothing was stored" in err
    pricing(capsys, "diff", "user", "bundled", code=64)
    pricing(capsys, "import", OWN, "--strict")


def test_import_keeps_the_named_provider_and_region_only(capsys: Capture) -> None:
    read = document(capsys, "import", OWN, "--provider", "gcp", "--dry-run")
    assert rows(read, "sources")[0]["good"] == 1
    read = document(capsys, "import", OWN, "--region", "us-east-1", "--dry-run")
    assert rows(read, "sources")[0]["good"] == 3


def test_help_names_every_format() -> None:
    from hcloud.cli.prices.pricing import FORMAT_NAMES
    from hcloud.readers.prices.recognise import FORMATS

    assert ", ".join(f.name for f in FORMATS) == FORMAT_NAMES


def test_dry_run_stores_nothing(capsys: Capture) -> None:
    read = document(capsys, "import", OWN, "--dry-run")
    assert read["stored"] is None
    pricing(capsys, "diff", "user", "bundled", code=64)


def test_replace_forgets_what_was_stored(capsys: Capture) -> None:
    pricing(capsys, "import", OWN)
    pricing(capsys, "import", str(CASES / "annual_cost.json"), "--replace")
    stored = PriceStore.open().load()
    assert stored is not None
    assert len(stored.offers) == 2


def test_import_takes_every_case_in_one_run(capsys: Capture) -> None:
    names = ("own.csv", "ec2instances.json", "cyclenerd.yml", "skypilot.csv", "aws_offer.json", "azure_retail.json")
    read = document(capsys, "import", *(str(CASES / n) for n in names))
    assert [s["format"] for s in rows(read, "sources")] == [
        "own-csv", "ec2instances", "cyclenerd", "skypilot", "aws-offer", "azure-retail",
    ]  # fmt: skip


def test_diff_tells_added_removed_and_changed(capsys: Capture, tmp_path: Path) -> None:
    text = Path(OWN).read_text(encoding="utf-8")
    changed = tmp_path / "new.csv"
    kept = [line for line in text.splitlines() if not line.startswith("azure")]
    more = kept[1].replace("q7.large", "q7.2xlarge").replace(",2,8,", ",8,32,").replace("0.1,0", "0.4,0")
    changed.write_text("\n".join([*kept, more]).replace("on-demand,0,no-upfront,0.2", "on-demand,0,no-upfront,0.25"))
    out, _ = pricing(capsys, "diff", OWN, str(changed))
    assert "1 added, 1 removed, 1 changed, 3 unchanged" in out
    assert "+25.0%" in out
    read = document(capsys, "diff", OWN, str(changed))
    assert {c["action"]: c["change"] for c in rows(read, "changes")} == {
        "added": None, "removed": None, "changed": "0.25",
    }  # fmt: skip


def test_verify_is_9_on_bad_prices(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """That it passes on what is bundled is among the screens, and so is its document; verified once for both forms."""
    pricing(capsys, "import", HOSTILE)
    found = verify(lambda share: None)
    monkeypatch.setattr("hcloud.usecases.prices.pricing.verify", lambda advance: found)
    out, err = pricing(capsys, "verify", code=9)
    assert "as the manifest says" in out
    assert re.search(r"quarantined: \S+: line \d+: the price is zero", err)
    read = document(capsys, "verify", code=9)
    assert any("zero" in str(q["reason"]) for q in rows(read, "quarantined"))


def test_flags_have_no_twins(capsys: Capture) -> None:
    assert "--no-" not in pricing(capsys, "import", "--help")[0]


def test_help_of_every_verb_works(capsys: Capture) -> None:
    for verb in ("list", "show", "diff", "verify", "import", "refresh"):
        out, _ = pricing(capsys, verb, "--help")
        assert "Usage" in out


def test_a_break_even_counts_the_sustained_use_that_on_demand_has(capsys: Capture) -> None:
    """By hand: quarters of a month at 1, 0.8678, 0.733 and 0.6 of the list price, walked a ten-thousandth at a time."""
    read = document(capsys, "show", "n2-standard-2", "--provider", "gcp", "--region", "us-central1")
    rows = read["offers"]
    assert isinstance(rows, list)
    listed = next(Decimal(row["hourly"]) for row in rows if row["option"] == "on-demand")
    committed = [row for row in rows if row["break_even_utilisation"] is not None]
    assert len(committed) > 1
    for row in committed:
        paid, steps = 0.0, 0
        while paid < float(Decimal(row["effective_hourly"]) / listed) * 10_000:
            paid, steps = paid + (1, 0.8678, 0.733, 0.6)[min(steps // 2500, 3)], steps + 1
        assert float(row["break_even_utilisation"]) == pytest.approx(steps / 10_000, abs=2e-4)
    told, _ = pricing(capsys, "show", "n2-standard-2", "--provider", "gcp", "--region", "us-central1", *NOW)
    assert "sustained-use discount" in told


def test_a_price_of_a_day_to_come_is_quarantined_as_it_would_never_be_old(capsys: Capture, tmp_path: Path) -> None:
    text = Path(OWN).read_text(encoding="utf-8")
    dated = sorted(re.findall(r"\d{4}-\d\d-\d\d", text))[-1]
    (tmp_path / "late.csv").write_text(text.replace(dated, "2031-07-20"), encoding="utf-8")
    _, err = pricing(capsys, "import", str(tmp_path / "late.csv"), "--strict", *NOW, code=9)
    assert "is dated 2031-07-20, a day to come" in err
    assert "nothing was stored" in err


@pytest.mark.parametrize("provider", [Provider.GCP, Provider.AZURE])
def test_where_a_bundle_has_prices_is_told_as_its_offers_would_without_making_them(provider: Provider) -> None:
    book = load_bundled(providers={provider})
    assert book.places() == {(key.provider, key.region) for key in book.offers}
