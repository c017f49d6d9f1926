"""Assignors: how partitions are shared out to the members of a consumer group.

base: what an assignor is given and what it returns.
range_and_round_robin: RangeAssignor and RoundRobinAssignor.
sticky: the sticky assignors, the constrained and the general case, with racks.
uniform: the server-side UniformAssignor of the consumer protocol (KIP-848).
registry: the assignors by name.

Clients use them in the classic protocol, the coordinator in the consumer protocol. They import nothing else of
the model.
"""

__all__ = [
    "base",
    "registry",
]
