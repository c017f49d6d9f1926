"""What an observer sees of a running cluster, below any judgment.

cluster_state: the omniscient handle on a cluster for checkers, views and conditions, with the settings in force.
event_log: all events in order, with their digest.
views: the immutable views that screens and conditions read.
metadata_staleness: what each broker believes, beside what is decided.
inflight_fetches: what each follower asks of its leader now.

It reads the model and changes nothing. What needs the checker's results is in inspection.
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
    ProducerView,
    ReplicaView,
    Stuck,
    Unjudged,
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
    "ProducerView",
    "ReplicaView",
    "Stuck",
    "Unjudged",
    "World",
    "fetch_wires",
    "of_broker",
    "of_broker_with",
    "of_topic",
    "of_topic_with",
]
