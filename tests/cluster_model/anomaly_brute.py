"""The anomalies by their definitions, over single values and all pairs: slow, and as plain as can be."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

from cluster_model.checker.anomalies.index import UNKNOWN
from cluster_model.checker.anomalies.operations import FAIL, INFO, OK, Op, Run, Send

Value = tuple[str, int]
LogBranches = dict[tuple[str, int], dict[int, Value]]
"""(key, log branch) → offset → value; markers are left out."""


class ProcessOperation(NamedTuple):
    """An operation, and how its process reads."""

    op: Op
    manner: str


def payload_of(log_branches: LogBranches) -> Any:
    """The same as the language has it."""

    def payload(key: str, log_branch: int, start: int, end: int) -> list[Run]:
        runs: list[Run] = []
        for offset in range(start, end):
            value = log_branches[key, log_branch].get(offset)
            if value is None:
                continue
            last = runs[-1] if runs else (-1, "", 0, 0)
            if last[1] == value[0] and last[0] + last[3] == offset and last[2] + last[3] == value[1]:
                runs[-1] = (*last[:3], last[3] + 1)
            else:
                runs.append((offset, *value, 1))
        return runs

    return payload


def begins(log_branches: LogBranches, key: str, log_branch: int) -> int:
    """Where a log branch parts from the one before it."""
    held, before = log_branches.get((key, log_branch), {}), log_branches.get((key, log_branch - 1), {})
    return next((at for at in range(max(held, default=0) + 1) if held.get(at) != before.get(at)), UNKNOWN)


def client_of(process: str) -> str:
    return process.split("#", maxsplit=1)[0]


class Brute:
    """Counts by name, client, key and manner."""

    def __init__(self, history: Sequence[ProcessOperation], log_branches: LogBranches) -> None:
        self.history = history
        self.log_branches = log_branches
        self.found: Counter[tuple[str, str, str, str]] = Counter()
        self.read: defaultdict[str, set[Value]] = defaultdict(set)
        self.log: defaultdict[str, defaultdict[int, dict[int, Value]]] = defaultdict(lambda: defaultdict(dict))
        for op, _manner in history:
            if op.type == OK:
                for key, _offset, value in self.reads_of(op):
                    self.read[key].add(value)
        for op, _manner in history:
            for read in op.reads:
                for offset in range(read.start, read.end):
                    self.see(read.key, read.log_branch, offset)
            if self.committed(op):
                for send in op.sends:
                    for offset in range(send.offset, send.offset + send.size) if send.offset >= 0 else ():
                        self.see(send.key, send.log_branch, offset)
        for rule in (
            self.offsets, self.duplicates, self.lost, self.unseen, self.aborted, self.precommitted, self.phantoms,
            self.polls, self.sends, self.consumed, self.lag, self.cycles,
        ):  # fmt: skip
            rule()

    def note(self, name: str, who: str, key: str, count: int = 1, manner: str = "") -> None:
        if count:
            self.found[name, who, key, manner] += count

    def see(self, key: str, log_branch: int, offset: int) -> None:
        self.log[key][offset][log_branch] = self.log_branches[key, log_branch][offset]

    def reads_of(self, op: Op) -> Iterator[tuple[str, int, Value]]:
        for read in op.reads:
            for offset in range(read.start, read.end):
                yield read.key, offset, self.log_branches[read.key, read.log_branch][offset]

    @staticmethod
    def values_of(send: Send) -> list[Value]:
        return [(send.client, send.sequence + index) for index in range(send.size)]

    def committed(self, op: Op) -> bool:
        return op.type == OK or (
            op.type == INFO and any(value in self.read[send.key] for send in op.sends for value in self.values_of(send))
        )

    def sent(self, kind: str | None = None) -> Iterator[tuple[str, Value]]:
        for op, _manner in self.history:
            if kind in (None, op.type):
                for send in op.sends:
                    for value in self.values_of(send):
                        yield send.key, value

    def offsets_of(self, key: str, value: Value) -> list[int]:
        return sorted(offset for offset, held in self.log[key].items() if value in held.values())

    def all_values(self, key: str) -> set[Value]:
        return {value for held in self.log[key].values() for value in held.values()}

    # -- rules

    def offsets(self) -> None:
        for key, log in self.log.items():
            for held in log.values():
                if len(set(held.values())) > 1:
                    self.note("inconsistent-offsets", held[min(held)][0], key)

    def duplicates(self) -> None:
        for key in self.log:
            for value in self.all_values(key):
                if len(self.offsets_of(key, value)) > 1:
                    self.note("duplicate", value[0], key)

    def lost(self) -> None:
        writers = {
            (send.key, value): op for op, _ in self.history for send in op.sends for value in self.values_of(send)
        }
        for key in self.log:
            firsts = [self.offsets_of(key, value)[0] for value in self.read[key]]
            for value in self.all_values(key):
                if not firsts or self.offsets_of(key, value)[-1] > max(firsts) or value in self.read[key]:
                    continue
                writer = writers.get((key, value))
                if writer is not None and self.committed(writer):
                    self.note("lost-write", value[0], key)

    def unseen(self) -> None:
        for key, value in self.sent(OK):
            if value not in self.read[key]:
                self.note("unseen", value[0], key)

    def aborted(self) -> None:
        careful = {
            (key, value)
            for op, manner in self.history
            if op.type == OK and "committed" in manner
            for key, _offset, value in self.reads_of(op)
        }
        for key, value in self.sent(FAIL):
            if value in self.read[key]:
                self.note("G1a", value[0], key, 1, "committed" if (key, value) in careful else "")

    def precommitted(self) -> None:
        for op, manner in self.history:
            both = {(key, value) for key, _offset, value in self.reads_of(op)} & {
                (send.key, value) for send in op.sends for value in self.values_of(send)
            }
            for key, _value in both:
                self.note(
                    "precommitted-read", client_of(op.process), key, 1, "committed" if "committed" in manner else ""
                )

    def phantoms(self) -> None:
        known = set(self.sent())
        for key in self.log:
            for value in self.all_values(key):
                if (key, value) not in known:
                    self.note("phantom", value[0], key)

    def delta(
        self, key: str, one: int, other: int, *, careful: bool = False, log_branches: tuple[int, int] = (0, 99)
    ) -> int:
        """How far the index of one offset is from the other's in a log that goes from one log branch to another.

        Aborted values do not count for careful readers.
        """
        if other <= one:
            return other - one
        failed = {value for name, value in self.sent(FAIL) if name == key}
        between = [
            offset for offset in self.log[key] if one < offset < other and self.standing(key, offset, log_branches)
        ]
        if careful:
            between = [each for each in between if self.standing(key, each, log_branches)[-1] not in failed]
        return 1 + len(between)

    def standing(self, key: str, offset: int, log_branches: tuple[int, int]) -> list[Value]:
        """Values at an offset by log branch, without those of log branches that the log does not have there."""
        oldest, newest = log_branches
        gone = offset >= begins(self.log_branches, key, newest)
        held = sorted(self.log[key][offset].items())
        return [
            value for log_branch, value in held if oldest <= log_branch <= newest and (log_branch == newest or not gone)
        ]

    def newest(self, key: str, offset: int) -> Value:
        held = self.log[key][offset]
        return held[max(held)]

    def polls(self) -> None:
        last: dict[tuple[str, str], tuple[int, int]] = {}
        for op, manner in self.history:
            if op.f == "crash":
                last = {who: offset for who, offset in last.items() if who[0] != op.process}
            if op.f in ("assign", "subscribe") and op.type == OK:
                last = {who: at for who, at in last.items() if who[0] != op.process or who[1] in op.keys}
            for key in {read.key for read in op.reads}:
                places = [
                    (offset, read.log_branch)
                    for read in op.reads
                    if read.key == key
                    for offset in range(read.start, read.end)
                ]
                if (op.process, key) in last:
                    self.compare("", op, manner, key, last[op.process, key], places[0])
                if key not in op.moved:
                    for one, other in pairwise(places):
                        self.compare("int-", op, manner, key, one, other)
                if op.type == OK:
                    last[op.process, key] = places[-1]

    def compare(self, prefix: str, op: Op, manner: str, key: str, one: tuple[int, int], other: tuple[int, int]) -> None:
        log_branches = (min(one[1], other[1]), other[1])
        delta = self.delta(key, one[0], other[0], careful="committed" in manner, log_branches=log_branches)
        if delta < 1:
            self.note(f"{prefix}nonmonotonic-poll", client_of(op.process), key, 1, manner)
        elif delta > 1:
            self.note(f"{prefix}poll-skip", client_of(op.process), key, 1, manner)

    def places(self, op: Op, key: str) -> list[int | None]:
        """Where the values of an operation stand, as its sender was told, or else where they were seen last."""
        found: list[int | None] = []
        for send in op.sends:
            if send.key == key:
                for index, value in enumerate(self.values_of(send)):
                    if op.type == OK:
                        found.append(send.offset + index if send.offset >= 0 else None)
                    else:
                        found.append(max(self.offsets_of(key, value), default=None))
        return found

    def sends(self) -> None:
        last: dict[tuple[str, str], int | None] = {}
        for op, _manner in self.history:
            if op.type == FAIL:
                continue
            for key in {send.key for send in op.sends}:
                places = self.places(op, key)
                before = last.get((op.process, key))
                if before is not None and places[0] is not None and places[0] <= before:
                    self.note("nonmonotonic-send", client_of(op.process), key)
                for one, other in pairwise(places):
                    if one is not None and other is not None:
                        delta = self.delta(key, one, other)
                        name = "int-nonmonotonic-send" if delta < 1 else "int-send-skip"
                        self.note(name, client_of(op.process), key, int(delta != 1))
                last[op.process, key] = places[-1]

    def consumed(self) -> None:
        times: Counter[tuple[str, str, Value]] = Counter()
        for op, manner in self.history:
            if op.type == OK and manner.startswith("subscribe"):
                times.update((op.process, key, value) for key, _offset, value in self.reads_of(op))
        for (process, key, _value), count in times.items():
            if count > 1:
                self.note("consume-dup", client_of(process), key)

    def lag(self) -> None:
        known: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for op, _manner in self.history:
            if op.type == OK:
                ends = [(send.key, send.offset + send.size) for send in op.sends if send.offset >= 0]
                for key, end in ends:
                    for offset in range(end):
                        known[key].setdefault(offset, op.time_us)
                last = {key: offset for key, offset, _value in self.reads_of(op)}
                for key, offset in last.items():
                    if op.invoked_us > known[key].get(offset + 1, op.invoked_us):
                        self.note("realtime-lag", client_of(op.process), key)
                for key, offset, _value in self.reads_of(op):
                    for each in range(offset + 1):
                        known[key].setdefault(each, op.time_us)

    # -- cycles

    def cycles(self) -> None:
        txns = [(op, manner) for op, manner in self.history if op.f == "txn" and op.type != FAIL and self.committed(op)]
        count = range(len(txns))
        wrote = {
            (send.key, value): number
            for number in count
            for send in txns[number][0].sends
            for value in self.values_of(send)
        }
        ww, wr, time = set(), set(), set()
        for key in self.log:
            order = [wrote.get((key, self.newest(key, offset))) for offset in sorted(self.log[key])]
            ww |= {(one, other) for one, other in pairwise(each for each in order if each is not None) if one != other}
        for number in count:
            for key, _offset, value in self.reads_of(txns[number][0]):
                writer = wrote.get((key, value))
                if writer is not None and writer != number:
                    wr.add((writer, number))
        for one, other in product(count, count):
            first, second = txns[one][0], txns[other][0]
            if one < other and first.process == second.process:
                time.add((one, other))
            if first.type == OK and first.time_us < second.invoked_us:
                time.add((one, other))
        self.note("G0", "", "", sum(has(each, ww) for each in components(count, ww | time)))
        alone = components(count, wr)
        for each in alone:
            careful = {"committed" in txns[node][1] for node in each}
            # The circle that is told may be smaller than its component, so only clear cases are compared.
            self.note("G1c", "", "", 1, "wr" if False in careful else "wr committed")
        known = set().union(*alone)
        mixed = [each for each in components(count, ww | wr) if not each & known]
        self.note("G1c", "", "", sum(has(each, wr) for each in mixed))


Edge = tuple[int, int]


def has(component: set[int], edges: set[Edge]) -> bool:
    return any(one in component and other in component for one, other in edges)


def components(nodes: Sequence[int], edges: set[Edge]) -> list[set[int]]:
    """Nodes that reach each other, two and more."""
    reach = {node: {node} for node in nodes}
    changed = True
    while changed:
        changed = False
        for one, other in edges:
            for node in nodes:
                if one in reach[node] and other not in reach[node]:
                    reach[node].add(other)
                    changed = True
    found = [{other for other in reach[node] if node in reach[other]} for node in nodes]
    return [each for index, each in enumerate(found) if len(each) > 1 and each not in found[:index]]
