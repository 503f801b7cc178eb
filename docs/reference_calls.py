"""Which requests hcloud makes to each cloud, found in its code: what they change, cost and need."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from hcloud.readers.permissions import PURPOSES, load_permissions

CODE = Path(__file__).resolve().parents[1] / "hcloud"
NEVER_SENT = {"Return_Post": "named only where it says that Azure's way back is in its portal"}
_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
STATE_CALLS = {
    "S3": ("s3.py", "s3://...", {
        "GetObject": ("get_object", "s3:GetObject"),
        "HeadObject": ("head_object", "s3:GetObject"),
        "PutObject": ("put_object", "s3:PutObject"),
        "DeleteObject": ("delete_object", "s3:DeleteObject"),
        "ListObjectsV2": ("list_objects_v2", "s3:ListBucket"),
    }),
    "Google Cloud Storage": ("gcs.py", "gs://...", {
        "objects.get": ('"objects.get"', "storage.objects.get"),
        "objects.insert": ('"objects.insert"', "storage.objects.create, storage.objects.delete"),
        "objects.delete": ('"objects.delete"', "storage.objects.delete"),
        "objects.list": ('"objects.list"', "storage.objects.list"),
    }),
    "Azure Blob Storage": ("azure.py", "https://ACCOUNT.blob.core.windows.net/...", {
        "Get Blob": ("download_blob", f"{_BLOBS}/read"),
        "Get Blob Properties": ("get_blob_properties", f"{_BLOBS}/read"),
        "Put Blob": ("upload_blob", f"{_BLOBS}/write"),
        "Delete Blob": ("delete_blob", f"{_BLOBS}/delete"),
        "List Blobs": ("walk_blobs", f"{_BLOBS}/read"),
    }),
}  # fmt: skip
"""Requests to the stores of states: file, address, and for each request the words in that file and its permission."""
PRICES = {
    "aws": "pricing.us-east-1.amazonaws.com",
    "gcp": "cloudbilling.googleapis.com",
    "azure": "prices.azure.com",
}

INTRODUCTION = """\
Every request that hcloud can make to a cloud, found in the code of its providers. Tests compare the list with the
requests that the fake clouds receive and with the permissions. Only `apply`, `destroy`, `operate`,
`gc --delete`, `profile run --cloud`, `commit apply` and `commit cancel` make changing requests. Only `pricing refresh`
fetches prices. The SDKs sign in by themselves. hcloud sends no telemetry and does not look for updates."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A request: its name in the cloud's own words, the permission it takes, and whether it changes something."""

    name: str
    permission: str
    changes: bool


def literals(folder: Path) -> Iterator[str]:
    """Every text in the code of a folder; of texts with a name before an ending such as ``_Delete`` every one that the
    folder's other texts make."""
    texts, endings = set(), set()
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[-1], ast.Constant):
                endings.add(str(node.values[-1].value))
    yield from sorted(texts | {f"{text}{ending}" for text in texts for ending in endings if ending.startswith("_")})


def operations(cloud: str) -> tuple[Operation, ...]:
    """Every operation that the code of a provider names and its cloud knows."""
    known = {"aws": _amazon, "gcp": _google, "azure": _azure}[cloud]()
    named = set(literals(CODE / "providers" / cloud)) - set(NEVER_SENT)
    return tuple(sorted((o for o in known if o.name in named), key=lambda o: (not o.changes, o.name)))


def _amazon() -> Iterator[Operation]:
    from hcloud.fake.aws.cloud import READING
    from hcloud.fake.aws.world import service_model

    for service, prefix in (("ec2", "ec2"), ("sts", "sts"), ("savingsplans", "savingsplans"), ("ssm", "ssm")):
        for name in service_model(service).operation_names:
            yield Operation(name, f"{prefix}:{name}", not name.startswith(READING))
    for name in service_model("service-quotas").operation_names:
        yield Operation(name, f"servicequotas:{name}", not name.startswith(READING))


def _google() -> Iterator[Operation]:
    from hcloud.fake.gcp.wire.refusals import permission_of
    from hcloud.fake.gcp.wire.routes import OPERATIONS, GcpRoute

    for name in OPERATIONS:
        permission = permission_of(name).replace("aggregatedList", "list")
        yield Operation(name, permission, name.count(".") == 1 and GcpRoute(name, {}).mutating)


def _azure() -> Iterator[Operation]:
    from hcloud.fake.azure.cloud import FakeAzure, routes

    fake = FakeAzure()
    found = {r.operation: r for r in routes(fake, fake.operations)}
    yield from (Operation(r.operation, r.right, r.mutating) for r in found.values())


def price_of(cloud: str, operation: Operation) -> str:
    """What a request may cost: nothing, dollars an hour, or a commitment."""
    purposes = {
        p for found in load_permissions(cloud).permissions if found.name == operation.permission for p in found.purposes
    }
    if not operation.changes:
        return ""
    return (
        "commits for years" if purposes == {"buy"} else "by the second or hour" if "launch" in purposes else "nothing"
    )


def what_it_touches(written: str) -> Iterator[str]:
    """The page: paid and changing calls, reading calls, permissions, and limits."""
    yield from ("# What hcloud touches", "", written, "")
    yield INTRODUCTION
    for cloud in ("aws", "gcp", "azure"):
        yield from ("", f"## {cloud}", "", *_calls(cloud), *_permissions(cloud))
    yield from _state_calls()
    yield from ("", "## Default limits", "", *_limits())


def _state_calls() -> Iterator[str]:
    for store, (file, address, calls) in STATE_CALLS.items():
        text = (CODE / "store" / "buckets" / file).read_text(encoding="utf-8")
        yield from ("", f"## The state in {store}", "")
        yield from (f"With `--state {address}`, and only then; `iam print` does not print these:", "")
        yield from (f"- `{name}` (`{right}`)" for name, (words, right) in calls.items() if words in text)


def _calls(cloud: str) -> Iterator[str]:
    found = operations(cloud)
    yield from ("| changing request | permission | what it may cost |", "|---|---|---|")
    yield from (f"| `{o.name}` | `{o.permission}` | {price_of(cloud, o)} |" for o in found if o.changes)
    yield from ("", "Reading requests and their permissions:", "")
    yield from (f"- `{o.name}`: `{o.permission}`" for o in found if not o.changes)
    yield from (
        "",
        f"`hcloud pricing refresh --provider {cloud} --region REGION` reads published prices from `{PRICES[cloud]}`.",
        "",
    )


def _permissions(cloud: str) -> Iterator[str]:
    yield f"All permissions, by purpose (`hcloud iam print --cloud {cloud} --for PURPOSE`):"
    yield from ("", "| permission | purposes | needed for |", "|---|---|---|")
    for found in load_permissions(cloud).permissions:
        purposes = ", ".join(purpose for purpose in PURPOSES if purpose in found.purposes)
        yield f"| `{found.name}` | {purposes} | {found.why} |"


def _limits() -> Iterator[str]:
    from hcloud.live.applying.guards import MOST_ENDED, MOST_ENDED_SHARE
    from hcloud.live.buying.purchase import MOST_SENDINGS
    from hcloud.live.patience import RetryLimits
    from hcloud.planning.purchases.gates import FARTHEST_FROM_BOOK, MOST_DOLLARS_PER_HOUR, MOST_INSTANCES
    from hcloud.readers.configuration.config import Config
    from hcloud.units import format_duration
    from hcloud.usecases.live.ground import LOOKING_SECONDS
    from hcloud.usecases.live.profile_cloud import MAX_DOLLARS
    from hcloud.usecases.prices.age import OLDEST_PRICE_SECONDS

    config, patience = Config(), RetryLimits()
    commitments, limits = config.commitments, config.limits
    rows: list[tuple[str, object, str]] = [
        ("dollars an hour, a month, and by how much they may rise, after an apply", _or_none(limits.hourly), "limits"),
        (
            f"machines that one apply or destroy may end unless `--ends` says how many ({_percent(MOST_ENDED_SHARE)})",
            MOST_ENDED,
            "limits.ended",
        ),
        ("age of a plan that apply accepts", format_duration(config.live.max_plan_age), "live.max_plan_age"),
        ("age of prices that apply accepts", format_duration(int(OLDEST_PRICE_SECONDS)), "prices.max_age"),
        ("whether anything may be bought", "no", "commitments.enabled"),
        (
            "dollars that all purchases together may commit (none: nothing is bought)",
            _or_none(commitments.ceiling),
            "commitments.ceiling",
        ),
        ("how far a quote may be above the plan", _percent(commitments.price_tolerance), "commitments.price_tolerance"),
        ("how long a purchase plan works", format_duration(commitments.valid_for), "commitments.valid_for"),
        ("age of a plan that is bought from", format_duration(commitments.max_plan_age), "commitments.max_plan_age"),
        ("age of prices that are bought at", format_duration(commitments.max_price_age), "commitments.max_price_age"),
        ("instances of one purchase", f"{MOST_INSTANCES:,}", ""),
        ("dollars an hour of one purchase", f"{MOST_DOLLARS_PER_HOUR:,}", ""),
        ("how far a quote may be from the price book", _percent(FARTHEST_FROM_BOOK), ""),
        ("how often a purchase is sent with the same key", MOST_SENDINGS, ""),
        ("dollars of `profile run --cloud`", MAX_DOLLARS, "--max-dollars"),
        ("attempts at one request", patience.attempts, ""),
        ("seconds a run is put off by a cloud in all", f"{patience.deadline:g}", ""),
        ("the same of a verb that only looks", f"{LOOKING_SECONDS:g}", ""),
    ]
    yield from ("| what | limit | set by |", "|---|---|---|")
    yield from (f"| {what} | {value} | {f'`{key}`' if key else ''} |" for what, value, key in rows)


def _or_none(value: Decimal | None) -> str:
    return "none" if value is None else f"{value}"


def _percent(share: Decimal) -> str:
    return f"{share:.0%}"
