"""The range-based anomaly checker finds the same anomalies as the definitions applied to all values."""

from collections import Counter
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cluster_model.checker.anomalies.history_checker import HistoryChecker
from cluster_model.checker.anomalies.operations import FAIL, INFO, OK, Op, ReadOperation, Send
from tests.cluster_model.anomaly_brute import Brute, LogBranches, ProcessOperation, Value, begins, payload_of

pytestmark = pytest.mark.slow

KEYS = ("t-0", "t-1")
WRITERS = ("a", "b", "c/0")
READERS = {"r/0": "assign", "r/1": "subscribe", "r/2": "subscribe committed"}


def log_branches_of(draw: Random, key: str) -> LogBranches:
    """Up to three log branches: each starts with a prefix of the one before and continues at random."""
    found: LogBranches = {}
    following = dict.fromkeys(WRITERS, 0)
    values: list[Value | None] = []
    for log_branch in range(draw.choice((1, 1, 2, 3))):
        values = values[: draw.randint(0, len(values))]
        for _block in range(draw.randint(1, 5)):
            chance = draw.random()
            if chance < 0.1:
                values.append(None)
            elif chance < 0.15 and any(values):
                start = draw.randrange(len(values))
                values += values[start : start + 2]
            elif chance < 0.18:
                values.append(("ghost", draw.randint(0, 3)))
            else:
                client, count = draw.choice(WRITERS), draw.randint(1, 4)
                first = max(0, following[client] - (draw.random() < 0.1))
                values += [(client, first + index) for index in range(count)]
                following[client] = first + count
        found[key, log_branch] = {offset: value for offset, value in enumerate(values) if value is not None}
    return found


def told(draw: Random, log_branches: LogBranches, key: str, client: str, low: int, high: int) -> list[Send]:
    """Sends of values, with or without their offsets."""
    sends: list[Send] = []
    for number in range(low, high):
        places = [
            (log_branch, offset)
            for (name, log_branch), held in log_branches.items()
            for offset, value in held.items()
            if name == key and value == (client, number)
        ]
        place = draw.choice(places) if places and draw.random() < 0.85 else (-1, -1)
        last = sends[-1] if sends else None
        if last is not None and place[1] >= 0 and place == (last.log_branch, last.offset + last.size):
            sends[-1] = last._replace(size=last.size + 1)
        else:
            sends.append(Send(key, client, number, 1, *place))
    return sends


def written(draw: Random, log_branches: LogBranches) -> list[tuple[str, list[Op]]]:
    """Operations of each writer, in order."""
    found = []
    for client in WRITERS:
        following = dict.fromkeys(KEYS, 0)
        ops: list[Op] = []
        life = 0
        for _op in range(draw.randint(1, 5)):
            f, kind = draw.choice(("send", "txn")), draw.choice((OK, OK, OK, INFO, FAIL))
            sends: list[Send] = []
            for key in KEYS if f == "txn" else (draw.choice(KEYS),):
                count = draw.randint(1, 3)
                parts = told(draw, log_branches, key, client, following[key], following[key] + count)
                if kind == FAIL:
                    parts = [Send(key, client, following[key], count)]
                sends += parts
                following[key] += count
            reads = read(draw, log_branches) if f == "txn" and draw.random() < 0.5 else ()
            ops.append(Op(f"{client}#{life}", kind, f, tuple(sends), reads))
            if draw.random() < 0.1:
                ops.append(Op(f"{client}#{life}", OK, "crash"))
                life += 1
        found.append((client, ops))
    return found


def read(draw: Random, log_branches: LogBranches) -> tuple[ReadOperation, ...]:
    found: list[ReadOperation] = []
    for _read in range(draw.choice((1, 1, 2))):
        key, log_branch = draw.choice(sorted(log_branches))
        end = max(log_branches[key, log_branch], default=-1) + 1
        if end:
            start = draw.randrange(end)
            for offset in range(start, draw.randint(start + 1, end)):
                if offset in log_branches[key, log_branch]:
                    if found and found[-1][:2] == (key, log_branch) and found[-1].end == offset:
                        found[-1] = found[-1]._replace(end=offset + 1)
                    else:
                        found.append(ReadOperation(key, log_branch, offset, offset + 1))
    return tuple(found)


def consumed(draw: Random, log_branches: LogBranches, reader: str) -> list[Op]:
    ops: list[Op] = []
    process = f"{reader}#0"
    for _op in range(draw.randint(0, 5)):
        chance = draw.random()
        if chance < 0.1:
            keys = tuple(key for key in KEYS if draw.random() < 0.6)
            ops.append(Op(process, draw.choice((OK, FAIL)), "assign", keys=keys))
        elif chance < 0.15:
            ops.append(Op(process, OK, "crash"))
        else:
            moved = (KEYS[0],) if draw.random() < 0.15 else ()
            ops.append(
                Op(process, draw.choice((OK, OK, OK, INFO, FAIL)), "poll", (), read(draw, log_branches), (), moved)
            )
    return ops


def history_of(draw: Random) -> tuple[list[ProcessOperation], LogBranches]:
    log_branches = log_branches_of(draw, KEYS[0]) | log_branches_of(draw, KEYS[1])
    queues = [
        (client, ops, "assign committed" if client == "c/0" else "assign")
        for client, ops in written(draw, log_branches)
    ]
    queues += [(reader, consumed(draw, log_branches, reader), manner) for reader, manner in READERS.items()]
    taken: list[ProcessOperation] = []
    ended: dict[str, int] = {}
    now = 0
    while any(ops for _who, ops, _manner in queues):
        who, ops, manner = draw.choice([queue for queue in queues if queue[1]])
        now += draw.randint(1, 3)
        op = ops.pop(0)
        invoked = draw.randint(ended.get(who, 0) + 1, max(now, ended.get(who, 0) + 1))
        now = max(now, invoked)
        ended[who] = now
        taken.append(ProcessOperation(op._replace(invoked_us=invoked, time_us=now), manner))
    return taken, log_branches


def counted(anomalies: HistoryChecker) -> Counter[tuple[str, str, str, str]]:
    return Counter({(case.name, case.client, case.key, case.manner): case.found for case in anomalies.cases(0)})


def comparable(found: Counter[tuple[str, str, str, str]]) -> Counter[tuple[str, str, str, str]]:
    """A cycle of reads only reports the manner of the transactions in the shortest one."""
    merged: Counter[tuple[str, str, str, str]] = Counter()
    for (name, who, key, manner), count in found.items():
        merged[name, who, key, manner.split()[0] if name == "G1c" and manner else manner] += count
    return merged


@given(st.integers(0, 1 << 32))
@settings(max_examples=300, deadline=None, phases=(Phase.reuse, Phase.generate))
def test_ranges_find_the_same_anomalies_as_single_values(seed: int) -> None:
    history, log_branches = history_of(Random(seed))
    anomalies = HistoryChecker(
        payload_of(log_branches), begin=lambda key, log_branch: begins(log_branches, key, log_branch)
    )
    for op, manner in history:
        anomalies.take(op, manner)
    anomalies.close(0)
    assert comparable(counted(anomalies)) == comparable(Brute(history, log_branches).found)


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None, phases=(Phase.reuse, Phase.generate))
def test_a_history_can_be_saved_and_continued(seed: int) -> None:
    history, log_branches = history_of(Random(seed))
    at = Random(seed + 1).randint(0, len(history))
    straight, again = (
        HistoryChecker(payload_of(log_branches), begin=lambda key, log_branch: begins(log_branches, key, log_branch))
        for _run in range(2)
    )
    for number, (op, manner) in enumerate(history):
        if number == at:
            again.load(straight.save())
            saved = straight.save()
            straight.cases(0)
        straight.take(op, manner)
        if number >= at:
            again.take(op, manner)
    if at == len(history):
        again.load(straight.save())
        saved = straight.save()
    straight.close(0)
    again.close(0)
    assert counted(again) == counted(straight)
    again.load(saved)
    for op, manner in history[at:]:
        again.take(op, manner)
    again.close(0)
    assert counted(again) == counted(straight)
