"""Widgets that paint whole lines: each draws rows of ``tui.viewmodel`` as strips in the current look.

line_widget: the base of every live pane; repaints only lines that changed.
panes: status bar, key bar, mode bar, feed, side panes, and the line for filters.
matrix: partitions and brokers with a cursor.
log: the lanes of the main screen and the log microscope.
timeline: the lanes of the timeline with mouse control.
which_key: the sheets of faults and operations.
tooltips: exact numbers of the cell under the pointer.
"""

__all__ = [
    "line_widget",
    "log",
    "matrix",
    "panes",
    "timeline",
    "tooltips",
    "which_key",
]
