"""Recorded sessions turned into playbooks.

session_steps: what happened in a session, found by running it again, as steps of a playbook.
playbook_writer: the playbook's text, edited in place where possible, with expectations inferred
  from the session.

Builds on `playbooks.engine`, `recording`, `diff` and `parser`.
"""

__all__ = [
    "playbook_writer",
]
