"""The quorum as its users see it: a log to append to while leading, and what of it is committed."""

from typing import Any, Protocol


class MetadataListener(Protocol):
    """Who lives above the log: a controller, or a broker's metadata."""

    def on_leader(self, epoch: int) -> None:
        """The node leads, and everything up to its own LeaderChange record has been handed over, committed."""

    def on_resigned(self) -> None:
        """It leads no longer, after :meth:`on_leader`; what it appended and was not handed over may be lost."""

    def on_committed(self, base_offset: int, epoch: int, records: tuple[Any, ...]) -> None:
        """A committed batch: all of them in order, each once in a process's life, from offset 0 after a restart.

        LeaderChange records are not handed over, so offsets may skip one.
        """


class MetadataLog(Protocol):
    """What the owner of a peer may ask and do. Offsets are exclusive ends, as everywhere."""

    @property
    def leader(self) -> int:
        """The leader it knows of, NOBODY for none."""

    @property
    def epoch(self) -> int:
        """The newest epoch it knows of, 0 before the first."""

    @property
    def is_leader(self) -> bool:
        """Whether it leads and has told its listener so (``on_leader``): only then may anything be appended."""

    @property
    def high_watermark(self) -> int:
        """Everything below is known to be committed."""

    @property
    def end(self) -> int:
        """Where its own log ends."""

    def append(self, records: tuple[Any, ...]) -> int:
        """Have records written, in one batch; the offset of the last one. They may yet be lost.

        Raises:
            ValueError: it does not lead, or there are none.
        """

    def resign(self) -> None:
        """Clean shutdown: a leader says goodbye (EndQuorumEpoch), and the first successor stands at once."""
