"""Workloads of campaigns: what each numbered run does.

grid_workload: each cell of a playbook's grid, with several seeds; a grid run as such a campaign.
fuzz_workload: random faults for each run, and a failed run written as a playbook; either workload as a file,
for another process or machine.

Builds on `playbooks.campaign`, `fuzz`, `engine`, `export` and `parser`.
"""

__all__ = [
    "fuzz_workload",
    "grid_workload",
]
