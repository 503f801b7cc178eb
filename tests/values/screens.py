"""The screens that are kept: a life of hcloud in one directory, verb after verb, and what has none here and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from drawing import drawn_for, told_also
from showing import EVENTS, NOW, Said, laid_out, said, said_for, standing_in, steady
from verbs import forms_of

from hcloud.fake.in_memory.file import go_on_from, keep
from hcloud.fake.in_memory.memory import MemoryCloud

AT = ("--now", NOW)
PROFILES = str(Path(__file__).resolve().parents[2] / "profiles")
AS_PLANNED = ("-s", "HF", "--provider", "aws", "--vcpus", "16", "--pool", "1")
OLD = ("--max-price-age", "9y")
FAKE = ("--cloud", "fake:faults.yaml", "--state", "commitments")


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen: its name, the words (a callable where they depend on what earlier screens said), what stdin holds,
    and whether the verb can print JSON."""

    name: str
    words: tuple[str, ...] | Callable[[Mapping[str, Said]], tuple[str, ...]]
    given: str = ""
    as_json: bool = True
    before: Callable[[], None] = lambda: None


def _plain(name: str, *words: str, as_json: bool = True, given: str = "") -> Screen:
    return Screen(name, words, given, as_json)


def _edited() -> None:
    """A person ends one machine and resizes another behind hcloud's back, and somebody leaves one behind."""
    cloud = MemoryCloud("aws")
    kept = Path(".hcloud/fake-aws.json")
    document = json.loads(kept.read_bytes())
    there = cloud.world.semantics
    zones = tuple(f"{document['region']}{z}" for z in "abc")
    fields = {name: getattr(there, name) for name in type(there).__dataclass_fields__}
    cloud.world.semantics = type(there)(**{**fields, "region": document["region"], "zones": zones})
    go_on_from(cloud.world, kept)
    cloud.clock.advance(600)
    first, *_, last = sorted(cloud.ledger.machines)
    tags = dict(cloud.ledger.machines[last].tags)
    cloud.edit({"terminate": first})
    cloud.edit({"resize": last, "type": "m5.xlarge"})
    cloud.edit({"launch": "m5.large", "tags": {**tags, "hcloud-address": "gone", "hcloud-key": "0" * 32}})
    cloud.clock.advance(3600)
    keep(cloud.world, kept)


def _approved(earlier: Mapping[str, Said]) -> tuple[str, ...]:
    plan = json.loads(Path("buy.json").read_text(encoding="utf-8"))
    amount = re.search(r"amount ([0-9.]+) USD", earlier["commit-plan"].shown + _amount_of(plan))
    assert amount is not None
    return ("commit", "apply", "buy.json", *FAKE, "--approve-commit", plan["digest"], "--amount", amount[1])


def _amount_of(plan: Mapping[str, object]) -> str:
    from hcloud.store.purchase_file import load_purchase_plan

    assert plan
    return f" amount {load_purchase_plan(Path('buy.json')).amount:.2f} USD"


def _bought(earlier: Mapping[str, Said]) -> tuple[str, ...]:
    found = re.search(r"aws-commitment-\d+", earlier["commit-apply"].out)
    return ("commit", "cancel", found[0] if found else "nothing", *FAKE, "-y")


def _machine(earlier: Mapping[str, Said]) -> tuple[str, ...]:
    document = json.loads(Path(".hcloud/state.json").read_text(encoding="utf-8"))
    return ("state", "show", document["records"][0]["id"], *AT)


SCREENS = (
    _plain("version", "--version", as_json=False),
    _plain("init", "init", "--dir", "fresh", as_json=False),
    _plain("validate", "validate", "trace.yaml", *AT),
    _plain("validate-live", "validate", *AT),
    _plain("plan", "plan", "-f", "trace.yaml", "--out", "plan.json", *AT),
    _plain("plan-verbose", "plan", "-f", "trace.yaml", "-v", *AT, as_json=False),
    _plain("plan-md", "plan", "-f", "trace.yaml", "-o", "md", *AT, as_json=False),
    _plain(
        "plan-strategy",
        "plan",
        "-f",
        "small.yaml",
        "-s",
        "HF",
        "--seeds",
        "1",
        "--vcpus",
        "16",
        "--out",
        "predicted.json",
        *AT,
    ),
    _plain("explain", "explain", "plan.json"),
    _plain("explain-address", "explain", "plan.json", "aws/us-east-1/c7i.2xlarge"),
    _plain("explain-md", "explain", "plan.json", "-o", "md", as_json=False),
    _plain("plan-other", "plan", "-f", "trace.yaml", "--region", "eu-west-1", "--out", "other.json", *AT),
    _plain("diff", "diff", "plan.json", "other.json", *AT),
    _plain("diff-md", "diff", "plan.json", "other.json", "-o", "md", *AT, as_json=False),
    _plain("policy-check", "policy", "check", "plan.json", "--rules", "rules.yaml", *AT),
    _plain("simulate", "simulate", "-f", "small.yaml", "-s", "HM", "--journal", "jobs.jsonl", *AT),
    _plain("report-cost", "report", "cost", "plan.json", "-f", "trace.yaml", *AT),
    _plain("report-savings", "report", "savings", "plan.json", "-f", "trace.yaml", *AT),
    _plain("report-commitments", "report", "commitments", "plan.json", "-f", "trace.yaml", *AT),
    _plain("report-quality", "report", "quality", "jobs.jsonl", *AT),
    _plain("simulate-as-planned", "simulate", "-f", "small.yaml", *AS_PLANNED, "--journal", "planned.jsonl", *AT),
    _plain("report-accuracy", "report", "accuracy", "--plan", "predicted.json", "--journal", "planned.jsonl", *AT),
    _plain("explain-job", "explain", "jobs.jsonl", "--job", "j2"),
    _plain("compare", "compare", "-f", "small.yaml", "-s", "HM", "-s", "SR", "--seeds", "2", *AT),
    _plain("sweep", "sweep", "-f", "small.yaml", "--strategy", "HM", "--vary", "pool=1,2", "--workers", "1", *AT),
    _plain("decide", "decide", "--strategy", "HM", "--pool", "2", "--plain", given=EVENTS, as_json=False),
    _plain("plan-live", "plan", "--out", "changes.json", *AT),
    _plain("iam-print", "iam", "print", "changes.json", "--reasons", as_json=False),
    _plain("apply", "apply", "changes.json", "-y", *AT),
    _plain("plan-settled", "plan", *AT),
    _plain("status", "status", *AT),
    _plain("state-list", "state", "list", *AT),
    _plain("state-show", "state", "show", *AT),
    Screen("state-show-machine", _machine),
    _plain("state-pull", "state", "pull", as_json=False),
    _plain("state-force-unlock", "state", "force-unlock", "0" * 32, *AT),
    Screen("drift", ("drift", *AT), before=_edited),
    _plain("gc", "gc", *AT),
    _plain("plan-drifted", "plan", *AT),
    _plain("recover", "recover", "-y", *AT, as_json=False),
    _plain("destroy-refused", "destroy", "-y", *AT),
    _plain("destroy", "destroy", "-y", "--ends", "6", *AT),
    _plain("state-push", "state", "push", "plan.json", *AT),
    _plain("commit-recommend", "commit", "recommend", "plan.json", *AT),
    _plain("commit-plan", "commit", "plan", "plan.json", "--out", "buy.json", *FAKE, *OLD, *AT),
    Screen("commit-apply", _approved),
    _plain("commit-list", "commit", "list", *FAKE, *AT),
    Screen("commit-cancel", _bought, as_json=False),
    _plain("commit-resolve", "commit", "resolve", *FAKE, as_json=False),
    _plain("profile-list", "profile", "list", "PROFILES"),
    _plain("profile-show", "profile", "show", "PROFILES/dd-fsync.profile.yaml"),
    _plain("profile-compare", "profile", "compare", "PROFILES/awk.profile.yaml", "PROFILES/dd-fsync.profile.yaml"),
    _plain(
        "profile-import",
        "profile",
        "import",
        "use.csv",
        "--app",
        "shop",
        "--format",
        "csv",
        "--vcpus",
        "4",
        "--memory-gib",
        "16",
    ),
    _plain("classify", "classify", "awk", *AT),
    _plain("workload-show", "workload", "show", "trace.csv", *AT),
    _plain("workload-show-bill", "workload", "show", "bill.csv", *AT),
    _plain("plan-bill", "plan", "bill.csv", *AT),
    _plain("workload-validate", "workload", "validate", "trace.csv", "small.csv", "use.csv", *AT),
    _plain("workload-convert", "workload", "convert", "small.csv", "--to", "own.csv", "--force", as_json=False),
    _plain("pricing-list", "pricing", "list", "--family", "m6i", "--region", "us-east-1", "--limit", "12", *AT),
    _plain("pricing-show", "pricing", "show", "m6i.large", "--region", "us-east-1", *AT),
    _plain("pricing-diff", "pricing", "diff", "bundled", "own-prices.csv", "--limit", "12", *AT),
    _plain("pricing-verify", "pricing", "verify", *AT),
    _plain(
        "pricing-import",
        "pricing",
        "import",
        "prices.csv",
        "--provider",
        "aws",
        "--region",
        "us-east-1",
        "--date",
        "2026-11-01",
        "--dry-run",
        *AT,
    ),
    _plain("strategy-list", "strategy", "list", *AT),
    _plain("strategy-show", "strategy", "show", "HM", *AT),
    _plain("placement-size", "placement", "size", "--busy", "0.6", "--units", "1000", *AT),
    _plain("placement-size-md", "placement", "size", "--quality", "0.8", "-o", "md", *AT, as_json=False),
)
OPERATE = tuple(f"operate {verb}" for verb in ("run", "status", "explain", "cancel", "drain", "stop", "replan"))
SLURM = tuple(f"slurm {verb}" for verb in ("config", "check", "resume", "suspend", "resume-failed"))
ELSEWHERE = {
    "reproduce": "minutes of simulation; its page is checked word by word by tests/cli/studying/test_reproduce_verb.py",
    "demo": "runs all verbs for a minute; tests/cli/test_demo_verb.py",
    "size": "needs a profile on several types; tests/cli/deciding/test_size_verb.py",
    "page": "prints HTML; tests/browser looks at it",
    "fake wait": "says nothing",
    **dict.fromkeys(SLURM, "tells of a cluster that runs; tests/slurm"),
    **dict.fromkeys(OPERATE, "runs processes, whose times are never the same; tests/cli/running/test_operate_verb.py"),
    "export karpenter": "prints objects for another program; tests/cli/deciding/test_export_verb.py",
    "fake up": "listens until it is ended; what it prints is in tests/cli/manners/test_mistakes.py",
    "profile run": "measures this machine, so that no two runs say the same; tests/cli/reporting/test_profile_verb.py",
    "workload fetch": "asks a cloud; tests/live/test_fetch_aws.py",
    "pricing refresh": "asks a provider; tests/unit/prices/test_price_refresh.py",
    "harvest plan": "needs weeks of samples; tests/cli/reporting/test_harvest_plan.py",
    "harvest types": "needs weeks of samples; tests/cli/reporting/test_harvest_verb.py",
    "harvest simulate": "needs weeks of samples; tests/cli/reporting/test_harvest_simulate.py",
    **dict.fromkeys(("harvest replicas", "harvest audit"), "needs servers; see test_harvest_replicas_verb.py"),
    "doctor": "tells this machine's versions and places; tests/cli/manners/test_doctor_verb.py",
}
"""Verbs without a screen here, and where theirs is looked at."""


WRITING = {"--out", "--journal"}
USUAL = 80
AT_ONE_WIDTH = {"pricing-verify", "pricing-diff"}
"""They walk over all prices for seconds, and have the table of all verbs."""
BY_LINE = {
    "state-pull": "the state as it is stored",
    "iam-print": "JSON",
    "decide": "a JSON line a decision",
    "workload-validate": "a line a file and one a problem, so that they can be searched",
    "plan-md": "Markdown",
    "explain-md": "Markdown",
    "diff-md": "Markdown",
    "placement-size-md": "Markdown",
}
"""Results that are not laid out for a terminal: what they say at the widths that are kept is enough."""
KEPT = (80, 120)
WIDTHS = (60, *KEPT)
ONLY_SHOWN = {"version", "plan-verbose", *BY_LINE} - {"workload-validate"}
"""Screens that print no JSON, and that no later one needs."""
NOT_AS_CSV = {
    "pricing-verify": "takes seconds, and has the table of all verbs",
    "pricing-diff": "takes a second; its own CSV is looked at by tests/cli/reporting/test_pricing_cli.py",
    **dict.fromkeys(("explain", "explain-address", "explain-job", "explain-md"), "an explanation is no table"),
}


def screens(directory: Path) -> dict[int, dict[str, Said]]:
    """All screens of each width in their order, with what was said; a verb does its work once for all widths. What
    walks over all prices is a document beside its screen, where prices were read."""
    found: dict[int, dict[str, Said]] = {width: {} for width in WIDTHS}
    documents = found[USUAL]
    with drawn_for(WIDTHS):
        for screen, words in _life(directory, documents):
            for width, told in said_for(WIDTHS, words, screen.given).items():
                found[width][screen.name] = _steady(told, directory)
            if screen.name in AT_ONE_WIDTH:
                documents[f"{screen.name}.json"] = said([*words, "--json"], screen.given)
    return found


def documents(directory: Path) -> dict[str, Said]:
    """What the screens print as documents, where they can, and those that write no file as CSV too, which end in
    ``.csv``; what is only shown is left out."""
    found: dict[str, Said] = {}
    with told_also("csv") as also:
        for screen, words in _life(directory, found, ONLY_SHOWN | AT_ONE_WIDTH):
            told = found[screen.name] = said([*words, "--json"] if screen.as_json else words, screen.given)
            as_rows = also.pop("csv", "")
            if (
                screen.as_json
                and screen.name not in NOT_AS_CSV
                and not WRITING.intersection(words)
                and "csv" in forms_of(words)
            ):
                found[f"{screen.name}.csv"] = Said(as_rows, "", told.code)
    return found


def _life(
    directory: Path, found: Mapping[str, Said], but: Collection[str] = ()
) -> Iterator[tuple[Screen, tuple[str, ...]]]:
    """Each screen with its words, when those before it have said theirs."""
    laid_out(directory)
    with standing_in(directory, USUAL):
        for screen in SCREENS:
            if screen.name not in but:
                screen.before()
                words = screen.words(found) if callable(screen.words) else screen.words
                yield screen, tuple(word.replace("PROFILES", PROFILES) for word in words)


def at_width(columns: int) -> Iterable[Screen]:
    """The screens that are made at a width: at the usual one all of them."""
    left_out = set() if columns == USUAL else AT_ONE_WIDTH if columns in KEPT else AT_ONE_WIDTH | BY_LINE.keys()
    return (screen for screen in SCREENS if screen.name not in left_out)


def _steady(told: Said, directory: Path) -> Said:
    out, err = (steady(text.replace(PROFILES, "PROFILES"), directory) for text in (told.out, told.err))
    return Said(out, err, told.code)
