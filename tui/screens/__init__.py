"""Screens of the TUI: the main screen and the pages over it.

base: what all screens share: jumping, panes, filters, lists to choose from, the frame of a mode.
cluster: ``MainScreen``, with positions from layout. Its work on branches and bookmarks is in branch_controller; typed
  commands, navigation to a target and fault injection are in target_actions.
fault_sheet, fault_forms: sheets of faults and operations; forms for a fault and for a value.
command_line: the prompt for typed commands.
time_travel: go to a time, bookmarks, branches, comparison of two branches.
autopsy: the autopsy of a finding, and "is it safe?".
help, settings, record: one page each.
modes: the modes besides the cluster, one page each.

Pages are imported when they are first opened, which makes the first paint faster.
"""

__all__ = [
    "autopsy",
    "base",
    "cluster",
    "fault_forms",
    "fault_sheet",
    "layout",
    "record",
]
