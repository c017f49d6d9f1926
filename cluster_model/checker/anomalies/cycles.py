"""G0 and G1c: cycles of transactions that depend on each other, detected in a directed graph.

A transaction depends on another if its value directly follows the other's in a key's log (*ww*) or if it read the
other's value (*wr*). A cycle of ww edges, with edges for process order and real time, is G0: writes are interleaved, as
Kafka allows. A cycle of ww and wr edges with at least one wr edge is G1c; with wr edges alone each transaction has read
uncommitted data of another. Sends outside transactions are left out, since single values cannot interleave. One
shortest cycle is reported for each strongly connected component.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.anomaly_case import AnomalyCounter, Example
from cluster_model.checker.anomalies.index import KeyIndex, KeyObservations, values_between
from cluster_model.checker.anomalies.operations import COMMITTED, INFO, Op, ReadOperation, Send
from cluster_model.checker.anomalies.order_rules import client_of
from cluster_model.util.ranges import RangeSet

# Strongly connected components of a directed graph, and a shortest cycle through one of a set of edges.


Edges = Mapping[int, Mapping[int, str]]
"""Node → node → kind of the edge, in a fixed order."""


def components(edges: Edges) -> list[list[int]]:
    """Return the strongly connected components of several nodes (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: dict[int, None] = {}
    cycles: list[list[int]] = []
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
                    component = _pop_until(on_stack, node)
                    if len(component) > 1:
                        cycles.append(sorted(component))
    return cycles


def _pop_until(stack: dict[int, None], until: int) -> list[int]:
    component: list[int] = []
    while True:
        node, _nothing = stack.popitem()
        component.append(node)
        if node == until:
            return component


def shortest_cycle(edges: Edges, component: Sequence[int], through: str) -> list[int]:
    """Return a shortest cycle in a component with an edge of a kind, first node repeated at the end; empty if none."""
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
    """Return a shortest path within the members, both ends included; empty if none."""
    previous: dict[int, int] = {source: -1}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        if node == target:
            path = [node]
            while previous[path[-1]] >= 0:
                path.append(previous[path[-1]])
            return path[::-1]
        for following in edges.get(node, {}):
            if following in members and following not in previous:
                previous[following] = node
                queue.append(following)
    return []


WRITES: Final = "G0"
READS: Final = "G1c"
READS_ONLY: Final = "wr"
"""Manner of a G1c with wr edges only."""

_Graph = dict[int, dict[int, str]]


class _Txn(NamedTuple):
    process: str
    undecided: bool
    sends: tuple[Send, ...]
    reads: tuple[ReadOperation, ...]
    invoked_us: int
    time_us: int
    committed_only: bool
    """Whether its reader uses read_committed."""


class Cycles:
    """Transactions of a history, each a few ranges; their dependencies are computed at the end."""

    __slots__ = ("_facts", "_txns")

    def __init__(self, facts: KeyIndex) -> None:
        self._facts = facts
        self._txns: list[_Txn] = []

    def record_transaction(self, op: Op, *, committed_only: bool) -> None:
        """Record a transaction that ended and did not fail; ``committed_only``: its reader uses read_committed."""
        if op.sends or op.reads:
            known = (op.process, op.type == INFO, _joined(op.sends), op.reads, op.invoked_us, op.time_us)
            self._txns.append(_Txn(*known, committed_only))

    def find(self, counter: AnomalyCounter, now: int) -> None:
        """Count the cycles, at the end of the session."""
        txns = [each for each in self._txns if not each.undecided or self._facts.committed(each.sends)]
        if len(txns) < 2:
            return
        writers = _writers(txns)
        ww: _Graph = {number: {} for number in range(len(txns))}
        for key in dict.fromkeys(key for key, _client in writers):
            self._add_write_edges(self._facts.key(key), writers, ww)
        reads: _Graph = {number: {} for number in range(len(txns))}
        for number, each in enumerate(txns):
            for read in each.reads:
                for _offset, client, sequence, count in self._facts.key(read.key).payload(*read):
                    for writer in _written_by(writers, (read.key, client), sequence, count):
                        if writer != number:
                            reads[writer][number] = "wr"
        self._report_write_cycles(txns, ww, counter, now)
        self._report_read_cycles(txns, ww, reads, counter, now)

    def _add_write_edges(self, facts: KeyObservations, writers: "_Writers", ww: _Graph) -> None:
        """Add the ww edges of a key's log; at an offset with several values the newest log branch's counts."""
        before = -1
        for _offset, client, sequence, count in values_between(facts, 0, facts.seen.ends[-1] if facts.seen.ends else 0):
            for writer in _written_by(writers, (facts.key, client), sequence, count):
                if before >= 0 and writer != before:
                    ww[before][writer] = "ww"
                before = writer

    def _report_write_cycles(self, txns: list[_Txn], ww: _Graph, counter: AnomalyCounter, now: int) -> None:
        if not any(ww.values()):
            return
        edges = _with_time(txns, ww)
        for component in components(edges):
            cycle = [node for node in shortest_cycle(edges, component, "ww") if node < len(txns)]
            if cycle:
                self._report(WRITES, "", [txns[node] for node in cycle], counter, now)

    def _report_read_cycles(
        self, txns: list[_Txn], ww: _Graph, reads: _Graph, counter: AnomalyCounter, now: int
    ) -> None:
        if not any(reads.values()):
            return
        both: _Graph = {node: {**ww[node]} for node in ww}
        for node, targets in reads.items():
            for target in targets:
                both[node][target] = f"{both[node].get(target, '')} wr".strip()
        alone = [(component, reads) for component in components(reads)]
        reported = {node: None for component, _edges in alone for node in component}
        mixed = [(component, both) for component in components(both) if not any(node in reported for node in component)]
        for component, edges in (*alone, *mixed):
            cycle = shortest_cycle(edges, component, "wr")
            if cycle:
                members = [txns[node] for node in cycle]
                manner = READS_ONLY if edges is reads else ""
                if manner and all(each.committed_only for each in members):
                    manner = f"{READS_ONLY} {COMMITTED}"
                self._report(READS, manner, members, counter, now)

    def _report(self, name: str, manner: str, cycle: list[_Txn], counter: AnomalyCounter, now: int) -> None:
        names = " -> ".join(f"{client_of(txn.process)} ({txn.invoked_us} us)" for txn in cycle)
        counter.count(name, "", "", Example(now, -1, -1, f"cycle of transactions: {names}"), 1, manner)

    @property
    def entries(self) -> int:
        """Number of ranges kept."""
        return sum(len(each.sends) + len(each.reads) for each in self._txns)

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        self._txns = [
            each._replace(
                sends=tuple([send for send in each.sends if send.key != key]),
                reads=tuple([read for read in each.reads if read.key != key]),
            )
            for each in self._txns
        ]

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self._txns)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._txns = list(saved)


_Writers = dict[tuple[str, str], tuple[list[int], list[tuple[int, int, int]]]]
"""(key, client) → first sequences, and (first, end, transaction) of each range, ascending."""


def _writers(txns: list[_Txn]) -> _Writers:
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for number, txn in enumerate(txns):
        for send in txn.sends:
            found.setdefault((send.key, send.client), []).append((send.sequence, send.sequence + send.size, number))
    return {where: ([first for first, _end, _number in sorted(each)], sorted(each)) for where, each in found.items()}


def _written_by(writers: _Writers, where: tuple[str, str], sequence: int, count: int) -> list[int]:
    """Return the transactions that wrote a range of values, in order of the values."""
    if where not in writers:
        return []
    starts, ranges = writers[where]
    writer_indexes: list[int] = []
    index = max(0, bisect_right(starts, sequence) - 1)
    while index < len(ranges) and ranges[index][0] < sequence + count:
        if ranges[index][1] > sequence:
            writer_indexes.append(ranges[index][2])
        index += 1
    return writer_indexes


def _joined(sends: tuple[Send, ...]) -> tuple[Send, ...]:
    """Return the same values in as few ranges as possible, without their offsets."""
    spans: dict[tuple[str, str], RangeSet] = {}
    for send in sends:
        spans.setdefault((send.key, send.client), RangeSet()).add(send.sequence, send.sequence + send.size)
    return tuple(Send(*who, start, end - start) for who, each in spans.items() for start, end in each.ranges())


def _with_time(txns: list[_Txn], ww: _Graph) -> _Graph:
    """Return the graph with edges for process order and real time, and a node for each time at which one ended.

    A time node has edges to the next one and to every transaction that began between the two.
    """
    edges: _Graph = {node: {**targets} for node, targets in ww.items()}
    last: dict[str, int] = {}
    for number, txn in enumerate(txns):
        if txn.process in last:
            edges[last[txn.process]].setdefault(number, "process")
        last[txn.process] = number
    ends = sorted({txn.time_us for txn in txns if not txn.undecided})
    for index in range(len(ends)):
        edges[len(txns) + index] = {len(txns) + index + 1: "realtime"} if index + 1 < len(ends) else {}
    for number, txn in enumerate(txns):
        if not txn.undecided:
            edges[number].setdefault(len(txns) + bisect_right(ends, txn.time_us) - 1, "realtime")
    for number, txn in enumerate(txns):
        index = bisect_right(ends, txn.invoked_us - 1) - 1
        if index >= 0:
            edges[len(txns) + index].setdefault(number, "realtime")
    return edges
