"""Which control plane a cluster gets. Only the one that is wanted is read."""

from collections.abc import Callable

from cluster_model.controller.cluster_parts import Parts
from cluster_model.controller.control_plane_interface import Plane
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import Port
from cluster_model.kernel.rng import Streams
from cluster_model.protocol.events import Event
from cluster_model.spec.cluster_spec import ClusterSpec


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
        from cluster_model.controller.kraft.control_plane import KraftPlane  # noqa: PLC0415

        return KraftPlane(spec, parts, port_of, streams, emit)
    from cluster_model.controller.zookeeper.control_plane import ZooKeeperPlane  # noqa: PLC0415

    return ZooKeeperPlane(spec, parts, network, streams, emit)


def share(plane: Plane, other: Plane) -> None:
    """Let a twin's plane read what keyframes leave out of the other one's."""
    from cluster_model.controller.kraft.control_plane import KraftPlane  # noqa: PLC0415 - looking back comes later, if ever

    if isinstance(plane, KraftPlane) and isinstance(other, KraftPlane):
        plane.read_out_of(other)
