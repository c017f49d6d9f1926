"""Mutation tests of the checker: each invariant reports a model broken on purpose, and nothing otherwise.

A mutation changes one rule of the protocol for the length of a test; the scenario around it is one that the unmodified
model passes (every test runs it that way first).
"""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import FetcherAction, FollowerState, PartitionLeaderState
from cluster_model.broker.partition.replication_rules import RemoteReplicaState
from cluster_model.cluster import Cluster
from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.protocol.events import Appended, HwAdvanced, RecordsLost, RecordsMissing, RecordsSent
from cluster_model.protocol.messages import FetchData, FetchPartition
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P
from tests.cluster_model.test_cluster import SECOND, finish, inject, small


def failover(kafka: str = "3.9", acks: str = "all") -> Cluster:
    """A leader that crashes and restarts, with records that one follower fetches late."""
    cluster = Cluster.build(small(kafka, None, acks, each_us=20_000), 7)
    board = FaultInjector(cluster)
    cluster.run(3 * SECOND)
    inject(board, "lag", "broker(2)", 40, latency=400_000, to="broker(1)")
    cluster.run(6 * SECOND)
    inject(board, "crash", "broker(1)", 20)
    cluster.run(28 * SECOND)
    finish(cluster, board, 20)
    return cluster


def broken(cluster: Cluster) -> set[str]:
    return set(cluster.checker.invariants.violations)


@pytest.mark.slow
def test_the_unmodified_model_has_no_violations() -> None:
    cluster = failover()
    assert broken(cluster) == set()
    assert cluster.query.acked_lost() == 0


@pytest.mark.slow
def test_a_leader_that_commits_alone_loses_acknowledged_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(leader_leo: int, _needed: tuple[RemoteReplicaState, ...]) -> int:
        return leader_leo

    monkeypatch.setattr(partition, "high_watermark", alone)
    cluster = failover()

    assert "acks-all-durability" in broken(cluster)
    assert cluster.query.acked_lost() > 0


@pytest.mark.slow
def test_a_high_watermark_by_the_fastest_follower_loses_acknowledged_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def fastest(leader_leo: int, needed: tuple[RemoteReplicaState, ...]) -> int:
        return min(leader_leo, max((remote.leo for remote in needed), default=leader_leo))

    monkeypatch.setattr(partition, "high_watermark", fastest)
    assert "acks-all-durability" in broken(failover())


def test_a_follower_that_does_not_truncate_diverges_from_its_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_divergence(_self: EpochCache, epoch: int, leo: int) -> tuple[int, int]:
        return (epoch, leo)

    def zombie() -> HandSteppedCluster:
        stepped = HandSteppedCluster("3.9")
        stepped.notify(1, 2, 3)
        stepped.append(1, "a")
        stepped.fetch(2, 3, 2, 3)
        stepped.lead(2, notify=(2, 3))
        stepped.append(1, "q")
        stepped.append(2, "b", "c")
        stepped.notify(1)
        for _round in range(3):
            stepped.fetch(1, 3)
        return stepped

    assert zombie().broken() == set()
    monkeypatch.setattr(EpochCache, "end_offset_for", no_divergence)
    assert "log-matching" in zombie().broken()


def test_two_leaders_of_one_epoch_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = CommittedState.commit

    def no_new_epoch(self: CommittedState, change: PartitionChange, now: int) -> bool:
        state = change.state
        return real(self, change._replace(state=state._replace(leader_epoch=state.leader_epoch - 1)), now)

    def hand_over() -> HandSteppedCluster:
        stepped = HandSteppedCluster("3.9")
        stepped.notify(1, 2, 3)
        stepped.append(1, "a")
        stepped.do("crash", broker=2)
        stepped.do("restart", broker=2)
        stepped.do("elect", leader=2)
        stepped.do("deliver", broker=2)
        stepped.append(2, "b")
        return stepped

    assert hand_over().broken() == set()
    monkeypatch.setattr(CommittedState, "commit", no_new_epoch)
    assert "single-leader-per-epoch" in hand_over().broken()


def test_a_decreasing_epoch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.do("elect", leader=2)
    record = stepped.cluster.cluster_state.record(P)
    record.state = record.state._replace(leader_epoch=-5)
    stepped.do("elect", leader=3)
    assert stepped.broken() == {"epoch-monotonicity"}


def test_a_leader_outside_the_isr_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = CommittedState.commit

    def outsider(self: CommittedState, change: PartitionChange, now: int) -> bool:
        state = change.state
        isr = tuple(broker for broker in state.isr if broker != state.leader)
        return real(self, change._replace(state=state._replace(isr=isr)), now)

    stepped = HandSteppedCluster("3.9")
    stepped.do("elect", leader=2)
    assert stepped.broken() == set()
    monkeypatch.setattr(CommittedState, "commit", outsider)
    stepped.do("elect", leader=3)
    assert stepped.broken() == {"leader-in-isr"}


def test_a_high_watermark_that_decreases_within_a_leadership_is_reported() -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b")
    stepped.fetch(2, 3, 2, 3)
    assert stepped.broken() == set()
    stepped.cluster.emit(HwAdvanced(0, P, 1, 0, 1))
    assert stepped.broken() == {"hw-within-leadership", "true-hw-monotone"}


def test_offsets_out_of_bounds_are_reported() -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a")
    stepped.cluster.cluster_state.replicas[P][1].hw = 5
    stepped.cluster.emit(HwAdvanced(0, P, 1, 0, 5))
    assert "log-bounds" in stepped.broken()


def ahead_of_its_log(patch: pytest.MonkeyPatch) -> None:
    """A follower applies its leader's HW unchecked, for one response."""
    real = FollowerState.apply_fetch

    def answer(self: FollowerState, now: int, asked: FetchPartition, data: FetchData) -> FetcherAction:
        outcome = real(self, now, asked, data)
        if self.replica.log.leo == 1:
            self.replica.hw = 3
        return outcome

    patch.setattr(FollowerState, "apply_fetch", answer)


def test_a_follower_hw_above_its_log_is_reported_with_manual_steps_before_any_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead_of_its_log(monkeypatch)
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a")
    stepped.fetch(2)
    assert stepped.broken() == {"log-bounds"}


def test_a_follower_hw_above_its_log_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next response corrects it, before its leader's HW moves."""
    ahead_of_its_log(monkeypatch)
    cluster = Cluster.build(small("3.9"), 0)
    cluster.run(1 * SECOND)
    assert cluster.checker.invariants.violations["log-bounds"] >= 2


def test_followers_with_records_that_the_leader_lacks_are_reported_when_in_sync(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The old rule in a new version: a follower that truncates to its HW only."""

    def by_high_watermark(self: FollowerState, now: int, *, changed_leader: bool) -> None:
        if changed_leader:
            self.replica.truncate(self.replica.hw, now, "high watermark")

    monkeypatch.setattr(FollowerState, "start", by_high_watermark)
    stepped = HandSteppedCluster("3.9", config={"min.insync.replicas": 2})
    stepped.lead(3, notify=(1, 2, 3))
    stepped.append(3, "m0", acks="all")
    stepped.fetch(1, 2, 1, 2)
    stepped.do("crash", broker=3)
    stepped.lead(2, notify=(2, 1))
    stepped.do("crash", broker=2)
    stepped.lead(1, notify=(1,))
    assert "acks-all-durability" in stepped.broken()


@pytest.mark.slow
def test_acks_0_records_that_reached_no_leader_are_lost_at_the_end() -> None:
    cluster = Cluster.build(small(acks="0", each_us=40_000), 7)
    board = FaultInjector(cluster)
    cluster.run(3 * SECOND)
    events, fresh = cluster.drain(), []
    while not any(isinstance(event, RecordsSent) and event.partition == P for event in fresh):
        cluster.run(30 * SECOND, 1)
        fresh = cluster.drain()
        events = [*events, *fresh]
    inject(board, "crash", f"leader({P})", 20)  # with a record in flight
    cluster.run(30 * SECOND)
    finish(cluster, board, 5)

    ledger = cluster.view().ledger
    appends = [event for event in (*events, *cluster.drain()) if isinstance(event, Appended)]
    appended = sum(event.count for event in appends if event.partition.startswith("orders-"))
    assert ledger.acked == ledger.sent
    assert ledger.acked_lost >= ledger.sent - appended > 0


@pytest.mark.slow
def test_every_lost_record_has_one_sentence(snapshot: SnapshotAssertion) -> None:
    cluster = Cluster.build(small(acks="1"), 7)
    board = FaultInjector(cluster)
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", f"leader({P})", 20)
    cluster.run(30 * SECOND)
    finish(cluster, board, 10)
    events = cluster.drain()
    lost = [event for event in events if isinstance(event, RecordsLost)]

    assert sum(event.count for event in lost) == cluster.query.acked_lost() > 0
    for event in lost:
        assert event.cause.count(";") == 1
        assert (event.leader_epoch, event.acks) == (0, 1)
        assert event.cause.startswith(f"{event.count} record")
    assert [event.cause for event in lost] == snapshot
    missing = [event for event in events if isinstance(event, RecordsMissing)]
    assert sum(event.count for event in missing) == sum(event.count for event in lost)


def test_a_missing_record_may_return() -> None:
    """An uncleanly elected leader lacks records of the old one; after the old one is elected again none is missing."""
    stepped = HandSteppedCluster("3.9", placement=(1, 2), config={"unclean.leader.election.enable": True})
    stepped.notify(1, 2)
    stepped.do("shrink_isr", broker=1, out=[2])
    stepped.append(1, "a", "b")
    query = stepped.cluster.query
    stepped.lead(2, notify=(), unclean=True)
    assert (query.missing(), query.acked_lost()) == (2, 0)
    stepped.lead(1, notify=(), unclean=True)
    assert (query.missing(), query.acked_lost()) == (0, 0)


@pytest.mark.slow
def test_manual_and_timed_healing_leave_the_same_ledger() -> None:
    by_hand = Cluster.build(small(each_us=40_000), 7)
    board = FaultInjector(by_hand)
    by_hand.run(5 * SECOND)
    board.inject(Action("inject", "gc_pause", "broker(2)"))
    by_hand.run(9 * SECOND)
    board.heal("gc_pause")
    by_hand.run(20 * SECOND)

    by_time = Cluster.build(small(each_us=40_000), 7)
    board = FaultInjector(by_time)
    by_time.run(5 * SECOND)
    inject(board, "gc_pause", "broker(2)", 4)
    by_time.run(20 * SECOND)

    assert by_hand.view().ledger == by_time.view().ledger


@pytest.mark.slow
def test_leadership_and_followers_agree_about_committed_records() -> None:
    """StrongIsr: all records below a leader's HW are on every member of the committed ISR, at any time."""
    cluster = Cluster.build(small("3.9", None, "1", each_us=25_000), 3)
    board = FaultInjector(cluster)
    checked = 0

    def strong() -> bool:
        nonlocal checked
        for record in cluster.cluster_state.records.values():
            for replica in cluster.cluster_state.replicas[record.name].values():
                if isinstance(replica.leadership, PartitionLeaderState):
                    for member in record.isr:
                        log = cluster.cluster_state.replicas[record.name][member].log
                        assert log.leo >= replica.hw
                        checked += 1
        return False

    cluster.run(3 * SECOND, stop=strong)
    inject(board, "gc_pause", f"leader({P})", 15)
    cluster.run(8 * SECOND, stop=strong)
    inject(board, "crash", "broker(3)", 5)
    cluster.run(30 * SECOND, stop=strong)
    assert checked > 1_000


def lost_causes(stepped: HandSteppedCluster) -> list[str]:
    stepped.close()
    return [event.cause for event in stepped.cluster.drain() if isinstance(event, RecordsLost)]


def test_a_cause_names_the_isr_that_acknowledged_not_the_one_that_was_there_at_the_append(
    snapshot: SnapshotAssertion,
) -> None:
    stepped = HandSteppedCluster("3.6", placement=(1, 2))
    stepped.notify(1, 2)
    stepped.append(1, "a", acks="all")
    assert stepped.cluster.query.acked() == 0
    stepped.do("shrink_isr", broker=1, out=[2])
    assert stepped.cluster.query.acked() == 1
    stepped.lead(2, notify=(2,), unclean=True)
    stepped.do("power_loss", broker=1, keep=0)

    (cause,) = lost_causes(stepped)
    assert cause == snapshot


def test_a_cause_does_not_use_a_later_isr(snapshot: SnapshotAssertion) -> None:
    stepped = HandSteppedCluster("3.6", config={"min.insync.replicas": 2})
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", acks="all")
    stepped.fetch(2, 3, 2, 3)
    stepped.do("shrink_isr", broker=1, out=[2, 3])
    stepped.do("power_loss", broker=1, keep=0)
    stepped.do("restart", broker=1)
    stepped.lead(1, notify=(1, 2, 3))
    stepped.fetch(2, 3)

    (cause,) = lost_causes(stepped)
    assert cause == snapshot


def test_a_cause_names_no_later_or_unrelated_truncation(snapshot: SnapshotAssertion) -> None:
    stepped = HandSteppedCluster("3.9", placement=(1, 2))
    stepped.notify(1, 2)
    stepped.append(1, "a0")
    stepped.fetch(2, 2)
    stepped.append(1, "a1")
    stepped.lead(2, notify=(2,))
    stepped.append(2, "b1")
    stepped.lead(1, notify=(1, 2))
    stepped.fetch(2, 2, 2)

    causes = lost_causes(stepped)
    assert len(causes) == 1
    assert "(b1)" in causes[0]
    assert causes[0] == snapshot


def test_a_record_lost_again_has_the_cause_of_its_last_loss(snapshot: SnapshotAssertion) -> None:
    stepped = HandSteppedCluster("3.9", placement=(1, 2), config={"unclean.leader.election.enable": True})
    stepped.notify(1, 2)
    stepped.do("shrink_isr", broker=1, out=[2])
    stepped.append(1, "a")
    stepped.lead(2, notify=(2,), unclean=True)
    stepped.lead(1, notify=(), unclean=True)
    assert stepped.cluster.query.missing() == 0
    stepped.do("power_loss", broker=1, keep=0)
    stepped.do("restart", broker=1)
    stepped.lead(1, notify=(1,))

    (cause,) = lost_causes(stepped)
    assert cause == snapshot
