"""The modes beside the cluster: one page over the whole terminal for each digit from 2 to 6.

log: every replica's log of one partition, and the record under the cursor.
clients: producers, groups and members with their counters.
timeline: what happened when, and spans of time.
playbooks: the library, the steps as they run, recorded sessions.
report: the outcome so far.

Each is loaded by name (``tui.keybindings.keymap.MODES``) when it is first opened; all build on ``tui.screens``.
"""
