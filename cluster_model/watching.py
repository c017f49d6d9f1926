"""Putting liveness together for a timed cluster."""

from typing import TYPE_CHECKING

from cluster_model.checker.liveness.deadlines import Bounds
from cluster_model.checker.liveness.disturbances import Weather
from cluster_model.checker.liveness.liveness_checker import Liveness
from cluster_model.checker.liveness.partition_state import Sight
from cluster_model.controller.zookeeper.settings import ControlSettings

if TYPE_CHECKING:
    from cluster_model.cluster import Cluster


def watch_over(cluster: "Cluster") -> Liveness:
    """Liveness of a cluster that stands at its first instant."""
    spec, world, plane, brokers, network = (
        cluster.spec, cluster.world, cluster.plane, cluster.brokers, cluster.network,
    )  # fmt: skip

    def unwell(node: int) -> bool:
        broker = brokers.get(node)
        slowed = broker is not None and bool(broker.slowed or not broker.disk.healthy)
        return slowed or network.is_slowed(node)

    weather = Weather(network, (*brokers, *plane.servers), unwell)
    voters = spec.voters if world.profile.kraft else tuple(plane.servers)
    if not all(voter in network.processes for voter in voters):
        voters = ()  # a plane of tests, that decides alone
    percentage = ControlSettings.of(spec.config).imbalance_percentage
    return Liveness(Sight(world, plane, brokers, weather, Bounds.of(spec), voters, percentage), cluster.emit)
