"""The controller's committed state of partitions, and every decision that changes it. Sans-IO.

The order of replicas in the assignment decides who is elected, never the order of the ISR and never the longest log.
Epoch rules differ by mode: in ZooKeeper mode every change that the controller makes raises the leader epoch; in KRaft
mode every change raises the partition epoch, and the leader epoch only where the leader field is set, which includes a
shrinking ISR up to 3.5 (``PartitionStateMachine``, ``PartitionChangeBuilder``).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cluster_model.config import TopicConfig
from cluster_model.errors import KafkaError
from cluster_model.events import Event, IsrChanged, LeaderElected, PartitionOffline
from cluster_model.messages import NOBODY, AlterPartitionRequest, AlterPartitionResponse, PartitionState
from cluster_model.profiles import Profile


@dataclass(slots=True)
class PartitionRecord:
    """A partition as committed. Replaced field by field, only by :class:`Committed`."""

    name: str
    assignment: tuple[int, ...]
    topic: TopicConfig
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known: int = NOBODY
    recovering: bool = False
    topic_id: int = 0

    @property
    def state(self) -> PartitionState:
        """As it is sent to brokers."""
        return PartitionState(
            self.name, self.leader, self.leader_epoch, self.isr, self.partition_epoch, self.assignment, self.adding,
            self.removing, self.elr, self.last_known, self.recovering, self.topic_id,
        )  # fmt: skip

    def take(self, state: PartitionState) -> None:
        """Be what was decided; nothing is said of it. Who decides without topic ids leaves the id as it is."""
        known = self.topic_id
        (
            _name, self.leader, self.leader_epoch, self.isr, self.partition_epoch, self.assignment, self.adding,
            self.removing, self.elr, self.last_known, self.recovering, self.topic_id,
        ) = state  # fmt: skip
        self.topic_id = self.topic_id or known

    @property
    def under_replicated(self) -> bool:
        """Whether in-sync replicas are missing; those that a reassignment adds are not counted (``Partition``)."""
        return len(self.isr) < len(self.assignment) - len(self.adding)


def first_state(name: str, assignment: tuple[int, ...], live: Collection[int], topic_id: int = 0) -> PartitionState:
    """A partition at its creation: every live replica in the ISR, the first of them leads, epochs 0."""
    isr = tuple(broker for broker in assignment if broker in live)
    return PartitionState(name, isr[0] if isr else NOBODY, 0, isr, 0, assignment, topic_id=topic_id)


class Committed:
    """All partitions, by name."""

    __slots__ = ("_emit", "_profile", "records")

    def __init__(self, profile: Profile, emit: Callable[[Event], None]) -> None:
        self.records: dict[str, PartitionRecord] = {}
        self._profile = profile
        self._emit = emit

    def create(self, name: str, assignment: tuple[int, ...], topic: TopicConfig, live: Mapping[int, int]) -> None:
        """A new partition: every live replica in the ISR, the first of them leads, epochs 0."""
        self.add(first_state(name, assignment, live), topic)

    def add(self, state: PartitionState, topic: TopicConfig) -> PartitionRecord:
        """A new partition as decided; nothing is said of it."""
        record = PartitionRecord(state.partition, state.replicas, topic, NOBODY, 0, 0, ())
        record.take(state)
        self.records[state.partition] = record
        return record

    def fence(self, broker: int, live: Mapping[int, int], now: int) -> list[PartitionRecord]:
        """A broker is gone (``live`` no longer has it): move its leaderships, take it out of every ISR."""
        changed: list[PartitionRecord] = []
        for record in self.records.values():
            if record.leader == broker:
                self._replace_leader(record, live, now, f"broker {broker} fenced")
                changed.append(record)
            elif broker in record.isr and self._drop(record, broker, now):
                changed.append(record)
        return changed

    def unfence(self, broker: int, live: Mapping[int, int], now: int) -> list[PartitionRecord]:
        """A broker is back: partitions without a leader may have one now."""
        changed: list[PartitionRecord] = []
        for record in self.records.values():
            if record.leader == NOBODY and broker in record.assignment:
                before = record.leader_epoch
                self._replace_leader(record, live, now, f"broker {broker} is back")
                if record.leader_epoch != before:
                    changed.append(record)
        return changed

    def _replace_leader(self, record: PartitionRecord, live: Mapping[int, int], now: int, by: str) -> None:
        """Offline-partition election (``OfflinePartitionLeaderElectionStrategy``); leaderless if nobody qualifies."""
        leader = next((broker for broker in record.assignment if broker in live and broker in record.isr), NOBODY)
        if leader != NOBODY:
            isr = tuple(broker for broker in record.isr if broker in live)
            self._elect(record, leader, isr, now, clean=True, by=by)
            return
        if record.topic.unclean:
            leader = next((broker for broker in record.assignment if broker in live), NOBODY)
            if leader != NOBODY:
                self._elect(record, leader, (leader,), now, clean=False, by=by)
                return
        if record.leader != NOBODY:
            self._go_offline(record, live, now)

    def _elect(
        self, record: PartitionRecord, leader: int, isr: tuple[int, ...], now: int, *, clean: bool, by: str
    ) -> None:
        previous = record.isr
        record.leader = leader
        record.leader_epoch += 1
        record.partition_epoch += 1
        record.isr = isr
        epochs = (record.leader_epoch, record.partition_epoch)
        self._emit(LeaderElected(now, record.name, leader, *epochs, isr, clean, by))
        if previous != isr:
            self._emit(IsrChanged(now, record.name, leader, *epochs, isr, previous, "controller"))

    def _go_offline(self, record: PartitionRecord, live: Mapping[int, int], now: int) -> None:
        previous = record.isr
        gone = record.leader
        record.leader = NOBODY
        record.leader_epoch += 1
        record.partition_epoch += 1
        staying = tuple(broker for broker in record.isr if broker in live)
        if staying or not (self._profile.keeps_last_isr or not record.topic.unclean):
            record.isr = staying
        elif len(record.isr) > 1:
            record.isr = (gone,)
        epochs = (record.leader_epoch, record.partition_epoch)
        self._emit(PartitionOffline(now, record.name, *epochs, record.isr))
        if previous != record.isr:
            self._emit(IsrChanged(now, record.name, NOBODY, *epochs, record.isr, previous, "controller"))

    def _drop(self, record: PartitionRecord, broker: int, now: int) -> bool:
        """Take a follower out of the ISR; the last member stays, leader or not."""
        isr = tuple(member for member in record.isr if member != broker)
        if not isr:
            return False
        previous, record.isr = record.isr, isr
        record.partition_epoch += 1
        if not self._profile.kraft or not self._profile.no_bump_on_shrink:
            record.leader_epoch += 1
        epochs = (record.leader_epoch, record.partition_epoch)
        self._emit(IsrChanged(now, record.name, record.leader, *epochs, isr, previous, "controller"))
        return True

    def alter_partition(
        self, request: AlterPartitionRequest, live: Mapping[int, int], now: int
    ) -> AlterPartitionResponse:
        """Judge a leader's proposal, and commit it if it stands."""
        record = self.records.get(request.partition)
        if record is None:
            unknown = KafkaError.UNKNOWN_TOPIC_OR_PARTITION
            return AlterPartitionResponse(request.partition, unknown, -1, (), -1, request.correlation)
        error = self._judge(record, request, live)
        if error is KafkaError.NONE and sorted(record.isr) != sorted(request.isr):
            previous, record.isr = record.isr, request.isr
            record.partition_epoch += 1
            shrinks = len(request.isr) < len(previous)
            if self._profile.kraft and shrinks and not self._profile.no_bump_on_shrink:
                record.leader_epoch += 1
            epochs = (record.leader_epoch, record.partition_epoch)
            self._emit(IsrChanged(now, record.name, record.leader, *epochs, record.isr, previous, "leader"))
        # The answer names the asker's epoch: one that the change itself raised reaches the leader as a decision.
        return AlterPartitionResponse(
            request.partition, error, request.leader_epoch, record.isr, record.partition_epoch, request.correlation
        )

    def _judge(self, record: PartitionRecord, request: AlterPartitionRequest, live: Mapping[int, int]) -> KafkaError:
        if not self._profile.alter_partition:
            # Up to 2.6 a leader wrote to ZooKeeper itself, on the condition of the version it knew; nothing else.
            stale = request.partition_epoch != record.partition_epoch
            return KafkaError.INVALID_UPDATE_VERSION if stale else KafkaError.NONE
        if live.get(request.leader) != request.broker_epoch:
            return KafkaError.STALE_BROKER_EPOCH
        if request.leader_epoch > record.leader_epoch or request.partition_epoch > record.partition_epoch:
            return KafkaError.NOT_CONTROLLER
        if request.leader_epoch < record.leader_epoch:
            return KafkaError.FENCED_LEADER_EPOCH
        if request.leader != record.leader:
            return KafkaError.INVALID_REQUEST
        if not self._profile.kraft and sorted(request.isr) == sorted(record.isr):
            return KafkaError.NONE
        if request.partition_epoch < record.partition_epoch:
            return KafkaError.INVALID_UPDATE_VERSION
        if request.leader not in request.isr or not all(broker in record.assignment for broker in request.isr):
            return KafkaError.INVALID_REQUEST
        for broker, epoch in zip(request.isr, request.isr_epochs, strict=True):
            if broker not in live or epoch not in (-1, live[broker]):
                # AlterPartition before version 2 has no word for it.
                named = self._profile.eligible_isr
                return KafkaError.INELIGIBLE_REPLICA if named else KafkaError.OPERATION_NOT_ATTEMPTED
        return KafkaError.NONE

    def elect_unclean(self, partition: str, live: Mapping[int, int], now: int) -> KafkaError:
        """An administrator's election for a partition without a leader (KIP-460): any live replica will do."""
        record = self.records[partition]
        if record.leader != NOBODY:
            return KafkaError.ELECTION_NOT_NEEDED
        clean = next((broker for broker in record.assignment if broker in live and broker in record.isr), NOBODY)
        leader = clean if clean != NOBODY else next((b for b in record.assignment if b in live), NOBODY)
        if leader == NOBODY:
            return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
        if clean != NOBODY:
            isr = tuple(broker for broker in record.isr if broker in live)
            self._elect(record, leader, isr, now, clean=True, by="administrator")
        else:
            self._elect(record, leader, (leader,), now, clean=False, by="administrator")
        return KafkaError.NONE

    def elect_preferred(self, partition: str, live: Mapping[int, int], now: int) -> KafkaError:
        """An administrator's election of the first replica of the assignment, if it is live and in sync."""
        record = self.records[partition]
        preferred = record.assignment[0]
        if record.leader == preferred:
            return KafkaError.ELECTION_NOT_NEEDED
        if preferred not in live or preferred not in record.isr:
            return KafkaError.PREFERRED_LEADER_NOT_AVAILABLE
        self._elect(record, preferred, record.isr, now, clean=True, by="administrator")
        return KafkaError.NONE

    def elect_by_hand(
        self, partition: str, leader: int, now: int, *, unclean: bool, live: Mapping[int, int]
    ) -> KafkaError:
        """A hand-stepped election of any member of the ISR, or of any replica when ``unclean``."""
        record = self.records[partition]
        if leader not in record.assignment:
            return KafkaError.INVALID_REQUEST
        if leader in record.isr:
            isr = tuple(broker for broker in record.isr if broker in live or broker == leader)
            self._elect(record, leader, isr, now, clean=True, by="step")
        elif unclean:
            self._elect(record, leader, (leader,), now, clean=False, by="step")
        else:
            return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return KafkaError.NONE

    def drop_by_hand(self, partition: str, broker: int, now: int, *, live: Mapping[int, int]) -> KafkaError:
        """A hand-stepped removal from the ISR, as the controller does for a broker that it has given up."""
        record = self.records[partition]
        if broker not in record.isr:
            return KafkaError.INVALID_REQUEST
        if broker == record.leader:
            self._replace_leader(record, live, now, f"broker {broker} dropped")
            return KafkaError.NONE
        return KafkaError.NONE if self._drop(record, broker, now) else KafkaError.INVALID_REQUEST

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([record.state for record in self.records.values()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; the partitions of that instant are there already."""
        for record, state in zip(self.records.values(), saved, strict=True):
            record.take(state)
