"""Messages between members and coordinators, as files: after a deliberate change ``make goldens``.

Sources: KIP-134 (initial delay), KIP-345 (static members), KIP-394 (member ids), ``GroupCoordinator``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_model.protocol.group_messages import LeaveGroupRequest, LeavingMember
from tests.cluster_model.coordinators.group.members import Talk
from tests.support.golden import GoldenFile

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "conversations"


def join_and_rebalance(kafka: str) -> Talk:
    """Two members start together, a third joins later and leaves again, and one falls silent."""
    talk = Talk(kafka)
    talk.run(2)
    talk.member("a")
    second = talk.member("b")
    talk.run(8)
    second.commit("orders-1", 5)
    talk.run(1)
    third = talk.member("c")
    talk.run(6)
    talk.note("c leaves")
    third.stopped = True
    third.ask(third.coordinator, LeaveGroupRequest(0, "g", (LeavingMember(third.member_id),)))
    talk.run(6)
    talk.note("b falls silent")
    second.stopped = True
    talk.run(16)
    return talk


def coordinator_crash(kafka: str) -> Talk:
    """The members look up the new coordinator, which has read the group: it continues without a rebalance."""
    talk = Talk(kafka)
    talk.run(2)
    first = talk.member("a")
    talk.member("b")
    talk.run(8)
    first.commit("orders-0", 7)
    talk.run(1)
    talk.note("the coordinator dies")
    talk.cluster.crash(first.coordinator)
    talk.run(20)
    talk.note("it restarts, and later leads again")
    talk.cluster.restart(2)
    talk.run(8)
    talk.cluster.elect_leaders("__consumer_offsets-1", unclean=False)
    talk.run(8)
    while first.coordinator < 0:
        talk.run(0.1)
    first.commit("orders-0", 8)
    talk.run(1)
    return talk


def rebalance_lost(kafka: str) -> Talk:
    """The coordinator dies during a rebalance: the new one knows the previous generation, without the new member."""
    talk = Talk(kafka)
    talk.run(2)
    first = talk.member("a")
    talk.run(8)
    third = talk.member("c")
    while third.generation < 0:
        talk.run(0.001)
    talk.note("the coordinator dies before anything is assigned")
    talk.cluster.crash(first.coordinator)
    talk.run(30)
    return talk


def static_restart(kafka: str) -> Talk:
    """A static member restarts before its session ends: it keeps its assignment, its former process is fenced."""
    talk = Talk(kafka)
    talk.run(2)
    old = talk.member("a", instance="pod-0")
    talk.member("b", instance="pod-1")
    talk.run(8)
    talk.note("pod-0 starts again")
    talk.member("a2", instance="pod-0")
    talk.run(1)
    old.commit("orders-0", 3)
    talk.run(5)
    return talk


def too_few_in_sync(kafka: str) -> Talk:
    """Without enough replicas of its topic a coordinator can neither accept commits nor finish a rebalance."""
    talk = Talk(kafka, offsets={"min.insync.replicas": 3})
    talk.run(2)
    first = talk.member("a")
    talk.run(8)
    talk.cluster.crash(3)
    talk.run(15)
    first.commit("orders-0", 1)
    talk.run(1)
    return talk


CASES = [
    (join_and_rebalance, "0.10.2"),
    (join_and_rebalance, "3.9"),
    (coordinator_crash, "2.8"),
    (coordinator_crash, "3.9"),
    (rebalance_lost, "3.9"),
    (static_restart, "2.3"),
    (static_restart, "3.9"),
    (too_few_in_sync, "3.9"),
]


def name_of(story: Callable[[str], Talk], kafka: str) -> str:
    return f"{story.__name__.replace('_', '-')}@{kafka}.txt"


@pytest.mark.parametrize(("story", "kafka"), CASES)
def test_the_conversation_is_as_written_down(story: Callable[[str], Talk], kafka: str, golden_file: GoldenFile) -> None:
    assert story(kafka).text() == golden_file(FILES / name_of(story, kafka))


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {name_of(*case) for case in CASES}
