"""Mutation tests of all invariants: with one rule broken on purpose, the expected invariant reports it where expected.

Each mutation has a scenario that the unmodified model passes without a violation: it runs that way first.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from cluster_model.broker.fetch import fetch_reads
from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import FollowerState, PartitionLeaderState, Replica
from cluster_model.checker.invariants.invariant_checker import PROPERTIES
from cluster_model.cluster import Cluster
from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.kraft import replication_control_manager
from cluster_model.controller.kraft.cluster_control_manager import ClusterControlManager
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.controller.rules import alter_partition
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.log import log_cleaner
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.log.segments import Segments
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import InvariantViolated, RecordsRead
from cluster_model.protocol.messages import PartitionState
from tests.cluster_model.checker.test_control_checker import build, later
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P
from tests.cluster_model.test_compaction import build as compacting

Patch = pytest.MonkeyPatch
A, B, C = 1, 2, 3


Place = tuple[int, tuple[int, int], int]
"""(broker, offsets, leader epoch) of a violation; without offsets they are :data:`NOWHERE`."""
NOWHERE = (-1, -1)


class Mutation(NamedTuple):
    """A broken rule and all violations expected of it: the invariant violated first, then the others."""

    name: str
    scene: Callable[[], Any]
    broken: Callable[[Patch], None]
    told: dict[str, list[Place]]


def stepped(*, kafka: str = "3.9", records: int = 0, **config: Any) -> HandSteppedCluster:
    """Three brokers with their roles applied; so many records on all of them, each known to all as committed."""
    made = HandSteppedCluster(kafka, config={key.replace("_", "."): value for key, value in config.items()})
    made.notify(A, B, C)
    if records:
        made.append(A, *[f"r{number}" for number in range(records)])
        made.fetch(B, C, B, C)
    return made


def violations(found: HandSteppedCluster | Cluster) -> list[InvariantViolated]:
    cluster = found.cluster if isinstance(found, HandSteppedCluster) else found
    return [event for event in cluster.drain() if isinstance(event, InvariantViolated)]


def commits(change_state: Callable[[PartitionState], PartitionState]) -> Callable[[Patch], None]:
    """The controller commits a different state from the one it decided on."""

    def broken(patch: Patch) -> None:
        real = CommittedState.commit

        def commit(self: CommittedState, change: PartitionChange, now: int) -> bool:
            return real(self, change._replace(state=change_state(change.state)), now)

        patch.setattr(CommittedState, "commit", commit)

    return broken


def having(where: object, name: str, value: object) -> Callable[[Patch], None]:
    """Replace an attribute of the model."""
    return lambda patch: patch.setattr(where, name, value)


# -- scenarios ---------------------------------------------------------------------------------------------------------


def shrunk() -> HandSteppedCluster:
    """A record that no follower has fetched, and a member that leaves the ISR."""
    made = stepped(records=1)
    made.append(A, "x")
    made.do("shrink_isr", broker=A, out=[C])
    return made


def half_fetched() -> HandSteppedCluster:
    """One of two followers has fetched a record."""
    made = stepped(records=1)
    made.append(A, "x")
    made.fetch(B, B)
    return made


def promised_and_elected() -> HandSteppedCluster:
    """An acks=all record that no follower has fetched, and a new leader."""
    made = stepped(records=1)
    made.append(A, "x", acks="all")
    made.lead(B, notify=(B, C))
    return made


def zombie() -> HandSteppedCluster:
    """A deposed leader with a tail of its own becomes a follower."""
    made = stepped(records=1)
    made.lead(B, notify=(B, C))
    made.append(A, "q")
    made.append(B, "b", "c")
    made.notify(A)
    for _round in range(3):
        made.fetch(A, C)
    return made


def failed_over_twice() -> HandSteppedCluster:
    """A committed record whose HW the followers have not received; two leaders crash one after the other."""
    made = stepped(min_insync_replicas=2)
    made.lead(C, notify=(A, B, C))
    made.append(C, "m0", acks="all")
    made.fetch(A, B, A, B)
    made.do("crash", broker=C)
    made.lead(B, notify=(B, A))
    made.do("crash", broker=B)
    made.lead(A, notify=(A,))
    return made


def led_by_b() -> HandSteppedCluster:
    """Another leader is elected and has started to lead."""
    made = stepped(records=2)
    made.lead(B, notify=(B, C))
    made.append(B, "b")
    return made


def follower_joins() -> HandSteppedCluster:
    """A follower leaves the ISR, lags, catches up and joins again."""
    made = stepped(records=1)
    made.do("shrink_isr", broker=A, out=[C])
    made.append(A, "x")
    made.fetch(B, B, C)
    made.do("fetch", follower=C)
    made.do("expand_isr", broker=A, **{"in": C})
    made.append(A, "y")
    made.fetch(B, C, B, C)
    return made


def joins_too_early() -> HandSteppedCluster:
    """A lagging follower that the join rule keeps out of the ISR."""
    made = stepped(records=1)
    made.do("shrink_isr", broker=A, out=[C])
    made.append(A, "x")
    made.fetch(B, B)
    made.do("expand_isr", broker=A, **{"in": C})
    return made


def read_to_the_end() -> HandSteppedCluster:
    """A consumer reads up to the HW while a record waits for followers."""
    made = stepped(records=2)
    made.append(A, "x")
    made.do("consume", broker=A)
    return made


def alone(kafka: str = "3.9") -> Callable[[], HandSteppedCluster]:
    def scene() -> HandSteppedCluster:
        """Fewer in-sync replicas than min.insync.replicas."""
        made = stepped(kafka=kafka, records=1, min_insync_replicas=2)
        made.append(A, "x", acks="all")
        made.do("shrink_isr", broker=A, out=[B, C])
        return made

    return scene


def rebounds() -> HandSteppedCluster:
    """Leadership moves to another broker and back."""
    made = stepped(records=2)
    made.lead(B, notify=(A, B, C))
    made.fetch(A, C, A, C)
    made.lead(A, notify=(A, B, C))
    return made


def elected_twice() -> HandSteppedCluster:
    """An election of which no broker is informed."""
    made = stepped()
    made.do("elect", leader=B)
    made.do("elect", leader=A)
    return made


def word_of_the_past() -> HandSteppedCluster:
    """A deposed leader proposes an ISR."""
    made = stepped()
    made.lead(B, notify=(B, C))
    made.do("shrink_isr", broker=A, out=[C])
    return made


def dies() -> Cluster:
    cluster = build()
    later(cluster, 3)
    cluster.crash(3)
    later(cluster, 15)
    return cluster


def unheard() -> Cluster:
    """Broker 3 fetches from its leader but is cut off from the controllers."""
    cluster = build()
    later(cluster, 3)
    for controller in cluster.plane.controllers():
        cluster.cut(3, controller, 1)
    later(cluster, 30)
    return cluster


def last_one_back() -> Cluster:
    """The last eligible replica loses its log."""
    cluster = build("4.1", min_insync_replicas=2)
    later(cluster, 5)
    cluster.crash(3)
    later(cluster, 12)
    cluster.power_loss(2, keep=0)
    later(cluster, 12)
    cluster.crash(1)
    later(cluster, 12)
    cluster.restart(2)
    later(cluster, 15)
    return cluster


def restarts_twice() -> Cluster:
    """A broker crashes and restarts twice."""
    cluster = build()
    later(cluster, 3)
    for _time in range(2):
        cluster.crash(3)
        later(cluster, 12)
        cluster.restart(3)
        later(cluster, 20)
    return cluster


def compacted() -> Cluster:
    """Logs with records of many keys have been compacted."""
    cluster = compacting(keys=2_000, tombstones=0, read=False)
    later(cluster, 20)
    return cluster


# -- mutations ---------------------------------------------------------------------------------------------------------


def no_truncation(patch: Patch) -> None:
    patch.setattr(EpochCache, "end_offset_for", lambda _self, epoch, leo: (epoch, leo))


def to_the_high_watermark(patch: Patch) -> None:
    """Truncation to the HW, as up to 0.10.2, in a new version."""

    def start(self: FollowerState, now: int, *, changed_leader: bool) -> None:
        if changed_leader:
            self.replica.truncate(self.replica.hw, now, "high watermark")

    patch.setattr(FollowerState, "start", start)


def fastest(patch: Patch) -> None:
    patch.setattr(
        partition, "high_watermark", lambda leo, needed: min(leo, max((each.leo for each in needed), default=leo))
    )


def starts_too_low(patch: Patch) -> None:
    """A leader starts with an empty log and exposes it at once."""
    real = Replica._lead

    def lead(self: Replica, state: PartitionState, now: int) -> None:
        if state.leader_epoch > 1:
            self.log.truncate(0, now)
            self.hw = 0
        real(self, state, now)

    patch.setattr(Replica, "_lead", lead)


def falls_with_the_next_append(patch: Patch) -> None:
    """A leader forgets its HW."""
    real, rule = PartitionLeaderState.maybe_advance_hw, partition.high_watermark

    def advance(self: PartitionLeaderState, now: int) -> bool:
        if self.replica.log.leo == 3:
            self.replica.hw = 0
        return real(self, now)

    patch.setattr(PartitionLeaderState, "maybe_advance_hw", advance)
    patch.setattr(partition, "high_watermark", lambda leo, needed: 1 if leo == 3 else rule(leo, needed))


def hw_ahead_of_the_log(patch: Patch) -> None:
    real = Replica._lead

    def lead(self: Replica, state: PartitionState, now: int) -> None:
        self.hw = self.log.leo + 3
        real(self, state, now)

    patch.setattr(Replica, "_lead", lead)


def flushed_ahead(patch: Patch) -> None:
    real = Replica._lead

    def lead(self: Replica, state: PartitionState, now: int) -> None:
        self.log.recovery_point = self.log.leo + 7
        real(self, state, now)

    patch.setattr(Replica, "_lead", lead)


def segment_twice(patch: Patch) -> None:
    patch.setattr(Segments, "all", property(lambda self: (*self.sealed, self.active, self.active)))


def consumers_read_to_the_end(patch: Patch) -> None:
    real = fetch_reads.serve_consumer

    def serve(replica: Replica, *words: Any) -> Any:
        before, replica.hw = replica.hw, replica.log.leo
        try:
            return real(replica, *words)
        finally:
            replica.hw = before

    patch.setattr("cluster_model.broker.fetch.fetch_reads.serve_consumer", serve)


def hw_moves_below_the_minimum(patch: Patch) -> None:
    real = Replica.__init__

    def made(self: Replica, *words: Any, **named: Any) -> None:
        real(self, *words, **named)
        self.profile = replace(self.profile, hw_needs_min_isr=False)

    patch.setattr(Replica, "__init__", made)


def success_below_the_minimum(patch: Patch) -> None:
    def settled(self: PartitionLeaderState, required: int) -> KafkaError | None:
        return None if self.replica.hw < required else KafkaError.NONE

    patch.setattr(PartitionLeaderState, "_settled", settled)


def lenient_controller(patch: Patch) -> None:
    real = replication_control_manager.validate_kraft

    def judge(*words: Any, **named: Any) -> KafkaError:
        error = real(*words, **named)
        return KafkaError.NONE if error is KafkaError.INELIGIBLE_REPLICA else error

    patch.setattr(PartitionLeaderState, "_eligible", lambda _self, _broker, _remote: True)
    patch.setattr(replication_control_manager, "validate_kraft", judge)


def broker_epochs_fall(patch: Patch) -> None:
    """Applied from the second restart on."""
    real = ClusterControlManager.register

    def register(self: ClusterControlManager, request: Any, end: int, now: int) -> Any:
        return real(self, request, end if now < 40_000_000 else 1, now)

    patch.setattr(ClusterControlManager, "register", register)


def drops_its_first_record(patch: Patch) -> None:
    """A leader's copy of the first record belongs to another log branch."""
    real = Replica._lead

    def lead(self: Replica, state: PartitionState, now: int) -> None:
        if state.leader_epoch > 0:
            ((_start, log_branch),) = self.log.extents
            epoch_branches = self.log.epoch_branches
            stranger = epoch_branches.begin(9, 0, 0, self.topic_id)
            stranger.append(epoch_branches.by_id[log_branch].batch_at(0)._replace(records=1, name=("z",)))
            self.log.extents[:] = [(0, stranger.id), (1, log_branch)]
        real(self, state, now)

    patch.setattr(Replica, "_lead", lead)


def caches_any_epoch(patch: Patch) -> None:
    def assign(self: EpochCache, epoch: int, start: int) -> None:
        self.entries = (*self.entries, (epoch, start + 5))

    patch.setattr(EpochCache, "assign", assign)


def newest_goes(patch: Patch) -> None:
    """The cleaner's offset map is off by one."""
    real = log_cleaner._offset_map

    def mapped(*words: Any) -> Any:
        newest, end = real(*words)
        return {key: offset + 1 for key, offset in newest.items()}, end

    patch.setattr(log_cleaner, "_offset_map", mapped)


MUTATIONS = [
    # Records that no other replica holds count as committed: the members of the leader's own ISR lack them too.
    Mutation("hw-by-the-leader-alone", shrunk, having(partition, "high_watermark", lambda leo, _needed: leo), {
        "leader-completeness": [(B, (0, 1), 0), (C, (0, 1), 0)], "weak-isr": [(B, (0, 1), 0), (C, (0, 1), 0)],
    }),
    Mutation("hw-by-the-fastest", half_fetched, fastest, {
        "leader-completeness": [(C, (1, 2), 0)], "weak-isr": [(C, (1, 2), 0)],
    }),
    # The leader does not know the joined replica until it receives the new state: its own ISR is complete.
    Mutation("isr-join-too-early", joins_too_early, having(PartitionLeaderState, "may_join", lambda *_words: True), {
        "leader-completeness": [(C, (1, 2), 0)],
    }),
    # It is in sync with a record of its own at the offset of a committed one, which it therefore lacks.
    Mutation("forgotten-truncation", zombie, no_truncation, {
        "log-matching": [(A, (1, 2), 1)], "leader-completeness": [(A, (1, 3), 1)], "weak-isr": [(A, (1, 3), 1)],
    }),
    # Two logs differ from the leader's; the record was committed, exposed and acknowledged.
    Mutation("another-record-of-the-same-epoch", led_by_b, drops_its_first_record, {
        "log-matching": [(B, (0, 1), 0), (C, (0, 1), 0)], "acks-one-bounded": [(B, (0, 1), 0)],
        "weak-isr": [(B, (0, 2), 0)], "stable-reads": [(B, (0, 2), 0)],
    }),
    # The acknowledgement itself violates min-isr, and the record does not survive its leader.
    Mutation("ack-before-commit", promised_and_elected,
             having(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE), {
        "acks-all-durability": [(B, (1, 2), 0)], "min-isr": [(A, (1, 2), 0)],
    }),
    # The truncated record was acknowledged and below an exposed HW, which is higher than the new leader's.
    Mutation("truncation-to-the-hw", failed_over_twice, to_the_high_watermark, {
        "acks-all-durability": [(A, (0, 1), 1)], "stable-reads": [(A, (0, 1), 1)],
        "true-hw-monotone": [(A, (0, 1), 3)],
    }),
    # A HW above all logs calls committed what nobody has: in its own eyes at once, by the committed ISR while it leads.
    Mutation("hw-ahead-of-the-log", led_by_b, hw_ahead_of_the_log, {
        "log-bounds": [(A, (0, 0), 0), (B, (0, 2), 1)], "leader-completeness": [(B, (2, 3), 0), (C, (2, 3), 0)],
        "weak-isr": [(B, (0, 3), 0), (C, (0, 3), 0), (A, (2, 5), 1), (C, (2, 5), 1)],
    }),
    Mutation("recovery-point-ahead", led_by_b, flushed_ahead, {"log-bounds": [(A, (0, 0), 0), (B, (0, 2), 1)]}),
    Mutation("a-segment-twice", led_by_b, segment_twice, {
        "log-bounds": [(A, (0, 0), 0), (B, (0, 0), 0), (C, (0, 0), 0), (B, (0, 2), 1), (C, (0, 2), 1)],
    }),
    Mutation("epoch-reused", led_by_b,
             commits(lambda state: state._replace(leader_epoch=state.leader_epoch - 1,
                                                  partition_epoch=state.partition_epoch + 1)), {
        "single-leader-per-epoch": [(B, (2, 3), 0)],
    }),
    Mutation("leader-outside-the-isr", led_by_b,
             commits(lambda state: state._replace(isr=tuple(b for b in state.isr if b != state.leader))), {
        "leader-in-isr": [(B, NOWHERE, 1)],
    }),
    Mutation("a-stranger-in-the-isr", led_by_b, commits(lambda state: state._replace(isr=(*state.isr, 9))), {
        "leader-in-isr": [(9, NOWHERE, 1)],
    }),
    Mutation("an-empty-isr", led_by_b, commits(lambda state: state._replace(isr=())), {
        "leader-in-isr": [(B, NOWHERE, 1)],
    }),
    Mutation("leader-epoch-falls", elected_twice,
             commits(lambda state: state._replace(leader_epoch=state.leader_epoch % 2)), {
        "epoch-monotonicity": [(A, NOWHERE, 0)],
    }),
    Mutation("broker-epoch-falls", restarts_twice, broker_epochs_fall, {"epoch-monotonicity": [(3, NOWHERE, -1)]}),
    Mutation("epoch-cache-past-the-log", led_by_b, caches_any_epoch, {
        "epoch-monotonicity": [(A, (5, 0), 0), (B, (7, 2), 1), (C, (5, 2), 0)],
    }),
    # Its epoch is the committed one: an HW that decreases within the leadership is also the true HW.
    Mutation("hw-falls", read_to_the_end, falls_with_the_next_append, {
        "hw-within-leadership": [(A, (1, 2), 0)], "true-hw-monotone": [(A, (1, 2), 0)],
    }),
    Mutation("reader-above-the-hw", read_to_the_end, consumers_read_to_the_end, {"stable-reads": [(A, (2, 3), 0)]}),
    # The records it dropped had been exposed, and its predecessor, not yet deposed, counts on it as ISR member.
    Mutation("an-empty-leader", rebounds, starts_too_low, {
        "true-hw-monotone": [(A, (0, 2), 2)], "stable-reads": [(A, (0, 2), 0)], "weak-isr": [(A, (0, 2), 1)],
    }),
    Mutation("newcomer-not-counted", follower_joins,
             having(PartitionLeaderState, "maximal_isr", property(lambda self: self.isr)), {
        "maximal-isr-superset": [(A, NOWHERE, 0)],
    }),
    Mutation("fenced-member-kept", dies, having(
        ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: []
    ), {
        "isr-eligibility": [(3, NOWHERE, 0)],
    }),
    Mutation("fenced-broker-joins", unheard, lenient_controller, {"isr-eligibility": [(3, NOWHERE, 0)]}),
    Mutation("recovering-in-company", led_by_b, commits(lambda state: state._replace(recovering=True)), {
        "recovery-barrier": [(B, NOWHERE, 1)],
    }),
    Mutation("isr-by-a-leader-of-the-past", word_of_the_past,
             having(alter_partition, "validate_kraft", lambda *_words, **_named: KafkaError.NONE), {
        "zombie-fencing": [(B, NOWHERE, 1)],
    }),
    Mutation("hw-moves-below-the-minimum", alone(), hw_moves_below_the_minimum, {"min-isr": [(A, (1, 2), 0)]}),
    Mutation("success-below-the-minimum", alone("3.6"), success_below_the_minimum, {"min-isr": [(A, (1, 2), 0)]}),
    Mutation("newest-compacted-away", compacted, newest_goes, {
        "compaction-keeps-newest": [(broker, (2, 3), 0) for broker in (A, B, C)],
    }),
    # It leads with an empty log: exposed records are gone, and its HW starts at the start offset of its epoch.
    Mutation("lost-log-leads", last_one_back,
             having(ReplicationControlManager, "handle_unclean_shutdown", lambda _self, _broker, _by: []), {
        "unclean-exclusion": [(2, (0, -1), 2)], "stable-reads": [(2, (0, 339), 0)],
        "true-hw-monotone": [(2, (0, 339), 2)],
    }),
]  # fmt: skip


def unexpected(found: HandSteppedCluster | Cluster) -> dict[str, list[Place]]:
    """Invariant → locations of violations that are not known; all in the one partition or in none."""
    told: dict[str, list[Place]] = {}
    for each in violations(found):
        if not each.known:
            assert each.partition in (P, "")
            told.setdefault(each.invariant, []).append((each.broker, (each.offset, each.end_offset), each.leader_epoch))
    return told


def test_every_property_has_a_mutation() -> None:
    told = {name for each in MUTATIONS for name in each.told}
    assert told == {each.definition.name for each in PROPERTIES}
    assert len(MUTATIONS) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_a_broken_rule_is_reported_by_the_expected_invariants_only(
    mutation: Mutation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unexpected(mutation.scene()) == {}
    mutation.broken(monkeypatch)
    assert unexpected(mutation.scene()) == mutation.told


def test_a_different_record_at_an_offset_already_read_is_reported() -> None:
    made = stepped(records=2)
    assert violations(made) == []
    cluster_state = made.cluster.cluster_state
    stranger = cluster_state.epoch_branches[P].begin(A, 0, 0, cluster_state.records[P].topic_id)
    made.cluster.emit(RecordsRead(0, "c", "g", P, A, 0, 0, 1, 0, stranger.id, 1))
    (found,) = violations(made)
    assert (found.invariant, found.offset, found.end_offset, found.known) == ("stable-reads", 0, 1, "")
