"""``hcloud profile``: measure what an application needs, bears and causes; show, list and compare profiles."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import Printed, Told, Verb
from hcloud.cli.main import session
from hcloud.cli.measuring.profile_cloud import MeasuringFlags, measure_on_cloud
from hcloud.errors import UsageError
from hcloud.usecases.asked import moment

if TYPE_CHECKING:
    from hcloud.model.measured.app import App
    from hcloud.usecases.measuring.profile_run import ProbeRequest, ProfileRun
    from hcloud.views.console import Terminal

app = Verb("Profiles: what an application needs, tolerates and causes. Measure, show, list, compare, import.")


@app.command()
def run(
    ctx: typer.Context,
    *,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The command to measure.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="app.yaml, or a folder of them; flags override it.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The application's name (default: the program's).")] = None,
    kind: Annotated[str | None, typer.Option(help="batch (ends by itself) or service.")] = None,
    vcpus: Annotated[float | None, typer.Option(help="vCPUs of the size to measure.")] = None,
    memory_gib: Annotated[float | None, typer.Option(help="Memory of the size to measure.")] = None,
    printed: Annotated[str | None, typer.Option(help="Metric: a number it prints; regular expression.")] = None,
    url: Annotated[str | None, typer.Option(help="Metric: p99 of HTTP load on this URL.")] = None,
    load: Annotated[str | None, typer.Option(help="Metric: printed by this command, which puts load on it.")] = None,
    pattern: Annotated[str | None, typer.Option(help="Where --load prints the number; regular expression.")] = None,
    metric_name: Annotated[str, typer.Option(help="What --printed or --load count.")] = "figure",
    unit: Annotated[str, typer.Option(help="The unit of --printed or --load.")] = "units",
    better: Annotated[
        str | None,
        typer.Option(help="Which is better of --printed or --load: higher or lower (default: of times lower)."),
    ] = None,
    ready_port: Annotated[int | None, typer.Option(help="A service is ready when this port accepts.")] = None,
    ready_line: Annotated[str | None, typer.Option(help="A service is ready when it prints this.")] = None,
    warm_up: Annotated[str | None, typer.Option(help="Load before a service is measured, for example 5s.")] = None,
    time_cap: Annotated[str | None, typer.Option(help="Maximum time in all, for example 10min.")] = None,
    run_cap: Annotated[str | None, typer.Option(help="Maximum time for one run.")] = None,
    budget: Annotated[float | None, typer.Option(help="Maximum dollars, at --price.")] = None,
    price: Annotated[float | None, typer.Option(help="Dollars an hour of this machine.")] = None,
    resources: Annotated[list[str] | None, typer.Option(help="Only these, for example membw,llc; or none.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the order of the resources.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="The profile's file (default: NAME.profile.yaml), or a folder.")
    ] = None,
    there: MeasuringFlags,
    shown: Told,
) -> None:
    """Measure an application on this machine: its speed by shape, and by resource the pressure it tolerates and causes.

    No process survives the run, however it ends. Ctrl-C (exit 130) or SIGTERM (143) keeps the measurements so far.
    With --cloud it is measured on a machine that is launched for it and ended in any case; Ctrl-C ends that and keeps
    nothing.
    """
    from hcloud.readers.applications.app import load_app, usually_better
    from hcloud.usecases.measuring.profile_run import ProbeRequest, app_files, resources_named, targets_of
    from hcloud.views.measuring import documents
    from hcloud.views.measuring import profile as view

    chosen = resources_named(resources or [])
    budgeted = {k: v for k, v in (("dollars", budget), ("dollars_per_hour", price)) if v is not None}
    shape = {k: v for k, v in (("vcpus", vcpus), ("memory_gib", memory_gib)) if v is not None}
    ready = {k: v for k, v in (("port", ready_port), ("line", ready_line)) if v is not None}
    stated = {"printed": printed, "url": url, "load": shlex.split(load) if load else None, "pattern": pattern}
    metric: dict[str, object] = {k: v for k, v in stated.items() if v is not None}
    if metric and url is None:
        metric |= {"name": metric_name, "unit": unit, "better": better or usually_better(unit)}
    words: dict[str, object] = {
        "command": list(command or []),
        "name": name,
        "kind": kind,
        "shape": shape,
        "metric": metric,
    }
    words |= {"ready": ready, "warm_up": warm_up, "time_cap": time_cap, "run_cap": run_cap, "budget": budgeted}
    if file is None and not command:
        raise UsageError("nothing to measure", hint="hcloud profile run -- COMMAND..., or -f app.yaml")
    if there.cloud is None and there != MeasuringFlags():
        raise UsageError("--instance-type, --max-dollars, --config and --yes go with --cloud")
    overriding = {k: v for k, v in words.items() if v}
    described = [load_app(path, overriding) for path in (app_files(file) if file else (None,))]
    targets = targets_of(described, out)
    terminal, probing = session(ctx).terminal, ProbeRequest(chosen, seed)
    errands = zip(described, targets, strict=True)
    if there.cloud is not None:
        outcomes = measure_on_cloud(session(ctx), there, errands, probing)
    else:
        outcomes = _measure_here(terminal, errands, probing, alone=len(described) == 1)
    for outcome in outcomes:
        if shown.is_document:
            terminal.write_json(documents.ProfileDocument.of(outcome.profile, moment(None)))
        else:
            view.show_profile(outcome.profile, terminal)
        terminal.note(f"profile written to {outcome.path}")
        if outcome.interrupted:
            raise typer.Exit(128 + outcome.interrupted)


def _measure_here(
    terminal: Terminal, errands: Iterable[tuple[App, Path]], probing: ProbeRequest, *, alone: bool
) -> Iterator[ProfileRun]:
    """Measure one after the other on this machine."""
    from hcloud.usecases.measuring.profile_run import busy_warning, look_at_machine, run_profile, short_time

    wanted = list(errands)
    if busy := busy_warning():
        terminal.warn(busy)
        probing = replace(probing, busy=busy)
    if not alone:
        with terminal.progress("looking at this machine", 1.0) as advance:
            look_at_machine(probing, [one for one, _ in wanted], advance)
    for one, target in wanted:
        if told := short_time(one, probing):
            terminal.note(told)
        with terminal.progress(f"measuring {one.name}", 1.0) as advance:
            outcome = run_profile(one, probing, target, advance)
        yield outcome


@app.command()
def show(
    ctx: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(help="A profile, or the name of an application.")],
    shown: Printed,
) -> None:
    """Show a profile: pressure tolerated and caused by resource, and speed by size."""
    from hcloud.usecases.measuring.profile_names import named_profile
    from hcloud.views.measuring import documents
    from hcloud.views.measuring import profile as view

    shown.tell_result(session(ctx).terminal, named_profile(file), documents.ProfileDocument.of, view.show_profile)


@app.command("list")
def list_(
    ctx: typer.Context,
    *,
    folder: Annotated[Path, typer.Argument(help="A folder of profiles.")] = Path(),
    shown: Printed,
) -> None:
    """List the profiles of a folder."""
    from hcloud.readers.applications.profiles import load_corpus
    from hcloud.views.measuring import documents
    from hcloud.views.measuring import profile as view

    shown.tell_result(session(ctx).terminal, load_corpus(folder), documents.ProfilesDocument.of, view.show_list)


@app.command()
def compare(
    ctx: typer.Context,
    *,
    left: Annotated[Path, typer.Argument(help="A profile, or the name of an application.")],
    right: Annotated[Path, typer.Argument(help="Another one.")],
    shown: Printed,
) -> None:
    """Compare two profiles number by number, and show where they differ."""
    from hcloud.usecases.measuring.profile_files import compare_profiles
    from hcloud.views.measuring import documents
    from hcloud.views.measuring import profile as view

    found, terminal = compare_profiles(left, right), session(ctx).terminal
    shown.tell_result(terminal, found, documents.ProfileComparisonDocument.of, view.show_comparison)


@app.command("import")
def import_(
    ctx: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(help="Recorded CPU and memory use.")],
    name: Annotated[str, typer.Option("--app", help="The application's name.")],
    format_: Annotated[str, typer.Option("--format", help="csv, json, prometheus or cloudwatch.")],
    kind: Annotated[str, typer.Option(help="batch or service.")] = "service",
    vcpus: Annotated[float | None, typer.Option(min=0.01, help="vCPUs that are 100% CPU.")] = None,
    memory_gib: Annotated[float | None, typer.Option(min=0.01, help="GiB that are 100% memory.")] = None,
    out: Annotated[Path | None, typer.Option(help="The profile's file, else NAME.profile.yaml.")] = None,
    shown: Printed,
) -> None:
    """Make a profile from recorded use: the size that fits it, marked as imported; no scores."""
    from hcloud.model.workload import JobKind
    from hcloud.readers.applications.utilisation import UtilisationBase
    from hcloud.usecases.measuring.profile_files import import_profile
    from hcloud.usecases.measuring.profile_run import check_name, file_name
    from hcloud.views.measuring import documents
    from hcloud.views.measuring import profile as view

    if kind.upper() not in JobKind.__members__:
        raise UsageError(f"--kind {kind}: is no kind of application", hint="batch or service")
    check_name(name)
    target = out or Path(file_name(name))
    found = import_profile(
        (file, format_), UtilisationBase(vcpus, memory_gib), (name.strip(), JobKind[kind.upper()]), target
    )
    terminal = session(ctx).terminal
    shown.tell_result(terminal, found, documents.ProfileDocument.of, view.show_profile)
    terminal.note(f"profile written to {target}")
