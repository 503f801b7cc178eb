"""``hcloud slurm``: a Slurm cluster whose jobs and nodes hcloud steers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import CloudFlags, Printed, Verb
from hcloud.cli.main import call_program, session
from hcloud.usecases.asked import moment

if TYPE_CHECKING:
    from hcloud.providers.slurm.site import NodeGroup

app = Verb("Connect a Slurm cluster: its configuration, a check, and the programs that slurmctld calls.")
Nodes = Annotated[list[str], typer.Argument(help="Nodes in slurmctld's notation: hc-small-[0-3].")]
SiteFile = Annotated[Path, typer.Option("--site", help="hcloud-site.json next to slurm.conf.")]
Conf = Annotated[Path | None, typer.Option("--conf", help="slurm.conf; default: SLURM_CONF, or /etc/slurm/slurm.conf.")]


@app.command("config")
def config_(
    ctx: typer.Context,
    *,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="NAME=VCPUSxGIB:RESERVED+ON_DEMAND, as m6i.xlarge=4x16:10+64; repeatable."),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="The types and the reserve of a plan; with --cloud.")] = None,
    partition: Annotated[str, typer.Option(help="The partition that hcloud schedules.")] = "hc",
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where job starts are recorded; slurmctld's user writes there. Default: /var/lib/hcloud/slurm."
        ),
    ] = None,
    store: Annotated[
        str, typer.Option(help="Where machines read munge's key: aws:PREFIX, gcp:PREFIX or azure:VAULT.")
    ] = "",
    keep_order: Annotated[
        bool,
        typer.Option(
            "--keep-order", help="Let jobs wait with a far begin time, so that slurmctld computes their priority."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The folder of slurm.conf (default: print hcloud.conf).")] = None,
    where: CloudFlags,
) -> None:
    """Print what to add to slurm.conf, or write it with --out: nodes, partition, settings and the programs."""
    from hcloud.providers.slurm.config import INCLUDE
    from hcloud.providers.slurm.joining import needs
    from hcloud.usecases.live.slurm import CONF, FOLDER, SiteChoice, check_accepted, conf_of, write_files

    place = (out or conf_of(None).parent).absolute()
    planned = _planned(where, plan) if plan is not None else ()
    said = tuple(types or ()), where.cloud, partition, folder or FOLDER, store, planned
    choice = SiteChoice(*said, keeps_order=keep_order)
    site, terminal = choice.site(), session(ctx).terminal
    check_accepted(site, place)
    if left := choice.left_out():
        terminal.note(left)
    if out is None:
        from hcloud.providers.slurm.config import conf
        from hcloud.views.escaped import settings_document

        terminal.write(settings_document(conf(site, str(place))))
        terminal.note("this is hcloud.conf; --out writes it and the programs it names")
        return
    written = write_files(site, place)
    for path in written:
        terminal.note(f"written: {path}")
    if place / CONF.name not in written:
        terminal.note(f"next: add to the end of {place}/slurm.conf:  {INCLUDE}")
    terminal.note("then: restart slurmctld, and hcloud slurm check")
    for need in needs(site.store, "of slurmctld's version") if site.store else ():
        terminal.note(need)


def _planned(where: CloudFlags, plan: Path) -> tuple[NodeGroup, ...]:
    from hcloud.usecases.live.operating.setup import Policy, setup_for
    from hcloud.usecases.live.slurm import groups_of

    with where.opened(moment(None)) as here:
        return groups_of(setup_for(here, Policy(plan=plan)))


@app.command("check")
def check_(
    ctx: typer.Context,
    *,
    conf: Conf = None,
    offline: Annotated[bool, typer.Option("--offline", help="Read slurm.conf only; do not ask slurmctld.")] = False,
    shown: Printed,
) -> None:
    """Check a cluster for hcloud; prints missing lines of slurm.conf. Exit 1 for errors."""
    from hcloud.usecases.live.slurm import checks, conf_of
    from hcloud.views.tools.documents import ChecksDocument
    from hcloud.views.tools.setup import show_checks

    found = checks(conf_of(conf).absolute(), offline=offline)
    shown.tell_result(session(ctx).terminal, found, ChecksDocument.of, show_checks)
    if any(result.status == "error" for result in found):
        raise typer.Exit(1)


@app.command()
def resume(ctx: typer.Context, nodes: Nodes, site: SiteFile) -> None:
    """ResumeProgram: slurmctld calls it to start nodes."""
    _called(ctx, "resume", site, nodes)


@app.command()
def suspend(ctx: typer.Context, nodes: Nodes, site: SiteFile) -> None:
    """SuspendProgram: slurmctld calls it to stop nodes."""
    _called(ctx, "suspend", site, nodes)


@app.command("resume-failed")
def resume_failed(ctx: typer.Context, nodes: Nodes, site: SiteFile) -> None:
    """ResumeFailProgram: slurmctld calls it for nodes that did not start in time."""
    _called(ctx, "resume-failed", site, nodes)


def _called(ctx: typer.Context, verb: str, site: Path, nodes: list[str]) -> None:
    call_program(session(ctx), verb, site, nodes)
