"""Where ``kafka-consumer-groups.sh --reset-offsets`` moves a group (``ConsumerGroupCommand.prepareOffsetsToReset``).

KIP-122 (0.11). Pure rules: what a strategy has to know of a partition, and the offset that it gives.
"""

from enum import Enum
from typing import Final, NamedTuple

from cluster_model.coordinators.group.consumer_groups_tool import place
from cluster_model.coordinators.group.group_metadata import State


class Strategy(Enum):
    """The tool's options, with underscores."""

    TO_EARLIEST = "to_earliest"
    TO_LATEST = "to_latest"
    TO_CURRENT = "to_current"
    TO_OFFSET = "to_offset"
    SHIFT_BY = "shift_by"
    TO_DATETIME = "to_datetime"
    BY_DURATION = "by_duration"
    FROM_FILE = "from_file"

    @property
    def by_time(self) -> bool:
        """Whether it goes by the records' timestamps."""
        return self in (Strategy.TO_DATETIME, Strategy.BY_DURATION)

    @property
    def needs_committed(self) -> bool:
        """Whether it begins at what is committed."""
        return self in (Strategy.TO_CURRENT, Strategy.SHIFT_BY)

    @property
    def needs_start(self) -> bool:
        """Whether it has to know where the log begins."""
        return self in (Strategy.TO_EARLIEST, Strategy.TO_OFFSET, Strategy.SHIFT_BY, Strategy.FROM_FILE)


class ResetError(ValueError):
    """The whole command fails (``IllegalArgumentException``)."""


class Known(NamedTuple):
    """What there is to know of a partition; -1 for what is not known, or is not there.

    ``found`` is the first offset with a timestamp that is late enough, -1 where all records are older.
    """

    committed: int = -1
    start: int = -1
    end: int = -1
    found: int = -1


class Reset(NamedTuple):
    """The new offset, and what the tool warns of."""

    offset: int
    warning: str = ""


def refusal(group_id: str, state: str) -> str:
    """Why a group in this state is left alone, by the tool's words; empty where it has no members."""
    if state in (State.EMPTY, State.DEAD):
        return ""
    return f"Assignments can only be reset if the group '{group_id}' is inactive, but the current state is {state}."


def new_offset(strategy: Strategy, partition: str, value: int, known: Known) -> Reset:
    """Where the strategy moves a partition; ``value`` is its number, or that of the partition's line in the file.

    Raises:
        ResetError: a shift of what was never committed.
    """
    if strategy is Strategy.TO_EARLIEST:
        return Reset(known.start)
    if strategy is Strategy.TO_LATEST:
        return Reset(known.end)
    if strategy is Strategy.TO_CURRENT:
        return Reset(known.end if known.committed < 0 else known.committed)
    if strategy.by_time:
        return Reset(known.found) if known.found >= 0 else Reset(known.end, _no_such_time(partition))
    if strategy is Strategy.SHIFT_BY:
        if known.committed < 0:
            reason = "since there is no current committed offset"
            raise ResetError(f"Cannot shift offset for partition {partition} {reason}")
        value += known.committed
    return _in_range(partition, value, known)


_CLAMPED: Final = "New offset ({}) is {} than {} offset for topic partition {}. Value will be set to {}"


def _in_range(partition: str, offset: int, known: Known) -> Reset:
    """``checkOffsetsRange``: the end first."""
    if offset > known.end:
        return Reset(known.end, _CLAMPED.format(offset, "higher", "latest", partition, known.end))
    if offset < known.start:
        return Reset(known.start, _CLAMPED.format(offset, "lower", "earliest", partition, known.start))
    return Reset(offset)


def _no_such_time(partition: str) -> str:
    topic, number = place(partition)
    return f"Warn: Partition {number} from topic {topic} is empty. Falling back to latest known offset."
