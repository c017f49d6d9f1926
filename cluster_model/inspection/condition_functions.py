"""Functions of the condition language: queries on a cluster and its control plane. Omniscient, without side effects.

Partitions are written as Kafka prints them (``orders-0``). Where a log is needed of a partition without a leader, the
last member of its ISR is used.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.checker import Checker
from cluster_model.checker.ledger import ledger_report
from cluster_model.log.replica_log import differing
from cluster_model.observation import metadata_staleness
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.observation.metadata_staleness import ControllerInfo
from cluster_model.protocol.errors import ModelError
from cluster_model.util.latency import LatencyHistogram
from cluster_model.util.ranges import length, union


class GroupQueries(NamedTuple):
    """Functions for the state of a consumer group; conditions call them after every event, one at a time."""

    members: Callable[[], int]
    positions: Callable[[], dict[str, int]]
    """Return partition → the group's position."""
    committed: Callable[[], dict[str, int]]
    """Return partition → committed offset."""
    generation: Callable[[], int]
    state: Callable[[], str]
    """Return the state as in DescribeGroups; empty while no coordinator is available, or without one."""
    owned: Callable[[], int]
    """Return the number of partitions that running consumers claim."""


class ClientStatistics(Protocol):
    """Statistics of a session's clients: outages, latencies, rebalances, offset resets."""

    def longest_stall_us(self, producer: str | None, partition: str | None) -> int:
        """Return the longest outage of a producer (None: any) at a partition (None: any), in microseconds."""

    def longest_read_stall_us(self, group: str, partition: str | None) -> int:
        """Return the longest time without deliveries to a group of a partition (None: any) with records for it."""

    def acked_within(self, producer: str | None, partition: str | None) -> LatencyHistogram:
        """Return send-to-acknowledgement latencies of a producer's records (None: all) in a partition (None: any)."""

    def read_within(self, group: str, partition: str | None) -> LatencyHistogram:
        """Return append-to-delivery latencies of a group's records of a partition (None: any)."""

    def rebalances(self, group: str) -> int:
        """Return the number of assignments of a group that took effect."""

    def resets(self, group: str) -> int:
        """Return how often ``auto.offset.reset`` moved a member with a position, or a committed offset."""


class ConditionQuery:
    """Queries for conditions; every method raises ModelError, with a message, for an unknown name."""

    __slots__ = ("_checker", "_cluster_state", "_experience", "_faults", "_governing", "_groups", "_now", "_operations")

    def __init__(
        self,
        cluster_state: ClusterState,
        checker: Checker,
        now: Callable[[], int],
        groups: Callable[[], dict[str, "GroupQueries"]],
        governing: ControllerInfo,
        operations: Callable[[], int] = lambda: 0,
        faults: Callable[[str], int] = lambda name: 0,
        experience: Callable[[], ClientStatistics | None] = lambda: None,
    ) -> None:
        """Keep the sources: ``groups`` returns each group's functions, ``governing`` is the control plane.

        ``operations`` returns the number of administrator operations under way; ``faults`` the number of active faults
        of a name, or of all; ``experience`` the client statistics, None where no session counts them.
        """
        self._cluster_state = cluster_state
        self._checker = checker
        self._now = now
        self._groups = groups
        self._governing = governing
        self._operations = operations
        self._faults = faults
        self._experience = experience

    def controller(self) -> int:
        """Return the node id of the active controller, -1 if there is none."""
        return self._governing.active()

    def controller_epoch(self) -> int:
        """Return the epoch of the newest controller."""
        return self._governing.controller_epoch()

    def controllers(self) -> int:
        """Return the number of running nodes that are or may become the controller."""
        return sum(self._cluster_state.is_up(node) for node in self._governing.controllers())

    def fenced(self, broker: int | None = None) -> int:
        """Return the number of fenced brokers; of one broker 1 or 0."""
        brokers = self._cluster_state.brokers if broker is None else (self._known_broker(broker),)
        return sum(not self._governing.is_live(each) for each in brokers)

    def stale(self, broker: int) -> int:
        """Return the number of partitions for which a broker's metadata is older than the committed state."""
        return metadata_staleness.stale(self._cluster_state, self._known_broker(broker))

    def leaders(self, partition: str) -> list[int]:
        """Return every running broker that believes it is leader, in ascending order."""
        return list(metadata_staleness.leaders(self._cluster_state, partition))

    def believed_leader(self, partition: str, broker: int) -> int:
        """Return the leader in a broker's metadata; -1 for none, and if the broker is down."""
        return metadata_staleness.believed_leader(self._cluster_state, partition, self._known_broker(broker))

    def partition_epoch(self, partition: str) -> int:
        """Return the partition epoch in the controller's state."""
        return self._cluster_state.record(partition).partition_epoch

    def elr(self, partition: str) -> list[int]:
        """Return the eligible leader replicas (KIP-966), in ascending order."""
        return sorted(self._cluster_state.record(partition).state.elr)

    def _known_broker(self, broker: int) -> int:
        if broker not in self._cluster_state.brokers:
            raise ModelError(
                f"no broker {broker}; known brokers: {', '.join(map(str, self._cluster_state.brokers))}",
                code="no_broker",
            )
        return broker

    def _replica(self, partition: str, broker: int | None) -> Replica | None:
        """Return a replica, None while no broker has created one: queries on its log are then 0."""
        return (
            self._cluster_state.representative(partition)
            if broker is None
            else self._cluster_state.replica(partition, broker)
        )

    def leader(self, partition: str) -> int:
        """Return the leader in the controller's state, -1 for none."""
        return self._cluster_state.record(partition).leader

    def isr(self, partition: str) -> list[int]:
        """Return the committed ISR, in ascending order."""
        return sorted(self._cluster_state.record(partition).isr)

    def replicas(self, partition: str) -> list[int]:
        """Return the assignment, in its order."""
        return list(self._cluster_state.record(partition).assignment)

    def leo(self, partition: str, broker: int | None = None) -> int:
        """Return the log end offset of a replica, by default the leader's."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.log.leo

    def hw(self, partition: str, broker: int | None = None) -> int:
        """Return the high watermark of a replica, by default the leader's."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.hw

    def lso(self, partition: str, broker: int | None = None) -> int:
        """Return the last stable offset of a replica, by default the leader's."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.lso

    def epoch(self, partition: str, broker: int | None = None) -> int:
        """Return the leader epoch in the controller's state, or as a broker knows it."""
        if broker is None:
            return self._cluster_state.record(partition).leader_epoch
        return self._cluster_state.replica(partition, broker).leader_epoch

    def log_start(self, partition: str, broker: int | None = None) -> int:
        """Return the log start offset of a replica, by default the leader's."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.log.log_start

    def log(self, partition: str, broker: int) -> list[list[int | str]]:
        """Return a replica's records as [epoch, name]; a record without a name has its number instead, from 0."""
        epochs: list[list[int | str]] = []
        log = self._cluster_state.replica(partition, broker).log
        for epoch_branch, batch, start, end in log.batches():
            for low, high in log.remaining(start, end):
                for index in range(low - batch.base, high - batch.base):
                    name: int | str = batch.name[index] if batch.name else batch.sequence + index
                    epochs.append([epoch_branch.epoch, name])
        return epochs

    def diverged(self, partition: str) -> int:
        """Return the number of offsets at which live replicas hold different records."""
        self._cluster_state.record(partition)
        logs = [
            replica.log
            for broker, replica in self._cluster_state.replicas[partition].items()
            if self._cluster_state.is_up(broker)
        ]
        pairs = [(one, other) for index, one in enumerate(logs) for other in logs[index + 1 :]]
        return length(union(parted for one, other in pairs for parted in differing(one, other)))

    def up(self, broker: int) -> bool:
        """Whether a broker's process is running or paused."""
        known = {member for record in self._cluster_state.records.values() for member in record.assignment}
        if broker not in known and not self._cluster_state.is_up(broker):
            raise ModelError(
                f"no broker {broker}; known brokers: {', '.join(map(str, sorted(known)))}", code="no_broker"
            )
        return self._cluster_state.is_up(broker)

    def lag(self, group: str, partition: str | None = None) -> int:
        """Return the LAG of a group as in ``kafka-consumer-groups --describe``, of one partition or in total.

        It is the high watermark minus the committed offset (``ConsumerGroupCommand.getLag``; it requests the latest
        offset with ``read_uncommitted``, also for read_committed consumers), so it can be negative. A partition without
        a committed offset adds nothing.
        """
        return self._of_one_or_all(self._lags(self._group(group).committed()), partition)

    def position_lag(self, group: str, partition: str | None = None) -> int:
        """Return the records between a group's positions and the high watermark, of one partition or in total.

        This is the consumer's own ``records-lag``. A partition without a reader adds nothing.
        """
        return self._of_one_or_all(self._lags(self._group(group).positions()), partition)

    def _lags(self, offsets: dict[str, int]) -> dict[str, int]:
        return {name: self.hw(name) - offset for name, offset in offsets.items() if name in self._cluster_state.records}

    def _of_one_or_all(self, lags: dict[str, int], partition: str | None) -> int:
        if partition is None:
            return sum(lags.values())
        self._cluster_state.record(partition)
        return lags.get(partition, 0)

    def members(self, group: str) -> int:
        """Return the number of consumers in a group."""
        return self._group(group).members()

    def committed(self, group: str, partition: str) -> int:
        """Return the offset that a group has committed for a partition, -1 for none."""
        self._cluster_state.record(partition)
        return self._group(group).committed().get(partition, -1)

    def generation(self, group: str) -> int:
        """Return a group's generation at its coordinator, -1 while none is available."""
        return self._group(group).generation()

    def owned(self, group: str) -> int:
        """Return the number of partitions that a consumer of the group claims; the others have no reader."""
        return self._group(group).owned()

    def anomalies(self, anomaly: str | None = None) -> int:
        """Return the number of anomalies that are not allowed; of a named anomaly all, allowed or not.

        Raises:
            ModelError: no such anomaly.
        """
        if anomaly is not None and anomaly not in KINDS:
            raise ModelError(f"no anomaly {anomaly!r}; known anomalies: {', '.join(KINDS)}", code="no_anomaly")
        return self._checker.anomalies.count(self._now(), anomaly or "")

    def read(self, group: str) -> int:
        """Return the number of records delivered to a group's applications, counting every delivery."""
        self._group(group)
        return self._checker.readings.read(group)

    def reread(self, group: str) -> int:
        """Return the number of records delivered to a group again after an earlier delivery."""
        self._group(group)
        return self._checker.readings.reread(group)

    def skipped(self, group: str) -> int:
        """Return the number of records that a group skipped: never delivered, and below its positions."""
        self._group(group)
        return self._checker.findings.skipped_records(group)

    def abandoned(self, group: str) -> int:
        """Return the records that were fetched but unprocessed when an application ended, and not delivered since."""
        self._group(group)
        return self._checker.readings.abandoned(group)

    def rebalances(self, group: str) -> int:
        """Return the number of assignments of a group that took effect."""
        self._group(group)
        return self._client_statistics().rebalances(group)

    def resets(self, group: str) -> int:
        """Return how often ``auto.offset.reset`` moved a member with a position, or a committed offset."""
        self._group(group)
        return self._client_statistics().resets(group)

    def longest_stall(self, producer: str | None = None, partition: str | None = None) -> int:
        """Return the longest outage of a producer (None: any) at a partition (None: any), in microseconds."""
        self._known_partition(partition)
        return self._client_statistics().longest_stall_us(producer, partition)

    def longest_read_stall(self, group: str, partition: str | None = None) -> int:
        """Return the longest time without deliveries to a group of a partition (None: any) with records for it."""
        self._group(group)
        self._known_partition(partition)
        return self._client_statistics().longest_read_stall_us(group, partition)

    def _client_statistics(self) -> ClientStatistics:
        statistics = self._experience()
        if statistics is None:
            raise ModelError("client statistics are not available in this session", code="no_books")
        return statistics

    def read_p50(self, group: str, partition: str | None = None) -> int:
        """Return the median latency from append to delivery of a group's records, in microseconds."""
        return self._read_within(group, partition).percentile(50)

    def read_p95(self, group: str, partition: str | None = None) -> int:
        """Return the 95th percentile of the latency from append to delivery, in microseconds."""
        return self._read_within(group, partition).percentile(95)

    def read_p99(self, group: str, partition: str | None = None) -> int:
        """Return the 99th percentile of the latency from append to delivery, in microseconds."""
        return self._read_within(group, partition).percentile(99)

    def read_max(self, group: str, partition: str | None = None) -> int:
        """Return the highest latency from append to delivery, in microseconds."""
        return self._read_within(group, partition).greatest

    def _read_within(self, group: str, partition: str | None) -> LatencyHistogram:
        self._group(group)
        self._known_partition(partition)
        return self._client_statistics().read_within(group, partition)

    def _acked_within(self, producer: str | None, partition: str | None) -> LatencyHistogram:
        self._known_partition(partition)
        return self._client_statistics().acked_within(producer, partition)

    def _known_partition(self, partition: str | None) -> None:
        if partition is not None:
            self._cluster_state.record(partition)

    def ack_p50(self, producer: str | None = None, partition: str | None = None) -> int:
        """Return the median latency from send to acknowledgement, of one producer or of all, in microseconds."""
        return self._acked_within(producer, partition).percentile(50)

    def ack_p95(self, producer: str | None = None, partition: str | None = None) -> int:
        """Return the 95th percentile of the latency from send to acknowledgement, in microseconds."""
        return self._acked_within(producer, partition).percentile(95)

    def ack_p99(self, producer: str | None = None, partition: str | None = None) -> int:
        """Return the 99th percentile of the latency from send to acknowledgement, in microseconds."""
        return self._acked_within(producer, partition).percentile(99)

    def ack_max(self, producer: str | None = None, partition: str | None = None) -> int:
        """Return the highest latency from send to acknowledgement, in microseconds."""
        return self._acked_within(producer, partition).greatest

    def group_state(self, group: str) -> str:
        """Return a group's state at its coordinator, empty while none is available."""
        return self._group(group).state()

    def _group(self, group: str) -> "GroupQueries":
        groups = self._groups()
        if group not in groups:
            known = ", ".join(groups) or "none"
            raise ModelError(f"no group {group!r}; known groups: {known}", code="no_group")
        return groups[group]

    def _record_count(self, column: int, producer: str | None) -> int:
        totals = self._checker.ledger.deliveries.totals
        if producer is None:
            return sum(entries[column] for entries in totals.values())
        return totals[producer][column] if producer in totals else 0

    def sent(self, producer: str | None = None) -> int:
        """Return the number of records passed to producers."""
        return self._record_count(0, producer)

    def acked(self, producer: str | None = None) -> int:
        """Return the number of acknowledged records."""
        return self._record_count(1, producer)

    def failed(self, producer: str | None = None) -> int:
        """Return the number of records that were certainly not written."""
        return self._record_count(2, producer)

    def unknown(self, producer: str | None = None) -> int:
        """Return the number of records with an unknown outcome, which may or may not be written."""
        return self._record_count(3, producer)

    def aborted(self, producer: str | None = None) -> int:
        """Return the number of records of aborted transactions."""
        return self._record_count(4, producer)

    def acked_aborted(self, producer: str | None = None) -> int:
        """Return the number of acknowledged records whose transaction is aborted in the leader's log."""
        return self._checker.transacted.acked_aborted(producer)

    def aborted_committed(self, producer: str | None = None) -> int:
        """Return the number of aborted records whose transaction is committed in the leader's log."""
        return self._checker.transacted.aborted_committed(producer)

    def missing(self, producer: str | None = None) -> int:
        """Return the number of acknowledged records that the current leaders' logs do not hold."""
        return self._checker.ledger.missing_of(producer)

    def acked_lost(self, producer: str | None = None) -> int:
        """Return the number of acknowledged records in no log, and at the end also those that are missing."""
        return self._checker.ledger.acked_lost(producer)

    def committed_lost(self, producer: str | None = None) -> int:
        """Return the number of lost records that were committed, so that a consumer could have read them."""
        return self._checker.ledger.committed_lost(producer)

    def unknown_written(self, producer: str | None = None) -> int:
        """Return the number of records with an unknown outcome that the leader's log holds."""
        return ledger_report.unknown_written(self._cluster_state, self._checker.ledger, producer)

    def duplicates(self, producer: str | None = None) -> int:
        """Return the number of duplicate records."""
        return self._checker.ledger.repeats.duplicates(producer)

    def reordered(self, producer: str | None = None) -> int:
        """Return the number of records after later ones of their producer."""
        return self._checker.ledger.repeats.reordered(producer)

    def offline_partitions(self) -> int:
        """Return the number of partitions without a leader."""
        return sum(record.leader < 0 for record in self._cluster_state.records.values())

    def under_replicated(self) -> int:
        """Return the number of partitions with fewer in-sync than assigned replicas, not counting added ones."""
        return sum(record.under_replicated for record in self._cluster_state.records.values())

    def under_min_isr(self) -> int:
        """Return the number of partitions with too few in-sync replicas for acks=all."""
        return sum(
            len(record.isr) < self._cluster_state.effective_min_isr(name)
            for name, record in self._cluster_state.records.items()
        )

    def at_min_isr(self) -> int:
        """Return the number of partitions whose ISR has exactly min.insync.replicas members."""
        return sum(
            len(record.isr) == self._cluster_state.effective_min_isr(name)
            for name, record in self._cluster_state.records.items()
        )

    def operations(self) -> int:
        """Return the number of administrator operations under way."""
        return self._operations()

    def faults(self, fault: str | None = None) -> int:
        """Return the number of active faults, of one name or of all."""
        return self._faults(fault or "")

    def violations(self, invariant: str | None = None) -> int:
        """Return the number of invariant violations, of one name or of all."""
        counts = self._checker.invariants.violations
        return sum(counts.values()) if invariant is None else counts.get(invariant, 0)

    def unexpected_violations(self, invariant: str | None = None) -> int:
        """Return the number of invariant violations that are not known for this version."""
        counts = self._checker.invariants.unexpected
        return sum(counts.values()) if invariant is None else counts.get(invariant, 0)

    def liveness_violations(self, property: str | None = None) -> int:  # noqa: A002 - conditions call it so
        """Return the number of violated liveness properties, of one name or of all."""
        return 0 if self._checker.liveness is None else self._checker.liveness.count(property)

    def unexpected_liveness_violations(self, property: str | None = None) -> int:  # noqa: A002 - conditions call it so
        """Return the number of violated liveness properties that are not known for this version."""
        return 0 if self._checker.liveness is None else self._checker.liveness.count(property, unexpected=True)

    def findings(self, cause: str | None = None) -> int:
        """Return the number of findings so far, of one cause or of all."""
        return self._checker.findings.count(self._now(), cause)

    def now(self) -> int:
        """Return the virtual time in microseconds."""
        return self._now()
