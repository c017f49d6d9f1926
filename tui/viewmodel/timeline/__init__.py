"""Events as text, and the timeline as plain data.

event_text: feed line of each kind of rare event, and the short label of its mark on the timeline.
event_feed: the event feed, the tape of marks and loads by lane, records per virtual second.
timeline_rows: the time window, the stops that can be selected, the rows of the lanes.
selection: details of one mark, summary of a selected time span.
imported_session: an imported session at each of its events: partitions, copied logs, list of events, findings.
branches: branches as rails and as a table, bookmarks, comparison of two branches.

Events keep their glyphs here; formatting of numbers and names is in ``tui.terminal.format``.
"""

__all__ = [
    "branches",
    "event_feed",
    "event_text",
    "imported_session",
    "selection",
    "timeline_rows",
]
