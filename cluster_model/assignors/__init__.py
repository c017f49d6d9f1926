"""Kafka's partition assignors for consumer groups.

base: the interface of assignors, with its input and output.
assignors: RangeAssignor, RoundRobinAssignor, the server-side UniformAssignor (KIP-848), and all assignors by name.
early_server_assignors: the server-side assignors of 3.7 to 3.9 (KIP-848).
sticky: the sticky assignors, constrained and general, with racks.

Clients use them in the classic protocol, the coordinator in the consumer protocol. They import nothing else of
the model.
"""

__all__ = [
    "assignors",
    "base",
    "early_server_assignors",
]
