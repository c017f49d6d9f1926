"""Liveness properties: what must happen within a deadline once no disturbance is active.

properties: the properties, how each finds its pending obligations, and the stalls that Kafka intends.
liveness_checker: when a pending obligation becomes overdue.
deadlines: disturbances of a cluster, and the deadlines after them, from the configuration.
partition_state: the cluster state that properties examine, and the pending obligation.
"""

from cluster_model.checker.liveness.liveness_checker import NAMES

__all__ = [
    "NAMES",
]
