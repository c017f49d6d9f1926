"""The coordinators that live in every broker's process."""

from collections.abc import Iterable

from cluster_model.groups.config import GroupConfig
from cluster_model.groups.coordinator import GroupCoordinator
from cluster_model.internal_topics import INTERNAL
from cluster_model.kernel.port import Port
from cluster_model.kernel.streams import Streams
from cluster_model.profiles import Profile
from cluster_model.replication.broker import Broker
from cluster_model.spec import ClusterSpec


def host_coordinators(
    spec: ClusterSpec, profile: Profile, brokers: Iterable[tuple[Broker, Port]], streams: Streams
) -> dict[int, GroupCoordinator]:
    """Give every broker its coordinators; returns those of groups, by broker.

    How many partitions an internal topic has they know from their configuration.
    """
    partitions = {
        topic.name: len(topic.placement) or topic.partitions for topic in spec.topics if topic.name in INTERNAL
    }
    found: dict[int, GroupCoordinator] = {}
    for broker, port in brokers:
        stream = streams.named(f"groups:{broker.id}")
        config = GroupConfig.of(profile, spec.config)
        coordinator = GroupCoordinator(port, profile, config, broker.tenants, partitions, stream)
        broker.host(coordinator)
        found[broker.id] = coordinator
    return found
