"""The columns of the tables that a session is sealed with beside its events, by the type names of the record schema.

``ledger.parquet``: every record that a producer was given. ``final_read.parquet``: what a fresh client is served that
reads every partition to its end when a session ends. Nobody else's history tells what is lost behind the last record
that anybody read. Which records those are is told by the events that wrote them: a row names the stint and the offsets.
"""

from typing import Final

LEDGER: Final[dict[str, str]] = {
    "partition": "str",
    "client": "str",
    "outcome": "str",
    "sequence": "int",
    "records": "int",
    "acks": "int",
    "error": "str",
    "place": "str",
    "log_offset": "int",
    "leader_epoch": "int",
    "committed": "bool",
    "cause": "str",
}

FINAL_READ: Final[dict[str, str]] = {
    "partition": "str",
    "caught_up": "bool",
    "log_start": "int",
    "stint": "int",
    "log_offset": "int",
    "end_offset": "int",
}
"""A partition of which nothing is served has one row, with -1 for stint and offsets.

``caught_up``: the read came to the end of the leader's log. ``log_start``: what lies below was deleted on purpose.
"""
