"""Parser of the steps of a playbook, and of actions typed into a running session.

timed_steps: a step's trigger, its one verb and the keys of that verb; actions typed live, with the same checks.
operations: steps with `admin:`: parameters of the administrator's operations.
targets: target selectors, checked against the playbook's own cluster.
manual_steps: steps of `stepping: manual`, each one protocol action, and their expected state.
step_groups: groups and repetitions, unrolled to the list of steps.

Faults and operations are parsed by their declarations in `faults`. Builds on `document` and `sections`.
"""

from playbooks.parser.steps.timed_steps import TimedSteps, facts_in

__all__ = [
    "TimedSteps",
    "facts_in",
]
