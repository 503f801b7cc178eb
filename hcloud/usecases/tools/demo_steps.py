"""The steps of ``hcloud demo``: what each is for, its command line, and which lines of its screen matter most."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.model.rehearsal import DemoStep
from hcloud.store.files.crash import KILLED_EXIT
from hcloud.store.files.crash import VARIABLE as CRASH_AT
from hcloud.usecases.tools.demo_files import FAMILY, PROGRAM

PLAN, PURCHASE = "plan.json", "buy.json"
MEASURING_SECONDS = 18  # ours
ABSTAINED = 9


def measuring() -> DemoStep:
    """Measure the bundled program on this machine."""
    name = f"{PROGRAM}.profile.yaml"
    words = ("profile", "run", "--name", PROGRAM, "--resources", "memcap", "--time-cap", f"{MEASURING_SECONDS}s")
    return DemoStep(
        "Measure",
        "Jobs ask for more than they need. A small program is run alone and beside a stressor on this machine, to see "
        "how fast it is by shape and how much pressure on a shared resource (here memory capacity) it bears.",
        (*words, "--out", f"profiles/{name}", "--", "python3", f"{PROGRAM}.py"),
        (r"^nightly", r"^memcap", r"^\d+c", "^error"),
        (0, 1, 64),
        MEASURING_SECONDS + 2.0,
    )


def looking(app: str) -> DemoStep:
    """Look at a profile that was measured elsewhere."""
    return DemoStep(
        "Look at a profile",
        "Jobs ask for more than they need. 'hcloud profile run' measures a program for minutes: how fast it is by "
        "shape, how much pressure on each shared resource it bears, and how much it causes (100 and 0 are best).",
        ("profile", "show", f"profiles/{app}.profile.yaml"),
        (r"0 to 100", "^(llc|memcap|tlb|network|disk) ", r"^shape|^\d+c"),
    )


def steps(app: str) -> Sequence[DemoStep]:
    """Everything after the measurement; ``app`` has the profile."""
    return (
        _classify(app),
        DemoStep(
            "Look at the trace",
            "One day of a small company: web servers that follow the day, imports every hour, reports in the night. "
            "Your own trace is a CSV like this one (id, submit, duration, cores, memory, kind, app).",
            ("workload", "show", "trace.csv"),
            (r"trace\.csv", "vCPU", "▁|▂|▃|▄"),
        ),
        DemoStep(
            "Plan",
            "How much to reserve and how much to rent, from published prices that are bundled (their age is told). The "
            "plan stands between all on demand and a lower bound that no plan can undercut, and is proven.",
            ("plan", "--out", PLAN),
            (
                r"^all on demand \$",
                r"^mix|^m7i|^total",
                r"^alternatives|^reserved for|^all on|^this plan|^lower",
                "proven",
                "oldest",
            ),
        ),
        DemoStep(
            "Make a page of it",
            "The plan as one HTML file that loads nothing, with its pictures: to read, print and send to who decides.",
            ("page", PLAN, "--out", "plan.html"),
            ("written",),
        ),
        DemoStep(
            "Ask why",
            "Why this, how far from the next best, what if demand falls, and what would turn it round. Every option "
            "that was refused is kept with its margin: --why-not asks for one.",
            ("explain", PLAN),
            (".",),
        ),
        DemoStep(
            "Simulate",
            "Dollars are half of it: jobs queue, neighbours disturb, starting takes time. The day is run under a "
            "hybrid strategy (HM) and all on demand (OdF), with the decision code that also runs live.",
            ("simulate", "trace.csv", "--provider", "aws", "--family", FAMILY, "--strategy", "HM", "--strategy", "OdF"),
            ("^capacity", "kept 95%", "^p95 wait", "^dollars", "^52 weeks"),
            seconds=4.0,
        ),
        *_buying(),
        *_living(),
    )


def _classify(app: str) -> DemoStep:
    return DemoStep(
        "Classify",
        "What was not measured is predicted by what the programs measured before had in common with this one, with "
        "intervals; where too little is known it says so (exit 9) and names the next best measurement.",
        ("classify", app, "--profiles", "profiles", "--aspect", "tolerated", "--aspect", "caused"),
        ("^resource", "measured|predicted", "quality it needs", "too little"),
        (0, ABSTAINED),
    )


def _buying() -> Sequence[DemoStep]:
    return (
        DemoStep(
            "Ask what the commitment costs now",
            "Commitments bind for a year, so they are bought apart from everything else: first the cloud is asked what "
            "is held already and what the rest costs, and a purchase plan is written.",
            ("commit", "plan", PLAN, "--out", PURCHASE),
            (r"^purchase|^m7i|^total", "amount"),
        ),
        DemoStep(
            "Buy it, once",
            "Five gates: enabled in the file, HYC_ALLOW_PURCHASE=1, a purchase plan that works once, its digest, and "
            "the amount said on purpose. A purchase whose answer is lost is looked up, never repeated.",
            ("commit", "apply", PURCHASE, "--approve-commit", "{digest}", "--amount", "{amount}"),
            ("bought", "m7i"),
            environment={"HYC_ALLOW_PURCHASE": "1"},
        ),
    )


def _living() -> Sequence[DemoStep]:
    return (
        DemoStep(
            "Apply, and be killed",
            "The machines of the plan are launched, and the process is killed on purpose (as kill -9 would) after the "
            "cloud has answered the first order and before that is noted.",
            ("apply", PLAN, "--yes"),
            (r"^\+", "machines to launch"),
            (KILLED_EXIT,),
            environment={CRASH_AT: "launch.answered"},
        ),
        DemoStep(
            "Take it up again",
            "Every order was noted on the disk before it was sent, with a key that makes the cloud answer it once. So "
            "the next run finds what stands, adopts it, and launches only what is missing.",
            ("apply", PLAN, "--resume", "--yes"),
            ("^[+~] ", "adopt|finish", "machines to launch", "converged"),
        ),
        DemoStep(
            "Let a month pass",
            "The clock of the fake cloud is put forward by 30 days; running machines are charged.",
            ("fake", "wait", "30d"),
            ("later",),
        ),
        DemoStep(
            "Report",
            "Did it pay? Four costs apart (list, contracted, effective, billed), what the commitment saved, and what "
            "the same use would have cost otherwise, all by the one price formula. The plan counts {reserved} reserved "
            "plus the mean of what is rented; apply keeps {machines} machines around the clock: so the report's "
            "dollars are not the plan's.",
            ("report", "savings", "--from", "{day}"),
            ("effective savings", "saved by commit", "unused", "same use", "as reported|all on|all res"),
        ),
        DemoStep(
            "Hold the prediction against it",
            "What the plan predicted beside what happened, with the error and what it came from. (This fake month "
            "has the same machines all the time, where the plan reckoned with a demand that comes and goes.)",
            ("report", "accuracy", "--plan", PLAN),
            (r"predicted", "cost of the mix", "coverage", "less than|more than", r"actual "),
        ),
        DemoStep(
            "Report for machines",
            "Every screen is a document too (-o json, csv, md, html), and costs a FOCUS file. This one is held against "
            "the fake cloud's own bill at the end.",
            ("report", "cost", "--from", "{day}", "-o", "json"),
            ('^    "(start|end|list|contracted|effective|billed)"',),
        ),
        DemoStep(
            "End everything",
            "State the number of machines. Machines of others are never touched.",
            ("destroy", "--yes", "--ends", "{machines}"),
            ("^- ", "to end", "converged"),
        ),
        DemoStep(
            "Look for leftovers",
            "Orphaned machines, as the cloud lists them.",
            ("gc",),
            ("nothing|machine",),
        ),
    )
