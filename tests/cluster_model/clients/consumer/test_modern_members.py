"""A member by the consumer protocol against brokers that answer as the test says (KIP-848)."""

from typing import Any

import pytest

from cluster_model.clients.consumer.consumer_protocol import ConsumerGroupClient
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    CommitFailed,
    ConsumerFailed,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from cluster_model.protocol.group_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    FetchedOffset,
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from cluster_model.protocol.messages import FetchRequest
from tests.cluster_model.clients.consumer.test_consumer import answer, data, fill
from tests.cluster_model.member_rig import COORDINATOR, E, MemberRig
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, SECOND

INTERVAL = 5 * SECOND


class Rig(MemberRig):
    """A member; broker 3 coordinates, and broker 1 leads what it reads."""

    def __init__(self, *, kafka: str = "4.0", config: dict[str, ConfigValue] | None = None, **more: Any) -> None:
        super().__init__(kafka=kafka, config={"group.protocol": "consumer", **(config or {})}, **more)

    @property
    def coordination(self) -> ConsumerGroupClient:
        assert isinstance(self.consumer.coordination, ConsumerGroupClient)
        return self.consumer.coordination

    def beats(self, broker: int = COORDINATOR) -> list[ConsumerGroupHeartbeatRequest]:
        return self.asked(ConsumerGroupHeartbeatRequest, broker)

    @property
    def last(self) -> ConsumerGroupHeartbeatRequest:
        return self.beats()[-1]

    def answer_beat(
        self, epoch: int = 1, assignment: tuple[str, ...] | None = None, error: KafkaError = E.NONE
    ) -> None:
        """Answer the newest heartbeat."""
        number = self.last.correlation_id
        response = ConsumerGroupHeartbeatResponse(number, error, "m", epoch, INTERVAL, assignment)
        self.tell(ConsumerGroupHeartbeatResponse(number, error) if error else response)

    def told(self, kind: type[Any]) -> list[str]:
        return [event.detail for event in self.events if isinstance(event, kind)]


def member(**how: Any) -> Rig:
    """One that has joined, has told what it has, and reads both partitions from 0."""
    rig = Rig(**how)
    rig.find()
    rig.answer_beat(1, rig.partitions)
    rig.committed(**{name.replace("-", "_"): 0 for name in rig.partitions})
    rig.answer_beat(1)
    return rig


# -- joining -----------------------------------------------------------------------------------------------------------


def test_it_joins_with_everything_that_the_coordinator_must_know() -> None:
    rig = Rig(config={"group.remote.assignor": "range", "max.poll.interval.ms": 70_000}, instance="i")
    rig.find()
    (beat,) = rig.beats()
    assert (beat.member_epoch, beat.client_id, beat.group_instance_id) == (0, "g/0", "i")
    assert (beat.topics, beat.owned, beat.assignor, beat.pattern) == (("t",), (), "range", None)
    assert (beat.rebalance_timeout_us, beat.version) == (70 * SECOND, 1)


@pytest.mark.parametrize(("kafka", "topics", "pattern", "version"), [("3.9", ("t",), None, 0), ("4.0", None, "t|u", 1)])
def test_patterns_are_the_coordinators_since_4_0(
    kafka: str, topics: tuple[str, ...] | None, pattern: str | None, version: int
) -> None:
    rig = Rig(kafka=kafka, pattern="t|u")
    rig.find()
    assert (rig.last.topics, rig.last.pattern, rig.last.version) == (topics, pattern, version)
    rig.answer_beat(1, ("t-0",))
    assert (rig.last.topics, rig.last.pattern) == (None, None)


def test_a_member_acknowledges_its_assignment_at_once() -> None:
    rig = Rig()
    rig.find()
    rig.answer_beat(3, ("t-0", "t-1"))
    assert rig.told(PartitionsAssigned) == ["epoch 3: t-0, t-1"]
    assert (rig.last.member_epoch, rig.last.owned, rig.last.topics) == (3, ("t-0", "t-1"), None)
    assert rig.last.member_id == "m"
    asked = rig.newest(OffsetFetchRequest)
    assert (asked.partitions, asked.member_id, asked.member_epoch) == (("t-0", "t-1"), "m", 3)


def test_with_nothing_to_take_up_it_waits_for_the_interval_of_the_coordinator() -> None:
    rig = Rig()
    rig.find()
    sent_at = rig.times(ConsumerGroupHeartbeatRequest, COORDINATOR)[-1]
    rig.answer_beat(1, ())
    assert len(rig.beats()) == 1
    rig.run(INTERVAL)
    assert rig.times(ConsumerGroupHeartbeatRequest, COORDINATOR)[-1] == sent_at + INTERVAL
    last = rig.last
    assert (last.topics, last.owned, last.rebalance_timeout_us) == (None, None, -1)


# -- reconciling -------------------------------------------------------------------------------------------------------


def test_revoked_partitions_are_committed_while_others_are_read() -> None:
    rig = member()
    fill(rig, "t-0", 4)
    fill(rig, "t-1", 4)
    answer(rig, data(rig, "t-0", 0, 2), data(rig, "t-1", 0, 2))
    rig.run(INTERVAL)
    rig.answer_beat(1, ("t-0",))
    assert rig.commits()[-1] == {"t-0": 2, "t-1": 2}
    assert rig.told(PartitionsRevoked) == []
    assert rig.consumer.assignment == ("t-0", "t-1")
    # What stays goes on.
    read = rig.consumer.read
    asked = rig.newest(FetchRequest, 1)
    assert [each.partition for each in asked.partitions] in (["t-0"], ["t-0", "t-1"], ["t-1", "t-0"])
    answer(rig, data(rig, "t-0", 2, 4))
    assert rig.consumer.read == read + 2
    rig.accept()
    assert rig.told(PartitionsRevoked) == ["epoch 1: t-1"]
    assert rig.last.owned == ("t-0",)
    assert rig.consumer.assignment == ("t-0",)


def test_records_of_partitions_being_revoked_are_not_returned() -> None:
    rig = member()
    for name in rig.partitions:
        fill(rig, name, 4)
    answer(rig, data(rig, "t-0", 0, 2), data(rig, "t-1", 0, 2))
    rig.run(INTERVAL)
    rig.answer_beat(1, ("t-0",))
    read = rig.consumer.read
    answer(rig, data(rig, "t-1", 2, 4))
    assert (rig.consumer.read, rig.positions["t-1"]) == (read, 2)


def test_without_automatic_commits_nothing_is_waited_for() -> None:
    rig = member(commit="none")
    rig.run(INTERVAL)
    rig.answer_beat(1, ("t-1",))
    assert (rig.commits(), rig.last.owned) == ([], ("t-1",))


def test_processing_ends_before_partitions_are_revoked() -> None:
    rig = member(processing_us=SECOND, commit="none")
    fill(rig, "t-0", 9)
    answer(rig, data(rig, "t-0", 0, 9))
    rig.run(INTERVAL)
    assert len(rig.beats()) == 3, "the background thread goes on"
    rig.answer_beat(1, ())
    assert (rig.told(PartitionsRevoked), rig.consumer.assignment) == ([], ("t-0", "t-1"))
    rig.run(5 * SECOND)
    assert rig.told(PartitionsRevoked) == ["epoch 1: t-1, t-0"]
    assert rig.last.owned == ()


def test_an_assignment_that_changes_again_is_taken_up_one_after_the_other() -> None:
    rig = member()
    rig.run(INTERVAL)
    rig.answer_beat(1, ("t-0",))
    commits = len(rig.commits())
    rig.run(INTERVAL)
    rig.answer_beat(2, ())
    # Nothing is told while the first is under way; with the second it is.
    assert rig.last.owned is None
    rig.accept()
    assert rig.told(PartitionsRevoked) == ["epoch 2: t-1"]
    rig.accept()
    assert rig.told(PartitionsRevoked) == ["epoch 2: t-1", "epoch 2: t-0"]
    assert len(rig.commits()) == commits + 1
    assert rig.last.owned == ()


def test_owned_partitions_are_not_reported_while_they_change() -> None:
    rig = Rig(commit="none")
    rig.find()
    rig.answer_beat(1, ("t-0",))
    # The acknowledgement is under way; its answer brings more, which is told instead.
    assert rig.last.owned == ("t-0",)
    rig.answer_beat(2, ("t-0", "t-1"))
    assert rig.last.owned == ("t-0", "t-1")


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID], ids=lambda error: error.name)
def test_a_consumer_that_is_fenced_abandons_everything_and_joins_again_under_its_id(error: KafkaError) -> None:
    rig = member()
    rig.run(INTERVAL)
    rig.answer_beat(error=error)
    assert rig.told(PartitionsLost) == ["t-0, t-1"]
    assert rig.told(PartitionsRevoked) == []
    assert rig.consumer.assignment == ()
    assert (rig.last.member_epoch, rig.last.member_id, rig.last.owned, rig.last.topics) == (0, "m", (), ("t",))


def test_a_consumer_that_is_fenced_while_it_processes_is_a_zombie_until_its_next_poll() -> None:
    rig = member(processing_us=SECOND, commit="none")
    fill(rig, "t-0", 9)
    answer(rig, data(rig, "t-0", 0, 9))
    rig.run(INTERVAL)
    beats = len(rig.beats())
    rig.answer_beat(error=E.FENCED_MEMBER_EPOCH)
    assert (rig.consumer.assignment, len(rig.beats())) == (("t-0", "t-1"), beats)
    rig.run(5 * SECOND)
    assert (rig.consumer.assignment, rig.last.member_epoch) == ((), 0)


def test_a_consumer_fenced_during_a_commit_rejoins_at_once() -> None:
    rig = member()
    rig.run(INTERVAL)
    rig.answer_beat(1, ("t-0",))
    rig.run(INTERVAL)
    rig.answer_beat(error=E.FENCED_MEMBER_EPOCH)
    assert rig.consumer.assignment == ()
    rig.answer_beat(4, ("t-1",))
    assert rig.consumer.assignment == ("t-1",), "nobody waits for the commit of before"


def test_a_consumer_that_is_fenced_while_it_processes_can_commit_nothing() -> None:
    rig = member(processing_us=SECOND, commit="sync")
    fill(rig, "t-0", 9)
    answer(rig, data(rig, "t-0", 0, 9))
    rig.run(INTERVAL)
    rig.answer_beat(error=E.UNKNOWN_MEMBER_ID)
    rig.run(5 * SECOND)
    assert [(event.error, event.by) for event in rig.events if isinstance(event, CommitFailed)] == [
        ("CommitFailedException", "sync")
    ]
    assert rig.commits() == []


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE], ids=lambda error: error.name)
def test_a_full_heartbeat_goes_to_the_new_coordinator(error: KafkaError) -> None:
    rig = member()
    rig.run(INTERVAL)
    lookups = sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS)
    rig.answer_beat(error=error)
    rig.run(110 * MS)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) == lookups + 1
    rig.find(2)
    (beat,) = rig.beats(2)
    assert (beat.member_epoch, beat.owned, beat.topics) == (1, ("t-0", "t-1"), ("t",))
    assert rig.consumer.assignment == ("t-0", "t-1")


def test_a_loading_coordinator_gets_the_heartbeat_again_after_the_backoff() -> None:
    rig = member()
    rig.run(INTERVAL)
    beats = len(rig.beats())
    refused_at = rig.now + LATENCY
    rig.answer_beat(error=E.COORDINATOR_LOAD_IN_PROGRESS)
    rig.run(110 * MS)
    assert rig.times(ConsumerGroupHeartbeatRequest, COORDINATOR)[beats:] == [refused_at + 100 * MS + LATENCY]
    assert rig.last.owned == ("t-0", "t-1")


def test_a_rejected_heartbeat_is_repeated_before_the_interval() -> None:
    rig = Rig()
    rig.find()
    rig.answer_beat(1, ("t-0",))
    beats = len(rig.beats())
    rig.answer_beat(error=E.COORDINATOR_LOAD_IN_PROGRESS)
    rig.run(150 * MS)
    assert len(rig.beats()) == beats + 1


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.UNRELEASED_INSTANCE_ID, "UnreleasedInstanceIdException"),
        (E.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
        (E.UNSUPPORTED_ASSIGNOR, "UnsupportedAssignorException"),
        (E.UNSUPPORTED_VERSION, "UnsupportedVersionException"),
        (E.GROUP_MAX_SIZE_REACHED, "GroupMaxSizeReachedException"),
        (E.INVALID_REGULAR_EXPRESSION, "InvalidRegularExpressionException"),
        (E.GROUP_ID_NOT_FOUND, "GroupIdNotFoundException"),
    ],
    ids=lambda value: value.name if isinstance(value, KafkaError) else "",
)
def test_other_errors_end_the_application(error: KafkaError, name: str) -> None:
    rig = Rig()
    rig.find()
    rig.answer_beat(error=error)
    assert [event.error for event in rig.events if isinstance(event, ConsumerFailed)] == [name]
    beats = len(rig.beats())
    rig.run(60 * SECOND)
    assert len(rig.beats()) == beats


def test_a_heartbeat_that_is_not_answered_in_time_is_sent_again_in_full() -> None:
    rig = member(config={"request.timeout.ms": 2_000})
    rig.run(INTERVAL)
    rig.run(2_010 * MS)
    beats = len(rig.beats())
    rig.find()
    assert len(rig.beats()) == beats, "not before the back-off is over"
    rig.run(110 * MS)
    assert len(rig.beats()) == beats + 1
    assert (rig.last.owned, rig.last.topics, rig.last.member_epoch) == (("t-0", "t-1"), ("t",), 1)


def test_an_answer_that_comes_too_late_is_of_no_interest() -> None:
    rig = member(config={"request.timeout.ms": 2_000})
    rig.run(INTERVAL)
    late = rig.last.correlation_id
    rig.run(2_300 * MS)
    rig.tell(ConsumerGroupHeartbeatResponse(late, 0, "m", 9, INTERVAL, ()))
    assert (rig.coordination.member.generation, rig.consumer.assignment) == (1, ("t-0", "t-1"))


def test_a_revocation_restarts_with_the_response_to_a_full_heartbeat() -> None:
    """The coordinator may take what it owns from it as soon as it says that it does not have it."""
    rig = member(partitions=3)
    rig.run(INTERVAL)
    rig.answer_beat(2, ("t-0",))
    commit = rig.newest(OffsetCommitRequest)
    rig.run(INTERVAL)
    rig.answer_beat(error=E.COORDINATOR_LOAD_IN_PROGRESS)
    rig.run(110 * MS)
    assert rig.last.owned == rig.partitions
    rig.accept()
    assert commit is rig.newest(OffsetCommitRequest)
    assert rig.told(PartitionsRevoked) == []
    rig.answer_beat(2, ("t-0", "t-1"))
    rig.accept()
    assert rig.told(PartitionsRevoked) == ["epoch 2: t-2"]


# -- commits -----------------------------------------------------------------------------------------------------------


def test_a_commit_has_the_epoch_of_its_time() -> None:
    rig = member()
    rig.run(INTERVAL)
    request = rig.newest(OffsetCommitRequest)
    assert (request.generation_id, request.member_id) == (1, "m")
    rig.accept()
    rig.answer_beat(7)
    rig.run(INTERVAL)
    assert rig.newest(OffsetCommitRequest).generation_id == 7


def test_a_stale_epoch_fails_an_automatic_commit_and_the_next_has_the_new_one() -> None:
    rig = member()
    rig.run(INTERVAL)
    rig.accept(E.STALE_MEMBER_EPOCH)
    assert [(event.error, event.by) for event in rig.events if isinstance(event, CommitFailed)] == [
        ("CommitFailedException", "auto")
    ]
    assert rig.consumer.assignment == ("t-0", "t-1")
    rig.answer_beat(2)
    rig.run(INTERVAL)
    rig.accept()
    assert {event.by for event in rig.events if isinstance(event, OffsetsCommitted)} == {"auto"}


def test_a_commit_sync_with_a_stale_epoch_throws() -> None:
    rig = member(commit="sync")
    fill(rig, "t-0", 2)
    answer(rig, data(rig, "t-0", 0, 2))
    rig.accept(E.STALE_MEMBER_EPOCH)
    assert [event.by for event in rig.events if isinstance(event, CommitFailed)] == ["sync"]
    assert rig.consumer.assignment == ("t-0", "t-1"), "membership is the heartbeats' business"


def test_the_commit_before_something_is_given_up_goes_again_with_the_new_epoch() -> None:
    rig = member(config={"auto.commit.interval.ms": 60_000})
    rig.run(INTERVAL)
    rig.answer_beat(1, ("t-0",))
    rig.run(INTERVAL)
    rig.answer_beat(4)
    rig.accept(E.STALE_MEMBER_EPOCH)
    assert rig.told(PartitionsRevoked) == []
    rig.run(110 * MS)
    assert rig.newest(OffsetCommitRequest).generation_id == 4
    rig.accept()
    assert rig.told(PartitionsRevoked) == ["epoch 4: t-1"]


@pytest.mark.parametrize("error", [E.STALE_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID], ids=lambda error: error.name)
def test_offset_fetches_with_a_stale_member_epoch_are_repeated(error: KafkaError) -> None:
    rig = Rig()
    rig.find()
    rig.answer_beat(1, ("t-0",))
    number = rig.newest(OffsetFetchRequest).correlation_id
    rig.tell(OffsetFetchResponse(number, error, ()))
    rig.run(110 * MS)
    again = rig.newest(OffsetFetchRequest)
    assert again.correlation_id != number
    rig.tell(OffsetFetchResponse(again.correlation_id, 0, (FetchedOffset("t-0", 4, -1, "", 0),)))
    assert rig.positions == {"t-0": 4}


def test_automatic_commits_are_made_in_polls_only() -> None:
    rig = member(processing_us=SECOND)
    fill(rig, "t-0", 9)
    answer(rig, data(rig, "t-0", 0, 9))
    rig.run(7 * SECOND)
    assert rig.commits() == [], "the timer is the application's to move"
    rig.run(3 * SECOND)
    assert rig.commits() == [{"t-0": 9, "t-1": 0}]


def test_a_new_assignment_restarts_the_auto_commit_interval() -> None:
    rig = member()
    rig.run(4 * SECOND)
    rig.coordination.member.target = ("t-0",)
    rig.run(SECOND)
    at = rig.now
    rig.accept()
    taken_up = at + LATENCY
    assert rig.consumer.assignment == ("t-0",)
    rig.run(6 * SECOND)
    assert rig.times(OffsetCommitRequest, COORDINATOR)[-1] == taken_up + 5 * SECOND + LATENCY


@pytest.mark.parametrize("fenced", [False, True])
def test_the_committed_offset_is_used_again_for_a_reassigned_partition(fenced: bool) -> None:
    rig = member()
    rig.run(INTERVAL)
    rig.accept()
    if fenced:
        rig.answer_beat(error=E.FENCED_MEMBER_EPOCH)
    else:
        rig.answer_beat(1, ("t-0",))
        rig.accept()
        rig.answer_beat(1)
        rig.run(INTERVAL)
        rig.accept()
    rig.answer_beat(2, rig.partitions)
    if not fenced:
        rig.accept()
    rig.committed(t_0=0, t_1=0)
    rig.run(INTERVAL)
    rig.accept()
    told = [event for event in rig.events if isinstance(event, OffsetsCommitted) and event.partition == "t-1"]
    assert len(told) == 2


# -- leaving -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("instance", "epoch"), [("", -1), ("i", -2)])
def test_a_consumer_that_closes_commits_and_leaves_a_static_member_for_now(instance: str, epoch: int) -> None:
    rig = member(instance=instance)
    rig.consumer.close()
    rig.run(2 * LATENCY)
    assert len(rig.beats()) == 2
    rig.accept()
    rig.run(2 * LATENCY)
    assert (rig.last.member_epoch, rig.last.group_instance_id, rig.last.member_id) == (epoch, instance, "m")
    beats = len(rig.beats())
    rig.run(60 * SECOND)
    assert len(rig.beats()) == beats


def test_a_consumer_that_does_not_poll_for_too_long_leaves_and_comes_back_with_its_next_poll() -> None:
    rig = member(processing_us=SECOND, commit="none", config={"max.poll.interval.ms": 6_000})
    fill(rig, "t-0", 9)
    answer(rig, data(rig, "t-0", 0, 9))
    polled_at = rig.now - LATENCY
    for _ in range(2):
        rig.run(3_050 * MS)
        if rig.coordination.member._heartbeat_id:
            rig.answer_beat(1)
    assert rig.last.member_epoch == -1
    assert rig.times(ConsumerGroupHeartbeatRequest, COORDINATOR)[-1] == polled_at + 6 * SECOND + LATENCY
    assert rig.consumer.assignment == ("t-0", "t-1"), "its thread does not know yet"
    rig.run(4 * SECOND)
    assert rig.told(PartitionsLost) == ["t-1, t-0"]
    assert (rig.last.member_epoch, rig.last.owned) == (0, ())


def test_the_answer_to_what_was_under_way_when_it_left_is_of_no_interest() -> None:
    rig = member(processing_us=SECOND, commit="none", config={"max.poll.interval.ms": 6_000})
    fill(rig, "t-0", 9)
    answer(rig, data(rig, "t-0", 0, 9))
    rig.run(6_050 * MS)
    assert [beat.member_epoch for beat in rig.beats()][-2:] == [1, -1]
    rig.tell(ConsumerGroupHeartbeatResponse(rig.beats()[-2].correlation_id, 0, "m", 2, INTERVAL, ("t-1",)))
    rig.run(4 * SECOND)
    assert (rig.last.member_epoch, rig.consumer.assignment) == (0, ())
    rig.answer_beat(5, ("t-0",))
    assert rig.consumer.assignment == ("t-0",)


def test_a_closing_consumer_without_a_coordinator_looks_it_up_then_commits_and_leaves() -> None:
    rig = member()
    rig.consumer.close()
    rig.run(2 * LATENCY)
    rig.accept(E.NOT_COORDINATOR)
    rig.run(110 * MS)
    rig.find(2)
    rig.run(110 * MS)
    (commit,) = rig.asked(OffsetCommitRequest, 2)
    rig.tell(OffsetCommitResponse(commit.correlation_id, tuple((each.partition, 0) for each in commit.offsets)), 2)
    assert [beat.member_epoch for beat in rig.beats(2)] == [-1]
