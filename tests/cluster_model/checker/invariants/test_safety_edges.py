"""Edge cases of invariants: the first and last event they check, and events they must ignore."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.broker.storage import log_manager
from cluster_model.checker.invariants.durability import RANGES_KEPT, AcksOneBounded
from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.rules import alter_partition
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Appended, ControllerChanged, InvariantViolated, RecordsAcked
from tests.cluster_model.checker.invariants.test_safety_mutations import (
    A,
    B,
    C,
    consumers_read_to_the_end,
    stepped,
    violations,
)
from tests.cluster_model.checker.test_control_checker import build, later
from tests.cluster_model.hand_stepped_cluster import P

Patch = pytest.MonkeyPatch


def unexpected(found: Any) -> list[InvariantViolated]:
    return [each for each in violations(found) if not each.known]


# -- stable reads ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sound", [True, False])
def test_a_reader_above_an_hw_that_never_moved_is_reported(sound: bool, monkeypatch: Patch) -> None:
    if not sound:
        consumers_read_to_the_end(monkeypatch)
    made = stepped()
    made.append(A, "x")
    made.do("consume", broker=A)
    told = [(each.invariant, each.offset, each.end_offset) for each in unexpected(made)]
    assert told == ([] if sound else [("stable-reads", 0, 1)])


# -- ISR eligibility --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sound", [True, False])
def test_a_fenced_isr_member_at_an_election_is_reported(sound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 3 is down and fenced; then the leader dies, and the ISR of its successor contains broker 3 again."""
    real = CommittedState.commit

    def commit(self: CommittedState, change: PartitionChange, now: int) -> bool:
        state = change.state
        if not sound and state.leader == B and 3 not in state.isr:
            change = change._replace(state=state._replace(isr=(*state.isr, 3)))
        return real(self, change, now)

    monkeypatch.setattr(CommittedState, "commit", commit)
    cluster = build()
    later(cluster, 3)
    cluster.crash(3)
    later(cluster, 15)
    cluster.crash(1)
    later(cluster, 1)
    assert unexpected(cluster) == []
    later(cluster, 11)
    told = {(each.invariant, each.broker) for each in unexpected(cluster)}
    assert (told == set()) if sound else (("isr-eligibility", 3) in told)


# -- number of reports, and memory -----------------------------------------------------------------------------------


def test_a_member_that_lacks_committed_records_is_reported_once_per_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "high_watermark", lambda leo, _needed: leo)
    cluster = build()
    later(cluster, 5)
    told = [(each.invariant, each.broker, each.leader_epoch) for each in unexpected(cluster)]
    assert {invariant for invariant, _broker, _epoch in told} == {"leader-completeness", "weak-isr"}
    assert len(told) == len(set(told)) == 4


def test_kept_epochs_and_losses_are_bounded() -> None:
    made = stepped()
    safety = made.cluster.checker.invariants
    bounded = safety.properties["acks-one-bounded"]
    assert isinstance(bounded, AcksOneBounded)
    sizes = []
    for epochs in (range(500), range(500, 1_000)):
        for epoch in epochs:
            safety.appended(Appended(0, P, epoch % 3 + 1, epoch, 0, 1, "c", 0, 1))
            safety.observe(ControllerChanged(0, f"controller {epoch % 3}", epoch % 3 + 1, epoch))
            bounded._note(P, 2 * epoch, 2 * epoch + 1, epoch, epoch + 1)
        sizes.append(len(str(safety.save())))
    assert sizes[1] < 1.1 * sizes[0]
    assert len(bounded.lost_ranges(P)) == RANGES_KEPT
    assert bounded.lost_ranges(P)[-1] == (1_998, 1_999, 999, 1_000)


def test_a_controller_with_an_older_epoch_of_its_own_is_reported() -> None:
    made = stepped()
    safety = made.cluster.checker.invariants
    safety.observe(ControllerChanged(0, "controller 1", 1, 5))
    assert violations(made) == []
    safety.observe(ControllerChanged(0, "controller 1", 1, 4))
    assert [(each.invariant, each.leader_epoch) for each in violations(made)] == [("epoch-monotonicity", 4)]


# -- success of acks=all -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["0.10.2", "2.8", "3.9", "4.1"])
def test_an_acknowledgement_before_its_commit_is_reported_without_a_loss(kafka: str, monkeypatch: Patch) -> None:
    def told() -> list[tuple[str, int, int, str]]:
        made = stepped(kafka=kafka, records=1)
        made.append(A, "x", acks="all")
        made.append(A, "y", acks="all")
        made.fetch(B, C, B, C)
        return [(each.invariant, each.offset, each.end_offset, each.known) for each in violations(made)]

    assert told() == []
    monkeypatch.setattr(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE)
    assert told() == [("min-isr", 1, 2, "")]


def test_an_acknowledgement_received_after_a_leader_change_is_not_too_early() -> None:
    made = stepped(records=1)
    made.append(A, "x", acks="all")
    replica = made.cluster.cluster_state.replicas[P][A]
    log_branch = replica.log.branch_at(1).id
    event = RecordsAcked(0, "c", P, 0, 1, -1, A, 0, 1, 0, log_branch)
    made.lead(B, notify=(A, B, C))
    made.cluster.checker.invariants.min_isr.acked(event)
    made.lead(A, notify=(A, B, C))
    made.cluster.checker.invariants.min_isr.acked(event)
    assert [each for each in violations(made) if each.invariant == "min-isr"] == []


def test_every_batch_of_an_hw_advance_needs_min_isr(monkeypatch: Patch) -> None:
    """Of two delayed requests the first is answered with success, the second is not."""

    def told() -> list[tuple[int, int]]:
        made = stepped(kafka="3.6", records=1, min_insync_replicas=2)
        made.append(A, "x", acks="all")
        made.append(A, "y", acks="all")
        made.do("shrink_isr", broker=A, out=[B, C])
        return [(each.offset, each.end_offset) for each in unexpected(made) if each.invariant == "min-isr"]

    assert told() == []
    real = PartitionLeaderState._settled

    def settled(self: PartitionLeaderState, required: int) -> KafkaError | None:
        answer = real(self, required)
        return answer if answer is None or required != 2 else KafkaError.NONE

    monkeypatch.setattr(PartitionLeaderState, "_settled", settled)
    assert told() == [(1, 2)]


# -- election of a replica that lost its log ---------------------------------------------------------------------------


@pytest.mark.parametrize("elected", [(C,), (B, C)])
@pytest.mark.parametrize("told", [True, False])
def test_records_missing_from_a_leader_without_log_are_reported_when_it_leads_or_at_the_end(
    elected: tuple[int, ...], told: bool
) -> None:
    made = stepped(kafka="2.1")
    made.append(A, "x", acks="all")
    made.fetch(B, C, B, C)
    for broker in (B, C):
        made.do("power_loss", broker=broker, keep=0)
        made.do("restart", broker=broker)
    for broker in elected:
        made.do("elect", leader=broker)
    if told:
        made.notify(C)
    made.close()
    lost = [each for each in violations(made) if each.invariant == "acks-all-durability"]
    assert [(each.offset, each.end_offset) for each in lost] == [(0, 1)]


def test_a_leader_without_log_that_is_fenced_has_lost_nothing() -> None:
    made = stepped(kafka="2.1")
    made.append(A, "x", acks="all")
    made.fetch(B, C, B, C)
    made.do("power_loss", broker=B, keep=0)
    made.do("elect", leader=B)
    made.lead(C, notify=(A, C))
    made.close()
    assert violations(made) == []


# -- deposed leaders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sound", [True, False])
def test_a_deposed_leader_cannot_change_the_isr_before_its_successor_leads(sound: bool, monkeypatch: Patch) -> None:
    if not sound:
        monkeypatch.setattr(alter_partition, "validate_kraft", lambda *_words, **_named: KafkaError.NONE)
    made = stepped()
    made.do("elect", leader=B)
    made.do("shrink_isr", broker=A, out=[C])
    told = [(each.invariant, each.leader_epoch) for each in unexpected(made)]
    assert told == ([] if sound else [("zombie-fencing", 1)])


# -- damage ------------------------------------------------------------------------------------------------------------


def damaged_and_lost(broker: int, offset: int) -> list[tuple[int, int]]:
    """One batch is damaged on one disk; then a record is acknowledged too early, and its leader is deposed."""
    made = stepped(records=1)
    replica = made.cluster.cluster_state.replicas[P][broker]
    log_manager.damage(replica, offset, "value", 0)
    made.append(A, "x", acks="all")
    made.lead(B, notify=(B, C))
    lost = [each for each in unexpected(made) if each.invariant == "acks-all-durability"]
    return [(each.offset, each.end_offset) for each in lost]


@pytest.mark.parametrize("broker", [A, B, C])
@pytest.mark.parametrize("sound", [True, False])
def test_damage_to_one_copy_of_one_batch_excuses_the_loss_of_no_other(
    broker: int, sound: bool, monkeypatch: Patch
) -> None:
    if not sound:
        monkeypatch.setattr(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE)
    assert damaged_and_lost(broker, 0) == ([] if sound else [(1, 2)])


def test_damage_on_the_leaders_disk_is_excused() -> None:
    made = stepped(records=0)
    made.append(A, "x", acks="all")
    made.fetch(B, C, B, C)
    log_manager.damage(made.cluster.cluster_state.replicas[P][A], 0, "value", 0)
    assert violations(made) == []
    assert made.cluster.checker.ledger.missing(P) == 1


# -- lossy crashes -----------------------------------------------------------------------------------------------------


def test_a_lossy_crash_that_has_healed_explains_nothing_later(monkeypatch: Patch) -> None:
    """2.1 is known for losses after a lossy crash, but not for an early acknowledgement two epochs later."""
    monkeypatch.setattr(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE)
    made = stepped(kafka="2.1", records=1)
    made.do("power_loss", broker=C, keep=0)
    made.do("restart", broker=C)
    made.lead(B, notify=(A, B, C))
    made.append(B, "b")
    for _round in range(3):
        made.fetch(A, C)
    made.append(B, "x", acks="all")
    made.lead(A, notify=(A, C))
    told = [(each.invariant, each.offset, each.end_offset) for each in unexpected(made)]
    assert ("acks-all-durability", 2, 3) in told


def test_with_manual_steps_a_leader_without_log_is_known(snapshot: SnapshotAssertion) -> None:
    made = stepped()
    made.append(A, "x", acks="all")
    made.fetch(B, C, B, C)
    made.do("power_loss", broker=B, keep=0)
    made.do("restart", broker=B)
    made.lead(B, notify=(B,))
    found = violations(made)
    assert "acks-all-durability" in {each.invariant for each in found}
    assert {each.known.split(":")[0] for each in found} == snapshot
