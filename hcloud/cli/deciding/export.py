"""``hcloud export``: a plan in the form that other tools obey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.groups import Verb
from hcloud.cli.main import session

app = Verb("Export a plan for other tools.")


@app.command()
def karpenter(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(help="A plan file written with 'hcloud plan --out'.")],
    node_class: Annotated[str, typer.Option(help="The EC2NodeClass or AKSNodeClass of the nodes.")] = "default",
    region: Annotated[str | None, typer.Option(help="The cluster's region, if the plan has several.")] = None,
) -> None:
    """Print Karpenter's NodePools, the reserve first, and a NodeOverlay that prices the reserve at zero.

    Limits are what the plan reserves now and its peak on demand; what it buys on later days is told and left out.
    NodeOverlays need Karpenter's feature gate NodeOverlay=true.
    """
    from hcloud.store.plan_file import load_plan
    from hcloud.usecases.deciding.export_karpenter import karpenter as objects
    from hcloud.usecases.deciding.export_karpenter import left_out
    from hcloud.views.escaped import yaml_documents

    terminal = session(ctx).terminal
    stored = load_plan(plan)
    terminal.write(yaml_documents(objects(stored, node_class, region)))
    for said in left_out(stored, region):
        terminal.note(said)
    terminal.note("apply it with kubectl apply -f; NodeOverlays need Karpenter's feature gate NodeOverlay=true")
