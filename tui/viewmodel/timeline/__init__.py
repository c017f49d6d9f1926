"""Events as text, and the timeline as plain data.

event_text: what each rare kind of event says in the feed, and the short label of its mark on the timeline.
event_feed: the event feed, the tape of marks and loads by lane, records per virtual second.
timeline_rows: the stretch of time that is shown, the marks that can be stopped at, the rows of the lanes.
selection: all about one mark, or about a chosen span of time.
branches: branches as rails and as a table, bookmarks, two branches compared.

Events keep their glyphs here; formatting of numbers and names is in ``tui.terminal.format``.
"""

__all__ = [
    "branches",
    "event_feed",
    "event_text",
    "selection",
    "timeline_rows",
]
