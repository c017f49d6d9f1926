"""Questions of the condition language about the control plane, and about who believes what."""

from cluster_model.observation import metadata_staleness
from cluster_model.observation.cluster_state import World
from cluster_model.observation.metadata_staleness import Governing
from cluster_model.protocol.errors import ModelError


class ControlQuery:
    """A part of :class:`cluster_model.inspection.condition_functions.Query`."""

    __slots__ = ("_governing", "_world")

    _world: World
    _governing: Governing

    def controller(self) -> int:
        """Node id of the active controller, -1 while there is none."""
        return self._governing.active()

    def controller_epoch(self) -> int:
        """Epoch of the newest controller."""
        return self._governing.controller_epoch()

    def controllers(self) -> int:
        """Running nodes that are or may become the controller."""
        return sum(self._world.is_up(node) for node in self._governing.controllers())

    def fenced(self, broker: int | None = None) -> int:
        """Brokers that the controller does not count on; of one broker 1 or 0."""
        asked = self._world.brokers if broker is None else (self._known_broker(broker),)
        return sum(not self._governing.is_live(each) for each in asked)

    def stale(self, broker: int) -> int:
        """Partitions of which a broker's metadata is older than what is decided."""
        return metadata_staleness.stale(self._world, self._known_broker(broker))

    def leaders(self, partition: str) -> list[int]:
        """Every running broker that takes itself to lead, in ascending order."""
        return list(metadata_staleness.leaders(self._world, partition))

    def believed_leader(self, partition: str, broker: int) -> int:
        """Whom a broker's metadata names as leader; -1 for nobody, and of a broker that is down."""
        return metadata_staleness.believed_leader(self._world, partition, self._known_broker(broker))

    def partition_epoch(self, partition: str) -> int:
        """Partition epoch by the controller's state."""
        return self._world.record(partition).partition_epoch

    def elr(self, partition: str) -> list[int]:
        """Eligible leader replicas (KIP-966), in ascending order."""
        return sorted(self._world.record(partition).state.elr)

    def _known_broker(self, broker: int) -> int:
        if broker not in self._world.brokers:
            raise ModelError(f"no broker {broker}")
        return broker
