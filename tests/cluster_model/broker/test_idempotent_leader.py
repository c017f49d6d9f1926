"""Idempotent batches at a leader: appends, responses and forgotten producers; and brokers' producer ids."""

from itertools import pairwise
from typing import Any

import pytest

from cluster_model.broker.hosted_coordinators import ProducerIdManager
from cluster_model.broker.partition.partition import BrokerMetadata
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionState,
    ProduceRequest,
    ProduceResponse,
)
from tests.cluster_model.leaders import LeaderRig, P, Wire

E = KafkaError
CLIENT = 2_000


class Idempotent(LeaderRig):
    """A leader without followers in its ISR, so that every batch is acknowledged at once."""

    def __init__(self, *, kafka: str = "3.9", **topic: ConfigValue) -> None:
        super().__init__(kafka=kafka, isr=(1,), topic={name.replace("_", "."): value for name, value in topic.items()})

    def send(self, number: int, count: int = 1, *, pid: int = 7, epoch: int = 0, origin: int = 0, acks: int = 1) -> Any:
        """Produce records from ``number`` on; returns the response, None without one."""
        before = len(self.wire.sent)
        self.service.produce(
            CLIENT,
            ProduceRequest(1, P, acks, 1_000, "p", pid, number, count, 100 * count, (), -1, 0, epoch, origin),
        )
        found = [message for _to, message in self.wire.sent[before:] if isinstance(message, ProduceResponse)]
        return found[0] if found else None

    def said(self, number: int, count: int = 1, **how: int) -> tuple[KafkaError, int]:
        answer = self.send(number, count, **how)
        return KafkaError(answer.error), answer.log_offset

    def lead_again(self, epoch: int) -> None:
        """Follow for a while, then lead again: the producer state is rebuilt from the log."""
        self.replica.apply(PartitionState(P, 2, epoch, (1, 2), epoch, (1, 2, 3)), 0)
        self.replica.apply(PartitionState(P, 1, epoch + 1, (1,), epoch + 1, (1, 2, 3)), 0)


def test_a_repeated_batch_is_answered_with_its_place_and_not_written() -> None:
    at = Idempotent()
    assert [at.said(0, 2), at.said(2), at.said(0, 2)] == [(E.NONE, 0), (E.NONE, 2), (E.NONE, 0)]
    assert at.replica.log.leo == 3


def test_a_gap_an_old_epoch_and_a_new_one() -> None:
    at = Idempotent()
    at.said(0)
    assert at.said(2) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert at.said(2, epoch=1, origin=2) == (E.NONE, 1)
    assert at.said(1) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert at.said(3, epoch=1, origin=2) == (E.NONE, 2)
    assert at.replica.log.leo == 3


def test_a_new_leader_knows_epochs_and_sequences_from_the_log() -> None:
    at = Idempotent()
    at.said(0)
    at.said(5, epoch=1, origin=5)
    at.lead_again(2)
    assert at.said(5, epoch=1, origin=5) == (E.NONE, 1)
    assert at.said(6, epoch=0) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert at.said(6, epoch=1, origin=5) == (E.NONE, 2)


def test_where_the_log_begins_is_reported_with_an_unknown_producer_only() -> None:
    at = Idempotent(kafka="2.4")
    at.append(3)
    at.replica.hw = 3
    assert at.replica.delete_records(2, 0) is E.NONE
    answer = at.send(4)
    assert (answer.error, answer.log_start) == (E.UNKNOWN_PRODUCER_ID, 2)
    at.said(0)
    assert at.send(1).log_start == -1


def test_a_restarted_producer_has_another_id_and_so_can_write_twice() -> None:
    at = Idempotent()
    assert [at.said(0, pid=7), at.said(0, pid=8)] == [(E.NONE, 0), (E.NONE, 1)]


def test_without_an_answer_an_error_closes_the_connection() -> None:
    at = Idempotent()
    assert at.send(0, acks=0, pid=-1) is None
    at.replica.apply(PartitionState(P, 2, 2, (2, 3), 2, (1, 2, 3)), 0)
    assert at.send(1, acks=0, pid=-1).error == E.NOT_LEADER_OR_FOLLOWER


def test_a_batch_that_is_refused_closes_the_connection_too() -> None:
    at = Idempotent(max_message_bytes=100)
    assert at.send(0, 2, acks=0, pid=-1).error == E.MESSAGE_TOO_LARGE
    assert at.send(0, 1, acks=0, pid=-1) is None


# --- snapshot files -------------------------------------------------------------------------------------------------


def filled(**topic: ConfigValue) -> Idempotent:
    at = Idempotent(**topic)
    for number in range(4):
        at.said(number)
    return at


def remembered(at: Idempotent) -> list[int]:
    """Return the offsets of those of the first four batches that are known as duplicates after a new election."""
    at.replica.apply(PartitionState(P, 1, 9, (1,), 9, (1, 2, 3)), 0)
    return [number for number in range(4) if at.said(number)[0] is E.NONE]


def test_after_a_clean_restart_only_the_last_batch_is_known() -> None:
    at = filled()
    at.replica.closed(0)
    at.replica.stopped()
    at.replica.recovered(clean=True)
    assert remembered(at) == [3]


def test_after_a_crash_the_last_segment_is_read_again() -> None:
    at = filled()
    at.replica.stopped()
    at.replica.recovered()
    assert remembered(at) == [0, 1, 2, 3]


def test_producer_snapshots_cover_older_segments_after_a_crash() -> None:
    at = filled(segment_bytes=200)
    assert at.replica.log.segments.base == 2
    at.replica.stopped()
    at.replica.recovered()
    assert remembered(at) == [1, 2, 3]


def test_a_truncation_reads_the_last_segment_again() -> None:
    at = filled(segment_bytes=200)
    at.replica.apply(PartitionState(P, 2, 3, (2, 3), 3, (1, 2, 3)), 0)
    at.replica.truncate(3, 0, "test")
    at.replica.apply(PartitionState(P, 1, 9, (1,), 9, (1, 2, 3)), 0)
    assert [at.said(number)[0] is E.NONE for number in (0, 1, 2)] == [False, True, True]


def test_without_a_restart_a_new_leader_remembers_all_five() -> None:
    at = filled(segment_bytes=200)
    at.lead_again(3)
    assert [at.said(number)[0] for number in range(4)] == [E.NONE] * 4


def test_a_snapshot_is_part_of_a_keyframe() -> None:
    at = filled()
    at.replica.closed(0)
    at.replica.stopped()
    at.replica.recovered(clean=True)
    saved = at.replica.save()
    at.replica.producer_snapshot = 0
    at.replica.load(saved, at.purgatory.sessions)
    assert at.replica.producer_snapshot == 4


# --- producer ids ---------------------------------------------------------------------------------------------------


def ids(broker: int, count: int) -> tuple[ProducerIdManager, list[int]]:
    wire: Any = Wire(broker)
    metadata = BrokerMetadata()
    metadata.live = {broker: 0}
    giver = ProducerIdManager(wire, metadata)
    return giver, given(giver, wire, count)


def given(giver: ProducerIdManager, wire: Any, count: int) -> list[int]:
    del wire.sent[:]
    for number in range(count):
        giver.handle_init_producer_id(CLIENT, InitProducerIdRequest(number))
    answers = [message for _to, message in wire.sent]
    assert all(isinstance(answer, InitProducerIdResponse) and not answer.error for answer in answers)
    assert {answer.producer_epoch for answer in answers} == {0}
    return [answer.producer_id for answer in answers]


def test_ids_come_in_blocks_of_a_thousand_and_never_twice() -> None:
    every = [number for broker in (1, 2, 999) for number in ids(broker, 2_500)[1]]
    assert len(set(every)) == 7_500
    first = ids(1, 2_500)[1]
    assert [earlier for earlier, later in pairwise(first) if later != earlier + 1] == [first[999], first[1_999]]


def test_the_rest_of_a_block_is_lost_with_the_process() -> None:
    giver, before = ids(3, 10)
    saved = giver.save()
    wire: Any = giver._port
    after = given(giver, wire, 1)
    giver.load(saved)
    assert given(giver, wire, 1) == after == [before[-1] + 1]
    giver.stopped()
    assert given(giver, wire, 1)[0] // 1_000 != before[0] // 1_000


@pytest.mark.parametrize("known", [True, False])
def test_a_broker_that_has_been_notified_nothing_yet_has_no_ids(known: bool) -> None:
    wire: Any = Wire(1)
    metadata = BrokerMetadata()
    metadata.live = {1: 0} if known else {}
    ProducerIdManager(wire, metadata).handle_init_producer_id(CLIENT, InitProducerIdRequest(5))
    (answer,) = [message for _to, message in wire.sent]
    assert (answer.correlation_id, answer.error) == (5, 0 if known else E.COORDINATOR_LOAD_IN_PROGRESS)
