"""Bringing into sight what was named: a partition, a broker, an offset, a client."""

from cluster_model.observation.views import PartitionView
from tui.screens.commanded import Commanded


class Showing(Commanded):
    """A screen with a matrix, whose cursor goes to what is named."""

    @property
    def partition(self) -> PartitionView | None:
        """The one under the cursor, None where there is none."""
        partitions = self.bridge.view.partitions
        return partitions[min(self.matrix.cursor[0], len(partitions) - 1)] if partitions else None

    def show_partition(self, name: str) -> None:
        """On the main screen, the cursor on it and on its leader."""
        self.action_mode("cluster")
        self._point_at(name)

    def show_broker(self, broker: int) -> None:
        """On the main screen, the cursor on it."""
        self.action_mode("cluster")
        ids = [each.id for each in self.bridge.view.brokers]
        if broker in ids:
            self.matrix.place(self.matrix.cursor[0], ids.index(broker))
            self.present()

    def show_offset(self, name: str, offset: int) -> None:
        """In the log, the cursor on it in the leader's lane."""
        self._point_at(name)
        self.action_mode("log")
        log = self.app.screen
        if hasattr(log, "microscope"):
            log.microscope.go(offset)
            self.call_after_refresh(log.present)  # type: ignore[attr-defined]

    def show_client(self, name: str) -> None:
        """Among the clients, the first line its own."""
        self.action_mode("clients")
        clients = self.app.screen
        if hasattr(clients, "point_at"):
            clients.point_at(name)

    def _point_at(self, name: str) -> None:
        """Nothing happens where it is gone by now."""
        view = self.bridge.view
        ids = [each.id for each in view.brokers]
        for row, partition in enumerate(view.partitions):
            if partition.name == name:
                leads = ids.index(partition.leader) if partition.leader in ids else self.matrix.cursor[1]
                self.matrix.place(row, leads)
                self.present()
