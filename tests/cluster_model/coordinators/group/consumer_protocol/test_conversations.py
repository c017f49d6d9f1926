"""Messages between members and coordinators of the consumer protocol, as files (KIP-848).

After a deliberate change: ``make goldens``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_model.protocol.events import PartitionsLost
from tests.cluster_model.coordinators.group.consumer_protocol.clusters import ModernTalk
from tests.support.golden import GoldenFile

FILES = Path(__file__).parent / "conversations"


def begun(kafka: str) -> ModernTalk:
    talk = ModernTalk(kafka, config={"group.consumer.session.timeout.ms": 15_000})
    talk.run(2)
    return talk


def join_and_leave(kafka: str) -> ModernTalk:
    """One member starts, a second gets half of the first one's partitions, then leaves again."""
    talk = begun(kafka)
    talk.consumer("a")
    talk.run(8)
    second = talk.consumer("b")
    talk.run(12)
    talk.note("b closes")
    second.close()
    talk.run(8)
    return talk


def session_over(kafka: str) -> ModernTalk:
    """A member is silent for longer than its session, and learns of its removal when it resumes."""
    talk = begun(kafka)
    talk.consumer("a")
    talk.consumer("b")
    talk.run(12)
    talk.note("b is paused")
    talk.cluster.pause(talk.node("b"))
    talk.run(22)
    talk.note("b resumes")
    talk.cluster.resume(talk.node("b"))
    talk.run(12)
    return talk


def coordinator_crash(kafka: str) -> ModernTalk:
    """A new coordinator has read the group, which continues unchanged."""
    talk = begun(kafka)
    talk.consumer("a")
    talk.consumer("b")
    talk.run(12)
    talk.note("the coordinator dies")
    talk.cluster.crash(talk.owner)
    talk.run(25)
    return talk


def crash_while_moving(kafka: str) -> ModernTalk:
    """The coordinator dies while a member revokes partitions: the new one knows the state of every member."""
    talk = begun(kafka)
    talk.consumer("a")
    talk.run(8)
    talk.consumer("b")
    while "b" not in {says.client_id for says in talk.group.members.values()}:
        talk.run(0.001)
    talk.note("the coordinator dies before any partition has moved")
    talk.cluster.crash(talk.owner)
    talk.run(30)
    return talk


def static_restart(kafka: str) -> ModernTalk:
    """A static member closes, and another process with its instance id gets its partitions."""
    talk = begun(kafka)
    first = talk.consumer("a", instance="pod-0")
    talk.consumer("b", instance="pod-1")
    talk.run(14)
    talk.note("pod-0 closes")
    first.close()
    talk.run(4)
    talk.note("pod-0 starts again")
    talk.consumer("a2", instance="pod-0")
    talk.run(4)
    talk.note("and once more")
    talk.consumer("a3", instance="pod-0")
    talk.run(2)
    return talk


CASES = [
    (join_and_leave, "3.9"),
    (join_and_leave, "4.0"),
    (session_over, "4.0"),
    (coordinator_crash, "4.0"),
    (crash_while_moving, "4.1"),
    (static_restart, "4.0"),
]


def name_of(story: Callable[[str], ModernTalk], kafka: str) -> str:
    return f"{story.__name__.replace('_', '-')}@{kafka}.txt"


@pytest.mark.slow
@pytest.mark.parametrize(("story", "kafka"), CASES)
def test_the_conversation_is_as_written_down(
    story: Callable[[str], ModernTalk], kafka: str, golden_file: GoldenFile
) -> None:
    assert story(kafka).text() == golden_file(FILES / name_of(story, kafka))


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {name_of(*case) for case in CASES}


def test_a_new_coordinator_takes_nothing_from_anybody() -> None:
    talk = coordinator_crash("4.0")
    assert not [event for event in talk.cluster.drain() if isinstance(event, PartitionsLost)]
    assert (talk.group.epoch, talk.owned()) == (2, {"a": ("orders-1",), "b": ("orders-0",)})
