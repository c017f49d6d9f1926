"""Followers out of their leader's range: their requests, their truncations, and the exit of a broker up to 2.0.0."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.fetch.fetch_reads import check_epoch
from cluster_model.broker.fetch.replica_fetcher import ReplicaFetcherThread
from cluster_model.broker.partition.partition import FetcherAction, FollowerState, Replica
from cluster_model.broker.request_handler import RequestHandler, list_offset
from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import LogStartMoved, NodeDown, Truncated
from cluster_model.protocol.messages import (
    EARLIEST,
    LATEST,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    PartitionState,
)
from cluster_model.protocol.records import Slice
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster
from tests.cluster_model.leaders import LeaderRig, P

SECOND = 1_000_000
E = KafkaError
A, B, C = 1, 2, 3


# --- one follower -----------------------------------------------------------------------------------------------------


def out_of_range(kafka: str = "2.0", *, unclean: bool = False) -> tuple[LeaderRig, FollowerState]:
    """Return a follower of broker 2 with offsets 0 to 9 that has just got OFFSET_OUT_OF_RANGE."""
    rig = LeaderRig(kafka, topic={"unclean.leader.election.enable": unclean})
    rig.append(10)
    rig.replica.hw = 10
    rig.replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    following = rig.replica.following
    assert following is not None
    following.truncating = False
    rig.replica.hw = 4
    assert refused(following, E.OFFSET_OUT_OF_RANGE) is FetcherAction.CONTINUE
    rig.events.clear()
    return rig, following


def refused(following: FollowerState, error: KafkaError) -> FetcherAction:
    asked: FetchPartition = following.next_fetch()
    data = FetchData(P, asked.offset, error, -1, -1, -1, following.replica.log.read(99, 99, 0))
    return following.apply_fetch(0, asked, data)


@pytest.mark.parametrize(("end", "leo", "hw"), [(9, 9, 4), (3, 3, 3), (0, 0, 0)])
def test_a_follower_cuts_its_log_where_a_shorter_leader_ends(end: int, leo: int, hw: int) -> None:
    rig, following = out_of_range()
    assert following.apply_offset(0, 0, end) is FetcherAction.CONTINUE
    assert (rig.replica.log.leo, rig.replica.hw, following.seek) == (leo, hw, None)


@pytest.mark.parametrize(("start", "begins", "ends"), [(15, 15, 15), (11, 11, 11), (10, 0, 10), (3, 0, 10)])
def test_a_follower_below_the_leaders_log_start_restarts_there(start: int, begins: int, ends: int) -> None:
    rig, following = out_of_range()
    assert following.apply_offset(0, 0, 20) is FetcherAction.CONTINUE
    assert following.seek is not None
    assert following.seek.earliest
    assert rig.replica.log.leo == 10, "nothing happens before the second answer"
    assert following.apply_offset(0, 0, start) is FetcherAction.CONTINUE
    assert (rig.replica.log.log_start, rig.replica.log.leo, following.seek) == (begins, ends, None)


def test_a_leader_with_the_followers_end_offset_is_asked_for_its_log_start() -> None:
    _rig, following = out_of_range()
    following.apply_offset(0, 0, 10)
    assert following.seek is not None
    assert following.seek.earliest


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (E.FENCED_LEADER_EPOCH, FetcherAction.FAILED),
        (E.UNKNOWN_LEADER_EPOCH, FetcherAction.BACK_OFF),
        (E.NOT_LEADER_OR_FOLLOWER, FetcherAction.BACK_OFF),
        (E.UNKNOWN_TOPIC_OR_PARTITION, FetcherAction.BACK_OFF),
    ],
)
def test_an_error_ends_the_questions(error: KafkaError, outcome: FetcherAction) -> None:
    rig, following = out_of_range("2.6")
    assert following.apply_offset(0, error, -1) is outcome
    assert (following.seek, rig.replica.log.leo) == (None, 10)
    assert following.apply_offset(0, 0, 3) is FetcherAction.IGNORED


def test_a_new_role_ends_the_questions() -> None:
    rig, following = out_of_range()
    rig.replica.apply(PartitionState(P, 3, 3, (1, 2, 3), 3, (1, 2, 3)), 0)
    assert following.apply_offset(0, 0, 3) is FetcherAction.IGNORED


def test_fetch_responses_are_ignored_while_offsets_are_requested() -> None:
    _rig, following = out_of_range()
    assert refused(following, E.NOT_LEADER_OR_FOLLOWER) is FetcherAction.IGNORED


@pytest.mark.parametrize("kafka", ["0.8.2", "0.9", "0.10.2", "0.11", "1.1", "2.0.0"])
def test_up_to_2_0_0_a_diverged_follower_exits_if_unclean_election_is_off(
    kafka: str, snapshot: SnapshotAssertion
) -> None:
    rig, following = out_of_range(kafka)
    assert following.apply_offset(0, 0, 3) is FetcherAction.EXIT
    assert rig.replica.log.leo == 10, "that is the point"
    assert following.exit_reason == snapshot


@pytest.mark.parametrize(("kafka", "unclean"), [("1.0", True), ("0.8.2", True), ("2.0.1", False), ("3.9", False)])
def test_it_does_not_where_it_is_on_or_later(kafka: str, unclean: bool) -> None:
    rig, following = out_of_range(kafka, unclean=unclean)
    assert following.apply_offset(0, 0, 3) is FetcherAction.CONTINUE
    assert rig.replica.log.leo == 3


def test_a_leader_with_a_longer_log_halts_no_follower() -> None:
    _rig, following = out_of_range("0.10.2")
    assert following.apply_offset(0, 0, 11) is FetcherAction.CONTINUE


def listed_offset(replica: Replica | None, request: ListOffsetsRequest) -> tuple[KafkaError, int]:
    refused = E.NONE if replica is None else check_epoch(replica, request.current_leader_epoch)
    return list_offset(replica, refused, request, 0)[:2]


# --- responses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replica", "earliest", "offset"), [(2, False, 10), (2, True, 2), (-1, False, 4), (-1, True, 2)]
)
def test_a_follower_learns_the_end_of_the_log_and_a_consumer_the_hw(replica: int, earliest: bool, offset: int) -> None:
    rig = LeaderRig()
    rig.append(10)
    rig.replica.hw = 4
    rig.replica.log.move_start(2)
    assert listed_offset(rig.replica, ListOffsetsRequest(1, P, EARLIEST if earliest else LATEST, 1, replica)) == (
        E.NONE,
        offset,
    )


@pytest.mark.parametrize(("kafka", "error"), [("2.1", E.NONE), ("2.2", E.OFFSET_NOT_AVAILABLE)])
def test_a_new_leader_reports_consumers_no_end_before_its_hw_reaches_its_epoch_and_followers_at_once(
    kafka: str, error: KafkaError
) -> None:
    rig = LeaderRig(kafka)
    rig.append(10)
    rig.replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    rig.replica.apply(PartitionState(P, 1, 3, (1, 2, 3), 3, (1, 2, 3)), 0)
    assert rig.replica.leadership is not None
    assert rig.replica.leadership.epoch_start == 10
    assert listed_offset(rig.replica, ListOffsetsRequest(1, P, LATEST, 3))[0] is error
    assert listed_offset(rig.replica, ListOffsetsRequest(1, P, LATEST, 3, 2)) == (E.NONE, 10)


@pytest.mark.parametrize(
    ("epoch", "error"), [(0, E.FENCED_LEADER_EPOCH), (2, E.UNKNOWN_LEADER_EPOCH), (1, E.NONE), (-1, E.NONE)]
)
def test_the_question_is_fenced_by_its_epoch(epoch: int, error: KafkaError) -> None:
    assert listed_offset(LeaderRig().replica, ListOffsetsRequest(1, P, EARLIEST, epoch, 2))[0] is error


def test_only_a_leader_answers_it() -> None:
    rig = LeaderRig(leader=2)
    question = ListOffsetsRequest(1, P, LATEST, -1, 3)
    assert listed_offset(rig.replica, question)[0] is E.NOT_LEADER_OR_FOLLOWER
    assert listed_offset(None, question)[0] is E.UNKNOWN_TOPIC_OR_PARTITION


# --- with a network ---------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ListOffsetsRequest]]:
    """Record every ListOffsets request at a leader, with its sender."""
    found: list[tuple[int, ListOffsetsRequest]] = []
    original = RequestHandler.list_offsets

    def noted(self: RequestHandler, source: int, request: ListOffsetsRequest) -> None:
        found.append((source, request))
        original(self, source, request)

    monkeypatch.setattr(RequestHandler, "list_offsets", noted)
    return found


def left_behind(kafka: str, mode: str, *, unclean: bool = False) -> Cluster:
    """Return a cluster: broker 1 led alone and died, broker 2 was elected uncleanly with a shorter log, 1 is back."""
    topic = TopicSpec("t", 1, 2, ((1, 2),), {"unclean.leader.election.enable": unclean})
    spec = ClusterSpec(
        kafka, mode, (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)), (topic,),
        (ProducerSpec("p", "t", 100_000, 1, config={"acks": "1", "retries": 0}),), network=NetworkSpec(500, 200),
    )  # fmt: skip
    cluster = Cluster.build(spec, 5)
    cluster.run(3 * SECOND)
    cluster.crash(2)
    cluster.run(40 * SECOND)
    cluster.stop_producers()
    cluster.run(45 * SECOND)
    cluster.crash(1)
    cluster.restart(2)
    cluster.run(100 * SECOND)
    cluster.elect_leaders(P, unclean=True)
    cluster.run(101 * SECOND)
    assert cluster.query.leader(P) == 2
    cluster.drain()
    cluster.restart(1)
    cluster.run(140 * SECOND)
    return cluster


@pytest.mark.parametrize("kafka", ["0.8.2", "0.10.2"])
def test_a_broker_that_ends_itself_is_down_with_its_log_and_its_reason(kafka: str, snapshot: SnapshotAssertion) -> None:
    cluster = left_behind(kafka, "zookeeper")
    down = [event for event in cluster.drain() if isinstance(event, NodeDown)]
    assert len(down) == 1
    assert down[0].broker == 1
    assert down[0].detail == snapshot
    assert cluster.state_of(1) is ProcessState.DOWN
    ends = [cluster.cluster_state.replica(P, broker).log.leo for broker in (1, 2)]
    assert ends[0] > ends[1]
    assert [number for number in down[0].detail.split() if number.isdecimal()] == [str(end) for end in ends]
    assert 1 not in cluster.query.isr(P)
    # It can be started again, and exits again for the same reason.
    cluster.restart(1)
    cluster.run(180 * SECOND)
    again = [event for event in cluster.drain() if isinstance(event, NodeDown)]
    assert [event.detail for event in again] == [down[0].detail]


@pytest.mark.parametrize(("kafka", "mode"), [("0.10.2", "zookeeper"), ("2.6", "zookeeper"), ("3.9", "kraft")])
def test_else_it_cuts_its_log_and_follows(kafka: str, mode: str, asked: list[tuple[int, Any]]) -> None:
    cluster = left_behind(kafka, mode, unclean=True)
    assert [event for event in cluster.drain() if isinstance(event, NodeDown)] == []
    logs = [cluster.cluster_state.replica(P, broker).log for broker in (1, 2)]
    assert logs[0].leo == logs[1].leo
    # Epochs make a follower truncate before it ever fetches out of range.
    assert len(asked) == (1 if kafka == "0.10.2" else 0)
    if asked:
        source, question = asked[0]
        assert (source, question.replica, question.timestamp_us) == (1, 1, LATEST)


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), [("1.1", "zookeeper"), ("2.6", "zookeeper"), ("3.9", "kraft")])
def test_a_follower_behind_the_leaders_start_asks_twice(
    kafka: str, mode: str, asked: list[tuple[int, ListOffsetsRequest]]
) -> None:
    topic = TopicSpec("t", 1, 2, ((1, 2),))
    spec = ClusterSpec(
        kafka, mode, (BrokerSpec(1), BrokerSpec(2)), (topic,),
        (ProducerSpec("p", "t", 100_000, 1, config={"acks": "1"}),), network=NetworkSpec(500, 200),
    )  # fmt: skip
    cluster = Cluster.build(spec, 5)
    cluster.run(3 * SECOND)
    cluster.crash(2)
    cluster.run(40 * SECOND)
    assert cluster.delete_records(P, -1) is E.NONE
    cluster.restart(2)
    cluster.run(60 * SECOND)
    assert [(source, question.timestamp_us) for source, question in asked] == [(2, LATEST), (2, EARLIEST)]
    epochs = {question.current_leader_epoch for _source, question in asked}
    assert (epochs == {-1}) is (kafka == "1.1")
    moved = [event for event in cluster.drain() if isinstance(event, LogStartMoved) and event.broker == 2]
    assert [event.by for event in moved] == ["out of range"]
    assert 2 in cluster.query.isr(P)


def test_an_exit_is_part_of_a_run_like_any_other_event() -> None:
    one, other = left_behind("0.10.2", "zookeeper"), left_behind("0.10.2", "zookeeper")
    assert one.digest() == other.digest()
    assert other.digest() != left_behind("0.10.2", "zookeeper", unclean=True).digest()


def test_a_keyframe_in_the_middle_of_the_questions() -> None:
    cluster = left_behind("0.10.2", "zookeeper")
    cluster.restart(1)
    frames: list[Any] = []

    def questions_stand() -> bool:
        following = cluster.cluster_state.replica(P, 1).following
        return following is not None and following.seek is not None

    while not questions_stand():
        cluster.run(cluster.now_us + SECOND, max_events=1)
    frames.append(cluster.save())
    cluster.run(200 * SECOND)
    digest = cluster.digest()
    assert cluster.state_of(1) is ProcessState.DOWN
    cluster.load(frames[0])
    assert questions_stand()
    cluster.run(200 * SECOND)
    assert cluster.digest() == digest


def fetching(kafka: str = "1.0", *, unclean: bool = True) -> tuple[LeaderRig, ReplicaFetcherThread]:
    """Return a follower with ten records and its fetcher, which has just got OFFSET_OUT_OF_RANGE."""
    rig = LeaderRig(kafka, topic={"unclean.leader.election.enable": unclean})
    rig.append(10)
    rig.replica.hw = 10
    rig.replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    assert rig.replica.following is not None
    rig.replica.following.truncating = False
    fetcher = rig.fetcher()
    tell(rig, fetcher, E.OFFSET_OUT_OF_RANGE)
    return rig, fetcher


def tell(rig: LeaderRig, fetcher: ReplicaFetcherThread, error: KafkaError) -> None:
    request = rig.wire.sent[-1][1]
    data = FetchData(P, request.partitions[0].offset, error, -1, -1, -1, Slice(0, 0, ()))
    fetcher.fetched(FetchResponse(request.correlation_id, (data,)))


def tell_offset(rig: LeaderRig, fetcher: ReplicaFetcherThread, offset: int) -> None:
    request = rig.wire.sent[-1][1]
    assert isinstance(request, ListOffsetsRequest)
    fetcher.offset_listed(ListOffsetsResponse(request.correlation_id, P, 0, offset))


def test_the_questions_come_before_the_next_fetch() -> None:
    rig, fetcher = fetching()
    tell_offset(rig, fetcher, 20)
    tell_offset(rig, fetcher, 5)
    kinds = [
        (type(message).__name__, getattr(message, "timestamp_us", None)) for to, message in rig.wire.sent if to == 2
    ]
    assert kinds == [
        ("FetchRequest", None), ("ListOffsetsRequest", LATEST), ("ListOffsetsRequest", EARLIEST), ("FetchRequest", None)
    ]  # fmt: skip


def test_a_broker_that_ends_itself_sends_nothing_more() -> None:
    rig, fetcher = fetching(unclean=False)
    sent = len(rig.wire.sent)
    tell_offset(rig, fetcher, 3)
    assert len(rig.wire.exits) == 1
    assert len(rig.wire.sent) == sent


@pytest.mark.parametrize("lost", ["connection", "answer"])
def test_without_an_answer_it_fetches_again_after_a_back_off(lost: str) -> None:
    rig, fetcher = fetching()
    if lost == "connection":
        fetcher.broke()
    else:
        rig.wire.now = 30 * SECOND
        fetcher.on_timer()
    rig.wire.now += SECOND
    fetcher.on_timer()
    assert not isinstance(rig.wire.sent[-1][1], FetchRequest)
    rig.connect(fetcher)
    assert isinstance(rig.wire.sent[-1][1], FetchRequest)


def test_late_responses_to_abandoned_requests_are_ignored() -> None:
    rig, fetcher = fetching()
    question = rig.wire.sent[-1][1]
    fetcher.broke()
    fetcher.offset_listed(ListOffsetsResponse(question.correlation_id, P, 0, 3))
    assert rig.replica.log.leo == 10


def test_an_exit_that_a_crash_overtakes_ends_no_later_life() -> None:
    cluster = left_behind("0.10.2", "zookeeper", unclean=True)
    cluster.network.exit(1, "exit: too late")
    cluster.crash(1)
    cluster.restart(1)
    cluster.drain()
    cluster.run(cluster.now_us + SECOND)
    assert [event for event in cluster.drain() if isinstance(event, NodeDown)] == []
    assert cluster.state_of(1) is ProcessState.RUNNING


# --- manual stepping --------------------------------------------------------------------------------------------------


def by_hand(kafka: str, *, unclean: bool) -> HandSteppedCluster:
    """Trace 8.6: A led alone and has a longer log than B, which an unclean election made leader."""
    stepped = HandSteppedCluster(kafka, placement=(A, B), config={"unclean.leader.election.enable": unclean})
    stepped.notify(A, B)
    stepped.append(A, *"abc")
    stepped.fetch(B)
    stepped.append(A, *"defg")
    stepped.do("shrink_isr", broker=A, out=[B])
    stepped.do("checkpoint", broker=A)
    stepped.do("crash", broker=A)
    stepped.lead(B, notify=(B,), unclean=True)
    stepped.append(B, "h")
    assert stepped.do("restart", broker=A) == ""
    stepped.notify(A)
    return stepped


def test_manual_fetches_include_the_offset_requests(snapshot: SnapshotAssertion) -> None:
    stepped = by_hand("0.10.2", unclean=True)
    assert stepped.do("fetch", follower=A) == "OFFSET_OUT_OF_RANGE"
    (truncated,) = [event for event in stepped.cluster.drain() if isinstance(event, Truncated)]
    assert truncated.rule == snapshot
    assert stepped.ends()[A].startswith("4/")


def test_by_hand_a_broker_ends_too() -> None:
    stepped = by_hand("0.10.2", unclean=False)
    assert stepped.do("fetch", follower=A) == "OFFSET_OUT_OF_RANGE"
    down = [event for event in stepped.cluster.drain() if isinstance(event, NodeDown)][-1]
    assert (down.broker, down.detail[:5]) == (A, "exit:")
    assert not stepped.state(A)["up"]
    assert stepped.state(A)["leo"] == 7
