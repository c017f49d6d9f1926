"""A leader's ISR proposal goes to the current controller, until it is answered, and takes effect once (KIP-497)."""

import pytest

from cluster_model.controller.kraft.control_plane import KraftControlPlane
from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest, AlterPartitionBatchResponse
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest
from tests.cluster_model.timelines import ADMIN, Watched

P = "orders-0"
ASKED = f"AlterPartition {P} (1, 2) at 0/0"


def asked_to_shrink(kafka: str = "3.9") -> Watched:
    """Return the time at which the old controller receives the removal of broker 3; nothing is committed of it."""
    watched = Watched(kafka, config={"replica.lag.time.max.ms": 2_000}, produce=True)
    watched.run(5)
    watched.cluster.pause(3)
    while not watched.passed("broker 1", "controller 1001", ASKED):
        watched.run(0.001)
        assert watched.cluster.now_us < 12_000_000
    return watched


def said_to_new(watched: Watched) -> list[str]:
    """Messages about it between broker 1 and any later controller."""
    lines = [line for _at, line in watched.messages if "AlterPartition" in line and "broker 1" in line]
    return [line for line in lines if "1001" not in line]


def shrinks(watched: Watched) -> list[int]:
    """Partition epochs in which the ISR 1, 2 was committed."""
    text = [line for _at, line in watched.messages if "isr_changed" in line]
    assert all({"isr=1,2", "previous_isr=1,2,3", "by=leader"} <= set(line.split()) for line in text)
    return [watched.cluster.cluster_state.records[P].state.partition_epoch for _line in text]


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.1"])
def test_a_controller_that_crashes_with_it_leaves_it_to_the_next(kafka: str) -> None:
    watched = asked_to_shrink(kafka)
    watched.cluster.crash(1001)
    watched.run(6)
    asked, answered = said_to_new(watched)
    new = watched.cluster.plane.active()
    assert asked.split(": ") == [f"broker 1 > controller {new}", ASKED]
    epoch = int(kafka == "3.3")
    who, what, outcome = answered.split(": ")
    assert (who, what) == (f"controller {new} > broker 1", "AlterPartition")
    assert outcome.split() == [P, "NONE", "(1,", "2)", "at", f"{epoch}/1"]
    assert shrinks(watched) == [1]


def test_a_resumed_former_controller_answers_not_controller() -> None:
    watched = asked_to_shrink()
    watched.cluster.pause(1001)
    watched.run(8)
    assert said_to_new(watched) == [], "the connection stands, so the broker waits"
    watched.cluster.resume(1001)
    watched.run(2)
    assert watched.passed("controller 1001", "broker 1", "AlterPartition: NOT_CONTROLLER")
    asked, answered = said_to_new(watched)
    assert asked.endswith(f"AlterPartition {P} (1, 2) at 0/0")
    assert answered.endswith(f"{P} NONE (1, 2) at 0/1")
    assert shrinks(watched) == [1]


def test_without_a_controller_it_waits_for_one() -> None:
    watched = asked_to_shrink()
    for voter in (1001, 1002):
        watched.cluster.crash(voter)
    watched.run(20)
    assert shrinks(watched) == []
    watched.cluster.restart(1002)
    watched.run(6)
    assert said_to_new(watched)[-1].endswith(f"{P} NONE (1, 2) at 0/1")
    assert shrinks(watched) == [1]


def test_a_stale_broker_epoch_rejects_the_whole_alter_partition() -> None:
    watched = Watched()
    watched.run(2)
    good = AlterPartitionRequest(P, 1, 0, 0, 0, (1, 2), (0, 0), 1)
    answers = []
    for number, (broker, epoch) in enumerate(((1, 5), (9, 0), (1, -1), (1, 0)), 1):
        request = AlterPartitionBatchRequest(number, broker, epoch, (good,))
        NodeContext(watched.cluster.network, ADMIN).send(1001, request)
        watched.run(0.1)
        answer = watched.admin.got[-1]
        assert isinstance(answer, AlterPartitionBatchResponse)
        answers.append((KafkaError(answer.error), len(answer.partitions)))
    stale = (KafkaError.STALE_BROKER_EPOCH, 0)
    assert answers == [stale, stale, stale, (KafkaError.NONE, 1)]
    assert watched.cluster.cluster_state.records[P].state.isr == (1, 2)


def test_an_answer_waits_for_what_the_controller_wrote_of_its_own_accord() -> None:
    """Its response would describe a state that may never be committed, and the leader would wait for that epoch."""
    watched = Watched()
    watched.run(2)
    cluster = watched.cluster
    assert isinstance(cluster.plane, KraftControlPlane)
    controller = cluster.plane._nodes[1001].controller
    for other in (1002, 1003):
        cluster.cut(1001, other, 7)
        cluster.cut(other, 1001, 7)
    assert controller.expire_session(1), "broker 2 leads in the isolated controller's image"
    late = AlterPartitionRequest(P, 1, 0, 0, 0, (1, 2), (0, 0), 1)
    NodeContext(cluster.network, ADMIN).send(1001, AlterPartitionBatchRequest(1, 1, 0, (late,)))
    while controller.active:
        watched.run(0.01)
        assert not controller.active or watched.admin.got == []
        assert cluster.now_us < 20_000_000
    watched.run(0.1)
    (answer,) = watched.admin.got
    assert isinstance(answer, AlterPartitionBatchResponse)
    assert answer.error == KafkaError.NOT_CONTROLLER
