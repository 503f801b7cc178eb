"""``apply`` cannot reach a purchase: on the call graph, and in what clouds in memory are asked by every other verb."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import grimp
import pytest
from rehearsal import CLOUDS, Rehearsal, rule

from hcloud.errors import HcloudError
from hcloud.fake.faults import FaultKind

ROOT = Path(__file__).resolve().parents[3] / "hcloud"
BUYER = "hcloud.live.buying.purchase"
MAY_BUY = {BUYER}
COMMIT = ("hcloud.cli.commitments.commit", "hcloud.usecases.commitments.", "hcloud.live.buying.")
SELLERS = ("hcloud.providers.", "hcloud.fake.")
"""Where ``buy`` is defined; inside of these it may be handed on by functions that are called ``buy`` themselves."""


@cache
def modules() -> dict[str, Path]:
    """Every module of hcloud with its file."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports() -> grimp.ImportGraph:
    """Who imports whom in hcloud, wherever in its text."""
    return grimp.build_graph("hcloud", cache_dir=None)


def leading_to(name: str) -> set[str]:
    """Every module that leads to a module."""
    return {name, *imports().find_downstream_modules(name)}


def accesses(node: ast.AST, inside: str = "") -> Iterator[str]:
    """The names of the functions in which something called ``buy`` is looked up (a call, or anything else)."""
    for child in ast.iter_child_nodes(node):
        name = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else inside
        if looks_up(child):
            yield name
        yield from accesses(child, name)


def looks_up(node: ast.AST) -> bool:
    """``x.buy``, or ``getattr(x, "buy")`` under whatever name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        told = [a.value for a in node.args if isinstance(a, ast.Constant)]
        return node.func.id in ("getattr", "methodcaller", "attrgetter") and "buy" in told
    return isinstance(node, ast.Attribute) and node.attr == "buy"


def test_only_one_module_asks_a_cloud_to_sell() -> None:
    naming = {n: path for n, path in modules().items() if "buy" in path.read_text(encoding="utf-8")}
    asking = {n for n, path in naming.items() if not n.startswith(SELLERS) and any(accesses(tree(path)))}
    assert asking == MAY_BUY


def test_inside_of_providers_and_fakes_only_buy_buys() -> None:
    for name, path in modules().items():
        if name.startswith(SELLERS) and "buy" in path.read_text(encoding="utf-8"):
            assert set(accesses(tree(path))) <= {"buy"}, name


def roots() -> list[str]:
    """Everything that a verb other than commit begins with, and every executor but those of purchases."""
    beginnings = ("hcloud.cli.", "hcloud.usecases.", "hcloud.live.", "hcloud.control.", "hcloud.sim.")
    return [n for n in modules() if n.startswith(beginnings) and not n.startswith(COMMIT)]


def test_no_other_verb_leads_to_the_module_that_buys() -> None:
    assert leading_to(BUYER) & set(roots()) == set()
    assert {"hcloud.live.applying.apply", "hcloud.cli.deciding.plan", "hcloud.usecases.deciding.plan"} <= set(roots())


def test_the_graph_sees_what_it_should() -> None:
    assert "hcloud.cli.commitments.commit" in leading_to(BUYER)
    assert "hcloud.cli.deciding.plan" in leading_to("hcloud.store.plan_file")


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("fault", [None, FaultKind.DROPPED_AFTER, FaultKind.THROTTLED, FaultKind.NO_CAPACITY])
def test_apply_plan_and_destroy_neither_buy_nor_give_back_whatever_happens(cloud: str, fault: FaultKind | None) -> None:
    r = Rehearsal(cloud)
    if fault:
        r.faults(rule("launch", fault, first=2), rule("terminate", fault, first=1))
    with suppress(HcloudError):
        r.apply(r.slot(3))
    r.plan(r.slot(5))
    with suppress(HcloudError):
        r.destroy()
    assert r.calls("launch") > 0
    assert r.calls("quote", "buy", "cancel") == 0
    assert not r.cloud.ledger.purchases


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_plan_changes_nothing(cloud: str) -> None:
    r = Rehearsal(cloud)
    r.plan(r.slot(5))
    assert not [q for q in r.cloud.ledger.requests if q.mutating]
