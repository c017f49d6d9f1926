"""Which replica a consumer should read from (``org.apache.kafka.common.replica.ReplicaSelector``, KIP-392)."""

from collections.abc import Iterable
from typing import NamedTuple


class ReplicaView(NamedTuple):
    """A replica as its leader sees it; ``behind_us`` is how long ago it had caught up, 0 for the leader itself."""

    broker: int
    rack: str
    leo: int
    behind_us: int


def rack_aware(rack: str, leader: ReplicaView, followers: Iterable[ReplicaView]) -> int:
    """The broker to read from: the leader if it is in ``rack``, else the most caught-up follower there.

    Longer logs go first, then those that had caught up later, then higher ids. Nobody in that rack, or no rack told:
    the leader (``RackAwareReplicaSelector``).
    """
    if not rack or leader.rack == rack:
        return leader.broker
    near = [view for view in followers if view.rack == rack]
    best = max(near, key=lambda view: (view.leo, -view.behind_us, view.broker), default=leader)
    return best.broker
