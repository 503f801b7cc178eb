"""Each price format on a small invented file: what is kept, what is refused and why."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceSource
from hcloud.catalog.shapes import named_type
from hcloud.catalog.table import write_table
from hcloud.errors import InputError, UsageError
from hcloud.model.catalog import Offer, OfferKey, Payment, Provider, PurchaseOption
from hcloud.readers.prices.payload import decode, read_bytes
from hcloud.readers.prices.recognise import FORMATS, format_named, own_day, recognise

CASES = Path(__file__).parents[2] / "cases" / "prices"
D = Decimal
DAY = date(2026, 7, 1)
GOOGLE = named_type(Provider.GCP, "q2-standard-4", D(4), D(16))
SHAPES = {(Provider.GCP, GOOGLE.name): GOOGLE}
OD, SPOT, RI = PurchaseOption.ON_DEMAND, PurchaseOption.SPOT, PurchaseOption.RESERVED


def read(name: str, provider: Provider | None = None) -> PriceBook:
    text = decode(read_bytes(CASES / name), name)
    return recognise(text, name).read(text, PriceSource(name, DAY, provider, "us-east-1", SHAPES))


def prices(book: PriceBook) -> dict[str, tuple[str, str]]:
    return {str(k): (f"{o.hourly.normalize():f}", f"{o.upfront.normalize():f}") for k, o in book.offers.items()}


def reasons(book: PriceBook) -> dict[str, str]:
    return {q.row: q.reason for q in book.quarantine}


def offer(book: PriceBook, option: PurchaseOption, years: int = 0, payment: Payment = Payment.NONE) -> Offer:
    wanted = (option, years, payment, "", "linux")
    found = [
        o
        for k, o in book.offers.items()
        if (k.option, k.term_years, k.payment, k.zone, k.os) == wanted and k.instance_type != "q7.xlarge"
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("own.csv", "own-csv"), ("own_hostile.csv", "own-csv"), ("ec2instances.json", "ec2instances"),
        ("cyclenerd.yml", "cyclenerd"), ("skypilot.csv", "skypilot"), ("aws_offer.json", "aws-offer"),
        ("azure_retail.json", "azure-retail"), ("gcp_skus.json", "gcp-skus"), ("two_columns.csv", "two-columns"),
        ("annual_cost.json", "annual-cost"), ("labelled_text.txt", "labelled-text"),
        ("spot_average.json", "spot-average"),
    ],
)  # fmt: skip
def test_format_is_recognised_by_content(file: str, form: str) -> None:
    assert recognise(decode(read_bytes(CASES / file), file), file).name == form
    assert format_named(form) in FORMATS


def test_a_file_may_say_its_own_day() -> None:
    assert own_day((CASES / "aws_offer.json").read_text(encoding="utf-8")) == date(2026, 7, 1)
    assert own_day("about:\n  generated: Thu\n  timestamp: 1785391997\n  url: x\ncompute:\n") == date(2026, 7, 30)
    for text in ("about:\n  timestamp: 99999999999\n", '{"publicationDate": "2026-13-45T"}', "nothing"):
        assert own_day(text) is None


def test_unknown_content_and_unknown_format_name_are_refused() -> None:
    with pytest.raises(InputError, match="none of the price formats") as refused:
        recognise("hello, world\n", "x.txt")
    assert "columns provider, region, instance_type, os" in refused.value.hint
    for text in (
        '{"SpotPriceHistory": [{"InstanceType": "q7.large", "SpotPrice": "1"}]}',
        '{"products": [], "terms": {}}',
    ):
        with pytest.raises(InputError, match="none of the price formats"):
            recognise(text, "spot-history.json or savings-plans.json")
    with pytest.raises(UsageError, match="no price format 'xls'"):
        format_named("xls")


def test_own_csv_round_trips_byte_for_byte() -> None:
    book = read("own.csv")
    assert len(book.offers) == 5
    assert not book.quarantine
    reserved = offer(book, RI, 1, Payment.ALL)
    assert (reserved.upfront, reserved.remaining) == (D("525.60"), 12)
    assert book.types[Provider.AWS, "q7.large"].units == 4
    text = write_table(book)
    again = format_named("own-csv").read(text, PriceSource("again", DAY))
    assert write_table(again) == text
    assert again.offers == book.offers
    assert again.types == book.types


def test_own_csv_may_have_names_in_capitals() -> None:
    text = (CASES / "own.csv").read_text(encoding="utf-8")
    for name in ("aws,us-east-1", "linux,shared,on-demand", "no-upfront"):
        text = text.replace(name, name.upper())
    assert format_named("own-csv").read(text, PriceSource("p.csv", DAY)).offers == read("own.csv").offers


def test_own_csv_quarantines_every_hostile_row_with_its_line() -> None:
    book = read("own_hostile.csv")
    assert list(prices(book)) == ["aws/us-east-1/q7.large/on-demand"]
    why = reasons(book)
    assert sorted(int(row.removeprefix("line ")) for row in why) == [*range(3, 11), *range(12, 20)]
    expected = {
        3: "zero", 4: "negative", 5: "'NaN' is not a number", 6: "'inf'", 7: "beyond any machine", 8: "'1_000'",
        9: "is not a number", 10: "is missing", 12: "differently", 13: "has 6 cells under 14 columns",
        14: "provider 'awz' is not one of", 15: "option 'on-demmand'", 16: "date '2026-02-30'", 17: "needs a term",
        18: "no-upfront and yet", 19: "no name of a type",
    }  # fmt: skip
    for line, words in expected.items():
        assert words in why[f"line {line}"], line
    assert next(q for q in book.quarantine if q.row == "line 5").key is not None


def test_own_csv_names_missing_unknown_and_repeated_columns_together() -> None:
    text = "provider,region,instance_type,os,os,tenency,option,hourly\n"
    with pytest.raises(InputError) as error:
        format_named("own-csv").read(text, PriceSource("p.csv", DAY))
    shown = str(error.value)
    assert "'upfront' is missing" in shown
    assert "did you mean 'tenancy'?" in shown
    assert "'os' stands 2 times" in shown


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_own_csv_with_other_delimiters_is_read(delimiter: str) -> None:
    text = (CASES / "own.csv").read_text(encoding="utf-8").replace(",", delimiter)
    assert len(format_named("own-csv").read(text, PriceSource("p.tsv", DAY)).offers) == 5


def test_ec2instances_splits_effective_prices_into_upfront_and_hourly() -> None:
    book = read("ec2instances.json")
    assert offer(book, OD).hourly == D("0.10")
    assert offer(book, SPOT).hourly == D("0.03")
    none = offer(book, RI, 1)
    assert (none.hourly, none.upfront, none.origin.derived) == (D("0.064"), D(0), "")
    partial = offer(book, RI, 1, Payment.PARTIAL)
    assert partial.upfront == D("267.18")
    assert abs(partial.effective_hourly - D("0.061")) < D("1e-9")
    assert "half" in partial.origin.derived
    whole = offer(book, RI, 1, Payment.ALL)
    assert (whole.hourly, whole.upfront) == (D(0), D("525.60"))
    rounded = offer(book, PurchaseOption.CONVERTIBLE, 3, Payment.ALL)
    assert rounded.upfront == D("1182.60")
    machine = book.types[Provider.AWS, "q7.large"]
    assert (machine.arch, machine.vcpus, machine.family, machine.units) == ("arm64", D(2), "q7", D(4))


def test_ec2instances_gives_whole_dollars_where_six_decimals_allow_it() -> None:
    from hcloud.readers.prices.ec2instances import split_term

    assert split_term(D("0.031012"), 3, Payment.ALL) == (D(0), D(815))
    assert split_term(D("0.05"), 1, Payment.ALL) == (D(0), D(438))


def test_ec2instances_of_before_convertible_ones_have_standard_terms() -> None:
    text = (CASES / "ec2instances.json").read_text(encoding="utf-8").replace("yrTerm1Standard.", "yrTerm1.")
    from hcloud.readers.prices.ec2instances import read_ec2instances

    old = read_ec2instances(text, PriceSource("old.json", date(2016, 5, 1)))
    assert prices(old) == prices(read("ec2instances.json"))


def test_ec2instances_quarantines_what_it_cannot_use() -> None:
    why = reasons(read("ec2instances.json"))
    assert "no instance_type" in why["[2]"]
    assert "its size" in why["[1] q7.xlarge"]
    assert "no reserved term" in why["q7.large.pricing.us-east-1.linux.reserved.yrTerm9Standard.noUpfront"]
    assert "not a number" in why["q7.large.pricing.us-east-1.mswin.reserved.yrTerm1Standard.noUpfront"]
    assert "operating system" in why["q7.large.pricing.us-east-1.plan9"]


def test_cyclenerd_reads_list_prices_spot_commitments_and_sustained_use() -> None:
    book = read("cyclenerd.yml")
    assert prices(book) == {
        "gcp/us-central1/q1-standard-4/on-demand": ("0.2", "0"),
        "gcp/us-central1/q1-standard-4/spot": ("0.05", "0"),
        "gcp/us-central1/q1-standard-4/committed-use-1y-no-upfront": ("0.126", "0"),
        "gcp/us-central1/q1-standard-4/committed-use-3y-no-upfront": ("0.09", "0"),
        "gcp/us-central1/q1-micro/on-demand": ("0.01", "0"),
    }
    assert book.sustained[Provider.GCP, "q1"].full_month_factor == D("0.7")
    why = reasons(book)
    assert "'.nan' is not a number" in why["compute.instance.q1-standard-4.cost.europe-west3.hour"]
    assert "zero" in why["compute.instance.q1-standard-4.cost.europe-west3.hour_spot"]
    assert "none is sold" in why["compute.instance.q1-micro.cost.us-central1.month_1y"]
    assert "negative" in why["compute.instance.q1-micro.cost.us-central1.month_3y"]
    assert "no prices" in why["compute.instance.q9-unsold-8"]


def test_skypilot_keeps_zones_and_derives_the_region_from_them() -> None:
    book = read("skypilot.csv")
    assert prices(book) == {
        "aws/us-east-1/q7.large/on-demand": ("0.1", "0"),
        "aws/us-east-1a/q7.large/spot": ("0.03", "0"),
        "aws/us-east-1b/q7.large/spot": ("0.05", "0"),
        "aws/us-east-1/q7.large/spot": ("0.04", "0"),
        "aws/us-east-1/g7.xlarge/on-demand": ("1.2", "0"),
    }
    assert offer(book, SPOT).origin.derived == "mean of 2 zones"
    assert book.types[Provider.AWS, "g7.xlarge"].gpus == 1
    assert {row: why.split(" ", 1)[0] for row, why in reasons(book).items()} == {
        "line 5": "names", "line 6": "the", "line 7": "has",
    }  # fmt: skip


def test_skypilot_takes_the_provider_it_is_told_for_types_whose_names_tell_none() -> None:
    book = read("skypilot.csv", Provider.AZURE)
    assert {k.instance_type for k in book.offers if k.provider is Provider.AZURE} == {"mystery"}


def test_skypilot_names_missing_columns() -> None:
    with pytest.raises(InputError, match="'SpotPrice' is missing"):
        format_named("skypilot").read("InstanceType,Price\nq7.large,1\n", PriceSource("c.csv", DAY))


def test_aws_offer_keeps_plain_instances_and_their_terms() -> None:
    book = read("aws_offer.json")
    assert prices(book) == {
        "aws/us-east-1/q7.large/on-demand": ("0.1", "0"),
        "aws/us-east-1/q7.large/reserved-instance-1y-partial-upfront": ("0.03", "262"),
        "aws/us-east-1/q7.large/convertible-reserved-instance-3y-all-upfront": ("0", "1182"),
    }
    assert list(reasons(book)) == ["terms.OnDemand.W1.OD", "terms.Reserved.L1.C"]  # and no capacity block at $0
    assert "CNY" in reasons(book)["terms.OnDemand.W1.OD"]
    assert "unknown length" in reasons(book)["terms.Reserved.L1.C"]
    metal = book.types[Provider.AWS, "q7.metal"]
    assert (metal.vcpus, metal.memory_gib, metal.units) == (D(96), D(1024), D(192))


def test_aws_offer_reads_terms_that_stand_before_the_products() -> None:
    document = json.loads((CASES / "aws_offer.json").read_text(encoding="utf-8"))
    turned = json.dumps({"terms": document["terms"], "products": document["products"]})
    assert prices(format_named("aws-offer").read(turned, PriceSource("t", DAY))) == prices(read("aws_offer.json"))


def test_azure_reservation_price_is_for_the_whole_term() -> None:
    book = read("azure_retail.json")
    assert prices(book) == {
        "azure/eastus/Standard_Q4s_v5/on-demand": ("0.2", "0"),
        "azure/eastus/Standard_Q4s_v5/on-demand/windows": ("0.38", "0"),
        "azure/eastus/Standard_Q4s_v5/spot": ("0.04", "0"),
        "azure/eastus/Standard_Q4s_v5/savings-plan-1y-no-upfront": ("0.138", "0"),
        "azure/eastus/Standard_Q4s_v5/savings-plan-3y-no-upfront": ("0.09", "0"),
        "azure/eastus/Standard_Q4s_v5/reservation-1y-no-upfront": ("0.12", "0"),
        "azure/eastus/Standard_Q4s_v5/reservation-3y-no-upfront": ("0.08", "0"),
        "azure/eastus/Standard_Q4s_v5/savings-plan-1y-no-upfront/windows": ("0.318", "0"),
        "azure/eastus/Standard_Q4s_v5/savings-plan-3y-no-upfront/windows": ("0.27", "0"),
        "azure/eastus/Standard_Q4s_v5/reservation-1y-no-upfront/windows": ("0.3", "0"),
        "azure/eastus/Standard_Q4s_v5/reservation-3y-no-upfront/windows": ("0.26", "0"),
    }
    assert all(
        bool(one.origin.derived) is (key.os == "windows" and key.option.is_commitment)
        for key, one in book.offers.items()
    )
    assert list(reasons(book)) == ["page 1, Items[7]"]
    assert "EUR" in reasons(book)["page 1, Items[7]"]


def test_azure_prices_of_other_times_do_not_contest_todays() -> None:
    text = (CASES / "azure_retail.json").read_text(encoding="utf-8")
    page = json.loads(text)
    first = (page[0] if isinstance(page, list) else page)["Items"]
    past = {"unitPrice": 0.3, "retailPrice": 0.3, "effectiveEndDate": "2026-06-30T23:59:59Z"}
    come = {"unitPrice": 0.4, "retailPrice": 0.4, "effectiveStartDate": "2026-08-01T00:00:00Z"}
    first += [first[0] | past, first[0] | come]
    book = format_named("azure-retail").read(json.dumps(page), PriceSource("p.json", DAY))
    assert prices(book) == prices(read("azure_retail.json"))
    assert (
        "applies from 2026-08-01 to ever, not on 2026-07-01, the day of these prices (--date)" in reasons(book).values()
    )


def test_gcp_skus_compose_machines_from_vcpus_and_memory() -> None:
    book = read("gcp_skus.json")
    assert prices(book) == {
        "gcp/europe-west3/q2-standard-4/on-demand": ("0.184", "0"),
        "gcp/europe-west3/q2-standard-4/committed-use-1y-no-upfront": ("0.12", "0"),
    }
    assert "vCPUs x 0.03" in offer(book, OD).origin.derived
    assert "zero" in reasons(book)["page 1, skus[4]"]


def test_gcp_skus_need_shapes() -> None:
    text = (CASES / "gcp_skus.json").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="no machine shapes"):
        format_named("gcp-skus").read(text, PriceSource("s", DAY))


@pytest.mark.parametrize(
    ("description", "part"),
    [
        ("N1 Predefined Instance Core running in Americas", ("n1", "cpu")),
        ("Compute optimized Core running in Iowa", ("c2", "cpu")),
        ("Spot Preemptible C2D AMD Instance Ram running in Iowa", ("c2d", "ram")),
        ("Memory-optimized Instance Ram running in Tokyo", ("m1", "ram")),
        ("Commitment v1: Cpu in Americas for 1 Year", ("n1", "cpu")),
        ("T2A Arm Instance Core running in Iowa", ("t2a", "cpu")),
        ("N2 Custom Instance Core running in Iowa", None),
        ("N2 Sole Tenancy Instance Core running in Iowa", None),
        ("Memory Optimized Upgrade Premium for Memory-optimized Instance Core running in Iowa", None),
        ("Nvidia Tesla T4 GPU running in Iowa", None),
    ],
)
def test_gcp_descriptions(description: str, part: tuple[str, str] | None) -> None:
    from hcloud.readers.prices.gcp_skus import component_of

    sku = {"description": description, "category": {"resourceFamily": "Compute", "usageType": "OnDemand"}}
    found = component_of(sku)
    assert (found and (found[0], found[2])) == part


def test_two_columns_take_the_region_from_the_source() -> None:
    book = read("two_columns.csv")
    assert prices(book) == {
        "aws/us-east-1/q7.large/on-demand": ("0.1", "0"),
        "aws/us-east-1/q7.xlarge/on-demand": ("0.2", "0"),
    }
    assert list(reasons(book)) == ["line 4", "line 5"]
    with pytest.raises(InputError, match="which region"):
        format_named("two-columns").read("instance_type,usd_per_hour\nq7.large,1\n", PriceSource("t", DAY))


def test_annual_cost_is_a_third_of_the_upfront_payment() -> None:
    book = read("annual_cost.json")
    assert [o.upfront for o in book.offers.values()] == [1000, D("1921.50")]
    assert reasons(book) == {"us-east-1.instances.q7.none.annual_cost": "the price is missing"}


def test_labelled_text_knows_that_a_repeated_price_is_no_spot_price() -> None:
    book = read("labelled_text.txt")
    assert prices(book) == {
        "aws/us-east-1/q7.large/on-demand": ("0.1", "0"),
        "aws/us-east-1/q7.large/on-demand/rhel": ("0.16", "0"),
        "aws/us-east-1/q7.large/reserved-instance-1y-all-upfront": ("0", "525.6"),
        "aws/us-east-1/q7.xlarge/on-demand": ("0.2", "0"),
        "aws/us-east-1/q7.xlarge/spot": ("0.07", "0"),
    }
    why = reasons(book)
    assert "no spot market" in why["line 1, Linux Spot cost in us-east-1"]
    assert "not sold" in why["line 1, Windows OD cost in us-east-1"]
    assert "names no instance type" in why["line 3"]


def test_spot_average_without_a_spot_price_says_so() -> None:
    book = read("spot_average.json")
    assert len(book.offers) == 3
    why = reasons(book)
    assert "no spot price" in why["data[1].spot_avg"]
    assert "zero" in why["data[2].ondemand"]
    assert book.types[Provider.AWS, "q7.xlarge"].current is False


@pytest.mark.parametrize("form", [f.name for f in FORMATS])
@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2", "null", "a: [", "x" * 100, '{"Items": 3}', "[[[]]]", '{"a": 1, "a": 2}']
)
def test_no_format_fails_otherwise_than_with_an_input_error(form: str, text: str) -> None:
    try:
        book = format_named(form).read(text, PriceSource("x", DAY, None, "us-east-1", SHAPES))
    except InputError:
        return
    assert not book.offers


def test_no_quarantined_key_is_offered() -> None:
    for case in CASES.glob("*.*"):
        if case.suffix != ".yaml":
            book = read(case.name)
            assert not {q.key for q in book.quarantine if q.key} & set(book.offers)


def test_offer_keys_of_a_book_are_their_offers_keys() -> None:
    for case in ("own.csv", "aws_offer.json"):
        assert all(isinstance(k, OfferKey) and o.key == k for k, o in read(case).offers.items())
