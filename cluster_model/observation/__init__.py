"""Observation of a running cluster, without any evaluation.

cluster_state: omniscient access to a cluster for checkers, views and conditions, with effective configuration.
event_log: all events in order, with their digest.
views: the immutable views that screens and conditions read.
metadata_staleness: each broker's metadata compared with the committed state.
inflight_fetches: each follower's current request to its leader.

It reads the model and changes nothing. Queries that need the checker's results are in inspection.
"""

from cluster_model.observation.cluster_state import (
    ConfigEntry,
    World,
    of_broker,
    of_broker_with,
    of_topic,
    of_topic_with,
)
from cluster_model.observation.event_log import ASKED, NARRATION
from cluster_model.observation.inflight_fetches import FetchWire, fetch_wires
from cluster_model.observation.views import (
    BookView,
    BrokerState,
    BrokerView,
    ClusterView,
    EpochRun,
    FaultView,
    GroupView,
    LaneView,
    LedgerView,
    LogView,
    OperationView,
    PartitionView,
    PendingLiveness,
    ProducerView,
    ReplicaView,
    Stuck,
)

__all__ = [
    "ASKED",
    "NARRATION",
    "BookView",
    "BrokerState",
    "BrokerView",
    "ClusterView",
    "ConfigEntry",
    "EpochRun",
    "FaultView",
    "FetchWire",
    "GroupView",
    "LaneView",
    "LedgerView",
    "LogView",
    "OperationView",
    "PartitionView",
    "PendingLiveness",
    "ProducerView",
    "ReplicaView",
    "Stuck",
    "World",
    "fetch_wires",
    "of_broker",
    "of_broker_with",
    "of_topic",
    "of_topic_with",
]
