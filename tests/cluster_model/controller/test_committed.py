"""The committed state: events of a change, and creation and deletion of partitions."""

from syrupy.assertion import SnapshotAssertion

from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.rules.partition_change import LEADER, PartitionChange
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.events import Event, describe
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile

P = "t-0"
TOPIC = TopicConfig.of(Profile.of("4.1"), {}, {})
OTHER = TopicConfig.of(Profile.of("4.1"), {}, {"min.insync.replicas": 2})
START = PartitionState(P, 1, 0, (1, 2, 3), 0, (1, 2, 3))


def told(*changes: PartitionChange) -> list[str]:
    events: list[Event] = []
    committed = CommittedState(events.append)
    committed.create(P, (1, 2, 3), TOPIC, (1, 2, 3))
    assert committed.records[P].state == START
    for change in changes:
        committed.commit(change, 5)
        assert committed.records[P].state == change.state
    return [describe(event) for event in events]


def test_unchanged_partitions_are_not_published() -> None:
    assert told(PartitionChange(START, "nothing")) == []


def test_an_election_is_reported_before_the_isr(snapshot: SnapshotAssertion) -> None:
    change = PartitionChange(START._replace(leader=2, leader_epoch=1, partition_epoch=1, isr=(2, 3)), "broker 1 fenced")
    lines = told(change)
    assert [line.split()[0] for line in lines] == ["leader_elected", "isr_changed"]
    assert lines == snapshot


def test_a_leader_epoch_that_only_an_isr_raised_is_no_election() -> None:
    change = PartitionChange(START._replace(leader_epoch=1, partition_epoch=1, isr=(1, 2)), LEADER)
    assert [line.split()[0] for line in told(change)] == ["isr_changed"]
    assert told(change)[0].endswith("by=leader")


def test_a_leader_that_was_elected_again_is() -> None:
    lines = told(PartitionChange(START._replace(leader_epoch=1, partition_epoch=1), "step"))
    assert [line.split()[0] for line in lines] == ["leader_elected"]


def test_everything_else_that_changes_is_reported_too(snapshot: SnapshotAssertion) -> None:
    offline = START._replace(leader=NO_LEADER, leader_epoch=1, partition_epoch=1, isr=(), elr=(1, 2), last_known=1)
    unclean = START._replace(
        leader=3, leader_epoch=2, partition_epoch=2, isr=(3,), recovering=True, replicas=(3, 4), adding=(4,)
    )
    lines = told(PartitionChange(offline, "x"), PartitionChange(unclean, "y", clean=False))
    assert [line.split()[0] for line in lines] == [
        "partition_offline", "isr_changed", "elr_changed", "leader_elected", "isr_changed", "elr_changed",
        "recovery_changed", "assignment_changed",
    ]  # fmt: skip
    assert lines == snapshot


def test_partitions_come_and_go_and_come_back() -> None:
    committed = CommittedState(lambda _event: None)
    committed.create(P, (1, 2, 3), TOPIC, (1, 2, 3))
    first = committed.save()
    late = PartitionState("late-0", 2, 0, (2,), 0, (2, 3), elr=(3,), recovering=True)
    committed.add(late, OTHER)
    committed.configure(P, OTHER)
    committed.commit(PartitionChange(START._replace(isr=(1,), partition_epoch=1), LEADER), 0)
    second = committed.save()
    standing = committed.records[P]
    committed.delete(P)
    committed.delete("nowhere")
    assert list(committed.records) == ["late-0"]
    assert not committed.commit(PartitionChange(START._replace(partition_epoch=9), "late"), 0)
    third = committed.save()

    committed.load(first)
    assert [(record.state, record.topic_config) for record in committed.records.values()] == [(START, TOPIC)]
    committed.load(second)
    states = {name: (record.state, record.topic_config) for name, record in committed.records.items()}
    assert states == {P: (START._replace(isr=(1,), partition_epoch=1), OTHER), "late-0": (late, OTHER)}
    assert list(states) == [P, "late-0"]
    committed.load(third)
    assert list(committed.records) == ["late-0"]
    assert standing.isr == (1,)
