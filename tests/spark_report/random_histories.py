"""Random sessions that have something for every table of the report.

Nothing in them is likely, but they keep to what every recorder keeps to: processes that are down do not go down again,
epochs only grow, but for zombies, and a high watermark is told by somebody who leads or believes that he does.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.spark_report.twins_common import History
from tests.support.sessions import Row, event, ledger_of, write_session

PLACED = {"orders-0": [1, 2, 3], "orders-1": [3, 1, 2], "audit-0": [2]}
MIN_ISR = {"orders-0": 2, "orders-1": 2, "audit-0": 1}
CREATED = "late-0"
"""A partition that the cluster is told to make while it runs."""
PARTITIONS = (*PLACED, CREATED)
BROKERS = (1, 2, 3)
CONTROLLERS = ("controller 1001", "controller 1002", "broker 3")
PRODUCERS = (("checkout", 1), ("checkout", -1), ("audit", -1))
MEMBERS = (("billing", "billing/0"), ("billing", "billing/1"), ("stock", "stock/0"))
GAPS = (0, 0, 0, 1, 7, 450, 3_000, 40_000, 400_000, 1_500_000)
LONG_GAPS = (6_000_000, 15_000_000, 70_000_000)
SESSIONS = 20
TORN = "random-07"
"""A session that was never sealed: it has no result, and ends with its last event."""
ERRORS = ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "TimeoutException", "UNKNOWN_SERVER_ERROR")


class _Partition:
    """A partition by the controller's state, by its leader's, and as its readers have it."""

    def __init__(self, replicas: list[int]) -> None:
        self.leader, self.epoch, self.isr, self.replicas = replicas[0], 0, list(replicas), list(replicas)
        self.end = self.hw = 0
        self.taken = -1
        """The epoch that somebody has taken up."""
        self.lifetime: dict[int, tuple[int, int]] = {}
        """Broker that leads, or believes so → epoch and high watermark."""
        self.read: dict[str, int] = {}


class _Session:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"history {seed}")
        self.at = 0
        self.told: list[Row] = []
        self.partitions = {name: _Partition(replicas) for name, replicas in PLACED.items()}
        self.process = dict.fromkeys((*(f"broker {one}" for one in BROKERS), *CONTROLLERS), "up")
        self.process |= dict.fromkeys(("checkout", "audit", "billing/0", "billing/1", "stock/0"), "up")
        self.fenced: set[int] = set()
        self.controller, self.controller_epoch = CONTROLLERS[0], 1
        self.faults: list[tuple[int, str, str]] = []
        self.fault_ids = 0
        self.generation = 0
        self.owners: dict[tuple[str, str], str] = {}

    def tell(self, kind: str, **fields: Any) -> None:
        self.told.append(event(kind, self.at, **fields))

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def some(self) -> tuple[str, _Partition]:
        name = self.draw.choice(sorted(self.partitions))
        return name, self.partitions[name]


def random_history(seed: int, length: int = 320) -> list[Row]:
    """A session of about that many events; several may share a microsecond."""
    session = _Session(seed)
    names = list(_DEEDS)
    weights = [weight for weight, _deed in _DEEDS.values()]
    while len(session.told) < length:
        session.at += session.draw.choice(LONG_GAPS if session.chance(0.01) else GAPS)
        _DEEDS[session.draw.choices(names, weights)[0]][1](session)
    for name in sorted(session.partitions):
        _verdict(session, name)
    return [{**row, "seq": seq} for seq, row in enumerate(session.told)]


def _node(session: _Session) -> None:
    name = session.controller if session.chance(0.25) else session.draw.choice(sorted(session.process))
    broker = int(name.removeprefix("broker ")) if name.startswith("broker ") else -1
    state = session.process[name]
    if state == "down":
        session.process[name] = "up"
        session.tell("node_up", node=name, broker=broker)
    elif state == "paused" and session.chance(0.7):
        session.process[name] = "up"
        session.tell("node_resumed", node=name, broker=broker)
    elif state == "up" and session.chance(0.4):
        session.process[name] = "paused"
        session.tell("node_paused", node=name, broker=broker)
    else:
        session.process[name] = "down"
        ends = ("crash", "power_loss", "out_of_memory", "shutdown", "close", "exit: no disk")
        session.tell("node_down", node=name, broker=broker, detail=session.draw.choice(ends))


def _registration(session: _Session) -> None:
    broker = session.draw.choice(BROKERS)
    if broker in session.fenced:
        session.fenced.discard(broker)
        session.tell("broker_registered", broker=broker)
    else:
        session.fenced.add(broker)
        why = session.draw.choice(("session timed out", "its session with ZooKeeper is over"))
        session.tell("broker_fenced", broker=broker, detail=why)


def _controller(session: _Session) -> None:
    session.controller_epoch += 1
    node = session.controller = session.draw.choice(CONTROLLERS)
    broker = 3 if node == "broker 3" else -1
    session.tell("controller_changed", node=node, broker=broker, leader_epoch=session.controller_epoch)


def _decision(session: _Session) -> None:
    """The controller elects somebody, or nobody, or the ISR changes."""
    name, one = session.some()
    draw, what = session.draw, session.draw.random()
    epochs = {"partition": name, "partition_epoch": len(session.told)}
    if what < 0.2:
        one.leader, one.epoch = -1, one.epoch + 1
        session.tell("partition_offline", **epochs, leader_epoch=one.epoch, isr=one.isr)
    elif what < 0.5:
        clean = session.chance(0.6)
        one.leader, one.epoch = draw.choice(one.isr if clean else list(BROKERS)), one.epoch + 1
        if not clean:
            one.isr = [one.leader]
        state = {"leader": one.leader, "leader_epoch": one.epoch, "isr": one.isr}
        session.tell("leader_elected", **epochs, **state, clean=clean, by="leader failed")
    else:
        before = one.isr
        one.isr = draw.sample(BROKERS, draw.randint(1, 3))
        state = {"leader": one.leader, "leader_epoch": one.epoch, "isr": one.isr}
        session.tell("isr_changed", **epochs, **state, previous_isr=before, by=draw.choice(("leader", "controller")))


def _topic(session: _Session) -> None:
    """Partitions are made, deleted, made anew and moved."""
    name = session.draw.choice(PARTITIONS)
    one = session.partitions.get(name)
    if one is None:
        one = session.partitions[name] = _Partition(session.draw.sample(BROKERS, 2))
        state = {"leader": one.leader, "leader_epoch": 0, "partition_epoch": 0, "isr": one.isr}
        session.tell("partition_created", partition=name, **state, detail=f"replicas {', '.join(map(str, one.isr))}")
        session.tell("leader_elected", partition=name, **state, clean=True, by="created")
    elif session.chance(0.3):
        del session.partitions[name]
        session.tell("partition_deleted", partition=name)
    else:
        one.replicas = session.draw.sample(BROKERS, session.draw.randint(1, 3))
        adding = [each for each in one.replicas[1:] if session.chance(0.4)]
        state = {"leader": one.leader, "leader_epoch": one.epoch, "partition_epoch": 0}
        session.tell("assignment_changed", partition=name, **state, replicas=one.replicas, adding=adding)


def _lead(session: _Session) -> None:
    """Somebody takes up the lead of an epoch, perhaps one that is over."""
    name, one = session.some()
    zombie = one.taken > 0 and session.chance(0.2)
    epoch = session.draw.randrange(one.taken) if zombie else max(one.epoch, one.taken)
    broker = session.draw.choice(BROKERS)
    hw = session.draw.randint(max(0, one.hw - 30), one.hw)
    if not zombie:
        one.taken, one.hw = epoch, hw
        one.end = session.draw.randint(hw, max(hw, one.end))
    one.lifetime[broker] = (epoch, hw)
    where = {"partition": name, "broker": broker, "leader_epoch": epoch}
    session.tell("became_leader", **where, log_offset=max(hw, one.end), hw=hw)


def _log(session: _Session) -> None:
    """A leader, or one that believes so, appends records or moves its high watermark."""
    name, one = session.some()
    if not one.lifetime:
        return
    broker = session.draw.choice(sorted(one.lifetime))
    epoch, hw = one.lifetime[broker]
    where = {"partition": name, "broker": broker, "leader_epoch": epoch}
    if session.chance(0.6):
        count = session.draw.randint(1, 9)
        batch = {"log_offset": one.end, "count": count, "client": "checkout", "sequence": one.end, "acks": 1}
        session.tell("appended", **where, **batch)
        one.end += count
    elif hw < one.end:
        hw = session.draw.randint(hw + 1, one.end)
        one.lifetime[broker] = (epoch, hw)
        if epoch == one.taken:
            one.hw = hw
        session.tell("hw_advanced", **where, hw=hw)


def _fault(session: _Session) -> None:
    draw = session.draw
    if session.faults and session.chance(0.5):
        number, fault, target = session.faults.pop(draw.randrange(len(session.faults)))
        session.tell("fault_healed", fault_id=number, fault=fault, target=target)
        return
    session.fault_ids += 1
    own = (session.fault_ids, draw.choice(("lag", "crash", "gc_pause")), f"broker {draw.choice(BROKERS)}")
    session.faults.append(own)
    number, fault, target = own
    session.tell("fault_injected", fault_id=number, fault=fault, target=target, until_us=-1, detail=f"for {number}s")


def _produce(session: _Session) -> None:
    draw = session.draw
    client, acks = draw.choice(PRODUCERS)
    name = draw.choice(PARTITIONS)
    batch = {"client": client, "partition": name, "sequence": len(session.told), "count": draw.randint(1, 9)}
    timed = {"latency_us": draw.randrange(min(session.at, draw.choice((2_000, 3_000_000))) + 1)}
    error = {"error": draw.choice(ERRORS)}
    kind = draw.choice(
        (
            *("records_sent", "records_sent", "records_acked", "records_acked", "records_failed", "records_unknown"),
            *("records_aborted", "produce_refused", "produce_retried", "interceptor_failed"),
        )
    )
    rest: dict[str, dict[str, Any]] = {
        "records_sent": {"acks": acks},
        "records_acked": {"acks": acks, "leader_epoch": 0, "log_offset": -1, **timed},
        "records_aborted": {"acks": acks, "log_offset": draw.choice((-1, 7)), **timed},
        "produce_refused": {"acks": acks, "broker": 1, **error},
        "produce_retried": {"broker": 1},
        "interceptor_failed": {"by": "audit"},
    }
    session.tell(kind, **batch, **rest.get(kind, {"acks": acks, **error, **timed}))


def _transaction(session: _Session) -> None:
    kind = session.draw.choice(
        ("transaction_begun", "transaction_committed", "transaction_aborted", "transaction_unknown", "producer_fenced")
    )
    plain = {"client": session.draw.choice(PRODUCERS)[0], "detail": "id one"}
    counted = {} if kind in ("transaction_begun", "producer_fenced") else {"count": 3}
    failed = {"error": session.draw.choice(ERRORS)} if kind in ("transaction_unknown", "producer_fenced") else {}
    session.tell(kind, **plain, **counted, **failed)


def _read(session: _Session) -> None:
    name, one = session.some()
    group, client = session.draw.choice(MEMBERS)
    start = one.read.get(group, 0)
    if session.chance(0.15):
        start = session.draw.randint(max(0, start - 12), start)
    count = session.draw.randint(1, 12)
    one.read[group] = start + count
    where = {"client": client, "group_id": group, "partition": name, "broker": 1, "leader_epoch": 0}
    latency = session.draw.randrange(min(session.at, 900_000) + 1)
    session.tell(
        "records_read", **where, log_offset=start, count=count, end_offset=start + count, latency_us=latency,
        log_branch=session.draw.choice((0, 0, 0, 1)),
    )  # fmt: skip


def _moved(session: _Session) -> None:
    """What a member found out about its position."""
    name, one = session.some()
    group, client = session.draw.choice(MEMBERS)
    where = {"client": client, "group_id": group, "partition": name}
    known = one.read.get(group, 0)
    target = session.draw.randint(max(0, known - 20), known)
    if session.chance(0.5):
        end = session.draw.choice((-1, target, target))
        session.tell("truncation_detected", **where, leader_epoch=0, log_offset=known, end_offset=end)
        one.read[group] = target if end >= 0 else known
    else:
        before = session.draw.choice((-1, known, known))
        session.tell("consumer_reset", **where, log_offset=target, end_offset=before)
        one.read[group] = target if before >= 0 else known


def _group(session: _Session) -> None:
    """A member's partitions, commits and records that came to nothing."""
    draw = session.draw
    group, client = draw.choice(MEMBERS)
    who = {"client": client, "group_id": group}
    name = draw.choice(PARTITIONS)
    kind = draw.choice(
        (
            *("group_rebalanced", "moved", "moved", "moved", "offsets_committed", "commit_failed", "handler_failed"),
            *("records_abandoned", "consumer_failed"),
        )
    )
    if kind == "moved":
        _ownership(session, who)
        return
    session.generation += kind == "group_rebalanced"
    fields: dict[str, dict[str, Any]] = {
        "group_rebalanced": {"count": draw.randint(1, 3), "detail": f"generation {session.generation} by range"},
        "offsets_committed": {"partition": name, "log_offset": 5, "by": draw.choice(("auto", "sync"))},
        "commit_failed": {"error": draw.choice(ERRORS), "by": "auto"},
        "handler_failed": {"partition": name, "log_offset": 3, "count": draw.randint(1, 3)},
        "records_abandoned": {"partition": name, "log_offset": 3, "count": draw.randint(1, 3), "by": "process ended"},
        "consumer_failed": {"error": draw.choice(ERRORS)},
    }
    session.tell(kind, **who, **fields[kind])
    if kind == "offsets_committed" and session.chance(0.5):
        session.tell(kind, **who, **{**fields[kind], "partition": draw.choice(PARTITIONS)})


def _ownership(session: _Session, who: dict[str, Any]) -> None:
    draw = session.draw
    kind = draw.choice(("partitions_assigned", "partitions_assigned", "partitions_revoked", "partitions_lost"))
    names = draw.sample(PARTITIONS, draw.randint(0, 3))
    detail = f"generation {session.generation}: {', '.join(names)}" if session.chance(0.8) else ", ".join(names)
    session.tell(kind, **who, count=len(names), detail=detail)


def _checker(session: _Session) -> None:
    """Points that are one row each."""
    draw, name = session.draw, session.draw.choice(PARTITIONS)
    kind = draw.choice(
        (
            *("truncated", "invariant_violated", "liveness_violated", "records_missing", "step_taken", "guard_acted"),
            *("expectation_checked", "corrupt_batch_found"),
        )
    )
    where = {"partition": name, "broker": draw.choice(BROKERS)}
    fields: dict[str, dict[str, Any]] = {
        "truncated": {**where, "leader_epoch": 1, "log_offset": 3, "end_offset": 9, "hw": 3, "rule": "KIP-101"},
        "invariant_violated": {**where, "invariant": "log-matching", "detail": "two logs", "cause": "x", "known": ""},
        "liveness_violated": {**where, "property": "caught-up", "since_us": 3, "bound_us": 9, "known": "KIP-903"},
        "records_missing": _gone(session, name),
        "step_taken": {"by": "playbook", "target": "broker 1", "detail": "inject crash", "error": draw.choice(ERRORS)},
        "guard_acted": {"rule": "max_faults", "detail": "refused", "fault": "crash", "target": "broker 1"},
        "expectation_checked": {"rule": "acked_lost() == 0", "ok": session.chance(0.5), "detail": "found 3"},
        "corrupt_batch_found": where,
    }
    session.tell(kind, **fields[kind])


def _gone(session: _Session, name: str) -> dict[str, Any]:
    plain = {"partition": name, "client": "checkout", "sequence": 4, "count": session.draw.randint(1, 5)}
    return {**plain, "log_offset": 7, "acks": 1, "committed": session.chance(0.5), "cause": "cut"}


def _verdict(session: _Session, name: str) -> None:
    if session.chance(0.6):
        session.tell("records_lost", **_gone(session, name))


_DEEDS: dict[str, tuple[float, Callable[[_Session], None]]] = {
    "node": (7, _node),
    "registration": (3, _registration),
    "controller": (1.5, _controller),
    "decision": (8, _decision),
    "topic": (1.2, _topic),
    "lead": (5, _lead),
    "log": (16, _log),
    "fault": (3, _fault),
    "produce": (22, _produce),
    "transaction": (3, _transaction),
    "read": (14, _read),
    "moved": (2.5, _moved),
    "group": (9, _group),
    "checker": (4, _checker),
}
"""What may happen → how often, and how."""


def write_all(parent: Path) -> dict[str, History]:
    """Random sessions, recorded; and what their twins are to know of them."""
    found = {}
    for number in range(SESSIONS):
        name, rows = f"random-{number:02}", random_history(number)
        last = rows[-1]["at_us"]
        # What happens at a session's very end is part of it, and the last bin may begin there.
        end_us = last if name == TORN else last + (0, 50, 3_000_000)[number % 3]
        controller = (None, "", *CONTROLLERS)[number % 5]
        first: dict[str, Any] = {} if controller is None else {"controller": controller}
        topics = [_topic(topic) for topic in ("orders", "audit")]
        bounds = {"checkout": 500_000} if number % 2 else {}
        first["service_bounds"] = bounds
        write_session(parent, rows, session_id=name, sealed=name != TORN, end_us=end_us, topics=topics, **first)
        ledger = None if name == TORN else ledger_of(rows)
        found[name] = History(rows, end_us, PLACED, MIN_ISR, controller, ledger, bounds)
    return found


def _topic(name: str) -> dict[str, Any]:
    assignment = {each: replicas for each, replicas in PLACED.items() if each.startswith(name)}
    width = len(next(iter(assignment.values())))
    plain = {"name": name, "partitions": len(assignment), "replication": width, "assignment": assignment}
    return {**plain, "min_isr": MIN_ISR[f"{name}-0"]}
