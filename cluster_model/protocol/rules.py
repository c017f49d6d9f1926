"""What a log goes by: the part of a topic's configuration that its storage follows (``LogConfig``), in model units."""

from dataclasses import dataclass
from typing import Final

NEVER: Final = 2**63 - 1
"""Kafka's ``Long.MAX_VALUE`` where it stands for "no limit"."""
DAY_US: Final = 86_400_000_000
WRITEBACK_US: Final = 30_000_000
"""Age at which the operating system has written a dirty page back (Linux: dirty_expire_centisecs, 30 s)."""


@dataclass(frozen=True, slots=True)
class LogRules:
    """Rolling, indexing, flushing, retention and compaction of one topic's logs; the defaults are Kafka's."""

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
    oldest_us: int = NEVER
    """How far behind the leader's clock a producer's timestamp may be."""
    newest_us: int = NEVER
    """How far ahead of it; looked at once clocks differ, for before that none is."""
    flush_us: int = NEVER
    """Age at which the flush scheduler, if there is one, forces the log to disk."""
    jitter_us: int = 0
    """The most that a segment rolls early by time, so that not all logs roll at once."""
    max_message: int = 1_048_588
    """Largest batch that a leader takes; before message format 2 the largest uncompressed message."""
    delete: bool = True
    """``cleanup.policy`` names delete: retention by size and time holds."""
    compact: bool = False
    """``cleanup.policy`` names compact."""
    writeback_us: int = WRITEBACK_US
    """Not Kafka's: age at which the disk has what was written to the page cache."""
    min_dirty_ppm: int = 500_000
    """``min.cleanable.dirty.ratio`` in millionths: above it a log is worth cleaning."""
    tombstone_us: int = DAY_US
    """``delete.retention.ms``: how long a tombstone stays after the first cleaning that kept it."""
    min_lag_us: int = 0
    """Age below which no segment is cleaned."""
    max_lag_us: int = NEVER
    """Age of a dirty record at which its log is cleaned whatever the ratio (KIP-354)."""


DEFAULT_RULES: Final = LogRules()
"""A log that nobody configured."""
