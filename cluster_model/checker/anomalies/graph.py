"""Strongly connected components of a directed graph, and a shortest cycle through one of a set of edges."""

from collections import deque
from collections.abc import Mapping, Sequence

Edges = Mapping[int, Mapping[int, str]]
"""Node → node → what the edge is, each in a fixed order."""


def components(edges: Edges) -> list[list[int]]:
    """Components of more than one node (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: dict[int, None] = {}
    found: list[list[int]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        on_stack[root] = None
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    on_stack[target] = None
                    work.append((target, iter(edges.get(target, {}))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = _popped(on_stack, node)
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def _popped(stack: dict[int, None], until: int) -> list[int]:
    component: list[int] = []
    while True:
        node, _nothing = stack.popitem()
        component.append(node)
        if node == until:
            return component


def shortest_cycle(edges: Edges, component: Sequence[int], through: str) -> list[int]:
    """A shortest cycle inside a component with an edge of this kind, its first node at the end again; none: empty."""
    members = dict.fromkeys(component)
    best: list[int] = []
    for source in component:
        for target, kind in edges.get(source, {}).items():
            if through in kind.split() and target in members:
                path = _path(edges, members, target, source)
                if path and (not best or len(path) + 1 < len(best)):
                    best = [source, *path]
    return best


def _path(edges: Edges, members: Mapping[int, None], source: int, target: int) -> list[int]:
    """A shortest way inside the members, both ends included."""
    came: dict[int, int] = {source: -1}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        if node == target:
            path = [node]
            while came[path[-1]] >= 0:
                path.append(came[path[-1]])
            return path[::-1]
        for following in edges.get(node, {}):
            if following in members and following not in came:
                came[following] = node
                queue.append(following)
    return []
