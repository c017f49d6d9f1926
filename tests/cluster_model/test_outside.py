"""Clients outside of the model: what they were told, by what their requests and their connections show."""

from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.external_clients import EXTERNAL_CLIENTS, NAME
from cluster_model.protocol.events import (
    ProduceRefused,
    ProduceRetried,
    RecordsAcked,
    RecordsFailed,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.protocol.messages import FetchPartition, FetchRequest, ProduceRequest
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

P = "orders-0"
SECOND = 1_000_000


class ExternalClientStage:
    """A cluster, and whoever is outside of it."""

    def __init__(self) -> None:
        brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
        topics = (TopicSpec("orders", 1, 3, config={"min.insync.replicas": 2}),)
        self.cluster = Cluster.build(ClusterSpec("3.9", "kraft", brokers, topics), 3)
        self.answers: dict[int, Any] = {}
        self.broken: list[int] = []
        self.cluster.external_clients.open()
        self.cluster.external_clients.on_answer = self.answers.__setitem__
        self.cluster.external_clients.on_broken = self.broken.append
        self.events: list[Any] = []
        self.run(SECOND)

    def run(self, span_us: int) -> None:
        self.cluster.run(self.cluster.now_us + span_us)
        self.events += self.cluster.drain()

    @property
    def leader(self) -> int:
        return self.cluster.cluster_state.records[P].leader

    def write(self, payload: bytes, *, acks: int = -1, pid: int = -1, sequence: int = -1, span_us: int = SECOND) -> int:
        data = bytes(17) + payload.ljust(44, b".")
        request = ProduceRequest(
            0, P, acks, 30 * SECOND, "app", pid, sequence, 2, len(data), producer_epoch=min(pid, 0), payload=data
        )
        token = self.cluster.external_clients.send_request(self.leader, "app", request)
        self.run(span_us)
        return token

    def told(self, *kinds: type[Any]) -> list[tuple[type[Any], int, int]]:
        found = [each for each in self.events if isinstance(each, kinds) and each.client == "app"]
        return [(type(each), each.sequence, each.count) for each in found]


def test_external_batches_are_stored_unchanged_and_readable() -> None:
    stage = ExternalClientStage()
    stage.write(b"one")
    epoch_branch = stage.cluster.epoch_branches[P].by_id[0]
    assert epoch_branch.payload(0)[17:20] == b"one"
    asked = FetchRequest(0, -1, -1, 0, 1 << 20, (FetchPartition(P, 0, -1, -1),))
    token = stage.cluster.external_clients.send_request(stage.leader, "app", asked)
    stage.run(SECOND)
    assert stage.answers[token].partitions[0].records[:3] == (0, 2, ((0, 0),))
    assert [(each.count, each.log_offset) for each in stage.events if each.kind == "records_read"] == [(2, 0)]


def test_its_links_have_no_latency_but_what_faults_add() -> None:
    stage = ExternalClientStage()
    before = stage.cluster.now_us
    token = stage.write(b"one", acks=1, span_us=0)
    assert stage.answers[token].log_offset == 0
    stage.cluster.add_lag(EXTERNAL_CLIENTS, stage.leader, 1, 400_000, 0)
    late = stage.write(b"two", acks=1, span_us=399_000)
    assert late not in stage.answers
    stage.run(1_000)
    assert stage.answers[late].log_offset == 2
    assert stage.cluster.now_us == before + 400_000


def test_the_same_bytes_after_a_refusal_are_a_retry_and_not_new_records() -> None:
    stage = ExternalClientStage()
    followers = [broker for broker in (1, 2, 3) if broker != stage.leader]
    for broker in followers:
        stage.cluster.crash(broker)
    stage.run(40 * SECOND)
    stage.write(b"same")
    assert stage.told(RecordsSent, ProduceRefused, RecordsAcked) == [(RecordsSent, 0, 2), (ProduceRefused, 0, 2)]
    for broker in followers:
        stage.cluster.restart(broker)
    stage.run(30 * SECOND)
    stage.write(b"same")
    stage.write(b"other")
    assert stage.told(RecordsSent, ProduceRetried, RecordsAcked) == [
        (RecordsSent, 0, 2), (ProduceRetried, 0, 2), (RecordsAcked, 0, 2), (RecordsSent, 2, 2), (RecordsAcked, 2, 2),
    ]  # fmt: skip


def test_the_same_bytes_twice_without_a_failure_are_two_batches() -> None:
    stage = ExternalClientStage()
    stage.write(b"same")
    stage.write(b"same")
    assert stage.told(RecordsAcked) == [(RecordsAcked, 0, 2), (RecordsAcked, 2, 2)]


def test_an_idempotent_batch_that_comes_again_is_acknowledged_once() -> None:
    stage = ExternalClientStage()
    first = stage.write(b"x", pid=9, sequence=0)
    again = stage.write(b"x", pid=9, sequence=0)
    assert stage.answers[first].log_offset == stage.answers[again].log_offset == 0
    assert stage.told(RecordsSent, RecordsAcked) == [(RecordsSent, 0, 2), (RecordsAcked, 0, 2)]
    gap = stage.write(b"y", pid=9, sequence=50)
    assert stage.answers[gap].error == 45
    assert stage.told(RecordsFailed) == [(RecordsFailed, 2, 2)]


def test_records_of_a_disconnected_client_are_unknown() -> None:
    stage = ExternalClientStage()
    token = stage.write(b"x", span_us=0)
    stage.cluster.external_clients.drop([token])
    stage.run(SECOND)
    assert token not in stage.answers
    assert stage.told(RecordsAcked, RecordsUnknown) == []
    stage.cluster.close()
    stage.run(0)
    assert stage.told(RecordsAcked, RecordsUnknown) == [(RecordsUnknown, 0, 2)]


@pytest.mark.parametrize(("acks", "outcome"), [(-1, RecordsUnknown), (0, RecordsAcked)])
def test_a_broker_that_dies_breaks_every_connection(acks: int, outcome: type[Any]) -> None:
    stage = ExternalClientStage()
    leader = stage.leader
    for broker in (1, 2, 3):
        if broker != leader:
            stage.cluster.pause(broker)
    stage.write(b"x", acks=acks, span_us=1_000)
    stage.cluster.crash(leader)
    stage.run(SECOND)
    stage.cluster.close()
    stage.run(0)
    assert stage.broken == [leader]
    assert stage.told(RecordsUnknown, RecordsAcked, RecordsFailed) == [(outcome, 0, 2)]


def test_a_keyframe_has_the_outside_too() -> None:
    stage = ExternalClientStage()
    cluster = stage.cluster
    stage.write(b"one")
    flying = stage.write(b"two", span_us=0)
    keyframe = cluster.save()
    stage.run(SECOND)
    digest, answer = cluster.digest(), stage.answers.pop(flying)
    cluster.load(keyframe)
    stage.run(SECOND)
    assert cluster.digest() == digest
    assert stage.answers[flying] == answer
    twin = cluster.twin()
    twin.load(keyframe)
    twin.run(cluster.now_us)
    assert twin.digest() == digest
    assert EXTERNAL_CLIENTS in twin.nodes()
    assert twin.name_of(EXTERNAL_CLIENTS) == NAME


def test_no_external_client_exists_before_the_first_request() -> None:
    spec = ClusterSpec("3.9", "kraft", (BrokerSpec(1),), (TopicSpec("orders", 1, 1),))
    cluster = Cluster.build(spec, 3)
    assert EXTERNAL_CLIENTS not in cluster.nodes()
    assert cluster.external_clients.save() == ()
