"""What stands under every help: an example to copy, and at the root exit codes and environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcloud.errors import EXIT_CODES

EXAMPLES: Mapping[str, str] = {
    "demo": "hcloud demo --step",
    "plan": "hcloud plan trace.csv --provider aws --region us-east-1 --out plan.json",
    "size": "hcloud size app.yaml --provider aws --region us-east-1",
    "explain": "hcloud explain plan.json --why-not m7i.4xlarge",
    "page": "hcloud page plan.json --out plan.html",
    "diff": "hcloud diff base.json head.json -o md",
    "export karpenter": "hcloud export karpenter plan.json > nodepools.yaml",
    "policy check": "hcloud policy check plan.json --rules rules.yaml",
    "simulate": "hcloud simulate trace.csv --provider aws --strategy HM",
    "compare": "hcloud compare scenario:high-variability --picture compare.png",
    "sweep": "hcloud sweep scenario:high-variability --vary limits.hard=0.7,0.8,0.9 --strategy HF,HM",
    "decide": "hcloud decide --strategy HM --pool 4 --journal decisions.jsonl < events.ndjson",
    "operate run": "hcloud operate run jobs.csv --cloud local",
    "operate status": "hcloud operate status --watch",
    "operate explain": "hcloud operate explain --job sort-7",
    "operate replan": "hcloud operate replan --cloud aws --window 28d",
    "operate cancel": "hcloud operate cancel sort-7",
    "operate drain": "hcloud operate drain",
    "operate stop": "hcloud operate stop",
    "apply": "hcloud apply plan.json --cloud fake --yes",
    "commit recommend": "hcloud commit recommend plan.json --cloud aws",
    "commit plan": "hcloud commit plan plan.json --cloud aws --out purchase.json",
    "commit apply": "HYC_ALLOW_PURCHASE=1 hcloud commit apply purchase.json",
    "commit list": "hcloud commit list --cloud aws",
    "commit cancel": "hcloud commit cancel 7f3c0d2e-1111-4222-8333-444455556666 --cloud azure",
    "commit resolve": "hcloud commit resolve --cloud aws",
    "status": "hcloud status --cloud fake -o json",
    "drift": "hcloud drift --cloud aws --detailed-exitcode",
    "report cost": "hcloud report cost --cloud aws --month 2026-11 --by team",
    "report savings": "hcloud report savings --cloud aws --from 2026-11-01",
    "report commitments": "hcloud report commitments --cloud aws",
    "report quality": "hcloud report quality journal.jsonl",
    "report accuracy": "hcloud report accuracy --plan plan.json --month 2026-11",
    "destroy": "hcloud destroy --cloud fake --ends 12",
    "gc": "hcloud gc --cloud aws",
    "recover": "hcloud recover --cloud aws",
    "state list": "hcloud state list",
    "state show": "hcloud state show web-1",
    "state pull": "hcloud state pull > state.json",
    "state push": "hcloud state push state.json --state s3://my-bucket/hcloud",
    "state force-unlock": "hcloud state force-unlock 3f9c2a",
    "slurm config": "hcloud slurm config --type m6i.xlarge=4x16:10+64 --out /etc/slurm",
    "slurm check": "hcloud slurm check --conf /etc/slurm/slurm.conf",
    "slurm resume": "hcloud slurm resume --site /etc/slurm/hcloud-site.json 'hc-m6i-xlarge-[0-3]'",
    "slurm suspend": "hcloud slurm suspend --site /etc/slurm/hcloud-site.json hc-m6i-xlarge-0",
    "slurm resume-failed": "hcloud slurm resume-failed --site /etc/slurm/hcloud-site.json hc-m6i-xlarge-0",
    "profile run": "hcloud profile run --name sort --time-cap 3min -- sort -n big.txt",
    "profile show": "hcloud profile show sort.profile.yaml",
    "profile list": "hcloud profile list profiles",
    "profile compare": "hcloud profile compare old.profile.yaml new.profile.yaml",
    "profile import": "hcloud profile import cpu.csv --app web --format csv --vcpus 4",
    "classify": "hcloud classify sort.profile.yaml",
    "workload show": "hcloud workload show trace.csv --out demand.png",
    "workload validate": "hcloud workload validate trace.csv",
    "workload convert": "hcloud workload convert log.swf --to trace.parquet",
    "workload fetch": "hcloud workload fetch --cloud aws --since 60d --out machines.csv",
    "pricing list": "hcloud pricing list --provider aws --region us-east-1 --family m7i",
    "pricing show": "hcloud pricing show m7i.4xlarge --region us-east-1",
    "pricing diff": "hcloud pricing diff bundled instances.json",
    "pricing verify": "hcloud pricing verify",
    "pricing import": "hcloud pricing import instances.json --dry-run",
    "pricing refresh": "hcloud pricing refresh --provider azure --region eastus",
    "strategy list": "hcloud strategy list",
    "strategy show": "hcloud strategy show HM",
    "placement size": "hcloud placement size --quality 0.9 --miss 1e-3 --busy 0.6",
    "harvest plan": "hcloud harvest plan util.csv --servers servers.csv --workload batch.csv",
    "harvest simulate": "hcloud harvest simulate util.csv --jobs dags.json --system stock,aware,history",
    "harvest types": "hcloud harvest types util.csv --servers servers.csv",
    "harvest replicas": "hcloud harvest replicas --servers servers.csv --reimages reimages.csv --blocks 100000",
    "harvest audit": "hcloud harvest audit placement.jsonl --servers servers.csv",
    "reproduce": "hcloud reproduce hcloud",
    "fake up": "hcloud fake up aws",
    "fake wait": "hcloud fake wait 30d",
    "iam print": "hcloud iam print plan.json",
    "init": "hcloud init --workload trace.csv",
    "validate": "hcloud validate",
    "doctor": "hcloud doctor --cloud aws",
}
"""One line a verb, which tests parse; a verb without one fails a test."""

SHOWN = ("HYC_SECTION__KEY", "HYC_CONFIG", "HYC_STATE", "HYC_PRICES", "HYC_ALLOW_PURCHASE", "NO_COLOR", "CI")
"""The variables that the root's help names; docs/reference/configuration.md has all."""


def root_epilog() -> str:
    """Exit codes and environment, below the list of verbs."""
    return "\n\n".join(
        (
            "Exit codes:",
            *(f"{code:>5}  {text.partition(';')[0].partition(':')[0]}" for code, text in EXIT_CODES.items()),
            "",
            f"Environment: {', '.join(SHOWN)}, and what the clouds' own SDKs read (AWS_*, GOOGLE_*, AZURE_*).",
            "",
            "New here? 'hcloud demo' shows all of it in half a minute; it needs no account.",
        )
    )


def give_examples(command: Any, path: str) -> None:
    """Put a verb's example below its help, and the same for the verbs of a group."""
    if path in EXAMPLES:
        command.epilog = "\n\n".join(filter(None, (f"Example: {EXAMPLES[path]}", command.epilog)))
    for name, below in (getattr(command, "commands", None) or {}).items():
        give_examples(below, f"{path} {name}")
