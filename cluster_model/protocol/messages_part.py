"""The one request of members by the consumer protocol (KIP-848, ``ConsumerGroupHeartbeat``), and an administrator's.

A field that is None (or -1) has not changed since the member last told it.
"""

from typing import Final, NamedTuple

JOIN: Final = 0
"""``member_epoch`` of who joins, or joins again after it has given everything up ..."""
LEAVE: Final = -1
"""... of who leaves ..."""
LEAVE_FOR_NOW: Final = -2
"""... and of a static member that will be back, whose partitions wait for it until its session is over."""


class ConsumerGroupHeartbeatRequest(NamedTuple):
    """A member joins, lives, tells what it owns, or leaves. In version 1 (4.0) it brings its own id (KIP-1082)."""

    correlation: int
    group_id: str
    member_id: str
    member_epoch: int
    client_id: str = ""
    group_instance_id: str = ""
    rebalance_timeout_us: int = -1
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    """A regular expression that the coordinator goes by (version 1)."""
    assignor: str | None = None
    owned: tuple[str, ...] | None = None
    """Partitions that it has now: what is missing is given up."""
    version: int = 1

    @property
    def full(self) -> bool:
        """Whether it tells everything: then the answer does too."""
        told = self.topics is not None or self.pattern is not None
        return told and self.rebalance_timeout_us >= 0 and self.owned is not None


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """The member's epoch, and what it is to have if that has changed. With an error nothing but that counts."""

    correlation: int
    error: int
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_us: int = 0
    """When it is to be heard of next."""
    assignment: tuple[str, ...] | None = None


class ConsumerGroupDescribeRequest(NamedTuple):
    """Ask for the state of groups by this protocol."""

    correlation: int
    groups: tuple[str, ...]


class DescribedConsumer(NamedTuple):
    """A member: what it says, what it has, and what it is to have."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    """The node that it is on."""
    epoch: int
    topics: tuple[str, ...]
    pattern: str
    assigned: tuple[str, ...]
    target: tuple[str, ...]


class DescribedConsumerGroup(NamedTuple):
    """A group as its coordinator knows it; GROUP_ID_NOT_FOUND: there is none by this protocol."""

    group_id: str
    error: int
    state: str = ""
    epoch: int = 0
    target_epoch: int = 0
    """The epoch that the target assignment is for."""
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


class ConsumerGroupDescribeResponse(NamedTuple):
    """An entry for each, in the order asked."""

    correlation: int
    groups: tuple[DescribedConsumerGroup, ...]
