"""Bills under a prefix of a bucket: found at any depth, copied piece by piece, read as a folder is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bucket_rigs import emptied, opened
from buckets import Rig

from hcloud.cli.main import run
from hcloud.errors import HcloudError, InputError
from hcloud.readers.bills.files import may_be_of_bill
from hcloud.readers.bills.reading import read_bill
from hcloud.store.buckets.address import Address
from hcloud.store.buckets.copied import copy_objects, is_in_bucket

rigs = opened
rig = emptied
REPORT = Path(__file__).parents[2] / "cases" / "bills" / "cur_legacy.csv"


def cur_of(rig: Rig) -> Address:
    return replace(rig.address, prefix=f"{rig.address.prefix}/cur")


@pytest.mark.slow
def test_a_bill_in_a_bucket_is_the_same_bill(rig: Rig, tmp_path: Path) -> None:
    header, *lines = REPORT.read_text().splitlines(keepends=True)
    rig.put("cur/2024-10/abc/report-1.csv", (header + "".join(lines[:12])).encode())
    rig.put("cur/2024-10/abc/report-2.csv", (header + "".join(lines[12:])).encode())
    rig.put("curious/2024-10/report-1.csv", b"not read")
    rig.put("cur/2024-10/readme.txt", b"not read")
    shares: list[float] = []
    copy_objects(rig.paged(2), cur_of(rig), tmp_path, may_be_of_bill, shares.append)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")) == [
        "2024-10/abc/report-1.csv",
        "2024-10/abc/report-2.csv",
    ]
    assert shares == [0.5, 1.0]
    assert read_bill(tmp_path).lines == read_bill(REPORT).lines


def test_a_prefix_without_files_and_a_bucket_that_denies(rig: Rig, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is there"):
        copy_objects(rig.objects(), cur_of(rig), tmp_path, may_be_of_bill)
    rig.put("cur/report.csv", REPORT.read_bytes())
    rig.front.refuses = lambda what, key: "denied"
    with pytest.raises(HcloudError):
        copy_objects(rig.objects(), cur_of(rig), tmp_path, may_be_of_bill)


def test_what_is_an_address() -> None:
    assert is_in_bucket("s3://billing/cur")
    assert not is_in_bucket("s3/billing")


def test_another_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", "https://example.org/bill.csv?token=secret"]) == 64
    said = capsys.readouterr().err
    assert "not a place in a bucket" in said
    assert "secret" not in said
