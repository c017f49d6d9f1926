"""The controller of a cluster by hand, as views and conditions ask about it: always there, always the same."""

from collections.abc import Mapping
from typing import Final

from cluster_model.manual.context import Ground
from cluster_model.protocol.messages import PartitionState

HAND_CONTROLLER: Final = 1_000
"""Node id of the controller that a hand stands for."""


class HandControl:
    """What a control plane tells of itself."""

    __slots__ = ("_ground",)

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def controllers(self) -> tuple[int, ...]:
        """One, without a process."""
        return (HAND_CONTROLLER,)

    def active(self) -> int:
        """That one."""
        return HAND_CONTROLLER

    def controller_epoch(self) -> int:
        """Nobody ever replaces it."""
        return 0

    def is_live(self, broker: int) -> bool:
        """Whether the steps so far have it count on a broker."""
        return broker in self._ground.live

    def known(self, broker: int) -> Mapping[str, PartitionState]:
        """What a broker was told last of the partitions it holds: by hand there is no other metadata."""
        return {
            name: PartitionState(
                name, replica.leader, replica.leader_epoch, (), replica.partition_epoch, (), topic_id=replica.topic_id
            )
            for name, replicas in self._ground.parts.replicas.items()
            if (replica := replicas.get(broker)) is not None and replica.leader_epoch >= 0
        }
