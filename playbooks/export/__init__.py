"""Export of recorded sessions as playbooks.

session_steps: the events of a session, found by a replay, as steps of a playbook.
playbook_writer: the playbook's text, edited in place where possible, with expectations inferred
  from the session.

Builds on `playbooks.engine`, `recording`, `diff` and `parser`.
"""

__all__ = [
    "playbook_writer",
]
