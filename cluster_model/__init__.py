"""A whole Kafka cluster as a pure, deterministic model: no I/O, no wall clock, standard library only.

Floors, each resting on those below it: ``cluster`` and ``views`` (the facade) · ``checker`` (the omniscient
observer) · ``clients`` and ``controller`` · ``replication`` · ``log`` · ``kernel``.
"""
