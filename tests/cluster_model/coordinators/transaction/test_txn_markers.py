"""The sender of markers in isolation: requests, retries, and the end of the delivery."""

from typing import Any

from cluster_model.coordinators.transaction.txn_markers import RETRY_US, MarkerSender
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.transaction_messages import TxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from tests.cluster_model.leaders import Wire

E = KafkaError
SECOND = 1_000_000


class FakeMetadataCache:
    """Metadata cache of a broker; broker 1 is the coordinator's own."""

    def __init__(self) -> None:
        self.states = {
            f"t-{index}": PartitionState(f"t-{index}", leader, 0, (), 0, ()) for index, leader in enumerate((2, 2, 3))
        }
        self.live = {1: 0, 2: 0, 3: 0}
        self.metadata = self


class Rig:
    """A sender, its requests, and the ids that it reports as done."""

    def __init__(self, *, old_cancel: bool = False) -> None:
        self.wire: Any = Wire(1)
        self.known: Any = FakeMetadataCache()
        self.done: list[str] = []
        self.own: list[WriteTxnMarkersRequest] = []
        self.sender = MarkerSender(
            self.wire, self.known, 30 * SECOND, self.done.append, self.own.append, old_cancel=old_cancel
        )

    def begin(self, *partitions: str, coordinator: int = 4) -> None:
        self.sender.begin("pay", TxnMarker(7, 0, coordinator, True, partitions))

    @property
    def asked(self) -> list[tuple[int, tuple[str, ...]]]:
        return [(to, message.marker.partitions) for to, message in self.wire.sent]

    def answer(self, index: int, *errors: KafkaError) -> None:
        """Deliver the response to the request of that number."""
        to, request = self.wire.sent[index]
        verdicts = tuple(zip(request.marker.partitions, errors, strict=True))
        self.sender.on_response(to, WriteTxnMarkersResponse(request.correlation_id, verdicts))

    def wait(self, duration: int = RETRY_US) -> None:
        """Let time pass, and fire the sender's timer if it is due."""
        self.wire.now += duration
        if any(at <= self.wire.now for at, _timer in self.wire.timers):
            self.wire.timers = [each for each in self.wire.timers if each[0] > self.wire.now]
            self.sender.on_timer()


def test_one_request_for_each_leader_and_done_when_all_have_answered() -> None:
    rig = Rig()
    rig.begin("t-0", "t-1", "t-2")
    assert rig.asked == [(2, ("t-0", "t-1")), (3, ("t-2",))]
    rig.answer(0, E.NONE, E.NONE)
    assert rig.done == []
    rig.answer(1, E.NONE)
    assert rig.done == ["pay"]
    assert not rig.sender.sending


def test_markers_for_local_leaders_skip_the_network() -> None:
    rig = Rig()
    rig.known.states["t-0"] = PartitionState("t-0", 1, 0, (), 0, ())
    rig.begin("t-0")
    assert rig.asked == []
    assert [request.marker.partitions for request in rig.own] == [("t-0",)]


def test_rejected_markers_are_sent_again_to_the_current_leader() -> None:
    rig = Rig()
    rig.begin("t-0", "t-1")
    rig.answer(0, E.NOT_LEADER_OR_FOLLOWER, E.NONE)
    rig.known.states["t-0"] = PartitionState("t-0", 3, 1, (), 0, ())
    rig.wait(RETRY_US - 1)
    assert len(rig.asked) == 1
    rig.wait(1)
    assert rig.asked[1:] == [(3, ("t-0",))]
    rig.answer(1, E.NONE)
    assert rig.done == ["pay"]


def test_a_producer_that_has_no_leader_that_lives_is_waited_for() -> None:
    rig = Rig()
    del rig.known.live[3]
    rig.begin("t-0", "t-2")
    assert rig.asked == [(2, ("t-0",))]
    rig.wait()
    assert rig.asked == [(2, ("t-0",))], "a request in flight is not sent twice"
    rig.known.live[3] = 1
    rig.wait()
    assert rig.asked == [(2, ("t-0",)), (3, ("t-2",))]


def test_a_partition_that_is_deleted_needs_no_marker() -> None:
    rig = Rig()
    rig.begin("gone-0")
    assert rig.done == ["pay"]
    rig.begin("t-0", "t-2")
    rig.answer(0, E.NONE)
    rig.answer(1, E.UNKNOWN_TOPIC_OR_PARTITION)
    del rig.known.states["t-2"]
    rig.wait()
    assert rig.done == ["pay", "pay"]


def test_lost_marker_requests_are_sent_again() -> None:
    rig = Rig()
    rig.begin("t-0", "t-2")
    rig.sender.on_disconnect(2)
    rig.wait()
    assert rig.asked[2:] == [(2, ("t-0",))]
    rig.wait(30 * SECOND)
    assert rig.asked[3:] == [(2, ("t-0",)), (3, ("t-2",))], "the request timed out"


def test_a_newer_coordinator_or_epoch_ends_it() -> None:
    for error in (E.TRANSACTION_COORDINATOR_FENCED, E.INVALID_PRODUCER_EPOCH):
        rig = Rig()
        rig.begin("t-0", "t-2")
        rig.answer(0, error)
        rig.answer(1, E.NONE)
        rig.wait(60 * SECOND)
        assert (len(rig.asked), rig.done) == (2, [])


def test_an_answer_to_a_former_epoch_of_the_coordinator_says_nothing() -> None:
    rig = Rig()
    rig.begin("t-0")
    rig.sender.forget(["pay"])
    rig.begin("t-0", coordinator=5)
    assert len(rig.asked) == 2
    rig.answer(0, E.NONE)
    assert rig.done == []
    rig.answer(1, E.NONE)
    assert rig.done == ["pay"]


def test_before_its_fix_the_outcome_of_a_former_epoch_cancels_the_current_markers() -> None:
    """KAFKA-16352: by a response, a broken connection, or a timeout."""
    rigs = [Rig(old_cancel=True) for _outcome in range(3)]
    for rig in rigs:
        rig.begin("t-2", coordinator=4)
        rig.sender.forget(["pay"])
        rig.wait(SECOND)
        rig.begin("t-2", coordinator=6)
    rigs[0].answer(0, E.NONE)
    rigs[1].sender.on_disconnect(3)
    rigs[2].wait(29 * SECOND)
    for rig in rigs:
        assert not rig.sender.sending
        assert rig.done == []


def test_state_saved_is_state_loaded() -> None:
    rig, copy = Rig(), Rig()
    rig.begin("t-0", "t-2")
    rig.answer(1, E.NOT_ENOUGH_REPLICAS)
    copy.sender.load(rig.sender.save())
    assert copy.sender.save() == rig.sender.save()
    copy.wire = rig.wire
    rig.sender.stopped()
    assert not rig.sender.sending
