"""Anomalies in what clients saw, in the manner of Jepsen's checkers.

operations: the language of a history; anomaly_case: anomalies found, counted by client and key.
history_checker: builds the history from events, and takes each operation of it in once.
index: what is known of each key.
rules, order_rules and cycles: the anomalies.
definitions: every anomaly by name, with its rule, and which settings allow it.
"""

from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.anomalies.history_checker import AnomalyReport

__all__ = [
    "KINDS",
    "AnomalyReport",
]
