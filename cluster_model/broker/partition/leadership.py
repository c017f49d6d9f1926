"""A leader's side of one partition: appends, follower bookkeeping, high watermark, ISR changes, waiting produces.

Rules are those of ``kafka.cluster.Partition``. The ISR exists twice: *committed*, as the controller last confirmed it,
and *maximal*, which also holds a newcomer that was proposed and still holds a leaver until confirmed (KIP-497). The HW
goes by the maximal one, so nothing can commit that a member by either count lacks.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cluster_model.broker.partition.append_validation import NONE, judge
from cluster_model.broker.partition.completed import Completed
from cluster_model.broker.partition.fetch_sessions import FetchSession, FetchSessions
from cluster_model.broker.partition.producer_state import ProducerMemory
from cluster_model.broker.partition.replication_rules import (
    LONG_AGO,
    UNKNOWN_LEO,
    Remote,
    caught_up,
    high_watermark,
    loaded_remotes,
    may_join_isr,
    out_of_sync,
)
from cluster_model.log.batch_store import Lineage
from cluster_model.protocol.batch import UNTOLD, Batch
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Appended, HwAdvanced
from cluster_model.protocol.messages import (
    ALL,
    AlterPartitionRequest,
    AlterPartitionResponse,
    FetchPartition,
    PartitionState,
    ProduceRequest,
)

if TYPE_CHECKING:
    from cluster_model.broker.partition.partition import Replica


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
        "_followers", "_lineage", "_members", "_needed", "_waiting", "epoch_start", "isr", "pending",
        "producers", "proposal", "proposals", "remotes", "replica",
    )  # fmt: skip

    def __init__(self, replica: "Replica", state: PartitionState, now: int, *, anew: bool = True) -> None:
        """``anew``: idempotent producers are remembered by what the log says of them, which takes reading it."""
        self.replica = replica
        self.isr = state.isr
        self.pending: tuple[int, ...] | None = None
        self.proposals = 0
        """How many there have been: the correlation of the last one."""
        self.proposal: AlterPartitionRequest | None = None
        """An ISR change to be sent to the controller; taken by :meth:`take_proposal`."""
        self.epoch_start = replica.log.leo
        self.remotes = {broker: self._unheard(broker, now) for broker in state.replicas if broker != replica.broker}
        self.producers = ProducerMemory(replica.config.producer_expiry_us, replica.log.transactions)
        if anew:
            self.producers.rebuild(replica.log, replica.producer_snapshot)
        self._waiting: list[tuple[int, int]] = []
        self._lineage: Lineage | None = None
        self._needed: tuple[Remote, ...] = ()
        """Followers by the maximal ISR."""
        self._followers = tuple(self.remotes.values())
        self._members = 0
        """How many are in the maximal ISR."""
        self._members_changed()

    def _members_changed(self) -> None:
        maximal = self.maximal_isr
        self._members = len(maximal)
        self._needed = tuple([self.remotes[broker] for broker in maximal if broker in self.remotes])

    def _unheard(self, broker: int, now: int) -> Remote:
        """A follower before its first fetch. Up to 0.10.1 an election did not count as having been caught up."""
        profile = self.replica.profile
        caught_up = now if broker in self.isr and profile.caught_up_previous else LONG_AGO
        return Remote(caught_up, now if profile.lag_messages else LONG_AGO)

    def renew(self, state: PartitionState, now: int, *, new_epoch: bool) -> None:
        """Lead on by a newer decision; with a new epoch followers are looked at anew, by the rule of the version.

        0.8.2 forgets where they were, 0.9 to 0.10.1 go on as before, later ones count them from now.
        """
        self.disturb()
        self.isr = state.isr
        self.pending = None
        self.proposal = None
        self._reassign(state, now)
        self._members_changed()
        if not new_epoch:
            return
        self.epoch_start = self.replica.log.leo
        self._lineage = None
        profile = self.replica.profile
        for broker, remote in self.remotes.items():
            if profile.lag_messages:
                remote.leo = UNKNOWN_LEO
                remote.last_fetch = now
            if not profile.caught_up_previous:
                continue
            remote.last_fetch_leader_leo = self.replica.log.leo
            remote.last_fetch = remote.last_caught_up = now if broker in state.isr else LONG_AGO

    def _reassign(self, state: PartitionState, now: int) -> None:
        """Replicas come and go; what is known of the others stays (``Partition.updateAssignmentAndIsr``)."""
        followers = [broker for broker in state.replicas if broker != self.replica.broker]
        if sorted(followers) != sorted(self.remotes):
            known = self.remotes
            self.remotes = {broker: known.get(broker) or self._unheard(broker, now) for broker in followers}
            self._followers = tuple(self.remotes.values())

    def disturb(self) -> None:
        """Something that followers' fetches depend on is about to change (:meth:`Remote.disturb`)."""
        for remote in self._followers:
            remote.disturb()

    @property
    def rests(self) -> bool:
        """Whether every follower's fetches are left alone."""
        return all(remote.rests for remote in self._followers)

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
        refused, twin = judge(self, request, now)
        if twin >= 0:
            return self._result(request.acks, twin, request.records)
        if refused is not NONE:
            return AppendResult(refused, -1, -1, -1, waits=False)
        base = self._write(now, request)
        self.maybe_advance_hw(now)
        return self._result(request.acks, base, request.records)

    def _write(self, now: int, request: ProduceRequest) -> int:
        replica = self.replica
        log = replica.log
        for remote in self._followers:
            if remote.rests:
                remote.disturb()
        base = log.leo
        lineage = self._lineage
        if lineage is None:
            lineage = self._lineage = log.lineages.begin(replica.broker, replica.leader_epoch, base, replica.topic_id)
        _, partition, acks, _, client, pid, sequence, records, size, names, stamp, *more, _, _, payload = request
        if stamp == UNTOLD or not replica.keeps_stamps:
            stamp = replica.timestamp_of(request, now)
        batch = Batch(base, records, size, now, client, pid, sequence, acks, names, stamp, *more)
        log.append_batch(lineage, batch)
        if payload:
            lineage.keep(payload)
        if pid >= 0:
            self.producers.written(batch, now)
        replica.emit(
            Appended(now, partition, replica.broker, replica.leader_epoch, base, records, client, sequence, acks)
        )
        return base

    def _result(self, acks: int, base: int, count: int) -> AppendResult:
        required = base + count
        lineage = self._lineage
        stint = lineage.id if lineage is not None and lineage.start <= base else self.replica.log.lineage_at(base).id
        settled = self._settled(required) if acks == ALL else NONE
        return AppendResult(settled or NONE, base, stint, required, settled is None)

    def _settled(self, required: int) -> KafkaError | None:
        """The answer to a waiting produce, None while it must wait (``Partition.checkEnoughReplicasReachOffset``)."""
        if self.replica.hw < required:
            return None
        if self._members < self.replica.min_isr:
            return KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return NONE

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
        self.replica.done.extend(Completed(token, KafkaError.NOT_LEADER_OR_FOLLOWER) for _at, token in self._waiting)
        self._waiting = []

    def book(self, now: int, follower: int, remote: Remote, broker_epoch: int, asked: FetchPartition) -> None:
        """Count a follower's fetch as news of it (``Partition.updateFollowerFetchState``)."""
        remote.log_start = asked.log_start
        changed = remote.fetched(self.replica.profile, asked.offset, self.replica.log.leo, now)
        remote.broker_epoch = broker_epoch
        if follower not in self.isr:
            self._maybe_expand(follower, remote)
        if changed:
            self.maybe_advance_hw(now)

    def maybe_advance_hw(self, now: int) -> bool:
        """Move the HW up to what every needed replica has; True if it moved (``maybeIncrementLeaderHW``)."""
        replica = self.replica
        candidate = high_watermark(replica.log.leo, self._needed)
        if candidate <= replica.hw:
            return False
        profile = replica.profile
        if profile.hw_needs_min_isr and len(self.isr) < replica.min_isr:
            return False
        if profile.hw_waits_caught_up and len(self._needed) < len(self.remotes):
            candidate = self._without_caught_up(now, candidate)
            if candidate <= replica.hw:
                return False
        for remote in self._followers:
            if remote.rests:
                remote.disturb()
        replica.hw = candidate
        if replica.log.transactions.ended:
            replica.log.transactions.replicated(candidate)
        replica.emit(HwAdvanced(now, replica.partition, replica.broker, replica.leader_epoch, candidate))
        if self._waiting:
            self._complete_waiting()
        return True

    def _without_caught_up(self, now: int, candidate: int) -> int:
        """The HW also waits for who is not in the ISR but caught up, since 3.6 only if eligible (KAFKA-15021)."""
        replica = self.replica
        profile = replica.profile
        needed = self.maximal_isr
        for broker, remote in self.remotes.items():
            if (
                remote.leo < candidate
                and broker not in needed
                and (profile.number < (3, 6, 0) or self._eligible(broker, remote))
                and caught_up(profile, remote, replica.log.leo, now, replica.config.lag_time_us)
            ):
                candidate = remote.leo
        return candidate

    def _eligible(self, broker: int, remote: Remote) -> bool:
        """Whether a replica may be in the ISR as far as this broker knows (``Partition.isReplicaIsrEligible``)."""
        if not self.replica.profile.eligible_isr:
            return True
        known = self.replica.metadata.live.get(broker)
        if known is None:
            return False
        checked = self.replica.profile.kraft and self.replica.profile.fetch_broker_epoch
        return not checked or remote.broker_epoch in (-1, known)

    def _maybe_expand(self, follower: int, remote: Remote) -> None:
        if self.replica.by_hand or self.pending is not None:
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
        self._members_changed()
        own = replica.metadata.live.get(replica.broker, -1)
        checked = replica.profile.fetch_broker_epoch
        epochs = tuple(
            (own if broker == replica.broker else self.remotes[broker].broker_epoch) if checked else -1
            for broker in isr
        )
        self.proposals += 1
        self.proposal = AlterPartitionRequest(
            replica.partition, replica.broker, own, replica.leader_epoch, replica.partition_epoch, isr, epochs,
            self.proposals,
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
        if response.correlation != self.proposals:
            return False
        if not response.error:
            if response.partition_epoch >= replica.partition_epoch:
                self.disturb()
                self.isr = response.isr
                replica.partition_epoch = response.partition_epoch
                self.pending = None
                self._members_changed()
                self.maybe_advance_hw(now)
                self._complete_waiting()
            return False
        error = KafkaError(response.error)
        if not replica.profile.alter_partition or error in _REVERT:
            # Before KIP-497 a failed conditional write left the ISR as it was, to be tried at the next occasion.
            self.pending = None
            self._members_changed()
            return False
        return error not in _STAY_PENDING

    def save(self) -> tuple[Any, ...]:
        """All state."""
        remotes = tuple((broker, remote.save()) for broker, remote in self.remotes.items())
        lineage = -1 if self._lineage is None else self._lineage.id
        return (
            self.isr, self.pending, self.proposal, self.epoch_start, remotes, self.producers.save(),
            tuple(self._waiting), lineage, self.proposals,
        )  # fmt: skip

    @classmethod
    def loaded(cls, replica: "Replica", saved: tuple[Any, ...], sessions: FetchSessions) -> "Leadership":
        """Undo of :meth:`save`."""
        isr, pending, proposal, epoch_start, remotes, producers, waiting, lineage, proposals = saved
        epoch, partition_epoch = replica.leader_epoch, replica.partition_epoch
        state = PartitionState(replica.partition, replica.broker, epoch, isr, partition_epoch, replica.assignment)
        self = cls(replica, state, 0, anew=False)
        self.pending, self.proposal, self.epoch_start = pending, proposal, epoch_start
        self.remotes = loaded_remotes(remotes, sessions.watching(replica.partition))
        self.producers.load(producers)
        self._waiting = list(waiting)
        self.proposals = proposals
        self._lineage = None if lineage < 0 else replica.log.lineages.by_id[lineage]
        self._followers = tuple(self.remotes.values())
        self._members_changed()
        return self
