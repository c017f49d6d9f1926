"""What a log goes by: the part of a topic's configuration that its storage follows (``LogConfig``), in model units."""

from dataclasses import dataclass
from typing import Final

NEVER: Final = 2**63 - 1
"""Kafka's ``Long.MAX_VALUE`` where it stands for "no limit"."""
DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class LogRules:
    """Rolling, indexing, flushing and retention of one topic's logs; the defaults are Kafka's."""

    segment_bytes: int = 1 << 30
    roll_us: int = 7 * DAY_US
    index_bytes: int = 10_485_760
    """Room of each index file: 8 bytes an offset entry, 12 a time entry."""
    index_interval: int = 4_096
    flush_messages: int = NEVER
    retention_us: int = 7 * DAY_US
    """-1: for ever."""
    retention_bytes: int = -1
    """-1: no limit."""
    delete_delay_us: int = 60_000_000
    by_timestamp: bool = True
    """Rolling and retention go by record timestamps (KIP-33, 0.10.1); before, by the age and the mtime of files."""
    log_append_time: bool = False
    """``message.timestamp.type`` is LogAppendTime (KIP-32): the leader stamps batches, not the producer."""


DEFAULT_RULES: Final = LogRules()
"""A log that nobody configured."""
