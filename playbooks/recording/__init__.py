"""Recorded sessions: written while they run, sealed at the end, and read back.

recorder: writes events, actions and the result, so that a kill loses almost nothing; crash reports.
event_codec: codec of events and requests of external clients as JSON lines.
seal: seals a session: Parquet tables, the ledger, and the manifest.
reader: reads sessions, also unsealed ones, and extracts a time span.

Builds on `playbooks.session_format`, `model` and `results`. The engine uses the recorder, never the other way
round; replay is in `playbooks.engine`. `seal` loads pyarrow and is imported only when a session is sealed.
"""

__all__ = [
    "event_codec",
    "reader",
    "recorder",
    "seal",
]
