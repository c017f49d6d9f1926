"""Observation of a running cluster, without any evaluation.

cluster_state: omniscient access to a cluster for checkers, views and conditions, with effective configuration.
event_log: all events in order, with their digest.
views: the immutable views that screens and conditions read.
metadata_staleness: each broker's metadata compared with the committed state.
inflight_fetches: each follower's current request to its leader.

It reads the model and changes nothing. Queries that need the checker's results are in inspection.
"""

from cluster_model.observation.cluster_state import (
    ClusterState,
    ConfigEntry,
    of_broker,
    of_broker_with,
    of_topic,
    of_topic_with,
)
from cluster_model.observation.event_log import PLAYBOOK_KINDS, REQUESTED_KINDS
from cluster_model.observation.inflight_fetches import InflightFetch, inflight_fetches
from cluster_model.observation.views import (
    BrokerState,
    BrokerView,
    ClientPartitionStats,
    ClusterView,
    EpochRun,
    FaultView,
    GroupView,
    LedgerView,
    LogView,
    OperationView,
    PartitionView,
    PendingLiveness,
    ProducerView,
    ReplicaLogView,
    ReplicaView,
    WaitingByDesign,
)

__all__ = [
    "PLAYBOOK_KINDS",
    "REQUESTED_KINDS",
    "BrokerState",
    "BrokerView",
    "ClientPartitionStats",
    "ClusterState",
    "ClusterView",
    "ConfigEntry",
    "EpochRun",
    "FaultView",
    "GroupView",
    "InflightFetch",
    "LedgerView",
    "LogView",
    "OperationView",
    "PartitionView",
    "PendingLiveness",
    "ProducerView",
    "ReplicaLogView",
    "ReplicaView",
    "WaitingByDesign",
    "inflight_fetches",
    "of_broker",
    "of_broker_with",
    "of_topic",
    "of_topic_with",
]
