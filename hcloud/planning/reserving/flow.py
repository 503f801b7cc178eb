"""Network simplex on a chain of hours with commitment arcs: plain functions on arrays, compiled by ``compiled.py``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNBLOCKED = 1 << 60  # larger than any flow: total demand is far below it
NO_ARC = -1


class FlowGrid(NamedTuple):
    """A pool in steps: interval a holds the elements ``first[a] <= e < first[a + 1]``, each ``length[e]`` hours long.

    An element wants ``demand[e]`` units in each of its hours, at ``rent`` per unit-hour. A commitment of kind k starts
    where an interval starts, covers ``spans[k]`` intervals and costs ``costs[k]``. All costs are scaled to integers.
    """

    demand: Ints
    length: Ints
    first: Ints
    spans: Ints
    costs: Ints
    rent: int


class FlowOptimum(NamedTuple):
    """An optimum of a grid, or a place to start from.

    Units bought per kind and interval, units held per interval, the potential at the start of each interval, and the
    final tree: the commitments in it (kind * intervals + interval) and the elements whose path arcs are not.
    """

    ledger: Ints
    held: Ints
    potential: Ints
    basic: Flags
    tight: Flags


class Chain(NamedTuple):
    """The elements inside a band as a path of nodes 0..n, element i between nodes i and i+1.

    ``gap[i]`` is its demand beyond what is held at the start, ``source[i]`` the element it is in the grid.
    """

    gap: Ints
    rent: Ints
    source: Ints


class Arcs(NamedTuple):
    """Rent arcs i -> i+1 (0..n-1), surplus arcs i+1 -> i at no cost (n..2n-1), then the commitment arcs.

    ``origin`` is kind * intervals + interval of each commitment arc.
    """

    tail: Ints
    head: Ints
    cost: Ints
    origin: Ints


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


def bare_tree(nodes: int) -> Tree:
    """Nodes without links."""
    return Tree(
        np.full(nodes, -1, np.int64),
        np.full(nodes, -1, np.int64),
        np.full(nodes, -1, np.int64),
        np.full(nodes, -1, np.int64),
        np.zeros(nodes, np.int64),
        np.full(nodes, -1, np.int64),
        np.zeros(nodes, np.bool_),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
    )


def grown(arcs: Arcs, edges: Ints, flows: Ints) -> Tree:
    """The spanning tree of the arcs ``edges`` with their flows, grown from node 0."""
    n = len(edges)
    newest, older = np.full(n + 1, -1, np.int64), np.empty(2 * n, np.int64)
    for j in range(n):
        tail, head = arcs.tail[edges[j]], arcs.head[edges[j]]
        older[2 * j], newest[tail] = newest[tail], 2 * j
        older[2 * j + 1], newest[head] = newest[head], 2 * j + 1
    tree = bare_tree(n + 1)
    waiting = np.zeros(n + 1, np.int64)
    left = 1
    while left > 0:
        left -= 1
        x = waiting[left]
        half = newest[x]
        while half >= 0:
            arc = edges[half // 2]
            y = arcs.head[arc] if half % 2 == 0 else arcs.tail[arc]
            if y != tree.parent[x]:
                adopt(tree, arcs, (y, x), (arc, flows[half // 2]))
                waiting[left] = y
                left += 1
            half = older[half]
    return tree


def adopt(tree: Tree, arcs: Arcs, link: tuple[int, int], load: tuple[int, int]) -> None:
    """Hang a new node (``link`` is node and parent) by an arc (``load`` is arc and flow).

    Of the two path arcs of an element without flow the one towards the root is taken: with every idle arc pointing at
    the root the tree is strongly feasible, which is what keeps the simplex from cycling.
    """
    node, parent = link
    arc, flow = load
    n = len(tree.parent) - 1
    if flow == 0 and arc < 2 * n:
        arc = parent + n if node > parent else node
    attach(tree, node, parent)
    tree.depth[node] = tree.depth[parent] + 1
    tree.arc[node], tree.flow[node] = arc, flow
    tree.rises[node] = arcs.tail[arc] == node
    tree.potential[node] = tree.potential[parent] + (-arcs.cost[arc] if tree.rises[node] else arcs.cost[arc])


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


def pivot_until_optimal(tree: Tree, arcs: Arcs, block: int) -> int:
    """Network simplex; answers ``NO_ARC``, or the arc that closes a cycle of negative cost nothing limits."""
    start = 0
    while True:
        arc, reduced, start = entering_arc(arcs, tree.potential, start, block)
        if arc < 0:
            return NO_ARC
        tail, head = arcs.tail[arc], arcs.head[arc]
        apex, top, amount, on_head_side = leaving_node(tree, tail, head)
        if top < 0:
            return arc
        if amount > 0:
            push(tree, tail, apex, -amount)
            push(tree, head, apex, amount)
        if on_head_side:
            hang(tree, top, head, tail, (arc, False, amount))
            refresh(tree, head, reduced)
        else:
            hang(tree, top, tail, head, (arc, True, amount))
            refresh(tree, tail, -reduced)


def inside(grid: FlowGrid, low: Ints, high: Ints, held: Ints) -> tuple[Chain, Ints, Ints]:
    """The elements strictly inside the band as a chain; per interval its node, and what the hours above it pay so far.

    Above the band (demand of at least ``high``) an hour's price is the rent, below it (at most ``low``) nothing: both
    fix the difference of two potentials, so their nodes become one.
    """
    count, size = len(low), len(grid.demand)
    gap, rent, source = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    node, paid = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    n, total = 0, 0
    for a in range(count):
        node[a], paid[a] = n, total
        for e in range(grid.first[a], grid.first[a + 1]):
            if grid.demand[e] >= high[a]:
                total += grid.length[e] * grid.rent
            elif grid.demand[e] > low[a]:
                gap[n], rent[n], source[n] = grid.demand[e] - held[a], grid.length[e] * grid.rent, e
                n += 1
    node[count], paid[count] = n, total
    return Chain(gap[:n], rent[:n], source[:n]), node, paid


def arcs_of(grid: FlowGrid, chain: Chain, node: Ints, paid: Ints) -> Arcs:
    """All arcs of the flow; of the commitments of one kind between the same two nodes only the cheapest, earliest."""
    n, count, kinds = len(chain.gap), len(node) - 1, len(grid.spans)
    size = 2 * n + kinds * count
    tail, head, cost = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    origin = np.empty(kinds * count, np.int64)
    for i in range(n):
        tail[i], head[i], cost[i] = i, i + 1, chain.rent[i]
        tail[n + i], head[n + i], cost[n + i] = i + 1, i, 0
    m = 2 * n
    for k in range(kinds):
        begin = m
        for a in range(count):
            b = min(a + grid.spans[k], count)
            price = grid.costs[k] - (paid[b] - paid[a])
            same = m > begin and tail[m - 1] == node[a] and head[m - 1] == node[b]
            if same and price >= cost[m - 1]:
                continue
            if not same:
                m += 1
            tail[m - 1], head[m - 1], cost[m - 1], origin[m - 1 - 2 * n] = node[a], node[b], price, k * count + a
    return Arcs(tail[:m], head[:m], cost[:m], origin[: m - 2 * n])


def first_tree(chain: Chain, arcs: Arcs, start: FlowOptimum) -> Tree:
    """The tree of ``start`` in this chain: its commitments, and the path without its tight elements.

    A node split since then becomes a piece of path, so the tree stays a tree and its flows feasible.
    """
    n = len(chain.gap)
    edges, flows = np.empty(n, np.int64), np.empty(n, np.int64)
    j = 0
    for i in range(n):
        if not start.tight[chain.source[i]]:
            edges[j] = i if chain.gap[i] >= 0 else n + i
            flows[j] = abs(chain.gap[i])
            j += 1
    bought = start.ledger.ravel()
    for m in range(len(arcs.origin)):
        if start.basic[arcs.origin[m]]:
            edges[j], flows[j] = 2 * n + m, bought[arcs.origin[m]]
            j += 1
    return grown(arcs, edges, flows)


def cycle_hours(tree: Tree, ends: tuple[int, int], node: Ints) -> tuple[int, int]:
    """The intervals from the first to the last node on the cycle that an arc between ``ends`` closes."""
    u, v = ends
    first, last = min(u, v), max(u, v)
    while u != v:
        if tree.depth[u] >= tree.depth[v]:
            u = tree.parent[u]
        else:
            v = tree.parent[v]
        first, last = min(first, u, v), max(last, u, v)
    return int(np.searchsorted(node, first)), int(np.searchsorted(node, last, side="right")) - 1


def solve_inside(grid: FlowGrid, low: Ints, high: Ints, start: FlowOptimum) -> tuple[FlowOptimum, tuple[int, int]]:
    """The optimum with the prices outside the band fixed, and the intervals where they exceed what commitments cost.

    Without any such interval (0, 0) the answer is optimal; else it is only a place to start from. ``start`` is an
    answer for a narrower band of the same grid, or empty.
    """
    count, kinds = len(low), len(grid.spans)
    chain, node, paid = inside(grid, low, high, start.held)
    arcs = arcs_of(grid, chain, node, paid)
    tree = first_tree(chain, arcs, start)
    n = len(chain.gap)
    endless = pivot_until_optimal(tree, arcs, max(20, int(np.sqrt(len(arcs.cost)))))
    cycle = (0, 0)
    if endless >= 0:
        cycle = cycle_hours(tree, (arcs.tail[endless], arcs.head[endless]), node)
    ledger, basic = np.zeros(kinds * count, np.int64), np.zeros(kinds * count, np.bool_)
    tight = np.zeros(len(grid.demand), np.bool_)
    tight[chain.source] = True
    for x in range(1, n + 1):
        arc = tree.arc[x]
        if arc >= 2 * n:
            basic[arcs.origin[arc - 2 * n]] = True
            ledger[arcs.origin[arc - 2 * n]] = tree.flow[x]
        else:
            tight[chain.source[arc % n]] = False
    bought = ledger.reshape((kinds, count))
    return FlowOptimum(bought, held_units(grid, bought), tree.potential[node] + paid, basic, tight), cycle


def held_units(grid: FlowGrid, ledger: Ints) -> Ints:
    """Units reserved in each interval."""
    kinds, count = ledger.shape
    change = np.zeros(count + 1, np.int64)
    for k in range(kinds):
        for a in range(count):
            if ledger[k, a] > 0:
                change[a] += ledger[k, a]
                change[min(a + grid.spans[k], count)] -= ledger[k, a]
    return np.cumsum(change)[:count]
