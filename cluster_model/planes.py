"""Which control plane a cluster gets."""

from collections.abc import Callable

from cluster_model.building import Parts
from cluster_model.controller.plane import Plane
from cluster_model.controller.single import CONTROLLER_ID
from cluster_model.controller.single_plane import SinglePlane
from cluster_model.controller.zookeeper.plane import ZooKeeperPlane
from cluster_model.events import Event
from cluster_model.kernel.port import Port
from cluster_model.kernel.processes import Network
from cluster_model.kernel.streams import Streams
from cluster_model.spec import ClusterSpec


def make_plane(
    spec: ClusterSpec,
    parts: Parts,
    port_of: Callable[[int], Port],
    streams: Streams,
    emit: Callable[[Event], None],
    network: Network,
) -> Plane:
    """The plane of the spec's mode, with ports of its own nodes from ``port_of``."""
    if not parts.profile.kraft:
        return ZooKeeperPlane(spec, parts, network, streams, emit)
    return SinglePlane(port_of(CONTROLLER_ID), parts.profile, parts.config, parts.committed, emit)
