"""A leader's side of one partition: appends, follower bookkeeping, high watermark, ISR changes, waiting produces.

Rules are those of ``kafka.cluster.Partition``. The ISR exists twice: *committed*, as the controller last confirmed it,
and *maximal*, which also holds a newcomer that was proposed and still holds a leaver until confirmed (KIP-497). The HW
goes by the maximal one, so nothing can commit that a member by either count lacks.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cluster_model.errors import KafkaError
from cluster_model.events import Appended, HwAdvanced
from cluster_model.log.epochs import UNDEFINED
from cluster_model.log.lineage import Batch, Lineage
from cluster_model.log.replica_log import Slice
from cluster_model.messages import (
    ALL,
    AlterPartitionRequest,
    AlterPartitionResponse,
    FetchData,
    FetchPartition,
    PartitionState,
    ProduceRequest,
)
from cluster_model.replication.completed import Completed
from cluster_model.replication.idempotence import ProducerMemory
from cluster_model.replication.rules import LONG_AGO, Remote, high_watermark, may_join_isr, out_of_sync
from cluster_model.replication.sessions import FetchSession, FetchSessions

if TYPE_CHECKING:
    from cluster_model.replication.replica import Replica


_STAY_PENDING: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.INVALID_UPDATE_VERSION,
        KafkaError.INVALID_REQUEST,
        KafkaError.NEW_LEADER_ELECTED,
    }
)
"""AlterPartition answers after which a leader gives up and waits for new metadata, its maximal ISR frozen."""

_REVERT: Final = frozenset({KafkaError.OPERATION_NOT_ATTEMPTED, KafkaError.INELIGIBLE_REPLICA})
"""AlterPartition answers after which a leader goes by the committed ISR again; any other is asked again."""


class AppendResult(NamedTuple):
    """``waits``: answered later, when the HW reaches ``required``. ``lineage`` is the stint that holds the records."""

    error: KafkaError
    base: int
    lineage: int
    required: int
    waits: bool


class Leadership:
    """State of a leader, from taking up its epoch to resigning."""

    __slots__ = (
        "_lineage", "_proposals", "_waiting", "epoch_start", "isr", "pending", "producers", "proposal", "remotes",
        "replica",
    )  # fmt: skip

    def __init__(self, replica: "Replica", state: PartitionState, now: int) -> None:
        self.replica = replica
        self.isr = state.isr
        self.pending: tuple[int, ...] | None = None
        self._proposals = 0
        """How many there have been: the correlation of the last one."""
        self.proposal: AlterPartitionRequest | None = None
        """An ISR change to be sent to the controller; taken by :meth:`take_proposal`."""
        self.epoch_start = replica.log.leo
        self.remotes = {broker: self._unheard(broker, now) for broker in state.replicas if broker != replica.broker}
        self.producers = ProducerMemory()
        self.producers.rebuild(replica.log)
        self._waiting: list[tuple[int, int]] = []
        self._lineage: Lineage | None = None

    def _unheard(self, broker: int, now: int) -> Remote:
        """A follower before its first fetch. Up to 0.10.1 an election did not count as having been caught up."""
        profile = self.replica.profile
        caught_up = now if broker in self.isr and profile.caught_up_previous else LONG_AGO
        return Remote(caught_up, now if profile.lag_messages else LONG_AGO)

    def renew(self, state: PartitionState, now: int, *, new_epoch: bool) -> None:
        """Lead on by a newer decision; with a new epoch the followers' positions count from now."""
        self.disturb()
        self.isr = state.isr
        self.pending = None
        self.proposal = None
        if not new_epoch:
            return
        self.epoch_start = self.replica.log.leo
        self._lineage = None
        for broker, remote in self.remotes.items():
            remote.last_fetch_leader_leo = self.replica.log.leo
            remote.last_fetch = remote.last_caught_up = now if broker in state.isr else LONG_AGO

    def disturb(self) -> None:
        """Something that followers' fetches depend on is about to change (:meth:`Remote.disturb`)."""
        for remote in self.remotes.values():
            remote.disturb()

    def rest(self, follower: int, session: FetchSession, place: int) -> None:
        """Leave a follower's fetches alone from here on, if it has everything, counts for the HW, and knows it."""
        remote = self.remotes[follower]
        if remote.leo == self.replica.log.leo and follower in self.isr:
            remote.rest(session, place)

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """Committed ISR and whoever is proposed to join it."""
        if self.pending is None:
            return self.isr
        return self.isr + tuple(broker for broker in self.pending if broker not in self.isr)

    def append(self, now: int, request: ProduceRequest) -> AppendResult:
        """Write a batch if the rules allow (``Partition.appendRecordsToLeader``)."""
        replica = self.replica
        if request.acks == ALL and len(self.isr) < replica.min_isr:
            return AppendResult(KafkaError.NOT_ENOUGH_REPLICAS, -1, -1, -1, waits=False)
        if request.size > replica.log.rules.segment_bytes:
            return AppendResult(KafkaError.RECORD_LIST_TOO_LARGE, -1, -1, -1, waits=False)
        if request.producer_id >= 0:
            original = self.producers.duplicate_of(request.producer_id, request.sequence, request.records)
            if original >= 0:
                return self._result(request.acks, original, request.records)
            error = self.producers.check(request.producer_id, request.sequence)
            if error is not KafkaError.NONE:
                return AppendResult(error, -1, -1, -1, waits=False)
        base = self._write(now, request)
        self.maybe_advance_hw(now)
        return self._result(request.acks, base, request.records)

    def _write(self, now: int, request: ProduceRequest) -> int:
        replica = self.replica
        log = replica.log
        self.disturb()
        if self._lineage is None:
            self._lineage = log.lineages.begin(replica.broker, replica.leader_epoch, log.leo)
        base = log.leo
        batch = Batch(
            base, request.records, request.size, now, request.client, request.producer_id, request.sequence,
            request.acks, request.names, replica.timestamp_of(request, now), request.codec,
        )  # fmt: skip
        log.append_batch(self._lineage, batch)
        if request.producer_id >= 0:
            self.producers.note(request.producer_id, request.sequence, request.records, base)
        event = Appended(
            now, replica.partition, replica.broker, replica.leader_epoch, base, request.records, request.client,
            request.sequence, request.acks,
        )  # fmt: skip
        replica.emit(event)
        return base

    def _result(self, acks: int, base: int, count: int) -> AppendResult:
        required = base + count
        lineage = self._lineage
        stint = lineage.id if lineage is not None and lineage.start <= base else self.replica.log.lineage_at(base).id
        settled = self._settled(required) if acks == ALL else KafkaError.NONE
        if settled is None:
            return AppendResult(KafkaError.NONE, base, stint, required, True)
        return AppendResult(settled, base, stint, required, False)

    def _settled(self, required: int) -> KafkaError | None:
        """The answer to a waiting produce, None while it must wait (``Partition.checkEnoughReplicasReachOffset``)."""
        if self.replica.hw < required:
            return None
        if len(self.maximal_isr) < self.replica.min_isr:
            return KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return KafkaError.NONE

    def wait(self, required: int, token: int) -> None:
        """Have ``token`` reported in the replica's ``done`` when the HW reaches ``required`` or leadership ends."""
        self._waiting.append((required, token))

    def _complete_waiting(self) -> None:
        if not self._waiting:
            return
        still: list[tuple[int, int]] = []
        for required, token in self._waiting:
            settled = self._settled(required)
            if settled is None:
                still.append((required, token))
            else:
                self.replica.done.append(Completed(token, settled))
        self._waiting = still

    def give_up(self, token: int) -> bool:
        """Stop waiting for ``token`` (its time is over); False when it was settled before."""
        still = [entry for entry in self._waiting if entry[1] != token]
        found = len(still) < len(self._waiting)
        self._waiting = still
        return found

    def resign(self) -> None:
        """Leadership is lost: every waiting produce ends in NOT_LEADER_OR_FOLLOWER."""
        lost = KafkaError.NOT_LEADER_OR_FOLLOWER
        self.replica.done.extend(Completed(token, lost) for _required, token in self._waiting)
        self._waiting = []

    def serve_follower(
        self, now: int, follower: int, broker_epoch: int, asked: FetchPartition, max_bytes: int, *, book: bool
    ) -> FetchData:
        """Answer a follower's fetch; ``book``: on arrival, not when a parked fetch is answered later.

        The HW in the answer is the one from before this fetch was counted (``Partition.readRecords``): the fetch that
        completes replication does not carry the HW it causes.
        """
        replica = self.replica
        log = replica.log
        hw = replica.hw
        remote = self.remotes.get(follower)
        if remote is None:
            known = asked.current_leader_epoch != UNDEFINED
            error = KafkaError.UNKNOWN_LEADER_EPOCH if known else KafkaError.NOT_LEADER_OR_FOLLOWER
            return self.refuse(asked, error)
        if replica.profile.kraft and -1 < broker_epoch < replica.metadata.live.get(follower, -1):
            # KIP-903: a fetch of the follower's former life does not count for the present one.
            return self.refuse(asked, KafkaError.NOT_LEADER_OR_FOLLOWER)
        if asked.last_fetched_epoch != UNDEFINED:
            epoch, end = log.epochs.end_offset_for(asked.last_fetched_epoch, log.leo)
            if end == UNDEFINED:
                return self.refuse(asked, KafkaError.OFFSET_OUT_OF_RANGE)
            if epoch < asked.last_fetched_epoch or end < asked.offset:
                nothing = Slice(asked.offset, asked.offset, ())
                return FetchData(
                    asked.partition, asked.offset, 0, hw, log.log_start, replica.leader_epoch, nothing, (epoch, end)
                )
        if not log.log_start <= asked.offset <= log.leo:
            return self.refuse(asked, KafkaError.OFFSET_OUT_OF_RANGE)
        offset = asked.offset
        records = Slice(offset, offset, ()) if offset == log.leo else log.read(offset, log.leo, max_bytes)
        if book:
            self._book(now, follower, remote, broker_epoch, asked.offset)
        return FetchData(asked.partition, asked.offset, 0, hw, log.log_start, replica.leader_epoch, records)

    def refuse(self, asked: FetchPartition, error: KafkaError) -> FetchData:
        """An error answer; its empty ``records`` tell where this log ends, for a follower that is out of range."""
        log = self.replica.log
        nothing = Slice(log.leo, log.leo, ())
        return FetchData(
            asked.partition, asked.offset, error, self.replica.hw, log.log_start, self.replica.leader_epoch, nothing
        )

    def serve_consumer(self, asked: FetchPartition, max_bytes: int) -> FetchData:
        """Answer a consumer: up to the HW; between HW and LEO there is nothing, and no error (``LocalLog.read``)."""
        replica = self.replica
        log = replica.log
        if not log.log_start <= asked.offset <= log.leo:
            return self.refuse(asked, KafkaError.OFFSET_OUT_OF_RANGE)
        records = log.read(asked.offset, replica.hw, max_bytes)
        return FetchData(asked.partition, asked.offset, 0, replica.hw, log.log_start, replica.leader_epoch, records)

    def _book(self, now: int, follower: int, remote: Remote, broker_epoch: int, offset: int) -> None:
        changed = remote.fetched(self.replica.profile, offset, self.replica.log.leo, now)
        remote.broker_epoch = broker_epoch
        self._maybe_expand(follower, remote)
        if changed:
            self.maybe_advance_hw(now)

    def maybe_advance_hw(self, now: int) -> bool:
        """Move the HW up to what every needed replica has; True if it moved (``maybeIncrementLeaderHW``)."""
        replica = self.replica
        profile = replica.profile
        if profile.hw_needs_min_isr and len(self.isr) < replica.min_isr:
            return False
        waits_for: Iterable[tuple[int, Remote]] = self.remotes.items()
        if profile.hw_waits_caught_up and profile.number >= (3, 6, 0):
            maximal = self.maximal_isr
            waits_for = [item for item in waits_for if item[0] in maximal or self._eligible(*item)]
        candidate = high_watermark(
            profile, replica.log.leo, waits_for, self.maximal_isr, now, replica.config.lag_time_us
        )
        if candidate <= replica.hw:
            return False
        self.disturb()
        replica.hw = candidate
        replica.emit(HwAdvanced(now, replica.partition, replica.broker, replica.leader_epoch, candidate))
        self._complete_waiting()
        return True

    def _eligible(self, broker: int, remote: Remote) -> bool:
        """Whether a replica may be in the ISR as far as this broker knows (``Partition.isReplicaIsrEligible``)."""
        if not self.replica.profile.eligible_isr:
            return True
        known = self.replica.metadata.live.get(broker)
        if known is None:
            return False
        return not self.replica.profile.fetch_broker_epoch or remote.broker_epoch in (-1, known)

    def _maybe_expand(self, follower: int, remote: Remote) -> None:
        if self.replica.by_hand or self.pending is not None or follower in self.isr:
            return
        if self.may_join(follower, remote):
            self.propose((*self.isr, follower))

    def may_join(self, follower: int, remote: Remote) -> bool:
        """The join rule of this version, now."""
        hw = self.replica.hw
        return self._eligible(follower, remote) and may_join_isr(self.replica.profile, remote.leo, hw, self.epoch_start)

    def shrink(self, now: int) -> None:
        """Propose an ISR without the members that are too far behind (task ``isr-expiration``)."""
        if self.pending is not None:
            return
        replica = self.replica
        config = replica.config
        out = [
            broker
            for broker in self.isr
            if broker in self.remotes
            and out_of_sync(
                replica.profile, self.remotes[broker], replica.log.leo, now, config.lag_time_us, config.lag_messages
            )
        ]
        if out:
            self.propose(tuple(broker for broker in self.isr if broker not in out))

    def write_off(self, brokers: tuple[int, ...]) -> None:
        """Count members as out of reach for longer than any lag time, as a hand-stepped shrink does."""
        for broker in brokers:
            self.remotes[broker].last_caught_up = LONG_AGO

    def propose(self, isr: tuple[int, ...]) -> None:
        """Ask for an ISR; until answered no other change is proposed."""
        replica = self.replica
        self.pending = isr
        own = replica.metadata.live.get(replica.broker, -1)
        checked = replica.profile.fetch_broker_epoch
        epochs = tuple(
            (own if broker == replica.broker else self.remotes[broker].broker_epoch) if checked else -1
            for broker in isr
        )
        self._proposals += 1
        self.proposal = AlterPartitionRequest(
            replica.partition, replica.broker, own, replica.leader_epoch, replica.partition_epoch, isr, epochs,
            self._proposals,
        )  # fmt: skip

    def take_proposal(self) -> AlterPartitionRequest | None:
        """The change to send, once."""
        proposal, self.proposal = self.proposal, None
        return proposal

    def confirmed(self, now: int, response: AlterPartitionResponse) -> bool:
        """The controller's word on the proposal (``Partition.submitAlterPartition``); True: ask again later.

        Newer metadata may have overtaken it, and another proposal may be under way by now: that one it does not mean.
        """
        replica = self.replica
        if response.leader_epoch != replica.leader_epoch or self.pending is None:
            return False
        if response.correlation != self._proposals:
            return False
        if not response.error:
            if response.partition_epoch >= replica.partition_epoch:
                self.disturb()
                self.isr = response.isr
                replica.partition_epoch = response.partition_epoch
                self.pending = None
                self.maybe_advance_hw(now)
                self._complete_waiting()
            return False
        error = KafkaError(response.error)
        if not replica.profile.alter_partition or error in _REVERT:
            # Before KIP-497 a failed conditional write left the ISR as it was, to be tried at the next occasion.
            self.pending = None
            return False
        return error not in _STAY_PENDING

    def save(self) -> tuple[Any, ...]:
        """All state."""
        remotes = tuple((broker, remote.save()) for broker, remote in self.remotes.items())
        lineage = -1 if self._lineage is None else self._lineage.id
        return (
            self.isr, self.pending, self.proposal, self.epoch_start, remotes, self.producers.save(),
            tuple(self._waiting), lineage, self._proposals,
        )  # fmt: skip

    @classmethod
    def loaded(cls, replica: "Replica", saved: tuple[Any, ...], sessions: FetchSessions) -> "Leadership":
        """Undo of :meth:`save`."""
        isr, pending, proposal, epoch_start, remotes, producers, waiting, lineage, proposals = saved
        self = cls.__new__(cls)
        self.replica = replica
        self.isr, self.pending, self.proposal, self.epoch_start = isr, pending, proposal, epoch_start
        self.remotes = _loaded_remotes(remotes, sessions)
        self.producers = ProducerMemory()
        self.producers.load(producers)
        self._waiting = list(waiting)
        self._proposals = proposals
        self._lineage = None if lineage < 0 else replica.log.lineages.by_id[lineage]
        return self


def _loaded_remotes(
    saved: Iterable[tuple[int, tuple[int, int, int, int, int, bool]]], sessions: FetchSessions
) -> dict[int, Remote]:
    remotes: dict[int, Remote] = {}
    for broker, state in saved:
        remotes[broker] = Remote(0)
        remotes[broker].load(state, sessions.of(broker))
    return remotes
