"""The functions of the condition language: questions to a cluster and its control plane. Omniscient, without effects.

Partitions are written as Kafka prints them (``orders-0``). A partition without a leader answers for the last member
of its ISR where a log is asked for.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.checker import Checker
from cluster_model.checker.ledger import ledger_report
from cluster_model.log.replica_log import differing
from cluster_model.observation import metadata_staleness
from cluster_model.observation.cluster_state import World
from cluster_model.observation.metadata_staleness import Governing
from cluster_model.protocol.errors import ModelError
from cluster_model.util.latency import LatencyHistogram
from cluster_model.util.ranges import length, union


class GroupFacts(NamedTuple):
    """What there is to ask of a group now. Conditions do so after every event, and of one thing at a time."""

    members: Callable[[], int]
    positions: Callable[[], dict[str, int]]
    """Partition → where a consumer reads."""
    committed: Callable[[], dict[str, int]]
    """Partition → offset that is committed."""
    generation: Callable[[], int]
    state: Callable[[], str]
    """As DescribeGroups tells it; empty while nobody can, and for a group without a coordinator."""
    owned: Callable[[], int]
    """Partitions that a consumer that is up takes for its own."""


class Experience(Protocol):
    """Statistics of the clients of a session: outages, latencies, rebalances, resets."""

    def longest_stall_us(self, producer: str | None, partition: str | None) -> int:
        """The longest time that a producer, or any, was out of service, at a partition or at any."""

    def longest_read_stall_us(self, group: str, partition: str | None) -> int:
        """The longest time that a group was handed nothing of a partition, or of any, that had records for it."""

    def acked_within(self, producer: str | None, partition: str | None) -> LatencyHistogram:
        """Times from send to acknowledgement of a producer's records, into a partition or any, or of all."""

    def read_within(self, group: str, partition: str | None) -> LatencyHistogram:
        """Times from append to hand-out of the records that a group was handed, of a partition or of any."""

    def rebalances(self, group: str) -> int:
        """Assignments of a group that came into force."""

    def resets(self, group: str) -> int:
        """Times that ``auto.offset.reset`` moved a member of a group that had a position, or a committed one."""


class Query:
    """All methods raise ModelError, with a sentence, for a name that does not exist."""

    __slots__ = ("_checker", "_experience", "_faults", "_governing", "_groups", "_now", "_operations", "_world")

    def __init__(
        self,
        world: World,
        checker: Checker,
        now: Callable[[], int],
        groups: Callable[[], dict[str, "GroupFacts"]],
        governing: Governing,
        operations: Callable[[], int] = lambda: 0,
        faults: Callable[[str], int] = lambda name: 0,
        experience: Callable[[], Experience | None] = lambda: None,
    ) -> None:
        """``groups`` tells what there is to know of each group; ``governing`` is the control plane.

        ``operations`` tells how many operations of the administrator are under way; ``faults`` how
        many of a name are active, or of all; ``experience`` statistics of clients, None where no session counts them.
        """
        self._world = world
        self._checker = checker
        self._now = now
        self._groups = groups
        self._governing = governing
        self._operations = operations
        self._faults = faults
        self._experience = experience

    def controller(self) -> int:
        """Node id of the active controller, -1 while there is none."""
        return self._governing.active()

    def controller_epoch(self) -> int:
        """Epoch of the newest controller."""
        return self._governing.controller_epoch()

    def controllers(self) -> int:
        """Running nodes that are or may become the controller."""
        return sum(self._world.is_up(node) for node in self._governing.controllers())

    def fenced(self, broker: int | None = None) -> int:
        """Brokers that the controller does not count on; of one broker 1 or 0."""
        asked = self._world.brokers if broker is None else (self._known_broker(broker),)
        return sum(not self._governing.is_live(each) for each in asked)

    def stale(self, broker: int) -> int:
        """Partitions of which a broker's metadata is older than what is decided."""
        return metadata_staleness.stale(self._world, self._known_broker(broker))

    def leaders(self, partition: str) -> list[int]:
        """Every running broker that takes itself to lead, in ascending order."""
        return list(metadata_staleness.leaders(self._world, partition))

    def believed_leader(self, partition: str, broker: int) -> int:
        """Whom a broker's metadata names as leader; -1 for nobody, and of a broker that is down."""
        return metadata_staleness.believed_leader(self._world, partition, self._known_broker(broker))

    def partition_epoch(self, partition: str) -> int:
        """Partition epoch by the controller's state."""
        return self._world.record(partition).partition_epoch

    def elr(self, partition: str) -> list[int]:
        """Eligible leader replicas (KIP-966), in ascending order."""
        return sorted(self._world.record(partition).state.elr)

    def _known_broker(self, broker: int) -> int:
        if broker not in self._world.brokers:
            raise ModelError(f"no broker {broker}", code="no_broker")
        return broker

    def _replica(self, partition: str, broker: int | None) -> Replica | None:
        """None while no broker has made its replica of a new partition: whatever is asked of its log is 0."""
        return self._world.shown(partition) if broker is None else self._world.replica(partition, broker)

    def leader(self, partition: str) -> int:
        """The controller's choice, -1 for none."""
        return self._world.record(partition).leader

    def isr(self, partition: str) -> list[int]:
        """The committed ISR, in ascending order."""
        return sorted(self._world.record(partition).isr)

    def replicas(self, partition: str) -> list[int]:
        """The assignment, in its order."""
        return list(self._world.record(partition).assignment)

    def leo(self, partition: str, broker: int | None = None) -> int:
        """Log end offset of a replica, of the leader's by default."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.log.leo

    def hw(self, partition: str, broker: int | None = None) -> int:
        """High watermark of a replica, of the leader's by default."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.hw

    def lso(self, partition: str, broker: int | None = None) -> int:
        """Last stable offset of a replica, of the leader's by default."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.lso

    def epoch(self, partition: str, broker: int | None = None) -> int:
        """Leader epoch by the controller, or as a broker believes."""
        if broker is None:
            return self._world.record(partition).leader_epoch
        return self._world.replica(partition, broker).leader_epoch

    def log_start(self, partition: str, broker: int | None = None) -> int:
        """Log start offset of a replica, of the leader's by default."""
        replica = self._replica(partition, broker)
        return 0 if replica is None else replica.log.log_start

    def log(self, partition: str, broker: int) -> list[list[int | str]]:
        """A replica's records as [epoch, name]; a record without a name is known by its number, from 0."""
        found: list[list[int | str]] = []
        log = self._world.replica(partition, broker).log
        for lineage, batch, start, end in log.batches():
            for low, high in log.left(start, end):
                for index in range(low - batch.base, high - batch.base):
                    name: int | str = batch.name[index] if batch.name else batch.sequence + index
                    found.append([lineage.epoch, name])
        return found

    def diverged(self, partition: str) -> int:
        """Offsets at which the logs of live replicas hold different records."""
        self._world.record(partition)
        logs = [replica.log for broker, replica in self._world.replicas[partition].items() if self._world.is_up(broker)]
        pairs = [(one, other) for index, one in enumerate(logs) for other in logs[index + 1 :]]
        return length(union(parted for one, other in pairs for parted in differing(one, other)))

    def up(self, broker: int) -> bool:
        """Whether a broker's process runs or is paused."""
        known = {member for record in self._world.records.values() for member in record.assignment}
        if broker not in known and not self._world.is_up(broker):
            raise ModelError(f"no broker {broker}", code="no_broker")
        return self._world.is_up(broker)

    def lag(self, group: str, partition: str | None = None) -> int:
        """LAG of a group as ``kafka-consumer-groups --describe`` prints it, of one partition or of all together.

        The high watermark less the committed offset (``ConsumerGroupCommand.getLag``; it asks for the latest offset
        with ``read_uncommitted``, so also of readers that read only what is committed), so it can be negative. A
        partition for which nothing is committed has none, and adds nothing.
        """
        return self._of_one_or_all(self._behind(self._group(group).committed()), partition)

    def position_lag(self, group: str, partition: str | None = None) -> int:
        """Records between where a group's consumers read and the high watermark: of one partition, or of all.

        The consumer's own ``records-lag``. A partition that nobody reads adds nothing.
        """
        return self._of_one_or_all(self._behind(self._group(group).positions()), partition)

    def _behind(self, offsets: dict[str, int]) -> dict[str, int]:
        return {name: self.hw(name) - offset for name, offset in offsets.items() if name in self._world.records}

    def _of_one_or_all(self, lags: dict[str, int], partition: str | None) -> int:
        if partition is None:
            return sum(lags.values())
        self._world.record(partition)
        return lags.get(partition, 0)

    def members(self, group: str) -> int:
        """Consumers in a group."""
        return self._group(group).members()

    def committed(self, group: str, partition: str) -> int:
        """The offset that a group has committed for a partition, -1 for none."""
        self._world.record(partition)
        return self._group(group).committed().get(partition, -1)

    def generation(self, group: str) -> int:
        """A group's generation by its coordinator, -1 while nobody knows."""
        return self._group(group).generation()

    def owned(self, group: str) -> int:
        """Partitions that a consumer of the group takes for its own; nobody reads the others."""
        return self._group(group).owned()

    def anomalies(self, anomaly: str | None = None) -> int:
        """What clients could see and must not have; of the named anomaly all, legal or not.

        Raises:
            ModelError: no such anomaly.
        """
        if anomaly is not None and anomaly not in KINDS:
            raise ModelError(f"no anomaly {anomaly!r}; there are {', '.join(KINDS)}", code="no_anomaly")
        return self._checker.witness.count(self._now(), anomaly or "")

    def read(self, group: str) -> int:
        """Records handed to a group's applications, each time counted."""
        self._group(group)
        return self._checker.readings.read(group)

    def reread(self, group: str) -> int:
        """... of which had been handed to one of them before."""
        self._group(group)
        return self._checker.readings.reread(group)

    def passed_over(self, group: str) -> int:
        """Records that none of a group's applications was handed, and behind which it reads."""
        self._group(group)
        return self._checker.casebook.passed_over(group)

    def abandoned(self, group: str) -> int:
        """Records that an application of a group had in hand when it ended, and that nobody has been handed since."""
        self._group(group)
        return self._checker.readings.abandoned(group)

    def rebalances(self, group: str) -> int:
        """Assignments of a group that came into force."""
        self._group(group)
        return self._felt().rebalances(group)

    def resets(self, group: str) -> int:
        """Times that ``auto.offset.reset`` moved a member of a group that had a position, or a committed one."""
        self._group(group)
        return self._felt().resets(group)

    def longest_stall(self, producer: str | None = None, partition: str | None = None) -> int:
        """The longest time that a producer, or any, was out of service, at one partition or at any."""
        self._known_partition(partition)
        return self._felt().longest_stall_us(producer, partition)

    def longest_read_stall(self, group: str, partition: str | None = None) -> int:
        """The longest time that a group was handed nothing of a partition, or of any, that had records for it."""
        self._group(group)
        self._known_partition(partition)
        return self._felt().longest_read_stall_us(group, partition)

    def _felt(self) -> Experience:
        felt = self._experience()
        if felt is None:
            raise ModelError("there are no statistics of clients here", code="no_books")
        return felt

    def read_p50(self, group: str, partition: str | None = None) -> int:
        """Median time from append to hand-out of the records that a group's consumers were handed."""
        return self._read_within(group, partition).percentile(50)

    def read_p95(self, group: str, partition: str | None = None) -> int:
        """... the time within which 95 % of them were."""
        return self._read_within(group, partition).percentile(95)

    def read_p99(self, group: str, partition: str | None = None) -> int:
        """... and 99 %."""
        return self._read_within(group, partition).percentile(99)

    def read_max(self, group: str, partition: str | None = None) -> int:
        """... and the slowest."""
        return self._read_within(group, partition).greatest

    def _read_within(self, group: str, partition: str | None) -> LatencyHistogram:
        self._group(group)
        self._known_partition(partition)
        return self._felt().read_within(group, partition)

    def _acked_within(self, producer: str | None, partition: str | None) -> LatencyHistogram:
        self._known_partition(partition)
        return self._felt().acked_within(producer, partition)

    def _known_partition(self, partition: str | None) -> None:
        if partition is not None:
            self._world.record(partition)

    def ack_p50(self, producer: str | None = None, partition: str | None = None) -> int:
        """Median time from send to acknowledgement of a producer's records, or of all."""
        return self._acked_within(producer, partition).percentile(50)

    def ack_p95(self, producer: str | None = None, partition: str | None = None) -> int:
        """... the time within which 95 % were acknowledged."""
        return self._acked_within(producer, partition).percentile(95)

    def ack_p99(self, producer: str | None = None, partition: str | None = None) -> int:
        """... and 99 %."""
        return self._acked_within(producer, partition).percentile(99)

    def ack_max(self, producer: str | None = None, partition: str | None = None) -> int:
        """... and the slowest."""
        return self._acked_within(producer, partition).greatest

    def group_state(self, group: str) -> str:
        """A group's state by its coordinator, empty while nobody can tell."""
        return self._group(group).state()

    def _group(self, group: str) -> "GroupFacts":
        groups = self._groups()
        if group not in groups:
            known = ", ".join(groups) or "none"
            raise ModelError(f"no group {group!r}; there are {known}", code="no_group")
        return groups[group]

    def _book(self, column: int, producer: str | None) -> int:
        books = self._checker.ledger.books.totals
        if producer is None:
            return sum(entries[column] for entries in books.values())
        return books[producer][column] if producer in books else 0

    def sent(self, producer: str | None = None) -> int:
        """Records handed to producers."""
        return self._book(0, producer)

    def acked(self, producer: str | None = None) -> int:
        """Records acknowledged."""
        return self._book(1, producer)

    def failed(self, producer: str | None = None) -> int:
        """Records certainly not written."""
        return self._book(2, producer)

    def unknown(self, producer: str | None = None) -> int:
        """Records that may or may not have been written."""
        return self._book(3, producer)

    def aborted(self, producer: str | None = None) -> int:
        """Records that went with an aborted transaction."""
        return self._book(4, producer)

    def undone(self, producer: str | None = None) -> int:
        """Acknowledged records whose transaction stands aborted in the leader's log."""
        return self._checker.transacted.undone(producer)

    def leaked(self, producer: str | None = None) -> int:
        """Aborted records whose transaction stands committed in the leader's log."""
        return self._checker.transacted.leaked(producer)

    def missing(self, producer: str | None = None) -> int:
        """Acknowledged records that the current leaders' logs do not hold."""
        return self._checker.ledger.missing_of(producer)

    def acked_lost(self, producer: str | None = None) -> int:
        """Acknowledged records that are gone from every log, and at the end those that are missing."""
        return self._checker.ledger.acked_lost(producer)

    def committed_lost(self, producer: str | None = None) -> int:
        """Lost records that somebody could have read."""
        return self._checker.ledger.committed_lost(producer)

    def unknown_written(self, producer: str | None = None) -> int:
        """Unknown records that the leader's log holds after all."""
        return ledger_report.unknown_written(self._world, self._checker.ledger, producer)

    def duplicates(self, producer: str | None = None) -> int:
        """Records that stand twice in their log."""
        return self._checker.ledger.repeats.duplicates(producer)

    def reordered(self, producer: str | None = None) -> int:
        """Records that stand behind later ones of their producer."""
        return self._checker.ledger.repeats.reordered(producer)

    def offline_partitions(self) -> int:
        """Partitions without a leader."""
        return sum(record.leader < 0 for record in self._world.records.values())

    def under_replicated(self) -> int:
        """Partitions with fewer in-sync replicas than assigned ones; those only being added are not counted."""
        return sum(record.under_replicated for record in self._world.records.values())

    def under_min_isr(self) -> int:
        """Partitions with too few in-sync replicas for acks=all."""
        return sum(
            len(record.isr) < self._world.effective_min_isr(name) for name, record in self._world.records.items()
        )

    def at_min_isr(self) -> int:
        """Partitions with just as many in-sync replicas as min.insync.replicas: the next one missed is one too many."""
        return sum(
            len(record.isr) == self._world.effective_min_isr(name) for name, record in self._world.records.items()
        )

    def operations(self) -> int:
        """Operations of the administrator that have not come to their end."""
        return self._operations()

    def faults(self, fault: str | None = None) -> int:
        """Faults that are active, of one name or of all."""
        return self._faults(fault or "")

    def violations(self, invariant: str | None = None) -> int:
        """Invariants found broken, of one name or of all."""
        counts = self._checker.invariants.violations
        return sum(counts.values()) if invariant is None else counts.get(invariant, 0)

    def unexpected_violations(self, invariant: str | None = None) -> int:
        """The same without those that this version is known for."""
        counts = self._checker.invariants.unexpected
        return sum(counts.values()) if invariant is None else counts.get(invariant, 0)

    def overdue(self, property: str | None = None) -> int:  # noqa: A002 - conditions call it so
        """Liveness properties found overdue, of one name or of all."""
        return 0 if self._checker.liveness is None else self._checker.liveness.count(property)

    def unexpected_overdue(self, property: str | None = None) -> int:  # noqa: A002 - conditions call it so
        """The same without those that the version is known not to keep."""
        return 0 if self._checker.liveness is None else self._checker.liveness.count(property, unexpected=True)

    def findings(self, cause: str | None = None) -> int:
        """Findings so far, of one cause or of all."""
        return self._checker.casebook.count(self._now(), cause)

    def now(self) -> int:
        """Virtual time in microseconds."""
        return self._now()
