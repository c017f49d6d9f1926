"""The main screen and the pages over it.

base: what all screens share: jumping, panes, filters, lists to choose from, the frame of a mode.
cluster: ``MainScreen``, in the places that layout works out. What it does to branches and bookmarks is with
  branch_controller; typed commands, going to a target and injecting with target_actions.
fault_sheet, fault_forms: sheets of faults and operations; forms for a fault and for a value.
command_line: the prompt for typed commands.
time_travel: go to a time, bookmarks, branches, two branches compared.
autopsy: the autopsy of a finding, and "is it safe?".
help, settings, record: one page each.
modes: the modes beside the cluster, one page each.

Pages are loaded when they are first opened, so that the first picture comes soon.
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
