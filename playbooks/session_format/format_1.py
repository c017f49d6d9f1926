"""Translation of sessions that were recorded in format 1 to the names of format 2.

Format 2 gave some fields and kinds of events, columns of the sealed tables and keys of the result another name, and
changed nothing else. Readers translate what they read, so that the rest of the program knows the names of format 2
alone; the files of a session stay as they are.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

FORMAT: Final = 1

EVENT_FIELDS: Final = {"stint": "log_branch"}
"""Field of an event, and column of ``events.parquet``, in format 1 → its name in format 2."""

EVENT_KINDS: Final = {
    "batch_damaged": "batch_corrupted",
    "liveness_overdue": "liveness_violated",
    "transaction_overdue": "transaction_timed_out",
}
"""Kind of an event in format 1 → its name in format 2."""

LEDGER_COLUMNS: Final = {"place": "location"}
"""Column of ``ledger.parquet`` in format 1 → its name in format 2."""

FINAL_READ_COLUMNS: Final = {"stint": "log_branch"}
"""Column of ``final_read.parquet`` in format 1 → its name in format 2."""

_RESULT: Final = {"books": "ledger_by_partition", "overdue": "liveness_violations", "unjudged": "pending_liveness"}
_LEDGER: Final = {"undone": "acked_aborted", "leaked": "aborted_committed"}
"""Key of the ledger in format 1 → its name in format 2."""
_FINDINGS: Final = {"undone": "acked-aborted", "leaked": "aborted-committed"}
"""Kind of a finding in format 1 → its name in format 2."""
PROPERTIES: Final = {"parked-requests": "delayed-requests"}
"""Name of a liveness property in format 1 → its name in format 2."""
_IN_LISTS: Final[dict[str, dict[str, str]]] = {
    "pending_liveness": {"owed_us": "pending_us", "missing_us": "remaining_us"},
    "stuck": {"why": "reason", "what_releases": "released_by"},
    "guards": {"what": "action"},
    "findings": {"places": "ranges"},
}
"""Key of the result, by format 2, whose entries have other keys → their names."""
_CHAIN: Final = {"words": "description"}
"""Key of the entries of a finding's event chain in format 1 → its name in format 2."""

# A quote within a JSON string is escaped, so an unescaped one before a name begins a key, or a value of its own.
_FIELD: Final = re.compile(rb'(?<=[{,\s])"(%s)"(?=\s*:)' % b"|".join(name.encode() for name in EVENT_FIELDS))
_KIND: Final = re.compile(rb'(?<=[{,\s])("kind"\s*:\s*)"(%s)"' % b"|".join(name.encode() for name in EVENT_KINDS))


def current_events(lines: bytes) -> bytes:
    """Translate lines of ``events.jsonl`` to the current format; fields with unchanged names stay byte for byte."""
    lines = _FIELD.sub(lambda match: b'"%s"' % EVENT_FIELDS[match[1].decode()].encode(), lines)
    return _KIND.sub(lambda match: match[1] + b'"%s"' % EVENT_KINDS[match[2].decode()].encode(), lines)


def current_kinds(counts: Mapping[str, int]) -> dict[str, int]:
    """Translate a count of events by kind."""
    return _renamed(counts, EVENT_KINDS)


def current_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Translate ``result.json``; values of unexpected types are kept."""
    document = _renamed(result, _RESULT)
    for key, names in _IN_LISTS.items():
        if isinstance(document.get(key), list):
            document[key] = [_renamed(each, names) if isinstance(each, dict) else each for each in document[key]]
    if isinstance(document.get("ledger"), dict):
        document["ledger"] = _renamed(document["ledger"], _LEDGER)
    for key, field, names in (
        ("findings", "kind", _FINDINGS),
        ("liveness_violations", "property", PROPERTIES),
        ("pending_liveness", "property", PROPERTIES),
    ):
        for entry in document[key] if isinstance(document.get(key), list) else ():
            if isinstance(entry, dict) and entry.get(field) in list(names):
                entry[field] = names[entry[field]]
    for finding in document["findings"] if isinstance(document.get("findings"), list) else ():
        if isinstance(finding, dict) and isinstance(finding.get("chain"), list):
            finding["chain"] = [_chain_entry(each) if isinstance(each, dict) else each for each in finding["chain"]]
    return document


def earlier_name(column: str, names: Mapping[str, str]) -> str:
    """Name in format 1 of a column of format 2; ``names`` is one of the tables of this module."""
    return next((earlier for earlier, current in names.items() if current == column), column)


def _chain_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = _renamed(entry, _CHAIN)
    kind = found.get("event")
    return {**found, "event": EVENT_KINDS.get(kind, kind)} if isinstance(kind, str) else found


def _renamed(document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in document.items()}
