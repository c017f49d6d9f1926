"""Random faults against one session: what the storms of `floodmark storm` do in a single run.

protocol_states: states of the protocol that faults should hit, such as a shrunk ISR or a rebalance.
runner: what one run is like (swarm testing), its random streams, its targets, and the run itself.

A run is judged by its playbook's engine. Many runs are a campaign: see
`playbooks.campaign.workloads.fuzz_workload`. Builds on `playbooks.engine` and on the ranges in
`playbooks.model`.
"""

__all__ = [
    "protocol_states",
    "runner",
]
