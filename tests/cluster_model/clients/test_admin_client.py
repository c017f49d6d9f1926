"""The admin client against nodes that answer by a script: whom it asks, when it asks again, when it gives up."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.admin_client import (
    ADMIN,
    AdminClient,
    AdminConfig,
    Answer,
    DescribeMetadata,
)
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.admin_messages import (
    AdminError,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    refusal,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    NO_LEADER,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionState,
)
from cluster_model.protocol.versions import Profile

SECOND = 1_000_000
MS = 1_000
CONNECTS = 4 * MS
"""A connection takes two round trips: its own and that of the first request."""
NEWEST_CONFIG = AdminConfig.of(Profile.of("4.1"))
API_TIMEOUT_US = NEWEST_CONFIG.api_timeout_us
REQUEST_TIMEOUT_US = NEWEST_CONFIG.request_timeout_us
BACKOFF_US = NEWEST_CONFIG.backoff_us
NEW = CreateTopicsRequest(0, (CreatableTopic("t", 1, 1),))
STATE = PartitionState("p-0", 2, 0, (1, 2), 0, (1, 2))

Script = Callable[["Scripted", Any], Any]


class Scripted:
    """A broker whose answers a test writes; None is silence."""

    def __init__(self, port: NodeContext, script: Script) -> None:
        self.port = port
        self.script = script
        self.heard: list[tuple[int, Any]] = []

    def receive(self, source: int, message: Any) -> None:
        if isinstance(message, ApiVersionsRequest):
            self.port.send(source, ApiVersionsResponse(message.correlation_id))
            return
        self.heard.append((self.port.now, message))
        answer = self.script(self, message)
        if answer is not None:
            self.port.send(source, answer)

    def on_timer(self, timer: Payload) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        pass

    def requests(self) -> list[str]:
        return [type(message).__name__ for _at, message in self.heard]


class Rig:
    """Three brokers and the client; latency is a millisecond."""

    def __init__(self, script: Script, kafka: str = "4.1") -> None:
        self.network = Network(RandomStreams(1), MS, 0, lambda _target, _payload: None)
        self.brokers = {number: Scripted(NodeContext(self.network, number), script) for number in (1, 2, 3)}
        for number, broker in self.brokers.items():
            self.network.add(number, f"broker {number}", broker)
        self.client = AdminClient(
            NodeContext(self.network, ADMIN),
            AdminConfig.of(Profile.of(kafka)),
            (1, 2, 3),
            RandomStreams(7).named("admin"),
        )
        self.network.add(ADMIN, "admin", self.client)
        self.network.open_connections((ADMIN,), self.brokers)
        self.answers: list[tuple[int, int, Any]] = []
        self.client.on_answer = self.took

    def took(self, token: int, answer: Answer) -> None:
        self.answers.append((self.now, token, answer))

    @property
    def now(self) -> int:
        return self.network.kernel.now

    def run(self, until: int) -> None:
        self.network.kernel.run_until(until)

    def heard(self) -> list[tuple[int, int, str]]:
        """(at, broker, request), in order."""
        rows = [(at, b, type(message).__name__) for b, node in self.brokers.items() for at, message in node.heard]
        return sorted(rows)


def metadata(message: Any, controller: int) -> MetadataResponse:
    return MetadataResponse(message.correlation_id, (STATE,), (1, 2, 3), controller)


def controller_is(controller: int) -> Script:
    """Everybody says who it is; it creates topics, and nobody else does."""

    def script(node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, controller)
        if isinstance(message, DeleteRecordsRequest):
            return DeleteRecordsResponse(message.correlation_id, message.partition, 0, message.offset)
        if node.port.node_id != controller:
            return refusal(message, KafkaError.NOT_CONTROLLER)
        if isinstance(message, ElectLeadersRequest):
            return ElectLeadersResponse(message.correlation_id, 0, (AdminError("p-0", 84, "not needed"),))
        return CreateTopicsResponse(message.correlation_id, (CreatableTopicResult("t", 0),))

    return script


def test_the_admin_client_looks_up_the_controller_first() -> None:
    rig = Rig(controller_is(3))
    rig.client.ask(7, NEW)
    rig.run(SECOND)
    assert rig.heard() == [
        (CONNECTS + MS, 1, "MetadataRequest"),
        (2 * CONNECTS + 3 * MS, 3, "CreateTopicsRequest"),
    ]
    [(at, token, answer)] = rig.answers
    assert (at, token, answer.topics) == (2 * CONNECTS + 4 * MS, 7, (CreatableTopicResult("t", 0),))
    assert rig.client.open == ()
    rig.run(2 * REQUEST_TIMEOUT_US)
    assert rig.network.kernel.next_at() == -1, "the timers of an idle client end"


def test_every_task_begins_with_metadata_of_its_own_from_any_broker() -> None:
    rig = Rig(controller_is(3))
    for token in range(1, 21):
        rig.client.ask(token, NEW)
        rig.run(token * SECOND)
    asked = [broker for _at, broker, name in rig.heard() if name == "MetadataRequest"]
    assert len(asked) == 20
    assert set(asked) == {1, 2, 3}


def test_a_refusal_by_the_controller_is_an_answer() -> None:
    rig = Rig(controller_is(2))
    rig.client.ask(1, ElectLeadersRequest(0, False, ("p-0",)))
    rig.run(SECOND)
    assert rig.answers[0][2].partitions == (AdminError("p-0", 84, "not needed"),)


def test_not_controller_brings_new_metadata_and_another_try() -> None:
    """The metadata named 1; by the time of the request 3 is the controller, and metadata says so later."""
    true = controller_is(3)

    def script(node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1 if node.port.now < 250 * MS else 3)
        return true(node, message)

    rig = Rig(script)
    rig.client.ask(1, NEW)
    rig.run(SECOND)
    told = rig.heard()
    assert [name for _at, _broker, name in told] == ["MetadataRequest", "CreateTopicsRequest"] * 4
    assert [broker for _at, broker, name in told if name == "CreateTopicsRequest"] == [1, 1, 1, 3]
    asked = [at for at, _broker, name in told if name == "MetadataRequest"]
    assert [later - earlier for earlier, later in pairwise(asked)] == [BACKOFF_US + 4 * MS] * 3
    assert rig.answers[0][2].topics == (CreatableTopicResult("t", 0),)


def test_a_broken_connection_is_tried_again_elsewhere() -> None:
    rig = Rig(controller_is(3))
    rig.client.ask(1, NEW)
    rig.run(CONNECTS + MS)
    rig.network.crash(1)
    rig.run(SECOND)
    # The answer to the metadata request was under way when the broker died.
    assert [broker for _at, broker, _name in rig.heard()] == [1, 3]
    rig.client.ask(2, NEW)
    rig.network.crash(2)
    rig.run(2 * SECOND)
    assert [broker for _at, broker, _name in rig.heard()][2:] == [3, 3]
    assert [token for _at, token, _answer in rig.answers] == [1, 2]


def test_silence_is_broken_off_after_the_request_timeout() -> None:
    def script(node: Scripted, message: Any) -> Any:
        return None if node.port.node_id == 1 else controller_is(2)(node, message)

    rig = Rig(script)
    rig.client.ask(1, NEW)
    rig.run(API_TIMEOUT_US)
    again = REQUEST_TIMEOUT_US + BACKOFF_US
    assert rig.heard() == [
        (CONNECTS + MS, 1, "MetadataRequest"),
        (again + CONNECTS + MS, 2, "MetadataRequest"),
        (again + CONNECTS + 3 * MS, 2, "CreateTopicsRequest"),
    ]
    assert rig.answers[0][2].topics == (CreatableTopicResult("t", 0),)


@pytest.mark.parametrize("what", ["nobody answers", "nobody is the controller", "nobody knows one"])
def test_after_a_minute_it_gives_up(what: str, snapshot: SnapshotAssertion) -> None:
    def script(_node: Scripted, message: Any) -> Any:
        if what == "nobody answers":
            return None
        if isinstance(message, MetadataRequest):
            return metadata(message, NO_LEADER if what == "nobody knows one" else 2)
        return refusal(message, KafkaError.NOT_CONTROLLER)

    rig = Rig(script)
    rig.run(SECOND)
    rig.client.ask(1, NEW)
    rig.client.ask(2, DescribeMetadata(0))
    rig.client.ask(3, DeleteRecordsRequest(0, "gone-0", 5))
    rig.run(3 * API_TIMEOUT_US)
    answers = {token: (at, answer) for at, token, answer in rig.answers}
    assert answers[1][0] == SECOND + API_TIMEOUT_US
    (refused,) = answers[1][1].topics
    assert refused == CreatableTopicResult("t", KafkaError.REQUEST_TIMED_OUT, refused.message)
    assert refused.message == snapshot
    assert answers[2][1].brokers == (() if what == "nobody answers" else (1, 2, 3))
    assert (answers[3][0], answers[3][1].error) == (SECOND + API_TIMEOUT_US, KafkaError.REQUEST_TIMED_OUT)
    assert rig.client.open == ()


def test_deletions_go_to_the_leader() -> None:
    rig = Rig(controller_is(1))
    rig.client.ask(1, DeleteRecordsRequest(0, "p-0", 40))
    rig.run(SECOND)
    assert rig.heard() == [
        (CONNECTS + MS, 1, "MetadataRequest"),
        (2 * CONNECTS + 3 * MS, 2, "DeleteRecordsRequest"),
    ]
    assert rig.answers[0][2].low_watermark == 40


def test_a_paused_client_asks_when_it_continues() -> None:
    rig = Rig(controller_is(1))
    rig.network.pause(ADMIN)
    rig.client.ask(1, NEW)
    rig.run(5 * SECOND)
    assert rig.heard() == []
    rig.network.resume(ADMIN)
    rig.run(6 * SECOND)
    assert rig.heard()[0] == (5 * SECOND + CONNECTS + MS, 1, "MetadataRequest")
    assert len(rig.answers) == 1


@pytest.mark.parametrize("at", [0, MS, 2 * MS, 3 * MS, 50 * MS, 104 * MS, 106 * MS])
def test_it_can_be_saved_anywhere(at: int) -> None:
    def script(node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1 if node.port.now < 100 * MS else 2)
        return controller_is(2)(node, message)

    rig, other = Rig(script), Rig(script)
    rig.client.ask(1, NEW)
    rig.client.ask(2, DescribeMetadata(0))
    rig.run(at)
    other.network.load(rig.network.save())
    other.client.load(rig.client.save())
    assert other.client.save() == rig.client.save()
    taken = len(rig.answers)
    for each in (rig, other):
        each.run(SECOND)
    assert rig.answers[taken:] == other.answers
    assert [token for _at, token, _answer in rig.answers] == [2, 1]


@pytest.mark.parametrize(("kafka", "tries"), [("2.4", 6), ("2.5", 0)])
def test_before_2_5_five_retries_are_the_most(kafka: str, tries: int) -> None:
    """KIP-533: since then only time ends them, and ``tries`` 0 stands for as many as fit."""

    def script(_node: Scripted, message: Any) -> Any:
        return (
            metadata(message, 2)
            if isinstance(message, MetadataRequest)
            else refusal(message, KafkaError.NOT_CONTROLLER)
        )

    rig = Rig(script, kafka)
    rig.client.ask(1, NEW)
    rig.run(130 * SECOND)
    ((at, _token, answer),) = rig.answers
    assert [each.error for each in answer.topics] == [KafkaError.REQUEST_TIMED_OUT]
    asked = [name for _at, _broker, name in rig.heard() if name == "CreateTopicsRequest"]
    assert len(asked) == tries or (not tries and len(asked) > 100)
    assert (at < SECOND) is bool(tries)


def test_a_request_that_was_never_sent_uses_up_no_retry() -> None:
    """Metadata names a controller whose process is down: five failed attempts to connect take less than a second."""
    down = Rig(controller_is(1), "2.4")
    down.network.crash(1)
    down.client.ask(1, NEW)
    down.run(130 * SECOND)
    assert [at for at, _token, _answer in down.answers] == [120 * SECOND]
    back = Rig(controller_is(1), "2.4")
    back.network.crash(1)
    back.client.ask(1, NEW)
    back.run(10 * SECOND)
    back.network.restart(1)
    back.run(12 * SECOND)
    assert back.answers[0][2].topics == (CreatableTopicResult("t", 0),)


def test_the_request_timeout_begins_when_the_request_is_sent() -> None:
    """A broker whose process is paused leaves a new connection unready; what waits for it is not overdue."""

    def script(node: Scripted, message: Any) -> Any:
        return metadata(message, 3) if isinstance(message, MetadataRequest) else None

    rig = Rig(script, "4.1")
    rig.network.crash(3)
    rig.network.restart(3)
    rig.network.pause(3)
    rig.run(10 * MS)
    rig.client.ask(1, NEW)
    rig.run(20 * SECOND)
    rig.network.resume(3)
    rig.run(REQUEST_TIMEOUT_US + 19 * SECOND)
    assert [name for _at, _broker, name in rig.heard()].count("CreateTopicsRequest") == 1


@pytest.mark.parametrize(("kafka", "patience_s"), [("2.4", 120), ("2.5", 60)])
def test_how_long_an_administrator_waits_for_silence(kafka: str, patience_s: int) -> None:
    rig = Rig(lambda _node, _message: None, kafka)
    rig.client.ask(1, NEW)
    rig.run(200 * SECOND)
    assert [at for at, _token, _answer in rig.answers] == [patience_s * SECOND]
