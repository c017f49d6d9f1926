"""ListOffsets: by timestamp, by the ends, limited to readable offsets, in every version of the request."""

import pytest

from cluster_model.broker.fetch.fetch_reads import check_epoch
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.request_handler import Answer, list_offset, list_offsets_response
from cluster_model.cluster import Cluster
from cluster_model.controller.cluster_parts import build_parts
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ConsumerReset
from cluster_model.protocol.messages import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec

E = KafkaError
NOTHING: Answer = (E.NONE, -1, -1)
SECOND = 1_000_000


def leader(kafka: str = "3.9", *, epoch: int = 5) -> Replica:
    """Return a leader of 100-byte segments with offsets 0 to 5, appended at 10, 20 ... with varying timestamps.

    The timestamps are 100, 300, 200, 300, 250, 50. Its high watermark is 5.
    """
    topic = TopicSpec("t", 1, 1, ((1,),), {"segment.bytes": 100})
    spec = ClusterSpec(kafka, None, (BrokerSpec(1),), (topic,))
    replica = build_parts(spec, RandomStreams(1), lambda _event: None, {1: 0}).replicas["t-0"][1]
    replica.apply(PartitionState("t-0", 1, epoch, (1, 2), epoch, (1, 2)), 0)
    assert replica.leadership is not None
    for index, stamp in enumerate((100, 300, 200, 300, 250, 50)):
        request = ProduceRequest(1, "t-0", 1, 1, "p", -1, index, 1, 50, (), stamp)
        replica.leadership.append(10 * (index + 1), request)
    replica.hw = 5
    return replica


def ask(replica: Replica | None, timestamp: int, epoch: int = -1, now: int = 1_000) -> Answer:
    refused = E.NONE if replica is None else check_epoch(replica, epoch)
    return list_offset(replica, refused, ListOffsetsRequest(1, "t-0", timestamp, epoch), now)


def test_the_ends_are_the_log_start_and_the_high_watermark() -> None:
    replica = leader()
    assert (ask(replica, EARLIEST), ask(replica, LATEST)) == ((E.NONE, 0, -1), (E.NONE, 5, -1))
    replica.log.move_start(2)
    assert ask(replica, EARLIEST) == (E.NONE, 2, -1)


@pytest.mark.parametrize(
    ("timestamp", "offset", "found"), [(0, 0, 100), (100, 0, 100), (101, 1, 300), (300, 1, 300), (301, -1, -1)]
)
def test_a_time_finds_the_first_record_that_is_not_older(timestamp: int, offset: int, found: int) -> None:
    assert ask(leader(), timestamp) == (E.NONE, offset, found)


def test_nothing_at_the_high_watermark_or_above_is_reported() -> None:
    replica = leader()
    replica.hw = 1
    assert ask(replica, 101) == NOTHING
    assert ask(replica, MAX_TIMESTAMP) == NOTHING
    replica.hw = 2
    assert ask(replica, 101) == (E.NONE, 1, 300)


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_list_offsets_supports_max_timestamp_since_3_0(kafka: str) -> None:
    expected = (E.NONE, 1, 300) if Profile.of(kafka).number >= (3, 0, 0) else (E.UNSUPPORTED_VERSION, -1, -1)
    assert ask(leader(kafka), MAX_TIMESTAMP) == expected


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_before_0_10_1_only_segments_are_distinguished(kafka: str) -> None:
    replica = leader(kafka)
    assert [segment.base for segment in replica.log.segments.all] == [0, 2, 4]
    assert [segment.modified_us for segment in replica.log.segments.all] == [20, 40, 60]
    told = [ask(replica, at)[1] for at in (19, 20, 45, 60, 999, 1_000)]
    if Profile.of(kafka).number < (0, 10, 1):
        assert told == [-1, 0, 2, 4, 4, 5], "the last is the log's end, and the high watermark instead"
    else:
        assert told == [0, 0, 0, 0, -1, -1]


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_a_new_leader_has_no_latest_offset_before_its_high_watermark_is_known(kafka: str) -> None:
    replica = leader(kafka)
    assert replica.leadership is not None
    replica.leadership.epoch_start = 6
    knows = Profile.of(kafka).number < (2, 2, 0)
    assert ask(replica, LATEST) == ((E.NONE, 5, -1) if knows else (E.OFFSET_NOT_AVAILABLE, -1, -1))
    assert ask(replica, EARLIEST) == (E.NONE, 0, -1)
    if Profile.of(kafka).number >= (0, 10, 1):
        assert ask(replica, 101) == (E.NONE, 1, 300), "what it finds below the high watermark it may tell"
        assert ask(replica, 301) == (NOTHING if knows else (E.OFFSET_NOT_AVAILABLE, -1, -1))
    replica.hw = 6
    assert ask(replica, LATEST) == (E.NONE, 6, -1)


def test_errors_come_before_offsets() -> None:
    replica = leader(epoch=5)
    assert ask(None, LATEST) == (E.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert ask(replica, LATEST, epoch=4) == (E.FENCED_LEADER_EPOCH, -1, -1)
    assert ask(replica, LATEST, epoch=6) == (E.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert ask(replica, LATEST, epoch=5) == (E.NONE, 5, -1)
    replica.apply(PartitionState("t-0", 2, 6, (1, 2), 6, (1, 2)), 0)
    assert ask(replica, EARLIEST, epoch=6) == (E.NOT_LEADER_OR_FOLLOWER, -1, -1)


def test_the_message_carries_the_records_own_time() -> None:
    asked = ListOffsetsRequest(7, "t-0", 101, -1)
    assert list_offsets_response(leader(), E.NONE, asked, 1_000) == ListOffsetsResponse(7, "t-0", E.NONE, 1, 300, 5)


def test_the_message_carries_the_epoch_of_its_record_and_the_leaders_own_at_the_end() -> None:
    replica = leader()
    replica.apply(PartitionState("t-0", 1, 7, (1, 2), 7, (1, 2)), 0)
    replica.hw = 6
    for timestamp, offset, epoch in ((EARLIEST, 0, 5), (101, 1, 5), (LATEST, 6, 7)):
        told = list_offsets_response(replica, E.NONE, ListOffsetsRequest(7, "t-0", timestamp, -1), 1_000)
        assert (told.log_offset, told.leader_epoch) == (offset, epoch)
    nothing = list_offsets_response(replica, E.NONE, ListOffsetsRequest(7, "t-0", 301, -1), 1_000)
    assert (nothing.log_offset, nothing.leader_epoch) == (-1, -1)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "at_the_start"), [("earliest", True), ("latest", False)])
def test_a_consumer_whose_position_is_gone_is_sent_to_an_end(policy: str, at_the_start: bool) -> None:
    topic = TopicSpec("t", 1, 3, ((1, 2, 3),), {"segment.bytes": 20_000})
    maker = ProducerSpec("p", "t", 100_000, 10)
    group = GroupSpec("g", ("t",), 1, 20_000, {"auto.offset.reset": policy}, coordinated=False)
    brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
    cluster = Cluster.build(ClusterSpec("3.9", None, brokers, (topic,), (maker,), (group,)), 1)
    cluster.run(30 * SECOND)
    cluster.delete_records("t-0", 2_500)
    cluster.run(60 * SECOND)
    (reset,) = [event for event in cluster.drain() if isinstance(event, ConsumerReset)]
    assert (reset.log_offset == 2_500) is at_the_start
    assert (reset.log_offset > 2_500) is not at_the_start
