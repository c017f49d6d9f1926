"""Transactions of version 2 on the wire (KIP-890): no partition is announced, and each transaction has an epoch."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cluster_model.protocol.errors import KafkaError as E
from cluster_model.protocol.releases import Version
from gateway.protocol import api_versions
from gateway.protocol.context import topic_uuid
from gateway.protocol.record_batches import BatchProducer, encode_batch
from playbooks.engine.replay import replay
from playbooks.parser.steps.timed_steps import facts_in
from playbooks.recording.reader import read_session
from tests.gateway.hosting import playbook
from tests.gateway.wire import Wire
from tui.session.typed_commands import ActionCommand, CommandContext, facts_now, read_line

UNKNOWN_TOPIC_ID = 100


class Shop:
    """A producer of the transactional id ``t``."""

    def __init__(self, kafka: str = "4.1", config: str = "", parent: Path | None = None) -> None:
        self.wire = Wire(playbook(kafka, config=config), parent)
        self.wire.run(2)
        self.at = self.place("t", 1)
        self.pid, self.epoch = self.begin()

    def place(self, key: str, kind: int) -> int:
        """A coordinator."""
        found = -1
        while found < 0:
            self.wire.run(0.2)
            found = self.wire.ask(1, api_versions.FIND_COORDINATOR, 3, key=key, key_type=kind).node_id
        return found

    def begin(self) -> tuple[int, int]:
        while True:
            told = self.wire.ask(
                self.at, api_versions.INIT_PRODUCER_ID, 5, transactional_id="t", transaction_timeout=60_000
            )
            if not told.error_code:
                return told.producer_id, told.producer_epoch
            self.wire.run(0.1)

    def leader(self, partition: str) -> int:
        return int(self.wire.session.cluster.cluster_state.records[partition].leader)

    def send(self, value: bytes, sequence: int, number: int = 0, *, version: int = 12, **said: Any) -> Any:
        """A record in the open transaction; its partition's answer."""
        epoch = said.pop("epoch", self.epoch)
        batch = encode_batch(
            0, 0, 1_700_000_000_000, [(None, value)], BatchProducer(self.pid, epoch, sequence), transactional=True
        )
        topic = {"name": "orders", "topic_id": said.pop("topic_id", self.id)}
        asked = {"transactional_id": "t", "acks": -1, "timeout": 9_000,
                 "topic_data": [{**topic, "partition_data": [{"index": number, "records": batch}]}]}  # fmt: skip
        answer = self.wire.ask(self.leader(f"orders-{number}"), api_versions.PRODUCE, version, **asked)
        (told,) = answer.responses[0].partition_responses
        return told

    @property
    def id(self) -> UUID:
        return topic_uuid("orders", self.wire.context.states(1)["orders-0"].topic_id)

    def end(self, *, committed: bool, version: int = 5) -> Any:
        told = self.wire.ask(self.at, api_versions.END_TXN, version, transactional_id="t", producer_id=self.pid,
                             producer_epoch=self.epoch, committed=committed)  # fmt: skip
        if version >= 5 and not told.error_code:
            self.pid, self.epoch = told.producer_id, told.producer_epoch
        self.wire.run(1)
        return told

    def committed(self, number: int = 0) -> list[bytes]:
        """What a read_committed fetch of a partition has, less what it says was aborted."""
        partition = {"partition": number, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        answer = self.wire.ask(
            self.leader(f"orders-{number}"), api_versions.FETCH, 18, isolation_level=1, max_wait=0, min_bytes=0,
            max_bytes=1 << 20, topics=[{"topic_id": self.id, "partitions": [partition]}], replica_state=REPLICA,
        )  # fmt: skip
        (told,) = answer.responses[0].partitions
        aborted = {(each.producer_id, each.first_offset) for each in told.aborted_transactions or ()}
        data, at, found = bytes(told.records or b""), 0, []
        while at < len(data):
            size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
            base, pid = int.from_bytes(data[at : at + 8], "big"), int.from_bytes(data[at + 43 : at + 51], "big")
            control = data[at + 22] & 0x20
            if not control and (pid, base) not in aborted:
                found.append(data[at + 61 : at + size])
            at += size
        return found


REPLICA = {"replica_id": -1, "replica_epoch": -1}


def values(batches: list[bytes]) -> list[bytes]:
    return [each[-2:-1] for each in batches]


def test_a_write_adds_its_partition_and_the_end_brings_the_next_epoch(tmp_path: Path) -> None:
    shop = Shop(parent=tmp_path)
    first = (shop.pid, shop.epoch)
    assert shop.send(b"a", 0).error_code == E.NONE
    assert shop.send(b"b", 0, 1).error_code == E.NONE
    assert values(shop.committed()) == []
    assert shop.end(committed=True).error_code == E.NONE
    assert (shop.pid, shop.epoch) == (first[0], first[1] + 1)
    assert (values(shop.committed()), values(shop.committed(1))) == ([b"a"], [b"b"])
    late = shop.send(b"x", 1, epoch=first[1])
    assert late.error_code == E.INVALID_PRODUCER_EPOCH
    assert shop.send(b"c", 0).error_code == E.NONE
    assert shop.end(committed=False).error_code == E.NONE
    assert shop.send(b"d", 0, version=13).error_code == E.NONE
    assert shop.end(committed=True).error_code == E.NONE
    assert shop.epoch == first[1] + 3
    assert values(shop.committed()) == [b"a", b"d"]
    result = shop.wire.close()
    assert (result.ledger.acked, result.ledger.aborted, result.ledger.acked_lost) == (3, 1, 0)
    assert (result.ledger.failed, result.violations) == (1, ())
    recorder = shop.wire.session.recorder
    assert recorder is not None
    assert replay(read_session(recorder.path)).digest == result.digest


def test_a_transaction_found_open_by_another_process_is_aborted() -> None:
    shop = Shop()
    shop.send(b"a", 0)
    shop.pid, shop.epoch = shop.begin()
    shop.send(b"b", 0)
    shop.end(committed=True)
    assert values(shop.committed()) == [b"b"]
    result = shop.wire.close()
    assert (result.ledger.acked, result.ledger.aborted, result.ledger.unknown) == (1, 1, 0)
    assert [each for each in result.anomalies if not each.legal] == []


def test_a_transaction_being_committed_has_an_unknown_outcome() -> None:
    shop = Shop()
    shop.send(b"a", 0)
    shop.wire.ask(shop.at, api_versions.END_TXN, 5, transactional_id="none", producer_id=shop.pid,
                  producer_epoch=shop.epoch, committed=True)  # fmt: skip
    shop.pid, shop.epoch = shop.begin()
    ledger = shop.wire.close().ledger
    assert (ledger.acked, ledger.aborted, ledger.unknown) == (0, 0, 1)


def test_a_line_can_speak_of_the_coordinator_of_a_producer_on_the_wire() -> None:
    shop = Shop()
    cluster = shop.wire.session.cluster
    typed = read_line(
        "crash transaction_coordinator(c) 3s", CommandContext(facts_now(facts_in(cluster), cluster.view()))
    )
    assert isinstance(typed, ActionCommand)
    assert tuple(shop.wire.session.board.targets(typed.actions[0].target)) == (shop.at,)


def test_the_same_end_again_gets_the_same_epoch() -> None:
    shop = Shop()
    pid, epoch = shop.pid, shop.epoch
    shop.send(b"a", 0)
    shop.end(committed=True)
    told = (shop.pid, shop.epoch)
    shop.pid, shop.epoch = pid, epoch
    again = shop.end(committed=True)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (E.NONE, *told)


def test_offsets_are_added_by_their_commit() -> None:
    shop = Shop()
    group = shop.place("g", 0)
    offset = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    asked = {"transactional_id": "t", "group_id": "g", "producer_id": shop.pid, "producer_epoch": shop.epoch,
             "topics": [{"name": "orders", "partitions": [offset]}]}  # fmt: skip
    refused = shop.wire.ask(group, api_versions.TXN_OFFSET_COMMIT, 4, **asked)
    assert refused.topics[0].partitions[0].error_code == E.TRANSACTION_ABORTABLE
    told = shop.wire.ask(group, api_versions.TXN_OFFSET_COMMIT, 5, **asked)
    assert told.topics[0].partitions[0].error_code == E.NONE
    assert fetched(shop, group) == -1
    shop.end(committed=True)
    assert fetched(shop, group) == 7


def test_offsets_are_committed_by_topic_id_and_an_unknown_id_opens_no_transaction() -> None:
    shop = Shop("4.4")
    group = shop.place("g", 0)
    offset = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    asked = {"transactional_id": "t", "group_id": "g", "producer_id": shop.pid, "producer_epoch": shop.epoch}
    unknown = {"topic_id": UUID(int=7), "partitions": [offset]}

    def commit(*topics: dict[str, Any]) -> list[tuple[UUID, int]]:
        answer = shop.wire.ask(group, api_versions.TXN_OFFSET_COMMIT, 6, **asked, topics=topics)
        return [(topic.topic_id, each.error_code) for topic in answer.topics for each in topic.partitions]

    assert commit(unknown) == [(UUID(int=7), UNKNOWN_TOPIC_ID)]
    assert shop.end(committed=True).error_code == E.INVALID_TXN_STATE
    both = commit(unknown, {"topic_id": shop.id, "partitions": [offset]})
    assert both == [(UUID(int=7), UNKNOWN_TOPIC_ID), (shop.id, E.NONE)]
    assert commit({"topic_id": shop.id, "partitions": [{**offset, "partition_index": 99}]}) == [
        (shop.id, E.UNKNOWN_TOPIC_OR_PARTITION)
    ]
    shop.end(committed=True)
    assert fetched(shop, group) == 7


@pytest.mark.parametrize(("version", "unknown", "stale"), [
    (5, E.ILLEGAL_GENERATION, E.ILLEGAL_GENERATION), (6, E.GROUP_ID_NOT_FOUND, E.STALE_MEMBER_EPOCH),
])  # fmt: skip
def test_unknown_and_stale_members_get_different_errors_since_version_6(version: int, unknown: E, stale: E) -> None:
    shop = Shop("4.4")
    group = shop.place("g", 0)
    join = {"member_id": "a", "member_epoch": 0, "rebalance_timeout": 60_000, "subscribed_topic_names": ["orders"],
            "topic_partitions": []}  # fmt: skip

    def commit(epoch: int) -> int:
        offset = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
        answer = shop.wire.ask(
            group, api_versions.TXN_OFFSET_COMMIT, version, transactional_id="t", group_id="g", producer_id=shop.pid,
            producer_epoch=shop.epoch, generation_id=epoch, member_id="a",
            topics=[{"name": "orders", "topic_id": shop.id, "partitions": [offset]}],
        )  # fmt: skip
        return int(answer.topics[0].partitions[0].error_code)

    assert commit(1) == unknown
    epoch = shop.wire.ask(group, api_versions.CONSUMER_GROUP_HEARTBEAT, 1, group_id="g", **join).member_epoch
    assert [commit(epoch + 1), commit(epoch)] == [stale, E.NONE]


def fetched(shop: Shop, group: int) -> int:
    asked = {"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0]}]}
    (told,) = shop.wire.ask(group, api_versions.OFFSET_FETCH, 9, groups=[asked]).groups
    return int(told.topics[0].partitions[0].committed_offset)


def test_a_client_of_before_has_to_announce_its_partitions() -> None:
    shop = Shop()
    assert shop.send(b"a", 0, version=11).error_code == E.TRANSACTION_ABORTABLE
    assert shop.send(b"a", 0, version=10).error_code == E.INVALID_TXN_STATE
    told = shop.wire.ask(shop.at, api_versions.ADD_PARTITIONS_TO_TXN, 3, v3_and_below_transactional_id="t",
                         v3_and_below_producer_id=shop.pid, v3_and_below_producer_epoch=shop.epoch,
                         v3_and_below_topics=[{"name": "orders", "partitions": [0]}])  # fmt: skip
    assert told.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == E.NONE
    assert shop.send(b"a", 0, version=11).error_code == E.NONE
    assert shop.end(committed=True, version=4).error_code == E.NONE
    assert values(shop.committed()) == [b"a"]


def test_a_cluster_without_the_feature_takes_no_write_for_an_announcement() -> None:
    shop = Shop(config=", transaction.version: 1")
    assert shop.send(b"a", 0, version=12).error_code == E.TRANSACTION_ABORTABLE
    assert told_features(shop.wire, 4)[1]["transaction.version"] == 1


# -- topics by their ids -----------------------------------------------------------------------------------------------


def test_produce_uses_topic_ids_and_rejects_unknown_ones() -> None:
    wire = Wire(playbook("4.1"))
    wire.run(2)
    states = wire.context.states(1)
    known, strange = topic_uuid("orders", states["orders-0"].topic_id), UUID(int=5)
    leader = wire.session.cluster.cluster_state.records["orders-0"].leader
    batch = encode_batch(0, 0, 1, [(b"k", b"v")])
    topics = [{"topic_id": each, "partition_data": [{"index": 0, "records": batch}]} for each in (known, strange)]
    asked: dict[str, Any] = {"transactional_id": None, "timeout": 9_000, "topic_data": topics}
    answer = wire.ask(leader, api_versions.PRODUCE, 13, acks=-1, **asked)
    told = {each.topic_id: each.partition_responses[0] for each in answer.responses}
    assert (told[known].error_code, told[known].base_offset) == (E.NONE, 0)
    assert (told[strange].error_code, told[strange].base_offset) == (UNKNOWN_TOPIC_ID, -1)
    complaints = wire.complaints
    with pytest.raises(AssertionError, match="no answer"):
        wire.ask(leader, api_versions.PRODUCE, 13, acks=0, **asked)
    assert wire.complaints == complaints + 1, "the only way in which acks=0 is told of an error"


# -- what is offered ---------------------------------------------------------------------------------------------------


def told_features(wire: Wire, version: int) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    told = wire.ask(1, api_versions.API_VERSIONS, version, client_software_name="c", client_software_version="1")
    supported = {each.name: (each.min_version, each.max_version) for each in told.supported_features}
    return supported, {each.name: each.max_version_level for each in told.finalized_features}


@pytest.mark.parametrize(
    ("kafka", "supported", "finalized"),
    [
        ("3.3", {"metadata.version": (1, 7)}, {"metadata.version": 7}),
        ("3.9", {"kraft.version": (0, 1), "metadata.version": (1, 21)}, {"metadata.version": 21}),
        ("4.0", {"eligible.leader.replicas.version": (0, 1), "group.version": (0, 1), "kraft.version": (0, 1),
                 "metadata.version": (7, 25), "transaction.version": (0, 2)},
         {"group.version": 1, "metadata.version": 25, "transaction.version": 2}),
        ("4.1", {"eligible.leader.replicas.version": (0, 1), "group.version": (0, 1), "kraft.version": (0, 1),
                 "metadata.version": (7, 27), "share.version": (0, 1), "transaction.version": (0, 2)},
         {"eligible.leader.replicas.version": 1, "group.version": 1, "metadata.version": 27, "transaction.version": 2}),
    ],
)  # fmt: skip
def test_features_are_reported_as_the_cluster_has_them(
    kafka: str, supported: dict[str, tuple[int, int]], finalized: dict[str, int]
) -> None:
    """``QuorumFeatures.defaultSupportedFeatureMap``; versions before 4 cannot read a range from 0 on (KAFKA-17492)."""
    wire = Wire(playbook(kafka))
    wire.run(1)
    readable = {name: levels for name, levels in supported.items() if levels[0]}
    if kafka >= "3.9":
        assert told_features(wire, 4) == (supported, finalized)
    assert told_features(wire, 3) == (readable, finalized)


@pytest.mark.parametrize(
    ("release", "produce", "end", "offsets", "add", "known"),
    [((3, 7, 0), 10, 3, 3, 3, 3), ((3, 8, 0), 11, 4, 4, 3, 3), ((3, 9, 0), 11, 4, 4, 3, 4), ((4, 0, 0), 12, 5, 5, 3, 4),
     ((4, 1, 0), 13, 5, 5, 3, 4), ((4, 4, 0), 13, 5, 6, 3, 5)],
)  # fmt: skip
def test_a_release_offers_what_it_had(
    release: Version, produce: int, end: int, offsets: int, add: int, known: int
) -> None:
    offered = api_versions.offered(release)
    asked = (
        api_versions.PRODUCE,
        api_versions.END_TXN,
        api_versions.TXN_OFFSET_COMMIT,
        api_versions.ADD_PARTITIONS_TO_TXN,
        api_versions.API_VERSIONS,
    )
    assert tuple(offered[each][1] for each in asked) == (produce, end, offsets, add, known)
