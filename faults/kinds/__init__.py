"""Behaviour of every fault: one module per family, with the declarations of its faults.

process: crashes, power losses, restarts, pauses, slow CPUs and exhausted heaps.
disk: slow, full and read-only disks, failed log directories, corrupt batches and lost writes.
network: lag, loss, bandwidth, late or duplicate responses, connections that break.
partition: network partitions: isolated nodes, halves, bridges, rings and flapping links.
control_plane: expired sessions, controller failover, lost quorums, stale metadata, clock skew, slow followers.
client: load, poll stalls, failing handlers, rejoin storms, lost acknowledgements, zombie producers.

Builds on `declarations`; only `faults.catalogue` collects what is declared here.
"""

__all__ = [
    "client",
    "control_plane",
    "disk",
    "network",
    "partition",
    "process",
]
