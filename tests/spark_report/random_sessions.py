"""Random streams of events: epochs only grow, but for zombies, and a fault heals after it began."""

import random

from tests.support.sessions import Row, event

PARTITIONS = ("orders-0", "orders-1")
BROKERS = (1, 2, 3)
CLIENTS = (("checkout", 1), ("audit", -1))
BOUNDS = {"checkout": 400, "audit": 900}
"""Service bounds of the clients."""


def random_session(seed: int, length: int = 120) -> list[Row]:
    """A session of that many events; several may share a microsecond."""
    draw = random.Random(seed)
    at = 0
    epochs = dict.fromkeys(PARTITIONS, 0)
    faults: list[int] = []
    told: list[Row] = []
    for _ in range(length):
        at += draw.choice((0, 0, 1, 7, 450, 3_000))
        what = draw.choice(("node", "node", "lead", "fault", "client", "client", "client", "read"))
        partition = draw.choice(PARTITIONS)
        if what == "node":
            kind = draw.choice(
                ("node_down", "node_up", "node_paused", "node_resumed", "broker_fenced", "broker_registered")
            )
            broker = draw.choice(BROKERS)
            if kind.startswith("broker"):
                told.append(event(kind, at, broker=broker))
            elif draw.random() < 0.7:
                told.append(event(kind, at, broker=broker, node=f"broker-{broker}"))
            else:
                told.append(event(kind, at, broker=-1, node=draw.choice(CLIENTS)[0]))
        elif what == "lead":
            told.append(_lead(draw, at, partition, epochs))
        elif what == "fault":
            told.append(_fault(draw, at, faults))
        else:
            told.append(_traffic(draw, at, partition, what))
    return [{**row, "seq": seq} for seq, row in enumerate(told)]


def _lead(draw: random.Random, at: int, partition: str, epochs: dict[str, int]) -> Row:
    zombie = epochs[partition] > 0 and draw.random() < 0.2
    if not zombie:
        epochs[partition] += 1
    epoch = epochs[partition] - zombie
    if not zombie and draw.random() < 0.2:
        return event("partition_offline", at, partition=partition, leader_epoch=epoch)
    return event("became_leader", at, partition=partition, leader_epoch=epoch, broker=draw.choice(BROKERS))


def _fault(draw: random.Random, at: int, faults: list[int]) -> Row:
    if faults and draw.random() < 0.5:
        return event("fault_healed", at, fault_id=faults.pop())
    number = at * 1000 + draw.randrange(1000)
    faults.append(number)
    return event("fault_injected", at, fault_id=number, fault="lag", target="broker 1")


def _traffic(draw: random.Random, at: int, partition: str, what: str) -> Row:
    latency = draw.randrange(min(at, 2_000) + 1)
    batch = {"partition": partition, "count": draw.randint(1, 9)}
    if what == "read":
        return event("records_read", at, client="billing/0", latency_us=latency, **batch)
    client, acks = draw.choice(CLIENTS)
    kind = draw.choice(
        ("records_sent", "records_acked", "records_acked", "produce_refused", "records_unknown", "records_aborted")
    )
    timed = {} if kind in ("records_sent", "produce_refused") else {"latency_us": latency}
    if kind == "records_aborted":
        timed["log_offset"] = draw.choice((-1, 7))
    return event(kind, at, client=client, acks=acks, **batch, **timed)
