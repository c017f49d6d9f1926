"""Liveness: what must happen within a time once nothing disturbs the cluster.

properties: the properties, with what each sees as pending, and the stalls that Kafka intends.
liveness_checker: when a pending obligation becomes a violation.
deadlines: what disturbs a cluster and until when, and the time limits after that, from the configuration.
partition_state: the state that properties look at, and what a pending obligation is.
"""

from cluster_model.checker.liveness.liveness_checker import NAMES

__all__ = [
    "NAMES",
]
