"""Pages and panes as plain data: pure functions from the views of the model to rows of text with roles.

row: a row, labels to jump by.
clipboard_text: rows and replicas as text for the clipboard.
partition_matrix, partition_history, log_view, record_inspector: partitions, their history, logs, records.
status_bar, side_panes: status, controllers, key hints; producers, groups, active faults.
fault_sheet: the faults by letter.
activity: throughput and latency over time, and their sparklines.
finding_page, report_page: the autopsy of one finding; the interim report.
playbook_pages, help: library, steps, recorded sessions; help page and glossary.
animation: animated changes, driven by the frame clock.

Nothing here knows Textual, a screen or the session controller. ``timeline`` builds on this package.
"""

__all__ = [
    "activity",
    "animation",
    "clipboard_text",
    "fault_sheet",
    "finding_page",
    "help",
    "log_view",
    "partition_history",
    "partition_matrix",
    "playbook_pages",
    "record_inspector",
    "report_page",
    "row",
    "side_panes",
    "status_bar",
]
