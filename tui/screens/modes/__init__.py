"""Modes besides the cluster: one page over the whole terminal for each digit from 2 to 6.

log: every replica's log of one partition, and the record under the cursor.
clients: producers, groups and members with their counters.
timeline: events by lane over time, and time spans.
playbooks: the library, progress of the steps, recorded sessions.
report: the interim report.

Each is imported by name (``tui.keybindings.keymap.MODES``) when it is first opened; all build on ``tui.screens``.
"""
