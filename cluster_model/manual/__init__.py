"""The hand-stepped cluster: no timers, only the protocol actions that steps name.

cluster: the cluster, its brokers and its controller.
verbs: the vocabulary of steps.
requests: produce, ISR and consumer steps; fetch: round trips of a follower.
context: what all steps work with.

It runs the same replicas and rules as the timed cluster.
"""

from cluster_model.manual.cluster import ManualCluster
from cluster_model.manual.verbs import MANUAL_VERBS, ManualParam

__all__ = [
    "MANUAL_VERBS",
    "ManualCluster",
    "ManualParam",
]
