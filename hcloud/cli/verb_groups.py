"""The verbs by what one comes for, as the root's help shows them, and flags without the name of a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERBS: Mapping[str, str] = {
    "demo": "All of it in a minute on a cloud in memory: measure, plan, apply, a month, the report, the end",
    "plan": "How much to reserve, where and for which term, and what stays on demand",
    "size": "Which servers meet a target (requests within a tail, a deadline, a rate), and what they cost",
    "explain": "Why this plan, why not another, why so many, why a job waited, and what would change it",
    "page": "A plan as one page of HTML to read, print and send, and its pictures",
    "diff": "What changes from one plan to the next, and why; as the comment on a pull request",
    "export": "A plan in the form that other tools obey: karpenter",
    "policy": "Check a plan against your rules: check",
    "simulate": "What each strategy would have cost and done on your own trace",
    "compare": "The strategies side by side over several seeds: cost, quality, and which are Pareto-optimal",
    "sweep": "Sensitivity analysis: vary numbers of a strategy, the cloud or the prices",
    "decide": "Decide where each job of a live event stream goes, and say why",
    "operate": "Run jobs live: the policy places them, rents machines and releases them",
    "apply": "Launch and terminate machines exactly as a plan shows",
    "commit": "Commitments: what to buy and why, buy it once, list and cancel",
    "slurm": "Connect a Slurm cluster: config, check, and the programs that slurmctld calls",
    "status": "The running machines, and what they cost an hour",
    "drift": "Changes made outside hcloud",
    "report": "Costs, savings, and the utilisation of commitments",
    "destroy": "Terminate every machine of a state",
    "gc": "Find orphaned machines; with --delete terminate them",
    "recover": "Rebuild a lost or damaged state from the tags of its machines",
    "state": "The state: list, show, pull, push, force-unlock",
    "profile": "What an application needs, tolerates and causes: run, show, list, compare, import",
    "classify": "What size, type and neighbours applications need, from few measurements",
    "workload": "Traces and utilisation histories: show, validate, convert, fetch",
    "pricing": "Offers and their prices: list, show, diff, verify, import, refresh",
    "strategy": "The provisioning strategies and where each of their numbers comes from",
    "placement": "How many servers of a large pool to sample for each job: size",
    "harvest": "Use idle reserved capacity: types, plan, simulate, replicas, audit",
    "reproduce": "The published studies run again with the frozen model: what holds and what does not",
    "fake": "Fake clouds on this machine, for rehearsals: up, wait",
    "iam": "The minimal permissions for one plan: print",
    "init": "Write a commented hcloud.yaml to start from",
    "validate": "Check a configuration and everything it points to",
    "doctor": "Check this installation",
}
"""Each verb with its line of help."""

ROOMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tools": ("Tools", ("demo", "init", "validate", "doctor", "fake", "iam")),
    "deciding": ("Decide", ("plan", "size", "explain", "page", "diff", "export", "policy")),
    "studies": ("Study", ("simulate", "compare", "sweep", "strategy", "placement")),
    "harvesting": ("Study", ("harvest",)),
    "live": ("Live", ("decide", "operate", "slurm", "apply", "status", "drift", "destroy", "gc", "recover", "state")),
    "commitments": ("Commitments", ("commit",)),
    "reports": ("Reports", ("report",)),
    "measuring": ("Measure", ("profile", "classify")),
    "prices": ("Prices and workloads", ("pricing",)),
    "workloads": ("Prices and workloads", ("workload",)),
    "research": ("Research", ("reproduce",)),
}
"""The packages of this one with the title of their verbs, and the verbs; use cases and views have the same packages."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    title: tuple(verb for other, verbs in ROOMS.values() if other == title for verb in verbs)
    for title, _ in ROOMS.values()
}
"""Every verb is in one group; a test holds that."""


def module_of(verb: str) -> str:
    """The module that has a verb."""
    return next(f"hcloud.cli.{room}.{verb}" for room, (_, verbs) in ROOMS.items() if verb in verbs)


def group_of(verb: str) -> str | None:
    """The title a verb is shown under."""
    return next((title for title, verbs in GROUPS.items() if verb in verbs), None)


def name_no_type_of_flags(command: Any, ctx: Any) -> None:
    """A flag is given or not: help shows no type beside it, here and for the verbs of a group."""
    for option in (*command.params, command.get_help_option(ctx)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for below in (getattr(command, "commands", None) or {}).values():
        name_no_type_of_flags(below, ctx)
