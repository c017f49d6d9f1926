"""Which control plane a cluster gets. Only the one that is wanted is read."""

from collections.abc import Callable

from cluster_model.building import Parts
from cluster_model.controller.plane import Plane
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
    if parts.profile.kraft:
        from cluster_model.controller.kraft.plane import KraftPlane  # noqa: PLC0415

        return KraftPlane(spec, parts, port_of, streams, emit)
    from cluster_model.controller.zookeeper.plane import ZooKeeperPlane  # noqa: PLC0415

    return ZooKeeperPlane(spec, parts, network, streams, emit)


def share(plane: Plane, other: Plane) -> None:
    """Let a twin's plane read what keyframes leave out of the other one's."""
    from cluster_model.controller.kraft.plane import KraftPlane  # noqa: PLC0415 - looking back comes later, if ever

    if isinstance(plane, KraftPlane) and isinstance(other, KraftPlane):
        plane.read_out_of(other)
