"""The groups of one coordinator, loaded from ``__consumer_offsets`` (``GroupMetadataManager``).

It executes the effects of groups: sends responses, writes records, and reports the results of writes. A partition that
its broker starts to lead is read first, one partition at a time; in the meantime its groups are loading.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import CoordinatorHost
from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    ConsumerGroupRecord,
    is_consumer_group_record,
)
from cluster_model.coordinators.group.consumer_protocol.consumer_group import decode as decode_modern
from cluster_model.coordinators.group.group_metadata import (
    NEVER,
    AppendEffect,
    GroupMetadata,
    GroupRecord,
    GroupState,
    GroupValue,
    OffsetAndMetadata,
    OffsetRecord,
    Purpose,
    ResponseEffect,
    ResponseTarget,
    StaticMemberReplaced,
    decode,
    encode,
)
from cluster_model.coordinators.group.group_metadata import Offsets as GroupOffsets
from cluster_model.coordinators.group.membership import RebalanceRules, join_error
from cluster_model.coordinators.group.offset_commits import commit_error, store_error
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.log.crash_recovery import reading_us
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import OffsetCommitResponse, SyncGroupResponse, TxnOffsetCommitResponse
from cluster_model.protocol.records import ABORT, COMMIT, TRANSACTIONAL, Batch
from cluster_model.spec.cluster_spec import OFFSETS, coordinator_partition

# Loading of a partition of ``__consumer_offsets`` by a new coordinator. Commits of a transaction are effective from its
# COMMIT marker on; an ABORT drops them; those of an open transaction stay pending
# (``GroupMetadataManager.doLoadGroupsAndOffsets``).


GroupPartition = tuple[str, str]
"""(group, partition) pair."""
Offsets = dict[GroupPartition, tuple[OffsetAndMetadata, int]]
"""Commits, with their offsets in the log."""


class OffsetsPartitionState(NamedTuple):
    """Groups and offsets in a partition's log, and pending commits by producer id."""

    groups: dict[str, GroupValue]
    offsets: Offsets
    pending: dict[int, Offsets]
    modern: list[ConsumerGroupRecord]
    """Records of groups of the consumer protocol (KIP-848)."""


def replay_batches(batches: Iterable[tuple[Batch, list[tuple[int, str]]]]) -> OffsetsPartitionState:
    """Replay batches, each with the (offset, record) pairs that compaction has left of it."""
    state = OffsetsPartitionState({}, {}, {}, [])
    for batch, records in batches:
        if batch.kind >= ABORT:
            staged = state.pending.pop(batch.producer_id, {})
            for place, (value, offset) in staged.items() if batch.kind == COMMIT else ():
                if place not in state.offsets or state.offsets[place][1] < offset:
                    state.offsets[place] = (value, offset)
            continue
        in_transaction = batch.kind == TRANSACTIONAL
        for offset, text in records:
            _note(state, text, offset, state.pending.setdefault(batch.producer_id, {}) if in_transaction else None)
    return state


def _note(state: OffsetsPartitionState, text: str, offset: int, staged: Offsets | None) -> None:
    if is_consumer_group_record(text):
        state.modern.append(decode_modern(text))
        return
    record = decode(text)
    if isinstance(record, GroupRecord):
        state.groups.pop(record.group_id, None)
        if record.value is not None:
            state.groups[record.group_id] = record.value
        return
    offsets = state.offsets if staged is None else staged
    place = (record.group_id, record.partition)
    offsets.pop(place, None)
    if record.value is not None:
        offsets[place] = (record.value, offset)


LOAD_US: Final = 10_000
"""Shortest time to read a partition. Kafka has no such setting; the model adds a constant reading speed."""
LOADED: Final = "group partition"
WAKE: Final = "groups"


class _Stored(NamedTuple):
    """A write of a group's record in progress."""

    group_id: str
    serial: int
    purpose: Purpose


class _Committed(NamedTuple):
    """A write of commits in progress; ``verdicts`` are the results if it succeeds."""

    group_id: str
    serial: int
    caller: ResponseTarget
    verdicts: tuple[tuple[str, int], ...]
    offsets: GroupOffsets
    producer_id: int = -1
    """Producer id of the transaction, -1 for none."""


class GroupMetadataManager:
    """Groups of one coordinator by id, in order of creation (``GroupMetadataManager``)."""

    __slots__ = (
        "_free_at", "_hosted", "_partitions", "_passes_too_few", "_port", "_rebalancing", "_serial", "_timeout_us",
        "_timer", "_token", "_waits", "groups", "loading", "max_size", "on_modern", "owned",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        hosted: CoordinatorHost,
        rebalancing: RebalanceRules,
        partitions: int,
        timeout_us: int,
        max_size: int,
        *,
        passes_too_few: bool = False,
    ) -> None:
        """``timeout_us``: longest wait of a write for the in-sync replicas; ``max_size``: most members of a group.

        ``passes_too_few``: clients get its error for too few in-sync replicas as it is (until KAFKA-3590).
        """
        self._passes_too_few = passes_too_few
        self._port = port
        self._hosted = hosted
        self._rebalancing = rebalancing
        self._partitions = partitions
        self._timeout_us = timeout_us
        self.max_size = max_size
        self.groups: dict[str, GroupMetadata] = {}
        self.owned: dict[int, None] = {}
        """Partitions that the broker leads and has read."""
        self.loading: dict[int, int] = {}
        """Partition → time at which it will have been read."""
        self._waits: dict[int, _Stored | _Committed] = {}
        self._token = 0
        self._serial = 0
        self._free_at = 0
        """Time at which the single reading thread becomes idle."""
        self._timer = DeadlineTimer(port, WAKE)
        self.on_modern: Callable[[list[ConsumerGroupRecord]], object] = len
        """Receives the records of the consumer protocol (KIP-848) in a partition that was read."""

    def partition_of(self, group_id: str) -> int:
        """Index of the partition of a group."""
        return coordinator_partition(group_id, self._partitions)

    def status(self, group_id: str, *, nameless: bool = False) -> KafkaError:
        """Error of a group's requests at this broker, NONE if it is the coordinator; ``nameless``: allow empty ids."""
        if not group_id and not nameless:
            return KafkaError.INVALID_GROUP_ID
        number = self.partition_of(group_id)
        if number in self.loading:
            return KafkaError.COORDINATOR_LOAD_IN_PROGRESS
        return KafkaError.NONE if number in self.owned else KafkaError.NOT_COORDINATOR

    def create(self, group_id: str) -> GroupMetadata:
        """Create an Empty group."""
        self._serial += 1
        group = self.groups[group_id] = GroupMetadata(group_id, self._serial, self._port.now)
        return group

    # -- effects ----------------------------------------------------------------------------------------------------

    def run_effects(self, group: GroupMetadata) -> None:
        """Execute a group's effects. A write may end at once; its consequences are then executed here, too."""
        effects, group.effects = group.effects, []
        for effect in effects:
            if isinstance(effect, ResponseEffect):
                self._port.send(effect.target, effect.message)
            else:
                self._store(group, effect)
        if group.wakes >= 0:
            self._timer.arm(group.wakes)
            group.wakes = NEVER

    def _store(self, group: GroupMetadata, effect: AppendEffect) -> None:
        self._write(group, (effect.record,), _Stored(group.group_id, group.serial, effect.purpose))

    def commit(
        self,
        group: GroupMetadata,
        caller: ResponseTarget,
        verdicts: tuple[tuple[str, int], ...],
        offsets: GroupOffsets,
        transaction: tuple[int, int] | None = None,
    ) -> None:
        """Write offsets, and respond when they are replicated; with ``transaction`` they then wait for its marker."""
        producer_id = -1
        if transaction is None:
            group.offsets.prepare(offsets)
        else:
            producer_id = transaction[0]
            group.offsets.prepare_in_transaction(producer_id, offsets)
        records = tuple([encode(OffsetRecord(group.group_id, partition, value)) for partition, value in offsets])
        wait = _Committed(group.group_id, group.serial, caller, verdicts, offsets, producer_id)
        self._write(group, records, wait, transaction)

    def _write(
        self,
        group: GroupMetadata,
        records: tuple[str, ...],
        wait: _Stored | _Committed,
        transaction: tuple[int, int] | None = None,
    ) -> None:
        self._token += 1
        self._waits[self._token] = wait
        partition = f"{OFFSETS}-{self.partition_of(group.group_id)}"
        self._hosted.append(OFFSETS, partition, records, self._token, self._timeout_us, transaction)

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        """Handle the result of a write; its group may have been deleted or replaced by one of the same name."""
        wait = self._waits.pop(token)
        group = self.groups.get(wait.group_id)
        if group is not None and group.serial != wait.serial:
            group = None
        if isinstance(wait, _Committed):
            self._commit_appended(group, wait, error, base)
        elif group is not None:
            self._rebalancing.stored(group, self._port.now, wait.purpose, self._store_error(error))
            self.run_effects(group)
        elif isinstance(wait.purpose, StaticMemberReplaced):
            caller = wait.purpose.caller
            self._port.send(caller.source, join_error(caller, wait.purpose.asked_id, KafkaError.NOT_COORDINATOR))

    def _store_error(self, error: KafkaError) -> KafkaError:
        return store_error(error, passes_too_few=self._passes_too_few)

    def _commit_appended(self, group: GroupMetadata | None, wait: _Committed, error: KafkaError, base: int) -> None:
        verdicts = wait.verdicts
        if error:
            converted = commit_error(error, passes_too_few=self._passes_too_few)
            verdicts = tuple([(partition, earlier or converted) for partition, earlier in verdicts])
        if wait.producer_id >= 0:
            if group is not None and error:
                group.offsets.failed_in_transaction(wait.producer_id, wait.offsets)
            elif group is not None:
                group.offsets.appended_in_transaction(wait.producer_id, wait.offsets, base)
            self._port.send(wait.caller.source, TxnOffsetCommitResponse(wait.caller.correlation_id, verdicts))
            return
        if group is not None and error:
            group.offsets.failed(wait.offsets)
        elif group is not None:
            group.offsets.appended(wait.offsets, base)
        self._port.send(wait.caller.source, OffsetCommitResponse(wait.caller.correlation_id, verdicts))

    def on_timer(self) -> None:
        """Handle the timer of group deadlines."""
        if self._timer.take_expired():
            for group in list(self.groups.values()):
                self._rebalancing.expire(group, self._port.now)
                self.run_effects(group)

    # -- removal ----------------------------------------------------------------------------------------------------

    def clean(self, group: GroupMetadata, removed: list[str]) -> None:
        """Write tombstones of removed offsets; remove a group without members and offsets.

        No response waits for these writes: a new coordinator would come to the same result (``cleanupGroupMetadata``).
        """
        records = [encode(OffsetRecord(group.group_id, partition, None)) for partition in removed]
        if group.state is GroupState.EMPTY and group.offsets.empty:
            group.transition_to(GroupState.DEAD, self._port.now)
            del self.groups[group.group_id]
            if group.generation > 0:  # otherwise it was never written
                records.append(encode(GroupRecord(group.group_id, None)))
        if records:
            self._hosted.write(f"{OFFSETS}-{self.partition_of(group.group_id)}", tuple(records))

    def transaction_ended(self, number: int, producer_id: int, *, committed: bool) -> None:
        """Apply or drop a transaction's commits in the groups of a partition."""
        for group in self.groups.values():
            if self.partition_of(group.group_id) == number:
                group.offsets.end_transaction(producer_id, committed=committed)

    def deleted(self, partition: str) -> None:
        """A topic's partition was deleted: remove its commits."""
        for group in list(self.groups.values()):
            removed = group.offsets.remove((partition,))
            if removed:
                self.clean(group, removed)

    # -- loading and unloading --------------------------------------------------------------------------------------

    def leads(self, number: int) -> None:
        """The broker leads a partition: read it, unless it is read or being read."""
        if number in self.owned or number in self.loading:
            return
        partition = f"{OFFSETS}-{number}"
        size = self._hosted.size(partition)
        if not size:
            self.owned[number] = None
            return
        now = self._port.now
        self._free_at = max(now, self._free_at) + LOAD_US + reading_us(size)
        self.loading[number] = self._free_at
        self._port.timer(self._free_at - now, LOADED, number, self._free_at)

    def read(self, number: int, at: int) -> None:
        """Restore the groups of a partition after its reading time, unless the partition was lost meanwhile."""
        if self.loading.get(number) != at:
            return
        del self.loading[number]
        self.owned[number] = None
        state = replay_batches(self._hosted.batches(f"{OFFSETS}-{number}"))
        self.on_modern(state.modern)
        for group_id, value in state.groups.items():
            self.create(group_id).restore(value, self._port.now)
        for (group_id, partition), (committed, offset) in state.offsets.items():
            group = self.groups.get(group_id) or self.create(group_id)
            group.offsets.put(partition, committed, offset)
        for producer_id, staged in state.pending.items():
            for (group_id, partition), (committed, offset) in staged.items():
                group = self.groups.get(group_id) or self.create(group_id)
                group.offsets.prepare_in_transaction(producer_id, ((partition, committed),))
                group.offsets.appended_in_transaction(producer_id, ((partition, committed),), offset)
        for group in list(self.groups.values()):
            if self.partition_of(group.group_id) == number:
                self._on_loaded(group)

    def _on_loaded(self, group: GroupMetadata) -> None:
        if len(group.members) > self.max_size:
            self._rebalancing.prepare(group, self._port.now)
        self.run_effects(group)

    def resigned(self, number: int) -> None:
        """The broker lost a partition: answer waiting requests, and forget its groups."""
        self.loading.pop(number, None)
        if number not in self.owned:
            return
        del self.owned[number]
        for group in [each for each in self.groups.values() if self.partition_of(each.group_id) == number]:
            del self.groups[group.group_id]
            _dismiss(group)
            self.run_effects(group)

    def stopped(self) -> None:
        """The process died; its memory is lost."""
        self.groups.clear()
        self.owned.clear()
        self.loading.clear()
        self._waits.clear()
        self._free_at = 0
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            tuple([group.save() for group in self.groups.values()]), tuple(self.owned), tuple(self.loading.items()),
            tuple(self._waits.items()), self._token, self._serial, self._free_at, self._timer.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        groups, owned, loading, waits, self._token, self._serial, self._free_at, timer = saved
        self.groups = {each[0]: GroupMetadata.from_saved(each) for each in groups}
        self.owned, self.loading, self._waits = dict.fromkeys(owned), dict(loading), dict(waits)
        self._timer.load(timer)


def _dismiss(group: GroupMetadata) -> None:
    """Answer delayed joins and syncs with NOT_COORDINATOR (``onGroupUnloaded``)."""
    error = KafkaError.NOT_COORDINATOR
    for member in group.members.values():
        if member.joining is not None and group.state is GroupState.PREPARING:
            group.answer(member.joining, join_error(member.joining, member.member_id, error))
        if member.syncing is not None:
            group.answer(member.syncing, SyncGroupResponse(member.syncing.correlation_id, error))
    group.effects = [effect for effect in group.effects if isinstance(effect, ResponseEffect)]
    group.wakes = NEVER
