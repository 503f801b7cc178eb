"""Flags that several verbs have, each told once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

JobTrace = Annotated[
    str | None, typer.Argument(help="A job trace, - (stdin), scenario:NAME, or a plan: its own fleet.")
]
Strategies = Annotated[
    list[str] | None, typer.Option("--strategy", "-s", help="SR, OdF, OdM, HF, HM, HC (all of these: all), a file.")
]
Placements = Annotated[
    list[str] | None,
    typer.Option(
        "--placement", help="Which server of a pool: greedy, least-loaded, power-of-two, tarcil ... (all: all)."
    ),
]
Sizings = Annotated[
    list[str] | None,
    typer.Option("--sizing", help="Size of jobs: requested, profiled, target (all: all three)."),
]
Admissions = Annotated[
    list[str] | None,
    typer.Option("--admission", help="How jobs wait for the reserve: arrival-order, multi-class (both: all), a file."),
]
Watchings = Annotated[
    list[str] | None,
    typer.Option(
        "--watching", help="Running jobs: off, reactive, sampled, adjust-to-target, autoscale (all: all), a file."
    ),
]
Audit = Annotated[bool, typer.Option("--audit", help="Rank each chosen server among all that had room (slower).")]


Interference = Annotated[
    Literal["on", "off"], typer.Option(help="Whether jobs on one server slow each other down; off is also faster.")
]
Configuration = Annotated[
    Path | None, typer.Option("--file", "-f", "-c", help="Configuration file (default: ./hcloud.yaml).")
]
TraceFormat = Annotated[
    str | None,
    typer.Option("--format", help="Format of the trace (default: detected); see hcloud workload --help."),
]
TraceKeys = Annotated[
    list[str] | None, typer.Option("--set", help="Option of the trace's reader, KEY=VALUE; may be repeated.")
]
TraceColumns = Annotated[
    str | None,
    typer.Option("--columns", help="Map column names: submit=start_time,end=end_time,cores=vcpus."),
]
TraceDecimal = Annotated[
    str | None,
    typer.Option("--decimal", help="Decimal separator of the table (default: . where the table leaves no doubt)."),
]
TraceWindow = Annotated[
    str | None,
    typer.Option("--window", help="The part that counts: START..END in seconds or ISO times, or 14d."),
]
OneProvider = Annotated[str | None, typer.Option(help="aws, gcp or azure (default: the study's own cloud).")]
OneMarket = Annotated[str | None, typer.Option(help="aws, gcp or azure (default: from hcloud.yaml, then aws).")]
OneRegion = Annotated[str | None, typer.Option(help="The region for prices.")]
Families = Annotated[
    list[str] | None,
    typer.Option(help="Family pattern or instance type, for example m5, 'm6*' or m5.xlarge; may be repeated."),
]
LargeVcpus = Annotated[int | None, typer.Option(min=1, max=1024, help="vCPUs of the large (reserved) type.")]
CloudModel = Annotated[
    str | None, typer.Option("--cloud-model", help="Model of the cloud: paper, measured-aws, -gcp, -azure, a file.")
]
Pool = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, help="Number of reserved servers (default: each strategy's own rule)."),
]
PriceRatio = Annotated[
    float | None, typer.Option(help="On-demand price divided by reserved price (default: from the price book).")
]
Unprofiled = Annotated[bool, typer.Option("--unprofiled", help="Use the users' requests instead of profiles.")]
DropUnplaceable = Annotated[
    bool, typer.Option("--drop-unplaceable", help="Leave out jobs that fit no type, and say how many.")
]
FirstSeed = Annotated[int | None, typer.Option(min=0, help="The first seed, of scenario and simulation.")]
Picture = Annotated[Path | None, typer.Option(help="Also draw to FILE.png, .svg or .html.")]
Corpus = Annotated[str, typer.Option(help="Applications seen before: a folder or a .json or .npz file.")]
HarvestKeys = Annotated[
    list[str] | None,
    typer.Option("--harvest-set", metavar="KEY=VALUE", help="How the use of services is read, as --set for traces."),
]
HarvestPolicyFile = Annotated[
    Path | None, typer.Option(help="How batch uses idle hours: your own file instead of policies/harvest.yaml.")
]
Profiles = Annotated[Path | None, typer.Option("--profiles", help="Folder of profiles of the trace's applications.")]
OUTPUT = typer.Option("--output", "-o", help="What to print.")
AsJson = Annotated[bool, typer.Option("--json", help="Short for -o json.")]
CloudState = Annotated[
    str | None, typer.Option("--state", help="A directory, s3://, gs:// or Azure's https://: the state.")
]
WhichCloud = Annotated[
    str | None, typer.Option("--cloud", help="aws, gcp, azure, local; to rehearse fake, fake:aws or fake:FAULTS.yaml.")
]


Divisible = Annotated[
    Literal["all", "services", "none"] | None,
    typer.Option(help="Jobs that may run on several machines: all, services, none."),
]
Now = Annotated[str | None, typer.Option(help="Use this as the current time (ISO 8601), for reproducible output.")]


def reader_keys(keys: list[str] | None, columns: str | None, decimal: str | None = None) -> tuple[str, ...]:
    """The keys of a trace's reader, with what its columns are called and how its numbers are written."""
    said = {"columns": columns, "decimal": decimal}
    return (*(keys or ()), *(f"{key}={value}" for key, value in said.items() if value is not None))
