"""What to build: a cluster, its topics, producers and groups as plain, checked data.

cluster_spec: the specs of cluster, topic, producer and group, the load of a producer (rate profile, record
  sizes, key skew), and how an application handles and commits its records.
internal_topics: __consumer_offsets and __transaction_state, how each release makes them, and who
  leads which group.

It builds on protocol and knows nothing of running parts.
"""

from cluster_model.spec.cluster_spec import (
    COMMIT_MODES,
    DEFAULT_QUORUM,
    FIRST_CONTROLLER,
    FIRST_ZOOKEEPER,
    HANDED_OFF,
    HOUR_US,
    MAX_BROKER,
    QUORUM_SIZES,
    RATE_UNITS,
    RECORD,
    SEND_MODES,
    TRANSACTION,
    BrokerSpec,
    ClosedLoop,
    ClusterSpec,
    GroupSpec,
    HotKeys,
    Interceptor,
    KeySkew,
    NetworkSpec,
    OwnPartitioner,
    ProducerSpec,
    RateProfile,
    Sizes,
    SpreadSizes,
    Stretch,
    TopicSpec,
    TransactionPlan,
    TwoSizes,
    UniformSizes,
    ZipfKeys,
    constant,
)
from cluster_model.spec.internal_topics import INTERNAL, OFFSETS, TRANSACTIONS, coordinator_partition

__all__ = [
    "COMMIT_MODES",
    "DEFAULT_QUORUM",
    "FIRST_CONTROLLER",
    "FIRST_ZOOKEEPER",
    "HANDED_OFF",
    "HOUR_US",
    "INTERNAL",
    "MAX_BROKER",
    "OFFSETS",
    "QUORUM_SIZES",
    "RATE_UNITS",
    "RECORD",
    "SEND_MODES",
    "TRANSACTION",
    "TRANSACTIONS",
    "BrokerSpec",
    "ClosedLoop",
    "ClusterSpec",
    "GroupSpec",
    "HotKeys",
    "Interceptor",
    "KeySkew",
    "NetworkSpec",
    "OwnPartitioner",
    "ProducerSpec",
    "RateProfile",
    "Sizes",
    "SpreadSizes",
    "Stretch",
    "TopicSpec",
    "TransactionPlan",
    "TwoSizes",
    "UniformSizes",
    "ZipfKeys",
    "constant",
    "coordinator_partition",
]
