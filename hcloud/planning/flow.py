"""Network simplex on a chain of hours with commitment arcs: plain functions on arrays, compiled by ``compiled.py``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNBLOCKED = 1 << 60  # larger than any flow: total demand is far below it
NO_ARC = -1


class Chain(NamedTuple):
    """A commitment problem as a flow on nodes 0..n, node t standing before element t.

    ``demand[t]`` units are wanted in element t; renting one there costs ``rent[t]``; commitment arc a covers the
    elements ``tail[a] <= t < head[a]`` with one unit for ``cost[a]``. All costs are scaled to integers.
    """

    demand: Ints
    rent: Ints
    tail: Ints
    head: Ints
    cost: Ints


class Pool(NamedTuple):
    """Hourly demand in units, the scaled price of a rented unit-hour, per kind its term in hours and scaled cost."""

    demand: Ints
    rent: int
    terms: Ints
    costs: Ints


class Tree(NamedTuple):
    """A spanning tree rooted at node 0: links between nodes, and per node the arc to its parent with its flow."""

    parent: Ints
    child: Ints
    after: Ints
    before: Ints
    depth: Ints
    arc: Ints
    rises: Flags  # the arc leads from the node to its parent
    flow: Ints
    potential: Ints


class Arcs(NamedTuple):
    """Rent arcs t -> t+1 (0..n-1), surplus arcs t+1 -> t at no cost (n..2n-1), then the commitment arcs."""

    tail: Ints
    head: Ints
    cost: Ints


def all_arcs(chain: Chain) -> Arcs:
    """Every arc of the flow: rent, surplus and commitment."""
    n = len(chain.demand)
    here = np.arange(n)
    return Arcs(
        np.concatenate((here, here + 1, chain.tail)),
        np.concatenate((here + 1, here, chain.head)),
        np.concatenate((chain.rent, np.zeros(n, np.int64), chain.cost)),
    )


def attach(tree: Tree, node: int, parent: int) -> None:
    """Make ``node`` the first child of ``parent``."""
    first = tree.child[parent]
    tree.parent[node] = parent
    tree.after[node] = first
    tree.before[node] = -1
    if first >= 0:
        tree.before[first] = node
    tree.child[parent] = node


def detach(tree: Tree, node: int) -> None:
    """Take ``node`` out of its parent's list of children."""
    left, right = tree.before[node], tree.after[node]
    if left >= 0:
        tree.after[left] = right
    else:
        tree.child[tree.parent[node]] = right
    if right >= 0:
        tree.before[right] = left


def rent_everything(chain: Chain) -> Tree:
    """The tree that rents all demand: the path over all hours.

    Hours without demand use the surplus arc, which points at the root: every arc without flow points at the root
    (a strongly feasible tree), which is what keeps the simplex from cycling.
    """
    n = len(chain.demand)
    tree = Tree(
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.zeros(n + 1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.zeros(n + 1, np.bool_),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
    )
    for t in range(n):
        attach(tree, t + 1, t)
        tree.depth[t + 1] = t + 1
        idle = chain.demand[t] == 0
        tree.rises[t + 1] = idle
        tree.arc[t + 1] = n + t if idle else t
        tree.flow[t + 1] = chain.demand[t]
        tree.potential[t + 1] = tree.potential[t] + (0 if idle else chain.rent[t])
    return tree


def entering_arc(arcs: Arcs, potential: Ints, start: int, block: int) -> tuple[int, int, int]:
    """The most violated arc of the next block that has one, its reduced cost, and where to look next time.

    Answers ``NO_ARC`` when no arc is violated: the tree is optimal.
    """
    count = len(arcs.cost)
    best, found = 0, NO_ARC
    e, left = start, block
    for _ in range(count):
        reduced = arcs.cost[e] + potential[arcs.tail[e]] - potential[arcs.head[e]]
        if reduced < best:
            best, found = reduced, e
        e += 1
        if e == count:
            e = 0
        left -= 1
        if left == 0:
            if found >= 0:
                break
            left = block
    return found, best, e


def leaving_node(tree: Tree, tail: int, head: int) -> tuple[int, int, int, bool]:
    """Where the cycle closes, the node whose parent arc leaves, the flow it allows, and whether it is on the head side.

    Of several blocking arcs the last one seen from the top along the entering arc leaves; that keeps the tree
    strongly feasible (Cunningham 1976). A node of -1 says that nothing blocks: a cycle of negative cost.
    """
    u, v = tail, head
    room_u, room_v = UNBLOCKED, UNBLOCKED
    leave_u, leave_v = -1, -1
    while u != v:
        if tree.depth[u] >= tree.depth[v]:
            if tree.rises[u] and tree.flow[u] < room_u:
                room_u, leave_u = tree.flow[u], u
            u = tree.parent[u]
        else:
            if not tree.rises[v] and tree.flow[v] <= room_v:
                room_v, leave_v = tree.flow[v], v
            v = tree.parent[v]
    if leave_v >= 0 and room_v <= room_u:
        return u, leave_v, room_v, True
    return u, leave_u, room_u, False


def push(tree: Tree, start: int, apex: int, amount: int) -> None:
    """Send ``amount`` more units up the tree from ``start`` to ``apex`` (negative: down)."""
    x = start
    while x != apex:
        tree.flow[x] += amount if tree.rises[x] else -amount
        x = tree.parent[x]


def hang(tree: Tree, top: int, lead: int, below: int, link: tuple[int, bool, int]) -> None:
    """Cut the branch at ``top``, hang it by its node ``lead`` below ``below``; ``link`` is arc, direction and flow."""
    arc, rises, flow = link
    x, parent = lead, below
    while True:
        old_parent, old_arc, old_rises, old_flow = tree.parent[x], tree.arc[x], tree.rises[x], tree.flow[x]
        detach(tree, x)
        attach(tree, x, parent)
        tree.arc[x], tree.rises[x], tree.flow[x] = arc, rises, flow
        if x == top:
            return
        x, parent = old_parent, x
        arc, rises, flow = old_arc, not old_rises, old_flow


def refresh(tree: Tree, lead: int, change: int) -> None:
    """Add ``change`` to the potential of every node of the branch under ``lead``, and set the depths anew."""
    x = lead
    while True:
        tree.depth[x] = tree.depth[tree.parent[x]] + 1
        tree.potential[x] += change
        following = tree.child[x]
        while following < 0:
            if x == lead:
                return
            following = tree.after[x]
            x = tree.parent[x]
        x = following


def pivot_until_optimal(tree: Tree, arcs: Arcs, block: int) -> bool:
    """Network simplex; False when a cycle of negative cost makes the problem unbounded."""
    start = 0
    while True:
        arc, reduced, start = entering_arc(arcs, tree.potential, start, block)
        if arc < 0:
            return True
        tail, head = arcs.tail[arc], arcs.head[arc]
        apex, top, amount, on_head_side = leaving_node(tree, tail, head)
        if top < 0:
            return False
        if amount > 0:
            push(tree, tail, apex, -amount)
            push(tree, head, apex, amount)
        if on_head_side:
            hang(tree, top, head, tail, (arc, False, amount))
            refresh(tree, head, reduced)
        else:
            hang(tree, top, tail, head, (arc, True, amount))
            refresh(tree, tail, -reduced)


def solve_chain(chain: Chain, block: int) -> tuple[bool, Ints, Ints]:
    """Whether an optimum exists, the units bought on each commitment arc, and the node potentials (scaled prices)."""
    n = len(chain.demand)
    tree = rent_everything(chain)
    solved = pivot_until_optimal(tree, all_arcs(chain), block)
    bought = np.zeros(len(chain.cost), np.int64)
    for x in range(1, n + 1):
        if tree.arc[x] >= 2 * n:
            bought[tree.arc[x] - 2 * n] = tree.flow[x]
    return solved, bought, tree.potential


def solve_pool(pool: Pool) -> tuple[Ints, Ints]:
    """Units bought per kind and hour, and the potentials whose differences are the scaled hour prices."""
    hours, kinds = len(pool.demand), len(pool.terms)
    starts = np.arange(hours)
    tail, head = np.empty(hours * kinds, np.int64), np.empty(hours * kinds, np.int64)
    cost = np.empty(hours * kinds, np.int64)
    for k in range(kinds):
        tail[k * hours : (k + 1) * hours] = starts
        head[k * hours : (k + 1) * hours] = np.minimum(starts + pool.terms[k], hours)
        cost[k * hours : (k + 1) * hours] = pool.costs[k]
    chain = Chain(pool.demand, np.full(hours, pool.rent, np.int64), tail, head, cost)
    _, bought, potential = solve_chain(chain, 50)
    ledger = bought.reshape((kinds, hours))
    while start_earlier(pool, ledger):
        pass
    return ledger, potential


def start_earlier(pool: Pool, ledger: Ints) -> bool:
    """Move each purchase ahead while the hour it gives up has units to spare; whether any moved.

    From the last hour to the first, so that one purchase can make room for the one before it.
    """
    hours = len(pool.demand)
    spare = surplus(pool, ledger)
    moved = False
    for k in range(len(pool.terms)):
        for start in range(hours - 1, 0, -1):
            last = start + pool.terms[k] - 1
            count = ledger[k, start]
            if last < hours and count > 0:
                count = min(count, max(spare[last], 0))
                spare[last] -= count
            if count > 0:
                ledger[k, start] -= count
                ledger[k, start - 1] += count
                spare[start - 1] += count
                moved = True
    return moved


def surplus(pool: Pool, ledger: Ints) -> Ints:
    """Units reserved beyond demand in each hour; negative where units are rented."""
    hours = len(pool.demand)
    change = np.zeros(hours + 1, np.int64)
    for k in range(len(pool.terms)):
        for start in range(hours):
            change[start] += ledger[k, start]
            change[min(start + pool.terms[k], hours)] -= ledger[k, start]
    return np.cumsum(change)[:hours] - pool.demand
