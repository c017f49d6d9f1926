"""Real runs: brokers, controllers and clients start, a leader crashes, and the evidence has what happened."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.real_kafka import history
from tests.real_kafka.metadata_view import MetadataView
from tests.real_kafka.namespaces import make_namespace
from tests.real_kafka.run import RunOptions, missing, run

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(bool(missing()), reason=f"real brokers need {', '.join(missing())}"),
]

PLAYBOOK = """\
floodmark: 1
name: short-crash
cluster: {kafka: "4.1", brokers: 3, config: {broker.session.timeout.ms: 3000, broker.heartbeat.interval.ms: 500}}
topics: [{name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}]
clients:
  producers: [{name: checkout, topic: orders, rate: 100/s, config: {acks: all}}]
  groups: [{name: billing, topics: [orders], config: {auto.offset.reset: earliest}}]
steps:
  - {at: 5s, inject: crash, target: leader(orders-0), for: 10s}
  - {when: leader(orders-0) == 2, inject: gc_pause, target: broker(3), for: 1s}
settle: 10s
"""


@pytest.mark.parametrize("release", ["3.9.2", "4.1.2"])
def test_a_leader_crashes(tmp_path: Path, release: str) -> None:
    file, output = tmp_path / "short.yaml", tmp_path / "evidence"
    file.write_text(PLAYBOOK, encoding="utf-8")
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    assert run(RunOptions(str(file), release, output)) == "completed"

    view, leaders = MetadataView(), []
    for record in history.read_events(output / history.METADATA):
        view.add(record)
        if (state := view.partitions.get("orders-0")) is not None:
            leaders.append((state.leader, state.leader_epoch, tuple(sorted(state.isr))))
    assert [*dict.fromkeys(leaders)] == [(1, 0, (1, 2, 3)), (2, 1, (2, 3)), (2, 1, (1, 2, 3))]

    events = list(history.read_events(output / history.CLIENTS))
    numbers = {kind: {event["number"] for event in events if event["event"] == kind} for kind in ("sent", "acked")}
    assert len(numbers["sent"]) > 500
    assert numbers["sent"] == numbers["acked"]
    read = {record[3] for event in events if event["event"] == "polled" for record in event["records"]}
    assert read == {f"checkout:{number}" for number in numbers["acked"]}

    steps = [event for event in history.read_events(output / history.STEPS) if event["event"] == "step"]
    assert [(step["nodes"], step["outcome"]) for step in steps] == [(["broker(1)"], "taken"), (["broker(3)"], "taken")]
    summary: dict[str, Any] = json.loads((output / history.RUN).read_text(encoding="utf-8"))
    assert set(summary) == set(history.RUN_KEYS)
    for node in ("1", "1001"):
        assert list((output / history.NODES / node / "log" / history.METADATA_LOG).glob("*.log"))
    assert list((output / history.NODES / "1" / "before-1" / "orders-0").glob("*.log"))
    assert len(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208


def test_a_namespace_leaves_nothing_behind() -> None:
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    make_namespace("10.77.0.1").close()
    assert len(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208


QUORUM = """\
floodmark: 1
name: active-controller-crash
cluster: {kafka: "4.1", brokers: 1, controllers: 3}
topics: [{name: orders, placement: [[1]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 50/s, config: {acks: all}}]
steps:
  - {at: 2s, inject: crash, target: controller, for: 15s}
  - {when: controller() > 0 and now() > 3s, within: 30s, admin: create_topic, topic: later, placement: [[1]]}
  - {when: leader(later-0) == 1, within: 30s, heal: all}
settle: 5s
"""


def test_another_controller_takes_over(tmp_path: Path) -> None:
    file, output = tmp_path / "quorum.yaml", tmp_path / "evidence"
    file.write_text(QUORUM, encoding="utf-8")
    assert run(RunOptions(str(file), "4.1.2", output)) == "completed"
    records = list(history.read_events(output / history.METADATA))
    assert [record["offset"] for record in records] == sorted({record["offset"] for record in records})
    assert len({record["epoch"] for record in records}) > 1
    topics = [record["data"]["name"] for record in records if record["type"] == "TOPIC_RECORD"]
    assert topics == ["orders", "later"]
    events = list(history.read_events(output / history.CLIENTS))
    assert not [event for event in events if event["event"] == "failed"]


COMBINED = """\
floodmark: 1
name: transactions
cluster: {kafka: "4.1", brokers: 3, controllers: [1, 2, 3]}
topics: [{name: orders, placement: [[2, 3, 1]]}]
clients:
  producers:
    - {name: ledger, topic: orders, rate: 50/s, config: {transactional.id: t},
       transactions: {records: 10, abort_every: 3}}
  groups:
    - {name: careful, topics: [orders], config: {auto.offset.reset: earliest, isolation.level: read_committed}}
steps:
  - {at: 4s, inject: lag, target: "link(broker(2), broker(3))", latency: 30ms, for: 2s}
  - {at: 8s, admin: elect_leaders, partition: orders-0}
settle: 8s
"""


def test_transactions_on_brokers_that_are_controllers(tmp_path: Path) -> None:
    file, output = tmp_path / "combined.yaml", tmp_path / "evidence"
    file.write_text(COMBINED, encoding="utf-8")
    assert run(RunOptions(str(file), "4.1.2", output)) == "completed"
    events = list(history.read_events(output / history.CLIENTS))
    ends = {event["transaction"]: event["action"] for event in events if event["event"] == "transaction"}
    assert {number % 3 == 0 for number, action in ends.items() if action == "aborted"} == {True}
    sent = {event["number"]: event["transaction"] for event in events if event["event"] == "sent"}
    read = {record[3] for event in events if event["event"] == "polled" for record in event["records"]}
    assert read == {f"ledger:{number}" for number, transaction in sent.items() if ends[transaction] == "committed"}
    steps = {event["index"]: event for event in history.read_events(output / history.STEPS) if event["event"] == "step"}
    assert {tuple(link) for link in steps[0]["links"]} == {("broker(2)", "broker(3)"), ("broker(3)", "broker(2)")}
    finished = [event for event in history.read_events(output / history.STEPS) if event["event"] == "finished"]
    assert [event["error"] for event in finished] == ["ELECTION_NOT_NEEDED"]
