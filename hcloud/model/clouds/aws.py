"""The facts of Amazon Web Services."""

from __future__ import annotations

import re
from decimal import Decimal

from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.facts import CloudFacts, ListedNames, Seller, TypeNames

_UNITS = {
    "nano": Decimal("0.25"), "micro": Decimal("0.5"), "small": Decimal(1), "medium": Decimal(2), "large": Decimal(4),
}  # fmt: skip
_XLARGE = re.compile(r"(?:metal-)?([1-9]\d{0,2}|)x(?:large|l)", re.ASCII)
_CATEGORIES = (
    ("accelerated", ("p", "g", "inf", "trn", "f", "vt", "dl")),
    ("compute", ("c", "hpc", "cc", "cr")),
    ("memory", ("r", "x", "z", "u")),
    ("storage", ("i", "d", "h", "im", "is", "hs")),
)
_BURSTABLE = re.compile(r"t\d", re.ASCII)


def family(name: str) -> str:
    """``m5`` of ``m5.large``."""
    return name.partition(".")[0]


def units(name: str, vcpus: Decimal) -> Decimal:
    """EC2's published normalisation factor; a bare ``metal`` weighs two units a vCPU, as the largest size of its
    family does."""
    size = name.partition(".")[2]
    if size in _UNITS:
        return _UNITS[size]
    match = _XLARGE.fullmatch(size)
    return Decimal(8) * int(match[1] or 1) if match else 2 * vcpus


def category(name: str) -> str:
    """By the letters that a family begins with."""
    if _BURSTABLE.match(name):
        return "burstable"
    if family(name).endswith("-flex"):
        return "flex"
    letters = re.match(r"[a-z]+", name)
    return next((c for c, heads in _CATEGORIES if letters and letters[0] in heads), "general")


AWS = CloudFacts(
    name=Provider.AWS,
    maker="Amazon",
    classes="Aws",
    extra=("boto3",),
    endpoint="https://sts.amazonaws.com",
    home_region="us-east-1",
    zones=("{region}a", "{region}b", "{region}c"),
    zone=r"{region}[a-z]",
    small_type="m5.large",
    series=("m5.*",),
    sold=(
        PurchaseOption.RESERVED,
        PurchaseOption.CONVERTIBLE,
        PurchaseOption.INSTANCE_SAVINGS_PLAN,
        PurchaseOption.COMPUTE_SAVINGS_PLAN,
    ),
    queues=True,
    seller=Seller(
        "AWS",
        "Amazon Elastic Compute Cloud",
        "AWS account",
        re.compile(r"(?i)aws|amazon"),
        re.compile(r"(?i)elastic compute cloud|ec2"),
        (
            ("compute", PurchaseOption.COMPUTE_SAVINGS_PLAN),
            ("ec2", PurchaseOption.INSTANCE_SAVINGS_PLAN),
            ("reserv", PurchaseOption.RESERVED),
            ("saving", PurchaseOption.SAVINGS_PLAN),
        ),
    ),
    karpenter=("karpenter.k8s.aws", "EC2NodeClass"),
    names=TypeNames(re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+", re.ASCII), family, units, category),
    listed=ListedNames("on_demand.csv", "family", (("families.csv", "{family}.{{n}}", "sizes"),)),
    price_list="aws-offer",
    bucket=("s3", "boto3"),
    shows_payment=True,
    covers_licence=True,
    sdk_variables={
        "AWS_ENDPOINT_URL": "{url}",
        "AWS_ACCESS_KEY_ID": "rehearsal",
        "AWS_SECRET_ACCESS_KEY": "rehearsal",
    },
)
