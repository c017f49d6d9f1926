"""Commands that work on one session.

recorded: ``replay``, ``recover``, ``peek``, ``groups``, ``export`` and ``import`` of recorded sessions.
kafka_import: ``import --kafka-logs``, logs of a real cluster as a session, and the summary of what they show.
session_metrics: ``export --openmetrics``, the metrics of a recorded session.
live: ``floodmark live``, a live session printed line by line without a TUI, with commands read from stdin.
serve: ``floodmark serve``, a gateway for real clients with faults read from stdin; ``--tui`` opens the TUI over it.
web: ``floodmark web``, the TUI in a browser, with a session for each visitor.
"""

__all__ = [
    "kafka_import",
    "live",
    "recorded",
    "serve",
    "session_metrics",
    "web",
]
