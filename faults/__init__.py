"""Faults that can be injected into a simulated cluster, and the operations of its administrator.

injector: the faults that are active in one cluster: inject, heal, and heal when the time is up.
guardrails: limits of a session that refuse a fault, or heal what is active when a limit is crossed.
catalogue: every fault by name, those of a family together, and the names that other tools have for them.

The declarations are in `declarations`, the behaviour of faults in `kinds`, the operations in `operations`. This
folder builds on all three, and they never import it. Nothing here knows playbooks or the TUI. All times and
shares are integers: there is no float and no `/` division.
"""

__all__ = [
    "catalogue",
    "guardrails",
    "injector",
]
