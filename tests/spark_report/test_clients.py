"""The report on clients says what the books of the sessions themselves say."""

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from playbooks.client_books import ClientBooks
from playbooks.client_history import enter
from playbooks.loader import loads
from playbooks.recorder import Recorder
from playbooks.session import Session
from spark_report import findings
from spark_report.recorded import look_at
from spark_report.transforms import clients
from tests.spark_report.conftest import MakeFrame, told
from tests.support.sessions import Row, event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAMES = ("t-0", "t-1", "t-2")


def history(seed: int) -> list[Row]:
    """What three producers and two groups might say, in an order that only chance explains."""
    draw = random.Random(seed)
    return [{**row, "seq": seq} for seq, row in enumerate(_events(draw))]


def _events(draw: random.Random) -> Iterator[Row]:
    at = 0
    for _ in range(300):
        at += draw.choice((0, 1, 5))
        if draw.random() < 0.3:
            yield _of_producer(draw, at)
        else:
            yield _of_member(draw, at)


def _of_producer(draw: random.Random, at: int) -> Row:
    who = {"client": draw.choice(("p", "q", "r")), "partition": "t-0", "count": draw.randint(1, 5)}
    kind = draw.choice(clients.PRODUCER_KINDS)
    failed = kind in ("records_failed", "records_unknown", "produce_refused")
    return event(kind, at, **who, **({"error": draw.choice(("A", "B"))} if failed else {}))


def _of_member(draw: random.Random, at: int) -> Row:
    group = draw.choice(("g", "h"))
    who = {"client": f"{group}/{draw.randint(0, 2)}", "group_id": group}
    kind = draw.choice(("records_read", "records_read", *clients.MEMBER_KINDS))
    some = draw.sample(NAMES, draw.randint(1, 3))
    where = {"partition": draw.choice(NAMES), "log_offset": draw.randint(0, 60)}
    fields: dict[str, Any] = {
        "records_read": {**where, "count": draw.randint(1, 12)},
        "offsets_committed": {**where, "by": draw.choice(("auto", "sync"))},
        "commit_failed": {"error": draw.choice(("A", "B")), "by": "auto"},
        "handler_failed": {**where, "count": draw.randint(1, 3)},
        "consumer_failed": {"error": "X"},
        "truncation_detected": {**where, "end_offset": draw.choice((-1, draw.randint(0, 60)))},
        "consumer_reset": {**where, "end_offset": draw.choice((-1, 70))},
        "group_rebalanced": {"count": 2, "detail": "generation 3 by range"},
    }.get(kind, {"count": len(some), "detail": f"{draw.choice(('', 'generation 3: '))}{', '.join(some)}"})
    return event(kind, at, **who, **fields)


HISTORIES = {f"random{seed}": history(seed) for seed in range(12)}


def books(rows: list[Row]) -> ClientBooks:
    made = ClientBooks()
    enter(made, [SimpleNamespace(**row) for row in rows])
    return made


@pytest.fixture
def frame(events: MakeFrame) -> Any:
    return events([{**row, "session_id": name} for name, rows in HISTORIES.items() for row in rows]).repartition(3)


def test_the_histories_have_what_is_to_be_compared() -> None:
    groups = [group for rows in HISTORIES.values() for group in books(rows).groups.values()]
    assert all(group.total("reread") and group.idle_us and group.truncations for group in groups)
    assert any(group.owners for group in groups)


def test_producers(frame: Any) -> None:
    expected = [
        (name, client, each.sent, each.acked, each.failed, each.unknown, each.unanswered, each.retries,
         sum(each.refused.values()))
        for name, rows in HISTORIES.items()
        for client, each in books(rows).producers.items()
    ]  # fmt: skip
    assert told(clients.producers(frame), "session_id", "client", *clients.PRODUCER) == sorted(expected)


def test_members(frame: Any) -> None:
    # A member that only led a rebalance has no book of its own, as the event is its group's.
    expected = [
        (name, group, client, each.read, each.skipped, each.commits, each.failed_commits, each.lost, each.failure)
        for name, rows in HISTORIES.items()
        for group, book in books(rows).groups.items()
        for client, each in book.members.items()
    ]
    found = told(clients.members(frame), "session_id", "group_id", "client", *clients.MEMBER)
    assert [row for row in found if any(row[3:])] == sorted(row for row in expected if any(row[3:]))


def test_groups(frame: Any) -> None:
    expected = [
        (name, group, each.total("read"), each.total("reread"), each.rebalances, each.idle_us, each.total("commits"),
         each.total("failed_commits"), each.total("skipped"), each.truncations, each.resets)
        for name, rows in HISTORIES.items()
        for group, each in books(rows).groups.items()
    ]  # fmt: skip
    assert told(clients.groups(frame), "session_id", "group_id", *clients.GROUP) == sorted(expected)


def test_errors(frame: Any) -> None:
    found = told(clients.errors(frame), "session_id", "client", "error", "times", "what")
    expected = []
    for name, rows in HISTORIES.items():
        for client, each in books(rows).producers.items():
            expected += [(name, client, error, times, "refused") for error, times in each.refused.items()]
            expected += [(name, client, error, times, "outcome") for error, times in each.errors.items()]
    assert [row for row in found if row[-1] != "commit"] == sorted(expected)
    assert any(row[-1] == "commit" for row in found)


PLAYBOOK = """\
floodmark: 1
name: two-members
seed: 5
cluster: {kafka: "3.9", brokers: 3, config: {offsets.topic.num.partitions: 3}}
topics:
  - {name: orders, partitions: 4, replication: 3}
clients:
  producers:
    - {name: clicks, topic: orders, rate: 200/s, config: {acks: 1}}
    - {name: checkout, topic: orders, rate: 100/s, config: {acks: all}}
  groups:
    - {name: billing, topics: [orders], members: 2, coordinated: true, fails: 500,
       config: {auto.offset.reset: earliest, auto.commit.interval.ms: 1000, session.timeout.ms: 6000}}
steps:
  - {at: 8s, inject: crash, target: leader(orders-0), for: 12s}
  - {at: 30s, inject: partition, target: client(billing/0), for: 12s}
settle: 20s
"""


def test_a_recorded_session_has_the_figures_of_its_result(spark: "SparkSession", tmp_path: Path) -> None:
    result = Session.start(loads(PLAYBOOK, "two-members.yaml"), recorder=Recorder(tmp_path)).finish()
    recorded = look_at(Path(result.session))
    tables = findings.compute(spark, [recorded], lambda _stage: None)
    told_by_result = recorded.result["clients"]
    found = {row["client"]: row for row in tables["producers"].to_pylist()}
    assert set(found) == {"clicks", "checkout"}
    for name, row in found.items():
        same = told_by_result["producers"][name]
        assert [row[term] for term in clients.PRODUCER[:-1]] == [same[term] for term in clients.PRODUCER[:-1]]
        assert row["refused"] == sum(same["refused"].values()) > 0
    (group,) = tables["groups"].to_pylist()
    same = told_by_result["groups"]["billing"]
    assert [group[term] for term in clients.GROUP] == [same[term] for term in clients.GROUP]
    # Something of everything, or the comparison says little.
    assert all(group[term] for term in ("reread", "idle_us", "failed_commits", "skipped"))
    assert group["rebalances"] > 1
    members = {row["client"]: row for row in tables["members"].to_pylist()}
    for name, row in members.items():
        same_member = same["members"][name] | {"partitions_lost": same["members"][name]["lost"]}
        assert [row[term] for term in clients.MEMBER] == [same_member[term] for term in clients.MEMBER]
    refused = {
        (row["client"], row["error"]): row["times"]
        for row in tables["client_errors"].to_pylist()
        if row["what"] == "refused"
    }
    assert refused == {
        (name, error): times
        for name, each in told_by_result["producers"].items()
        for error, times in each["refused"].items()
    }
