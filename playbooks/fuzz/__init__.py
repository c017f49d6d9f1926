"""Random faults against one session: one run of `floodmark storm`.

protocol_states: protocol states in which faults are injected, such as a shrunk ISR or a rebalance.
runner: options of one run (swarm testing), its random streams, its targets, and the run itself.

A run is evaluated by the engine. Many runs are a campaign: see `playbooks.campaign.workloads.fuzz_workload`.
Builds on `playbooks.engine` and on the ranges in `playbooks.model`.
"""

__all__ = [
    "protocol_states",
    "runner",
]
