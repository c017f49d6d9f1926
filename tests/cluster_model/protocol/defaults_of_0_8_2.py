"""Defaults of Kafka 0.8.2.2, whose broker and consumer have no ``ConfigDef``.

They were read in ``KafkaConfig.scala``, ``ZKConfig``, ``OffsetManagerConfig``, ``LogConfig.scala`` and
``ConsumerConfig.scala``. A topic's are those that its brokers give it by default. The consumer's have the names
that the Java client has since 0.9: ``fetch.wait.max.ms`` is ``fetch.max.wait.ms``, ``fetch.message.max.bytes`` is
``max.partition.fetch.bytes``, ``socket.timeout.ms`` is ``request.timeout.ms``, ``largest`` is ``latest``.
"""

from typing import Final

from cluster_model.protocol.config_defaults import DefaultScope

DEFAULTS_OF_0_8_2: Final[dict[DefaultScope, dict[str, str]]] = {
    "broker": {
        "replica.lag.time.max.ms": "10000", "replica.lag.max.messages": "4000", "replica.fetch.wait.max.ms": "500",
        "replica.fetch.max.bytes": "1048576", "replica.fetch.min.bytes": "1", "replica.socket.timeout.ms": "30000",
        "replica.high.watermark.checkpoint.interval.ms": "5000", "zookeeper.session.timeout.ms": "6000",
        "num.io.threads": "8", "num.replica.fetchers": "1", "log.flush.interval.messages": "9223372036854775807",
        "log.segment.bytes": "1073741824", "log.roll.hours": "168", "log.roll.ms": "null",
        "log.index.interval.bytes": "4096", "log.index.size.max.bytes": "10485760", "log.retention.hours": "168",
        "log.retention.minutes": "null", "log.retention.ms": "null", "log.retention.bytes": "-1",
        "log.retention.check.interval.ms": "300000", "log.segment.delete.delay.ms": "60000",
        "log.flush.interval.ms": "null", "log.flush.scheduler.interval.ms": "9223372036854775807",
        "log.roll.jitter.hours": "0", "log.roll.jitter.ms": "null", "message.max.bytes": "1000012",
        "log.cleanup.policy": "delete", "log.cleaner.enable": "false", "log.cleaner.backoff.ms": "15000",
        "log.cleaner.dedupe.buffer.size": "524288000", "log.cleaner.min.cleanable.ratio": "0.5",
        "log.cleaner.delete.retention.ms": "86400000", "log.flush.offset.checkpoint.interval.ms": "60000",
        "num.recovery.threads.per.data.dir": "1", "offsets.topic.num.partitions": "50",
        "offsets.topic.replication.factor": "3", "offsets.topic.segment.bytes": "104857600",
        "offsets.retention.minutes": "1440", "offsets.retention.check.interval.ms": "600000",
        "offsets.commit.timeout.ms": "5000", "offset.metadata.max.bytes": "4096",
        "auto.leader.rebalance.enable": "true", "leader.imbalance.check.interval.seconds": "300",
        "leader.imbalance.per.broker.percentage": "10", "num.partitions": "1", "default.replication.factor": "1",
        "controlled.shutdown.enable": "true", "controlled.shutdown.max.retries": "3",
        "controlled.shutdown.retry.backoff.ms": "5000", "controller.socket.timeout.ms": "30000",
        "min.insync.replicas": "1", "unclean.leader.election.enable": "true",
    },
    "topic": {
        "min.insync.replicas": "1", "unclean.leader.election.enable": "true", "segment.bytes": "1073741824",
        "flush.messages": "9223372036854775807", "segment.ms": "604800000", "index.interval.bytes": "4096",
        "segment.index.bytes": "10485760", "retention.ms": "604800000", "retention.bytes": "-1",
        "flush.ms": "9223372036854775807", "segment.jitter.ms": "0", "max.message.bytes": "1000012",
        "cleanup.policy": "delete", "min.cleanable.dirty.ratio": "0.5", "delete.retention.ms": "86400000",
        "file.delete.delay.ms": "60000",
    },
    "consumer": {
        "fetch.min.bytes": "1", "fetch.max.wait.ms": "100", "max.partition.fetch.bytes": "1048576",
        "auto.offset.reset": "latest", "check.crcs": "true", "request.timeout.ms": "30000", "retry.backoff.ms": "100",
        "metadata.max.age.ms": "300000", "enable.auto.commit": "true", "auto.commit.interval.ms": "60000",
    },
}  # fmt: skip
"""Scope → name → default as Java prints it."""
