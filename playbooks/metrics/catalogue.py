"""Catalogue of the metrics: those of the JMX exporter's usual Kafka rules, and those of kafka_exporter.

The JMX exporter writes ``domain_type_name`` in lower case. A gauge has its value; a meter ``...PerSec`` becomes a
counter ``..._total``. Attributes of clients keep their name with underscores.
"""

from typing import Final, Literal, NamedTuple

Kind = Literal["gauge", "counter"]

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
PRODUCER: Final = "producer"
CONSUMER: Final = "consumer"
EXPORTER: Final = "kafka_exporter"
SCRAPE: Final = "every target"


class Metric(NamedTuple):
    """A metric with its origin."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    """Labels besides ``job`` and ``instance``."""
    reported_by: str
    meaning: str
    source: str
    """MBean, or the metric of kafka_exporter."""


def _gauge(reported_by: str, name: str, meaning: str, source: str, *labels: str) -> Metric:
    return Metric(name, "gauge", labels, reported_by, meaning, source)


def _counter(reported_by: str, name: str, meaning: str, source: str, *labels: str) -> Metric:
    return Metric(name, "counter", labels, reported_by, meaning, source)


def _replica_manager(name: str, meaning: str) -> Metric:
    source = f"kafka.server:type=ReplicaManager,name={name}"
    return _gauge(BROKER, f"kafka_server_replicamanager_{name.lower()}", meaning, source)


def _partition(name: str, meaning: str) -> Metric:
    source = f"kafka.cluster:type=Partition,name={name}"
    return _gauge(BROKER, f"kafka_cluster_partition_{name.lower()}", meaning, source, "topic", "partition")


def _controller(name: str, meaning: str) -> Metric:
    source = f"kafka.controller:type=KafkaController,name={name}"
    return _gauge(CONTROLLER, f"kafka_controller_kafkacontroller_{name.lower()}", meaning, source)


def _raft(attribute: str, meaning: str) -> Metric:
    name = f"kafka_server_raft_metrics_{attribute.replace('-', '_')}"
    return _gauge(CONTROLLER, name, meaning, f"kafka.server:type=raft-metrics, {attribute}")


def _producer(kind: Kind, attribute: str, meaning: str) -> Metric:
    name = f"kafka_producer_producer_metrics_{attribute.replace('-', '_')}"
    return Metric(name, kind, ("client_id",), PRODUCER, meaning, f"kafka.producer:type=producer-metrics, {attribute}")


def _consumer(kind: Kind, group: str, attribute: str, meaning: str, *labels: str) -> Metric:
    name = f"kafka_consumer_{group}_{attribute}".replace("-", "_")
    return Metric(name, kind, ("client_id", *labels), CONSUMER, meaning, f"kafka.consumer:type={group}, {attribute}")


def _exported(name: str, meaning: str, *labels: str) -> Metric:
    return _gauge(EXPORTER, name, meaning, name, *labels)


_FETCH: Final = "consumer-fetch-manager-metrics"
_COORDINATOR: Final = "consumer-coordinator-metrics"
_TOPIC: Final = "kafka.server:type=BrokerTopicMetrics,name="
_PLACE: Final = ("topic", "partition")

CATALOGUE: Final = (
    _gauge(SCRAPE, "up", "1 if the scrape succeeded: 0 while the process is down or paused", "Prometheus itself"),
    # Brokers.
    _replica_manager("UnderReplicatedPartitions", "partitions it leads whose ISR is smaller than their replicas"),
    _replica_manager("UnderMinIsrPartitionCount", "partitions it leads with fewer in-sync replicas than the minimum"),
    _replica_manager("AtMinIsrPartitionCount", "partitions it leads with exactly the minimum of in-sync replicas"),
    _replica_manager(
        "OfflineReplicaCount", "replicas in a failed log directory: 0, as a broker with only one exits when it fails"
    ),
    _replica_manager("PartitionCount", "replicas on it"),
    _replica_manager("LeaderCount", "partitions that it believes to lead"),
    _replica_manager("ReassigningPartitions", "partitions it leads that are being reassigned"),
    _counter(
        BROKER,
        "kafka_server_replicamanager_isrshrinks_total",
        "ISRs that it reduced as leader; not those that the controller reduced",
        "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
    ),
    _counter(
        BROKER,
        "kafka_server_replicamanager_isrexpands_total",
        "ISRs that it extended as leader",
        "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec",
    ),
    _gauge(
        BROKER,
        "kafka_server_kafkaserver_brokerstate",
        "1 starting, 3 running, 6 in controlled shutdown",
        "kafka.server:type=KafkaServer,name=BrokerState",
    ),
    _gauge(
        BROKER,
        "kafka_server_replicafetchermanager_maxlag",
        "most records that a follower on it has yet to fetch, up to the leader's current high watermark",
        "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica",
        "clientid",
    ),
    _counter(
        BROKER,
        "kafka_server_brokertopicmetrics_messagesin_total",
        "records that producers appended; without topic: of all topics",
        f"{_TOPIC}MessagesInPerSec",
        "topic",
    ),
    _counter(
        BROKER,
        "kafka_server_brokertopicmetrics_failedproducerequests_total",
        "produce requests that it refused with an error that Kafka counts here, such as NOT_ENOUGH_REPLICAS",
        f"{_TOPIC}FailedProduceRequestsPerSec",
        "topic",
    ),
    _gauge(
        BROKER,
        "kafka_log_log_logendoffset",
        "log end offset of its replica",
        "kafka.log:type=Log,name=LogEndOffset",
        *_PLACE,
    ),
    _gauge(
        BROKER,
        "kafka_log_log_logstartoffset",
        "log start offset of its replica",
        "kafka.log:type=Log,name=LogStartOffset",
        *_PLACE,
    ),
    _partition("UnderReplicated", "1 if it leads the partition and the ISR is smaller than the replicas"),
    _partition("UnderMinIsr", "1 if it leads the partition and fewer than the minimum are in sync"),
    _partition("AtMinIsr", "1 if it leads the partition and exactly the minimum are in sync"),
    _partition("InSyncReplicasCount", "in-sync replicas if it leads the partition, else 0"),
    _partition("ReplicasCount", "replicas if it leads the partition, else 0"),
    # Controllers.
    _controller("ActiveControllerCount", "1 if it believes to be the active controller"),
    _controller("OfflinePartitionsCount", "partitions without a leader"),
    _controller("PreferredReplicaImbalanceCount", "partitions whose leader is not their first replica"),
    _controller("GlobalPartitionCount", "partitions of the cluster"),
    _controller("GlobalTopicCount", "topics of the cluster"),
    _controller("ActiveBrokerCount", "registered brokers that are not fenced"),
    _controller("FencedBrokerCount", "registered brokers that are fenced (KRaft mode)"),
    _counter(
        CONTROLLER,
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        "unclean leader elections",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
    ),
    _raft("current-epoch", "newest epoch of the quorum that it knows"),
    _raft("high-watermark", "end of the committed part of the metadata log that it knows"),
    _raft("log-end-offset", "end of its metadata log"),
    # Producers.
    _producer("counter", "record-send-total", "records that the application sent"),
    _producer("gauge", "record-send-rate", "records sent per second, over two windows of 30 s"),
    _producer("counter", "record-error-total", "records that failed, or have an unknown outcome after a timeout"),
    _producer("gauge", "record-error-rate", "the same per second, over two windows of 30 s"),
    _producer("counter", "record-retry-total", "records in batches that were sent again"),
    _producer("gauge", "record-retry-rate", "the same per second, over two windows of 30 s"),
    _producer("gauge", "requests-in-flight", "batches without a response so far"),
    # Consumers.
    _consumer("counter", _FETCH, "records-consumed-total", "records that the application received"),
    _consumer("gauge", _FETCH, "records-consumed-rate", "the same per second, over two windows of 30 s"),
    _consumer("gauge", _FETCH, "records-lag", "records from its position to the high watermark", *_PLACE),
    _consumer("gauge", _FETCH, "records-lag-max", "greatest lag of its partitions"),
    _consumer("gauge", _COORDINATOR, "assigned-partitions", "partitions assigned to it"),
    _consumer("counter", _COORDINATOR, "rebalance-total", "rebalances that gave it an assignment"),
    # kafka_exporter.
    _exported("kafka_brokers", "registered brokers that are not fenced"),
    _exported("kafka_topic_partitions", "partitions of the topic", "topic"),
    _exported("kafka_topic_partition_current_offset", "high watermark; none without a leader", *_PLACE),
    _exported("kafka_topic_partition_oldest_offset", "log start offset; none without a leader", *_PLACE),
    _exported("kafka_topic_partition_in_sync_replica", "in-sync replicas", *_PLACE),
    _exported("kafka_topic_partition_replicas", "replicas", *_PLACE),
    _exported("kafka_topic_partition_leader", "leader, -1 for none", *_PLACE),
    _exported("kafka_topic_partition_leader_is_preferred", "1 if the first replica leads", *_PLACE),
    _exported("kafka_topic_partition_under_replicated_partition", "1 if the ISR is smaller than the replicas", *_PLACE),
    _exported("kafka_consumergroup_current_offset", "committed offset", "consumergroup", *_PLACE),
    _exported("kafka_consumergroup_current_offset_sum", "sum over its partitions", "consumergroup", "topic"),
    _exported("kafka_consumergroup_lag", "records from the committed offset to the end", "consumergroup", *_PLACE),
    _exported("kafka_consumergroup_lag_sum", "sum over its partitions", "consumergroup", "topic"),
    _exported("kafka_consumergroup_members", "members", "consumergroup"),
)
"""All metrics, by the process that reports them."""

METRICS: Final = {each.name: each for each in CATALOGUE}


def producer_name(attribute: str) -> str:
    """Return the name of a producer's metric."""
    return f"kafka_producer_producer_metrics_{attribute}"


def fetch_name(attribute: str) -> str:
    """Return the name of a consumer's fetch metric."""
    return f"kafka_consumer_consumer_fetch_manager_metrics_{attribute}"


def coordinator_name(attribute: str) -> str:
    """Return the name of a consumer's group metric."""
    return f"kafka_consumer_consumer_coordinator_metrics_{attribute}"
