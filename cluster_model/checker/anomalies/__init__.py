"""Client-visible anomalies, after Jepsen's checker for Kafka.

operations: the operations of a history; anomaly_case: observed anomalies, counted by client and key.
history_checker: builds the history from events and checks each operation once.
index: the observations of each key.
rules, order_rules and cycles: the anomalies.
definitions: every anomaly by name, with its rule and the settings that allow it.
"""

from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.anomalies.history_checker import AnomalyReport, FinalReadRange

__all__ = [
    "KINDS",
    "AnomalyReport",
    "FinalReadRange",
]
