"""Recorded sessions: written while they run, sealed at the end, and read back.

recorder: writes events, actions and the result, so that a kill loses next to nothing; accounts of crashes.
event_codec: events and requests of external clients as lines of JSON.
seal: closes a session: Parquet tables, the ledger, and the manifest.
reader: reads sessions back, also unsealed ones, and cuts out a span.

Builds on `playbooks.session_format`, `model` and `results`. The engine uses the recorder, never the other way
round; replay is in `playbooks.engine`. `seal` loads pyarrow and is imported only when a session is sealed.
"""

__all__ = [
    "event_codec",
    "reader",
    "recorder",
]
