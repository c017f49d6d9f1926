"""The hand-stepped cluster: no timers, only the protocol actions that steps name.

cluster: the cluster, its brokers and its controller.
verbs: the vocabulary of steps.
requests: produce, ISR and consumer steps; fetch: round trips of a follower.
context: what all steps work with.

It runs the same replicas and rules as the timed cluster.
"""

__all__ = [
    "cluster",
    "verbs",
]
