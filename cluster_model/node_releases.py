"""Kafka releases of the brokers and controllers of one cluster, while it is upgraded node by node.

A node follows the rules of its own release, except those that wait for the operator or for the other nodes: its
``inter.broker.protocol.version`` in ZooKeeper mode, the feature levels that it has replayed in KRaft mode, and what the
oldest node understands. Clients keep the rules that they had with the cluster when it was formed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.features import METADATA_FEATURE, ClusterLevels, at_levels, features_of
from cluster_model.protocol.metadata_versions import latest_of, metadata_version
from cluster_model.protocol.releases import Version, number_of
from cluster_model.protocol.versions import Profile, with_rules
from cluster_model.spec.cluster_spec import ClusterSpec
from cluster_model.spec.rule_usage import observed


class NodeRelease(NamedTuple):
    """Release of a node, with the protocol and features that it may use."""

    version: str
    """Its release, as it was named: a line or a patch."""
    protocol: str
    """Its ``inter.broker.protocol.version``, or the level of ``metadata.version`` that it knows: ``3.9-IV0``."""
    features: tuple[tuple[str, int], ...]
    """Levels of the other features that it knows, by name."""

    @property
    def text(self) -> str:
        """As people read it: the release, and the protocol if that is not the release's own."""
        if self.protocol == latest_of(self.version).name:
            return f"Kafka {self.version}"
        return f"Kafka {self.version} with protocol {self.protocol}"


class NodeReleases:
    """Releases of all brokers and dedicated controllers of one cluster."""

    def __init__(self, spec: ClusterSpec, formed: Profile, nodes: Iterable[int]) -> None:
        """``formed`` is the profile of the spec, which all nodes have at first."""
        self._spec = spec
        self._formed = formed
        self._profiles: dict[tuple[NodeRelease, Version], Profile] = {}
        """Profiles by what a node runs and the oldest release, so that the same rules are the same object."""
        features = tuple(
            (feature.name, feature.level)
            for feature in features_of(formed, spec.config)
            if feature.name != METADATA_FEATURE
        )
        self._first = NodeRelease(formed.version, latest_of(formed.version).name, features)
        self._releases = dict.fromkeys(nodes, self._first)

    def of(self, node: int) -> NodeRelease:
        """Return what a broker or dedicated controller runs."""
        return self._releases[node]

    def upgraded_text(self, node: int) -> str:
        """Return what a node runs as text, empty as long as that is what the cluster was formed with."""
        release = self._releases[node]
        return "" if release == self._first else release.text

    @property
    def nodes(self) -> tuple[int, ...]:
        """Nodes that have a Kafka release."""
        return tuple(self._releases)

    @property
    def oldest(self) -> Version:
        """Oldest release of a node, whether it runs or not."""
        return min(number_of(release.version) for release in self._releases.values())

    def profile(self, node: int) -> Profile:
        """Return the rules that a node follows."""
        release = self._releases[node]
        if release == self._first and self.oldest == self._formed.number:
            return self._formed
        key = (release, self.oldest)
        if key not in self._profiles:
            profile = with_rules(Profile.of(release.version, self._formed.mode), self._spec.rules)
            levels = ClusterLevels(release.protocol, self.oldest, release.features)
            self._profiles[key] = observed(at_levels(profile, levels))
        return self._profiles[key]

    def least_profile(self) -> Profile:
        """Return the rules of the node with the oldest release and protocol, which no other node falls below."""
        node = min(
            self._releases,
            key=lambda each: (
                number_of(self._releases[each].version), metadata_version(self._releases[each].protocol).order
            ),
        )  # fmt: skip
        return self.profile(node)

    def upgrade(self, node: int, version: str, protocol: str = "") -> None:
        """Give a node the software of another release; see :meth:`changed`."""
        self._releases[node] = self.changed(node, version, protocol)

    def changed(self, node: int, version: str, protocol: str = "") -> NodeRelease:
        """Return what a node would run with other software.

        ``protocol`` is the release of its ``inter.broker.protocol.version``; empty for the one that it has.

        Raises:
            ModelError: there is no such release or node, it lacks the cluster's mode, or it does not know the protocol.
        """
        if node not in self._releases:
            raise ModelError(f"node {node} is neither a broker nor a controller", code="no_node")
        Profile.of(version, self._formed.mode)
        release = self._releases[node]._replace(version=version)
        if protocol:
            release = release._replace(protocol=latest_of(protocol).name)
        newest = latest_of(version)
        if not self._formed.kraft and metadata_version(release.protocol).order > newest.order:
            raise ModelError(
                f"Kafka {version} has no inter.broker.protocol.version {release.protocol}; its newest is {newest.name}",
                code="unknown_protocol",
            )
        return release

    def finalize(self, node: int, levels: Mapping[str, int]) -> None:
        """Let a node follow the feature levels that it has replayed: those changed since the cluster was formed."""
        release, others = self._releases[node], {**dict(self._first.features), **levels}
        level = others.pop(METADATA_FEATURE, None)
        self._releases[node] = release._replace(
            protocol=self._first.protocol if level is None else metadata_version(str(level)).name,
            features=tuple(sorted(others.items())),
        )

    def save(self) -> tuple[Any, ...]:
        """Return the releases of nodes that are not as the cluster was formed."""
        return tuple((node, *release) for node, release in self._releases.items() if release != self._first)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        changed = {node: NodeRelease(*release) for node, *release in saved}
        self._releases = {node: changed.get(node, self._first) for node in self._releases}
