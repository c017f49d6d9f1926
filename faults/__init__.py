"""Faults that can be injected into a simulated cluster, and admin operations on it.

injector: active faults of one cluster: inject, heal, and heal when the time is over.
guardrails: limits of a session that refuse a fault, or heal active faults when a limit is exceeded.
catalogue: every fault by name, grouped by family, and the names that other tools use for them.

The declarations are in `declarations`, the behaviour of faults in `kinds`, the operations in `operations`. This package
builds on all three, and they never import it. It does not depend on playbooks or the TUI. All times and shares are
integers: there is no float and no `/` division.
"""

__all__ = [
    "catalogue",
    "guardrails",
    "injector",
]
