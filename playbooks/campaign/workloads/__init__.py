"""The work of campaigns: what each numbered run does.

grid_workload: each cell of a playbook's grid, with several seeds; `vary` run as such a campaign.
fuzz_workload: random faults drawn anew for each run, and a failed run written down as a playbook; either kind
  of work as a file, for another process or machine.

Builds on `playbooks.campaign`, `fuzz`, `engine`, `export` and `parser`.
"""

__all__ = [
    "fuzz_workload",
    "grid_workload",
]
