"""Sampler: the values of all metrics at one time, read from a cluster and from its events.

It only reads, so it changes no session. A process that is down or paused cannot be scraped: ``up`` is 0, and it has no
other series. Its counters start again at 0 when it starts again. The network between Prometheus and the processes is
never disturbed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from cluster_model import cluster_overview
from cluster_model.cluster import Cluster
from cluster_model.observation import BrokerView, ClusterView, PartitionView, ReplicaView
from cluster_model.protocol.events import (
    Appended,
    Event,
    IsrChanged,
    LeaderElected,
    NodeDown,
    PartitionsAssigned,
    ProduceRefused,
    ProduceRetried,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
)
from playbooks.metrics.catalogue import coordinator_name, fetch_name, producer_name
from playbooks.results.consumer_groups import groups_of

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A time series: the metric's name, and its labels in alphabetical order."""
Sample = dict[Series, float]
"""Value of each series at one time."""

KAFKA_JOB: Final = "kafka"
CLIENTS_JOB: Final = "kafka-clients"
EXPORTER_JOB: Final = "kafka-exporter"
EXPORTER: Final = "kafka-exporter:9308"
PORT: Final = 7071
"""Port in the instance label of brokers and controllers."""

SHRINKS: Final = "kafka_server_replicamanager_isrshrinks_total"
EXPANDS: Final = "kafka_server_replicamanager_isrexpands_total"
MESSAGES: Final = "kafka_server_brokertopicmetrics_messagesin_total"
FAILED: Final = "kafka_server_brokertopicmetrics_failedproducerequests_total"
UNCLEAN: Final = "kafka_controller_controllerstats_uncleanleaderelections_total"

UNCOUNTED: Final = frozenset(
    {
        *("UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_FOR_PARTITION", "MESSAGE_TOO_LARGE"),
        *("RECORD_LIST_TOO_LARGE", "CORRUPT_MESSAGE", "KAFKA_STORAGE_ERROR"),
        *("NETWORK_EXCEPTION", "REQUEST_TIMED_OUT", "TIMEOUT", "LEADER_NOT_AVAILABLE"),
    }
)
"""Errors that ``ReplicaManager.appendToLocalLog`` expects and does not count, and those of a missing response."""

WINDOW_US: Final = 30_000_000
"""``metrics.sample.window.ms`` of a client, in microseconds; ``metrics.num.samples`` is 2."""


def topic_of(partition: str) -> str:
    """Return the topic of a partition."""
    return partition.rpartition("-")[0]


class SampledRate:
    """Rate per second over the last two windows of 30 s, as Kafka's ``Rate`` over a ``SampledStat``."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: list[list[int]] = []
        """Start, last event and count of each window, the oldest first; times in microseconds."""

    def record(self, at_us: int, count: int) -> None:
        """Count events at a time."""
        if not self._windows or at_us - self._windows[-1][0] >= WINDOW_US:
            self._windows = [*self._windows[-2:], [at_us, at_us, 0]]
        self._windows[-1][1] = at_us
        self._windows[-1][2] += count

    def measure(self, now_us: int) -> float:
        """Return the rate now; a first window counts as if a whole one had passed before it."""
        kept = [each for each in self._windows if now_us - each[1] < 2 * WINDOW_US]
        if not kept:
            return 0.0
        elapsed = now_us - kept[0][0]
        if elapsed < WINDOW_US:
            elapsed += WINDOW_US
        return round(sum(each[2] for each in kept) * 1_000_000 / elapsed, 6)


@dataclass(slots=True)
class ClientCounts:
    """Counts of one client's process since it started."""

    totals: Counter[str] = field(default_factory=Counter)
    rates: dict[str, SampledRate] = field(default_factory=lambda: defaultdict(SampledRate))

    def add(self, name: str, at_us: int, count: int) -> None:
        """Count records."""
        self.totals[name] += count
        self.rates[name].record(at_us, count)


class EventCounters:
    """Counters of all processes, from the events of the cluster."""

    def __init__(self) -> None:
        self.brokers: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
        """Broker → (metric, topic) → count; the topic is empty for a metric without one."""
        self.unclean: Counter[str] = Counter()
        """Unclean elections, by the name of the node that counts them."""
        self.clients: dict[str, ClientCounts] = defaultdict(ClientCounts)
        self._handlers: dict[type[Event], Callable[..., None]] = {
            Appended: lambda each: self._produced(MESSAGES, each.broker, each.partition, each.count),
            ProduceRefused: self._refused,
            IsrChanged: self._isr_changed,
            NodeDown: self._stopped,
            RecordsSent: lambda each: self._client(each, "record_send", each.count),
            RecordsFailed: lambda each: self._client(each, "record_error", each.count),
            RecordsUnknown: lambda each: self._client(each, "record_error", each.count),
            ProduceRetried: lambda each: self._client(each, "record_retry", each.count),
            RecordsRead: lambda each: self._client(each, "records_consumed", each.count),
            PartitionsAssigned: lambda each: self._client(each, "rebalance", 1),
        }

    def count(self, events: Iterable[Event], counting: Callable[[], Iterable[str]]) -> None:
        """Count events; ``counting`` returns the nodes that count an unclean election now."""
        for event in events:
            handler = self._handlers.get(type(event))
            if handler is not None:
                handler(event)
            elif isinstance(event, LeaderElected) and not event.clean:
                self.unclean.update(counting())

    def _produced(self, metric: str, broker: int, partition: str, count: int) -> None:
        self.brokers[broker][metric, topic_of(partition)] += count
        self.brokers[broker][metric, ""] += count

    def _refused(self, event: ProduceRefused) -> None:
        if event.broker >= 0 and event.error not in UNCOUNTED:
            self._produced(FAILED, event.broker, event.partition, 1)

    def _isr_changed(self, event: IsrChanged) -> None:
        if event.by == "leader" and len(event.isr) != len(event.previous_isr):
            metric = SHRINKS if len(event.isr) < len(event.previous_isr) else EXPANDS
            self.brokers[event.leader][metric, ""] += 1

    def _client(self, event: "_OfClient", name: str, count: int) -> None:
        self.clients[event.client].add(name, event.at_us, count)

    def _stopped(self, event: NodeDown) -> None:
        self.brokers.pop(event.broker, None)
        self.unclean.pop(event.node, None)
        self.clients.pop(event.node, None)


_OfClient = RecordsSent | RecordsFailed | RecordsUnknown | ProduceRetried | RecordsRead | PartitionsAssigned


class MetricSampler:
    """Reads all metrics of a running cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counters = EventCounters()
        self._sample: Sample = {}
        self._labels: tuple[tuple[str, str], ...] = ()

    def take(self, events: Iterable[Event]) -> None:
        """Count the next events of the cluster."""
        self._counters.count(events, self._counting)

    def sample(self) -> Sample:
        """Return the value of every series now."""
        self._sample = {}
        view = self._cluster.view()
        leads = self._leads(view)
        for broker in view.brokers:
            if self._scrape(KAFKA_JOB, f"broker-{broker.id}:{PORT}", up=broker.state in ("up", "starting")):
                self._broker(view, broker, leads.get(broker.id, []))
                if broker.id in self._controllers(view):
                    self._controller(view, broker.id)
        for node in self._controllers(view):
            if node not in self._cluster.brokers:
                name = f"controller-{node}:{PORT}"
                if self._scrape(KAFKA_JOB, name, up=self._runs(node)):
                    self._controller(view, node)
        self._clients(view)
        if self._scrape(EXPORTER_JOB, EXPORTER, up=any(each.state == "up" for each in view.brokers)):
            self._exporter(view)
        return self._sample

    # -- scrape targets ---------------------------------------------------------------------------------------------

    def _scrape(self, job: str, instance: str, *, up: bool) -> bool:
        self._labels = (("instance", instance), ("job", job))
        self._put("up", int(up))
        return up

    def _put(self, name: str, value: float, **labels: str) -> None:
        own = tuple(sorted([*self._labels, *labels.items()])) if labels else self._labels
        self._sample[name, own] = value

    def _runs(self, node: int) -> bool:
        return self._cluster.state_of(node).name == "RUNNING"

    def _controllers(self, view: ClusterView) -> list[int]:
        """Return the nodes with metrics of a controller: the quorum's voters, or in ZooKeeper mode all brokers."""
        if self._cluster.profile.kraft:
            return [each.node for each in view.controllers]
        return [each.id for each in view.brokers]

    def _counting(self) -> list[str]:
        """Return the nodes that count an unclean election: each running controller, or in ZooKeeper mode the active.

        In KRaft mode each controller counts those in the metadata log (``ControllerMetadataMetrics``).
        """
        cluster = self._cluster
        if not cluster.profile.kraft:
            active = cluster.plane.active()
            return [cluster.name_of(active)] if active >= 0 else []
        return [cluster.name_of(each) for each in cluster.plane.controllers() if self._runs(each)]

    # -- brokers ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _leads(view: ClusterView) -> dict[int, list[tuple[PartitionView, ReplicaView]]]:
        """Return each broker's partitions that it believes to lead."""
        found: dict[int, list[tuple[PartitionView, ReplicaView]]] = defaultdict(list)
        for partition in view.partitions:
            for replica in partition.replicas:
                if replica.believed_leader == replica.broker and replica.believed_isr:
                    found[replica.broker].append((partition, replica))
        return found

    def _broker(self, view: ClusterView, broker: BrokerView, leads: list[tuple[PartitionView, ReplicaView]]) -> None:
        prefix = "kafka_server_replicamanager_"
        state = 6 if broker.shutting_down else 3 if broker.state == "up" else 1
        self._put("kafka_server_kafkaserver_brokerstate", state)
        hosted = [
            (partition, replica)
            for partition in view.partitions
            for replica in partition.replicas
            if replica.broker == broker.id
        ]
        self._put(f"{prefix}partitioncount", len(hosted))
        self._put(f"{prefix}leadercount", len(leads))
        self._put(f"{prefix}offlinereplicacount", 0)
        self._put(f"{prefix}reassigningpartitions", sum(bool(each.adding or each.removing) for each, _ in leads))
        counts: Counter[str] = Counter()
        for partition, replica in hosted:
            counts.update(self._replica(partition, replica))
        for name in ("underreplicatedpartitions", "underminisrpartitioncount", "atminisrpartitioncount"):
            self._put(f"{prefix}{name}", counts[name])
        lags = [max(0, each.hw - replica.leo) for each, replica in hosted if replica.believed_leader != broker.id]
        self._put("kafka_server_replicafetchermanager_maxlag", max(lags, default=0), clientid="Replica")
        counters = self._counters.brokers[broker.id]
        for name in (SHRINKS, EXPANDS, MESSAGES, FAILED):
            self._put(name, counters[name, ""])
        for (name, topic), count in counters.items():
            if topic:
                self._put(name, count, topic=topic)

    def _replica(self, partition: PartitionView, replica: ReplicaView) -> list[str]:
        """Read a replica; return the counters of its broker in which it counts."""
        topic, _, number = partition.name.rpartition("-")
        isr = len(replica.believed_isr) if replica.believed_leader == replica.broker else 0
        replicas = len(partition.assignment) - len(partition.adding)
        under = {
            "underreplicated": 0 < isr < replicas,
            "underminisr": 0 < isr < partition.min_isr,
            "atminisr": 0 < isr == partition.min_isr,
        }
        for name, holds in under.items():
            self._put(f"kafka_cluster_partition_{name}", int(holds), topic=topic, partition=number)
        counts = {"insyncreplicascount": isr, "replicascount": replicas if isr else 0}
        for name, count in counts.items():
            self._put(f"kafka_cluster_partition_{name}", count, topic=topic, partition=number)
        self._put("kafka_log_log_logendoffset", replica.leo, topic=topic, partition=number)
        self._put("kafka_log_log_logstartoffset", replica.log_start, topic=topic, partition=number)
        counted = {"underreplicated": "partitions", "underminisr": "partitioncount", "atminisr": "partitioncount"}
        return [f"{name}{counted[name]}" for name, holds in under.items() if holds]

    # -- controllers ------------------------------------------------------------------------------------------------

    def _controller(self, view: ClusterView, node: int) -> None:
        prefix = "kafka_controller_kafkacontroller_"
        own = next((each for each in view.controllers if each.node == node), None)
        active = own is not None and own.role in ("active", "zombie")
        kraft = self._cluster.profile.kraft
        self._put(f"{prefix}activecontrollercount", int(active))
        imbalance = sum(each.assignment[:1] != (each.leader,) for each in view.partitions)
        gauges = {
            "offlinepartitionscount": sum(each.offline for each in view.partitions),
            "preferredreplicaimbalancecount": imbalance,
            "globalpartitioncount": len(view.partitions),
            "globaltopiccount": len({topic_of(each.name) for each in view.partitions}),
            "activebrokercount": sum(not each.fenced for each in view.brokers),
        }
        if kraft:
            registered = [each for each in view.brokers if self._cluster.plane.broker_epoch(each.id) >= 0]
            gauges["fencedbrokercount"] = sum(each.fenced for each in registered)
        for name, value in gauges.items():
            self._put(f"{prefix}{name}", value if active or kraft else 0)
        self._put(UNCLEAN, self._counters.unclean[self._cluster.name_of(node)])
        if kraft and own is not None:
            raft = {"current_epoch": own.epoch, "high_watermark": own.committed, "log_end_offset": own.end}
            for name, value in raft.items():
                self._put(f"kafka_server_raft_metrics_{name}", value)

    # -- clients ----------------------------------------------------------------------------------------------------

    def _clients(self, view: ClusterView) -> None:
        producers = {each.name: each for each in reversed(view.producers)}
        ends = {each.name: each.hw for each in view.partitions if not each.offline}
        for client in view.clients:
            if not self._scrape(CLIENTS_JOB, client.name, up=client.state == "up"):
                continue
            counts = self._counters.clients[client.name]
            if client.name in producers:
                for name in ("record_send", "record_error", "record_retry"):
                    self._count(counts, producer_name(name), name, client.name)
                in_flight = producers[client.name].in_flight
                self._put(producer_name("requests_in_flight"), in_flight, client_id=client.name)
            consumer = self._cluster.consumers.get(client.name)
            if consumer is not None:
                self._count(counts, fetch_name("records_consumed"), "records_consumed", client.name)
                self._put(coordinator_name("rebalance_total"), counts.totals["rebalance"], client_id=client.name)
                self._put(coordinator_name("assigned_partitions"), len(consumer.assignment), client_id=client.name)
                self._lags(client.name, consumer.positions, ends)

    def _count(self, counts: ClientCounts, metric: str, name: str, client: str) -> None:
        self._put(f"{metric}_total", counts.totals[name], client_id=client)
        self._put(f"{metric}_rate", counts.rates[name].measure(self._cluster.now_us), client_id=client)

    def _lags(self, client: str, positions: dict[str, int], ends: dict[str, int]) -> None:
        lags = {name: max(0, ends[name] - position) for name, position in positions.items() if name in ends}
        for name, lag in lags.items():
            topic, _, number = name.rpartition("-")
            self._put(fetch_name("records_lag"), lag, client_id=client, topic=topic, partition=number)
        if lags:
            self._put(fetch_name("records_lag_max"), max(lags.values()), client_id=client)

    # -- kafka_exporter ---------------------------------------------------------------------------------------------

    def _exporter(self, view: ClusterView) -> None:
        self._put("kafka_brokers", sum(not each.fenced for each in view.brokers))
        topics = Counter(topic_of(each.name) for each in view.partitions)
        for topic, count in topics.items():
            self._put("kafka_topic_partitions", count, topic=topic)
        for partition in view.partitions:
            self._exported_partition(partition)
        ends = {each.name: each.hw for each in view.partitions if not each.offline}
        for group in groups_of(self._cluster):
            self._exported_group(group, ends)

    def _exported_partition(self, partition: PartitionView) -> None:
        topic, _, number = partition.name.rpartition("-")
        values = {
            "replicas": len(partition.assignment),
            "in_sync_replica": len(partition.isr),
            "leader": partition.leader,
            "leader_is_preferred": int(partition.assignment[:1] == (partition.leader,)),
            "under_replicated_partition": int(len(partition.isr) < len(partition.assignment)),
        }
        if not partition.offline:
            values |= {"current_offset": partition.hw, "oldest_offset": partition.log_start}
        for name, value in values.items():
            self._put(f"kafka_topic_partition_{name}", value, topic=topic, partition=number)

    def _exported_group(self, group: str, ends: dict[str, int]) -> None:
        """Read a group at its coordinator; a group whose coordinator cannot answer has no series."""
        cluster = self._cluster
        broker = cluster_overview.coordinator(cluster, group)
        if broker < 0 or not self._runs(broker) or cluster.coordinators[broker].registry.status(group):
            return
        classic = cluster_overview.group_metadata(cluster, group)
        modern = cluster_overview.known_modern(cluster, group)
        members = modern.members if modern is not None else classic.members if classic is not None else ()
        self._put("kafka_consumergroup_members", len(members), consumergroup=group)
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for name, value in sorted(classic.offsets.committed.items() if classic is not None else ()):
            topic, _, number = name.rpartition("-")
            place = {"consumergroup": group, "topic": topic, "partition": number}
            self._put("kafka_consumergroup_current_offset", value.offset, **place)
            sums[topic][0] += value.offset
            if name in ends:
                lag = ends[name] - value.offset
                self._put("kafka_consumergroup_lag", lag, **place)
                sums[topic][1] += lag
        for topic, (offset, lag) in sums.items():
            self._put("kafka_consumergroup_current_offset_sum", offset, consumergroup=group, topic=topic)
            self._put("kafka_consumergroup_lag_sum", lag, consumergroup=group, topic=topic)
