"""What the defaults of a release do to its clients and brokers, each at the releases on both sides of a change."""

from itertools import pairwise

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import AdminAnswered, CommitFailed, Event, RecordsRead
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.support.mistakes import keys, mistakes_of, places
from tests.support.playbooks import finished

SECOND = 1_000_000

SILENT_LEADER = """\
floodmark: 1
name: silent-leader
cluster: {kafka: "%s", brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: p, topic: orders, rate: 2/s, config: {acks: all}}]
  groups: [{name: g, topics: [orders], coordinated: false, config: {metadata.max.age.ms: 3600000}}]
steps:
  - {at: 10s, inject: gc_pause, target: broker(1), for: 310s}
  - {at: %ds, settle: now}
settle: 1s
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "timeout_s"), [("0.9", 40), ("0.10.0", 40), ("0.10.1", 305), ("1.1", 305), ("2.0", 30)]
)
def test_a_consumer_notices_a_silent_leader_once_its_request_times_out(kafka: str, timeout_s: int) -> None:
    events = events_of(SILENT_LEADER % (kafka, timeout_s + 20))
    read = [event.at_us for event in events if isinstance(event, RecordsRead)]
    gap_us, began_us = max((later - earlier, earlier) for earlier, later in pairwise(read))
    assert 9 * SECOND < began_us < 11 * SECOND
    assert 0 <= gap_us - timeout_s * SECOND <= 12 * SECOND


NO_COORDINATOR = """\
floodmark: 1
name: no-coordinator
cluster: {kafka: "%s", brokers: 2, config: {offsets.topic.replication.factor: 1, offsets.topic.num.partitions: 1}}
topics:
  - {name: orders, placement: [[1]]}
  - {name: __consumer_offsets, placement: [[2]], config: {cleanup.policy: compact}}
clients:
  producers: [{name: p, topic: orders, rate: 2/s, config: {acks: all}}]
  groups:
    - {name: g, topics: [orders], commit: sync, config: {auto.offset.reset: earliest, fetch.max.wait.ms: 2000}}
steps:
  - {at: 10s, inject: crash, target: broker(2), for: 130s}
  - {at: 150s, settle: now}
settle: 5s
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "failed"), [("1.1", 0), ("2.0", 1), ("2.5", 2)])
def test_before_2_0_a_commit_waits_for_its_coordinator_without_end(kafka: str, failed: int) -> None:
    """After a commit that failed a poll needs a coordinator, too, before 2.5 (KAFKA-8421)."""
    events = events_of(NO_COORDINATOR % kafka)
    assert [event.error for event in events if isinstance(event, CommitFailed)] == ["TimeoutException"] * failed


BACKLOG = """\
floodmark: 1
name: backlog
cluster: {kafka: "%s", brokers: 1, config: {offsets.topic.replication.factor: 1, offsets.topic.num.partitions: 1}}
topics: [{name: orders, placement: [[1], [1]]}]
clients:
  producers: [{name: p, topic: orders, rate: 200/s, stop: 10s, bytes: 200, batch: 20, config: {acks: all}}]
  groups:
    - name: g
      topics: [orders]
      members: 2
      processing: 50ms
      commit: sync
      config: {auto.offset.reset: earliest, session.timeout.ms: 10000, heartbeat.interval.ms: 3000}
steps: [{at: 80s, settle: now}]
settle: 1s
expect: [reread(g) == 0]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "once"), [("0.9", False), ("0.10.0", False), ("0.10.1", True)])
def test_before_0_10_1_a_poll_hands_out_all_that_was_fetched_and_outlives_its_session(kafka: str, once: bool) -> None:
    (nothing_again,) = finished(BACKLOG % kafka).expectations
    assert nothing_again.ok is once


DEAD_TRANSACTION = """\
floodmark: 1
name: dead-transaction
cluster: {kafka: "%s", brokers: 1, config: {transaction.state.log.replication.factor: 1,
  transaction.state.log.min.isr: 1, transaction.state.log.num.partitions: 1, offsets.topic.replication.factor: 1,
  offsets.topic.num.partitions: 1}}
topics: [{name: orders, placement: [[1]]}]
clients:
  producers:
    - {name: ledger, topic: orders, rate: 10/s, config: {transactional.id: ledger, transaction.timeout.ms: 5000},
       transactions: {every: 3s}}
    - {name: audit, topic: orders, rate: 10/s, config: {acks: all}}
  groups:
    - {name: careful, topics: [orders], config: {isolation.level: read_committed, auto.offset.reset: earliest}}
steps:
  - {at: 64.5s, inject: crash, target: client(ledger)}
  - {at: 125s, settle: now}
settle: 1s
expect: [{eventually: now() > 72s and lag(careful) < 60, within: 125s}]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "every_s"), [("2.4", 60), ("2.5", 10)])
def test_how_long_a_dead_transaction_holds_readers(kafka: str, every_s: int) -> None:
    (read_on,) = finished(DEAD_TRANSACTION % kafka).expectations
    assert read_on.ok
    assert (read_on.at_us < 85 * SECOND) is (every_s == 10)
    assert read_on.at_us % (every_s * SECOND) < 5 * SECOND


SILENT_PRODUCER = """\
floodmark: 1
name: silent-producer
cluster: {kafka: "%s", mode: zookeeper, brokers: 1, config: {transactional.id.expiration.ms: 900000}}
topics: [{name: orders, placement: [[1]]}]
clients:
  producers:
    - {name: quiet, topic: orders, rate: {step: [{rate: 1/s, for: 5s}, {rate: 0/s, for: 1h}]},
       config: {acks: all, enable.idempotence: true, metadata.max.age.ms: 3600000}}
steps:
  - {at: 1800s, admin: describe_producers, partition: orders-0}
  - {at: 1801s, settle: now}
settle: 1s
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "known"), [("3.3", 0), ("3.4", 1)])
def test_before_3_4_producers_are_forgotten_with_transactional_ids(kafka: str, known: int) -> None:
    (answered,) = [event for event in events_of(SILENT_PRODUCER % kafka) if isinstance(event, AdminAnswered)]
    assert (answered.error, answered.detail.split()[0]) == ("", str(known))


@pytest.mark.evening
@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "known"), [("3.3", 1), ("3.4", 0)])
def test_a_producer_that_is_silent_for_two_days_is_known_for_seven_or_for_one(kafka: str, known: int) -> None:
    text = SILENT_PRODUCER.replace("transactional.id.expiration.ms: 900000", "num.io.threads: 8")
    text = text.replace("for: 1h", "for: 72h").replace("1800s", "172800s").replace("1801s", "172801s") % kafka
    (answered,) = [event for event in events_of(text) if isinstance(event, AdminAnswered)]
    assert (answered.error, answered.detail.split()[0]) == ("", str(known))


def events_of(text: str) -> list[Event]:
    session = Session.start(loads(text, "text.yaml"))
    found: list[Event] = []
    while session.advance(session.cluster.now_us + 100 * SECOND):
        found += session.drain()
    return found + session.drain()


LACKING = """\
floodmark: 1
name: lacking
cluster:
  kafka: "2.0"
  config: {num.io.threads: 4, broker.session.timeout.ms: 9000}
topics:
  - {name: orders, placement: [[1, 2]], config: {message.timestamp.after.max.ms: 9}}
clients:
  producers: [{name: p, topic: orders, rate: 1/s, config: {acks: all, delivery.timeout.ms: 120000}}]
  groups: [{name: g, topics: [orders], config: {client.rack: a}}]
steps:
  - {at: 1s, admin: alter_topic_config, topic: orders, set: {retention.ms: 5, max.compaction.lag.ms: 5}}
  - {at: 2s, admin: alter_topic_config, topic: orders, set: {max.compaction.lag.ms: 5}, refused: INVALID_CONFIG}
  - {at: 3s, admin: create_topic, topic: more, partitions: 1, replication: 1, config: {max.compaction.lag.ms: 5}}
"""


def test_configs_missing_in_a_release_are_rejected_at_their_key(snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: loads(LACKING, "lacking.yaml"))
    assert keys(problems) == [
        "cluster.config.broker.session.timeout.ms",
        "topics[1].config.message.timestamp.after.max.ms",
        "clients.producers[1].config.delivery.timeout.ms",
        "clients.groups[1].config.client.rack",
        "steps[1].set.max.compaction.lag.ms",
        "steps[3].config.max.compaction.lag.ms",
    ]
    assert [(places(problems)[at], problems[at].message) for at in range(len(problems))] == snapshot
