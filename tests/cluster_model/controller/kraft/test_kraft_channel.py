"""A broker's requests to the controller: one at a time, to the current controller, until they are answered."""

from typing import Any

import pytest

from cluster_model.controller.kraft.controller_channel import AGAIN, AlterPartitionManager, ControllerChannel
from cluster_model.controller.kraft.messages import (
    AlterPartitionBatchRequest,
    AlterPartitionBatchResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, AlterPartitionResponse

MS = 1_000
BROKER, OLD, NEW = 1, 1001, 1002
TIMEOUT = 4_500 * MS


class Log:
    """The leader as the broker's quorum member knows it."""

    leader = OLD


class Node:
    """A controller that records its requests."""

    def __init__(self, rig: "Rig") -> None:
        self.rig = rig
        self.got: list[tuple[int, Any]] = []

    def receive(self, _source: int, message: Any) -> None:
        self.got.append((self.rig.network.kernel.now, message))

    def on_timer(self, timer: Payload) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        """Does nothing on a broken connection."""


class Rig:
    """A broker that consists of a channel and an AlterPartitionManager, and two controllers."""

    def __init__(self) -> None:
        self.network = Network(RandomStreams(0), MS, 0, lambda _target, _payload: None)
        self.log: Any = Log()
        self.old, self.new = Node(self), Node(self)
        port = NodeContext(self.network, BROKER)
        self.network.add(BROKER, "broker 1", self)
        self.network.add(OLD, "controller 1001", self.old)
        self.network.add(NEW, "controller 1002", self.new)
        self.channel = ControllerChannel(port, "channel", self.log, TIMEOUT)
        self.answers: list[AlterPartitionResponse] = []
        self.manager = AlterPartitionManager(port, self.channel, lambda: 7, self.answers.append)

    def receive(self, _source: int, message: Any) -> None:
        if isinstance(message, AlterPartitionBatchResponse):
            self.manager.on_response(message)
        else:
            self.channel.take_response(message)

    def on_timer(self, timer: Payload) -> None:
        if timer[0] == AGAIN:
            self.manager.on_timer(timer)
        else:
            self.channel.on_timer()

    def on_disconnect(self, peer: int) -> None:
        self.channel.on_disconnect(peer)

    def run(self, duration: int) -> None:
        self.network.kernel.run_until(self.network.kernel.now + duration)

    def beat(self, number: int) -> BrokerHeartbeatRequest:
        request = BrokerHeartbeatRequest(number, BROKER, 7, 0)
        self.channel.send(request)
        return request

    def reply(self, node: int, message: Any) -> None:
        NodeContext(self.network, node).send(BROKER, message)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_one_request_is_under_way_at_a_time(rig: Rig) -> None:
    first, second = rig.beat(1), rig.beat(2)
    rig.run(10 * MS)
    assert [message for _at, message in rig.old.got] == [first]
    rig.reply(OLD, BrokerHeartbeatResponse(9, KafkaError.NONE))
    rig.run(10 * MS)
    assert len(rig.old.got) == 1, "an answer to nothing that was asked"
    rig.reply(OLD, BrokerHeartbeatResponse(1, KafkaError.NONE))
    rig.run(10 * MS)
    assert [message for _at, message in rig.old.got] == [first, second]


def test_without_a_controller_a_request_waits_until_there_is_one(rig: Rig) -> None:
    rig.log.leader = NO_LEADER
    request = rig.beat(1)
    rig.run(950 * MS)
    rig.log.leader = NEW
    rig.run(100 * MS)
    assert rig.new.got == [(1_001 * MS, request)]


def test_a_former_controller_gets_no_further_requests(rig: Rig) -> None:
    request = rig.beat(1)
    rig.run(2 * MS)
    rig.reply(OLD, BrokerHeartbeatResponse(1, KafkaError.NOT_CONTROLLER))
    rig.log.leader = NEW
    rig.run(100 * MS)
    assert (len(rig.old.got), rig.new.got) == (1, [(54 * MS, request)])


def test_a_broken_connection_brings_the_request_to_the_next_one(rig: Rig) -> None:
    request = rig.beat(1)
    rig.run(2 * MS)
    rig.network.crash(OLD)
    rig.log.leader = NEW
    rig.run(100 * MS)
    assert rig.new.got == [(54 * MS, request)]


def test_an_unanswered_controller_request_times_out(rig: Rig) -> None:
    request = rig.beat(1)
    rig.run(2 * MS)
    rig.log.leader = NEW
    rig.run(TIMEOUT)
    assert rig.new.got == []
    rig.run(100 * MS)
    assert rig.new.got == [(TIMEOUT + 51 * MS, request)]


def test_a_request_that_its_owner_gives_up_is_not_sent_again(rig: Rig) -> None:
    given_up: list[int] = []
    rig.channel.on_timeout = lambda: given_up.append(rig.network.kernel.now)
    rig.beat(1)
    rig.run(2 * MS)
    rig.network.crash(OLD)
    rig.log.leader = NO_LEADER
    rig.run(TIMEOUT - 103 * MS)
    assert (given_up, rig.channel.busy) == ([], True)
    rig.run(200 * MS)
    assert (given_up, rig.channel.busy) == ([TIMEOUT + 53 * MS], False)
    rig.log.leader = NEW
    rig.run(TIMEOUT)
    assert rig.new.got == []


def proposal(partition: str, number: int = 1) -> AlterPartitionRequest:
    return AlterPartitionRequest(partition, BROKER, -1, 0, 0, (1,), (-1,), number)


def taken(rig: Rig, number: int, *partitions: tuple[str, int]) -> None:
    """The old controller's response to a part of the request."""
    answers = tuple(AlterPartitionResponse(name, KafkaError.NONE, 0, (1,), 1, each) for name, each in partitions)
    rig.reply(OLD, AlterPartitionBatchResponse(number, KafkaError.NONE, answers))
    rig.run(5 * MS)


def batches(node: Node) -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    for at, message in node.got:
        assert isinstance(message, AlterPartitionBatchRequest)
        assert {each.broker_epoch for each in (message, *message.partitions)} == {7}
        found.append((at, [f"{each.partition}/{each.correlation_id}" for each in message.partitions]))
    return found


def test_proposals_during_a_request_are_batched_into_the_next(rig: Rig) -> None:
    rig.manager.propose(proposal("a"))
    for partition in ("b", "c"):
        rig.manager.propose(proposal(partition))
    rig.run(5 * MS)
    taken(rig, 1, ("a", 1))
    assert batches(rig.old) == [(1 * MS, ["a/1"]), (7 * MS, ["b/1", "c/1"])]
    taken(rig, 2, ("b", 1))
    assert batches(rig.old)[2:] == [(12 * MS, ["c/1"])], "one that was not answered is asked again"
    assert [answer.partition for answer in rig.answers] == ["a", "b"]


def test_a_newer_proposal_takes_the_place_of_the_one_under_way(rig: Rig) -> None:
    rig.manager.propose(proposal("a"))
    rig.run(5 * MS)
    rig.manager.propose(proposal("a", 2))
    taken(rig, 1, ("a", 1))
    assert rig.answers == []
    assert batches(rig.old)[1:] == [(7 * MS, ["a/2"])]


def test_a_refusal_of_everything_is_answered_by_the_same_after_50_ms(rig: Rig) -> None:
    rig.manager.propose(proposal("a"))
    rig.run(2 * MS)
    rig.reply(OLD, AlterPartitionBatchResponse(1, KafkaError.STALE_BROKER_EPOCH, ()))
    rig.run(1 * MS)
    rig.manager.propose(proposal("b"))
    rig.run(100 * MS)
    assert batches(rig.old) == [(1 * MS, ["a/1"]), (54 * MS, ["a/1", "b/1"])]


def test_repeated_proposals_are_batched_without_duplicates(rig: Rig) -> None:
    def take(answer: AlterPartitionResponse) -> None:
        rig.answers.append(answer)
        if answer.error:
            rig.manager.propose(proposal(answer.partition, answer.correlation_id + 1))

    rig.manager = AlterPartitionManager(NodeContext(rig.network, BROKER), rig.channel, lambda: 7, take)
    rig.manager.propose(proposal("a"))
    for partition in ("b", "c", "d"):
        rig.manager.propose(proposal(partition))
    rig.run(5 * MS)
    taken(rig, 1, ("a", 1))
    ineligible = KafkaError.INELIGIBLE_REPLICA
    told = [("b", ineligible), ("c", KafkaError.NONE), ("d", ineligible)]
    answers = tuple(AlterPartitionResponse(name, error, 0, (1,), 1, 1) for name, error in told)
    rig.reply(OLD, AlterPartitionBatchResponse(2, KafkaError.NONE, answers))
    rig.run(5 * MS)
    assert [names for _at, names in batches(rig.old)] == [["a/1"], ["b/1", "c/1", "d/1"], ["b/2", "d/2"]]


def test_an_answer_to_an_earlier_leadership_is_none_to_a_later_one_of_the_same_number(rig: Rig) -> None:
    rig.manager.propose(proposal("a"))
    rig.run(5 * MS)
    rig.manager.propose(proposal("a")._replace(leader_epoch=2))
    answers = (AlterPartitionResponse("a", KafkaError.FENCED_LEADER_EPOCH, 0, (1,), 1, 1),)
    rig.reply(OLD, AlterPartitionBatchResponse(1, KafkaError.NONE, answers))
    rig.run(5 * MS)
    assert [names for _at, names in batches(rig.old)] == [["a/1"], ["a/1"]]
    assert rig.answers == []


def test_a_stale_broker_epoch_is_followed_by_the_one_that_the_broker_has_by_then(rig: Rig) -> None:
    epochs = [7]
    rig.manager = AlterPartitionManager(
        NodeContext(rig.network, BROKER), rig.channel, lambda: epochs[-1], rig.answers.append
    )
    rig.manager.propose(proposal("a"))
    rig.run(2 * MS)
    rig.reply(OLD, AlterPartitionBatchResponse(1, KafkaError.STALE_BROKER_EPOCH, ()))
    epochs.append(12)
    rig.run(100 * MS)
    told = [(message.broker_epoch, message.partitions[0].broker_epoch) for _at, message in rig.old.got]
    assert told == [(7, 7), (12, 12)]
