"""Tables and offset resets of ``kafka-consumer-groups.sh`` (``ConsumerGroupCommand``)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.protocol.group_messages import DescribedGroup, DescribedMember, ListedGroup

Row = tuple[str, ...]
Table = list[Row]
"""Column headings, followed by the rows."""
HostNames = Callable[[int], str]
"""Function from node id to host name."""

MISSING: Final = "-"
OFFSET_COLUMNS: Final = (
    "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID",
)  # fmt: skip
STATE_COLUMNS: Final = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
LIST_COLUMNS: Final = ("GROUP", "STATE")
RESET_COLUMNS: Final = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")

_REBALANCING: Final = (GroupState.PREPARING.value, GroupState.COMPLETING.value, "Assigning", "Reconciling")


def warning(group: DescribedGroup) -> str:
    """Message of the tool on stderr about a group's state; empty if the group is Stable."""
    name = group.group_id
    if group.state == GroupState.DEAD:
        return f"Error: Consumer group '{name}' does not exist."
    if group.state == GroupState.EMPTY:
        return f"Consumer group '{name}' has no active members."
    return f"Warning: Consumer group '{name}' is rebalancing." if group.state in _REBALANCING else ""


def topic_and_index(partition: str) -> tuple[str, int]:
    """Topic and index of a partition."""
    topic, _dash, number = partition.rpartition("-")
    return topic, int(number)


def by_number(partitions: Iterable[str]) -> list[str]:
    """Sort as the tool does: by partition index, then by topic."""
    return sorted(partitions, key=lambda partition: topic_and_index(partition)[::-1])


def _assigned(group: DescribedGroup) -> list[DescribedMember]:
    """Members with partitions, those with most first."""
    assigned = [member for member in group.members if member.assignment.partitions]
    return sorted(assigned, key=lambda member: -len(member.assignment.partitions))


def partitions_of(group: DescribedGroup, committed: Iterable[str]) -> list[str]:
    """Partitions with a row in the table of offsets, in its order, without duplicates."""
    given = [partition for member in _assigned(group) for partition in by_number(member.assignment.partitions)]
    return [*dict.fromkeys([*given, *by_number(committed)])]


def offset_table(
    group: DescribedGroup, committed: Mapping[str, int], ends: Mapping[str, int], named: HostNames
) -> Table:
    """Table of ``--describe``: members' partitions, then partitions with commits only. LAG may be negative.

    ``committed`` and ``ends`` lack unknown partitions; -1 also means unknown.
    """
    rows: Table = [OFFSET_COLUMNS]
    seen: dict[str, None] = {}
    for member in _assigned(group):
        consumer = (member.member_id, f"/{named(member.host)}", member.client_id)
        for partition in by_number(member.assignment.partitions):
            seen[partition] = None
            rows.append((*_offsets(group.group_id, partition, committed, ends), *consumer))
    no_consumer = (MISSING, MISSING, MISSING)
    rows += [
        (*_offsets(group.group_id, partition, committed, ends), *no_consumer)
        for partition in by_number(committed)
        if partition not in seen
    ]
    return rows


def _offsets(group_id: str, partition: str, committed: Mapping[str, int], ends: Mapping[str, int]) -> Row:
    topic, number = topic_and_index(partition)
    current, end = committed.get(partition, -1), ends.get(partition, -1)
    lag = MISSING if current < 0 or end < 0 else str(end - current)
    return (group_id, topic, str(number), _offset_text(current), _offset_text(end), lag)


def _offset_text(offset: int) -> str:
    return MISSING if offset < 0 else str(offset)


def member_table(group: DescribedGroup, named: HostNames, *, verbose: bool) -> Table:
    """Table of ``--members``, with a column of instance ids if any member is static; ``verbose`` adds assignments."""
    static = any(member.group_instance_id for member in group.members)
    instance = ("GROUP-INSTANCE-ID",) if static else ()
    shares = ("ASSIGNMENT",) if verbose else ()
    rows: Table = [("GROUP", "CONSUMER-ID", *instance, "HOST", "CLIENT-ID", "#PARTITIONS", *shares)]
    for member in sorted(group.members, key=lambda member: -len(member.assignment.partitions)):
        assigned = member.assignment.partitions
        rows.append(
            (
                group.group_id,
                member.member_id,
                *((member.group_instance_id or MISSING,) if static else ()),
                f"/{named(member.host)}",
                member.client_id,
                str(len(assigned)),
                *((_share(assigned),) if verbose else ()),
            )
        )
    return rows


def _share(partitions: Iterable[str]) -> str:
    """Format an assignment: ``orders(0,1), payments(0)``."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(map(topic_and_index, partitions)):
        topics.setdefault(topic, []).append(number)
    return ", ".join(f"{topic}({','.join(map(str, numbers))})" for topic, numbers in topics.items()) or MISSING


def state_table(group: DescribedGroup, coordinator: int, named: HostNames) -> Table:
    """Table of ``--state``."""
    host = MISSING if coordinator < 0 else f"{named(coordinator)} ({coordinator})"
    return [
        STATE_COLUMNS,
        (group.group_id, host, group.protocol or MISSING, str(group.state), str(len(group.members))),
    ]


def list_table(groups: Iterable[ListedGroup]) -> Table:
    """Table of ``--list --state``, sorted by name."""
    return [LIST_COLUMNS, *sorted((group.group_id, str(group.state)) for group in groups)]


def reset_table(group_id: str, offsets: Mapping[str, int]) -> Table:
    """Table of ``--reset-offsets``, for a dry run and for an executed reset alike."""
    rows: Table = [RESET_COLUMNS]
    for partition in sorted(offsets, key=topic_and_index):
        topic, number = topic_and_index(partition)
        rows.append((group_id, topic, str(number), str(offsets[partition])))
    return rows


def aligned(rows: Sequence[Row]) -> list[str]:
    """Format a table as lines, with columns as wide as needed."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


# Rules of ``kafka-consumer-groups.sh --reset-offsets`` (``ConsumerGroupCommand.prepareOffsetsToReset``, KIP-122, 0.11).
# Pure: the inputs that a strategy needs for a partition, and the offset that it returns.


class Strategy(Enum):
    """Reset strategies: the tool's options, with underscores."""

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
        """Whether the strategy uses the records' timestamps."""
        return self in (Strategy.TO_DATETIME, Strategy.BY_DURATION)

    @property
    def needs_committed(self) -> bool:
        """Whether the strategy starts from the committed offset."""
        return self in (Strategy.TO_CURRENT, Strategy.SHIFT_BY)

    @property
    def needs_start(self) -> bool:
        """Whether the strategy needs the log start offset."""
        return self in (Strategy.TO_EARLIEST, Strategy.TO_OFFSET, Strategy.SHIFT_BY, Strategy.FROM_FILE)


class ResetError(ValueError):
    """Failure of the whole command (``IllegalArgumentException``)."""


class PartitionOffsets(NamedTuple):
    """Known offsets of a partition, -1 for unknown or missing ones.

    ``found_by_time`` is the first offset whose timestamp is late enough, -1 if all records are older.
    """

    committed: int = -1
    start: int = -1
    end: int = -1
    found_by_time: int = -1


class Reset(NamedTuple):
    """New offset of a partition, and the tool's warning."""

    offset: int
    warning: str = ""


def refusal(group_id: str, state: str) -> str:
    """Return the tool's message that a group in this state cannot be reset; empty if the group is inactive."""
    if state in (GroupState.EMPTY, GroupState.DEAD):
        return ""
    return f"Assignments can only be reset if the group '{group_id}' is inactive, but the current state is {state}."


def new_offset(strategy: Strategy, partition: str, value: int, bounds: PartitionOffsets) -> Reset:
    """Return the offset to which a strategy resets a partition; ``value`` is its argument, or that in the file.

    Raises:
        ResetError: a shift without a committed offset.
    """
    if strategy is Strategy.TO_EARLIEST:
        return Reset(bounds.start)
    if strategy is Strategy.TO_LATEST:
        return Reset(bounds.end)
    if strategy is Strategy.TO_CURRENT:
        return Reset(bounds.end if bounds.committed < 0 else bounds.committed)
    if strategy.by_time:
        return (
            Reset(bounds.found_by_time)
            if bounds.found_by_time >= 0
            else Reset(bounds.end, _no_timestamp_warning(partition))
        )
    if strategy is Strategy.SHIFT_BY:
        if bounds.committed < 0:
            reason = "since there is no current committed offset"
            raise ResetError(f"Cannot shift offset for partition {partition} {reason}")
        value += bounds.committed
    return _in_range(partition, value, bounds)


_CLAMPED: Final = "New offset ({}) is {} than {} offset for topic partition {}. Value will be set to {}"


def _in_range(partition: str, offset: int, bounds: PartitionOffsets) -> Reset:
    """Limit an offset to the log's range, the end first (``checkOffsetsRange``)."""
    if offset > bounds.end:
        return Reset(bounds.end, _CLAMPED.format(offset, "higher", "latest", partition, bounds.end))
    if offset < bounds.start:
        return Reset(bounds.start, _CLAMPED.format(offset, "lower", "earliest", partition, bounds.start))
    return Reset(offset)


def _no_timestamp_warning(partition: str) -> str:
    topic, number = topic_and_index(partition)
    return f"Warn: Partition {number} from topic {topic} is empty. Falling back to latest known offset."
