"""Assignors: how partitions are shared out to the members of a consumer group.

base: what an assignor is given and what it returns.
assignors: RangeAssignor, RoundRobinAssignor, the server-side UniformAssignor (KIP-848), and all assignors by name.
sticky: the sticky assignors, the constrained and the general case, with racks.

Clients use them in the classic protocol, the coordinator in the consumer protocol. They import nothing else of
the model.
"""

__all__ = [
    "assignors",
    "base",
]
