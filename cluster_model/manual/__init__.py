"""The manually stepped cluster, without timers: each step is one protocol action.

cluster: the cluster, with its broker and controller steps.
verbs: the step verbs and their parameters.
requests: produce, ISR and consumer steps; fetch: round trips of a follower.
context: state shared by all steps.

It runs the same replicas and rules as the timed cluster.
"""

__all__ = [
    "cluster",
    "verbs",
]
