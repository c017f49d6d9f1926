"""Supported and finalized feature levels of a KRaft cluster by release (KIP-584).

As Kafka's ``MetadataVersion``, ``Feature`` and ``QuorumFeatures.defaultSupportedFeatureMap``. A cluster is formatted
with the newest production ``metadata.version`` of its release and the feature levels that belong to it. Its
configuration may set other levels of the features that change a rule of the model.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.metadata_versions import is_at_least, latest_of, metadata_version
from cluster_model.protocol.releases import Version, number_of
from cluster_model.protocol.rule_gates import PROTOCOL_RULES, gate_of
from cluster_model.protocol.versions import ELR_FEATURE, FLAG_BY_NAME, GROUP_FEATURE, TRANSACTION_FEATURE, Profile

METADATA_FEATURE: Final = "metadata.version"
KRAFT_FEATURE: Final = "kraft.version"
SHARE_FEATURE: Final = "share.version"
STREAMS_FEATURE: Final = "streams.version"

_LOWEST_METADATA_LEVELS: Final[tuple[tuple[Version, int], ...]] = (((3, 3, 0), 1), ((4, 0, 0), 7))
"""Release → ``MINIMUM_KRAFT_VERSION``, from 4.0 on ``MINIMUM_VERSION``."""
LOWEST_BOOTSTRAP_LEVEL: Final = 4
"""3.3-IV0, ``MINIMUM_BOOTSTRAP_VERSION``: the first level with feature level records."""
CHANGED_METADATA: Final = (1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33)
"""Levels of ``metadata.version`` that changed the metadata records (``MetadataVersion.didMetadataChange``)."""
ELR_NEEDS: Final = 23
"""Level of ``metadata.version`` that :data:`ELR_FEATURE` requires (``EligibleLeaderReplicasVersion``)."""

_HIGHEST: Final[tuple[tuple[str, Version, int], ...]] = (
    (ELR_FEATURE, (4, 0, 0), 1),
    (GROUP_FEATURE, (4, 0, 0), 1),
    (KRAFT_FEATURE, (3, 9, 0), 1),
    (SHARE_FEATURE, (4, 1, 0), 1),
    (SHARE_FEATURE, (4, 4, 0), 2),
    (STREAMS_FEATURE, (4, 2, 0), 1),
    (TRANSACTION_FEATURE, (4, 0, 0), 2),
)
"""(feature, first release with this highest production level, the level); the lowest level is 0."""

_DEFAULTS: Final[tuple[tuple[str, Version, int], ...]] = (
    (GROUP_FEATURE, (4, 0, 0), 1),
    (SHARE_FEATURE, (4, 2, 0), 1),
    (SHARE_FEATURE, (4, 4, 0), 2),
    (STREAMS_FEATURE, (4, 2, 0), 1),
)
"""(feature, first release that formats clusters with this level, the level).

The levels of ``share.version`` and ``streams.version`` are only reported: groups of these kinds are not modelled.
"""


class Feature(NamedTuple):
    """A feature: its name, the range of supported levels, and the finalized level (0 if not finalized)."""

    name: str
    lowest: int
    highest: int
    level: int


def features_of(profile: Profile, config: Mapping[str, ConfigValue]) -> tuple[Feature, ...]:
    """Return the features of a cluster, by name; none in ZooKeeper mode (``BrokerFeatures.createEmpty``).

    The levels that can be chosen are those of the node's release, the finalized ones those that it knows.
    """
    if not profile.kraft:
        return ()
    if profile.protocol:
        levels = dict(profile.levels)
    else:
        levels = _by_name(_DEFAULTS, profile.number) | {
            ELR_FEATURE: int(profile.elr),
            TRANSACTION_FEATURE: 2 if profile.transactions_v2 else int(config.get(TRANSACTION_FEATURE, 1)),
        }
    highest = _by_name(_HIGHEST, profile.number)
    features = [Feature(name, 0, most, levels.get(name, 0)) for name, most in highest.items()]
    lowest, newest = _reached(_LOWEST_METADATA_LEVELS, profile.number), latest_of(profile.version).number
    level = metadata_version(profile.protocol).number if profile.protocol else newest
    features.append(Feature(METADATA_FEATURE, lowest, newest, level))
    return tuple(sorted(features))


def highest_levels(newest: int) -> dict[str, int]:
    """Return feature → highest level in the release whose newest level of ``metadata.version`` is ``newest``."""
    return _by_name(_HIGHEST, number_of(metadata_version(str(newest)).release)) | {METADATA_FEATURE: newest}


def levels_of_release(release: str) -> dict[str, int]:
    """Return the levels of a new cluster of a release, which ``kafka-features.sh upgrade --release-version`` sets."""
    profile = Profile.of(release, "kraft")
    return {feature.name: feature.level for feature in features_of(profile, {TRANSACTION_FEATURE: 0})}


_FIRST_FEATURES: Final[Version] = (4, 0)
"""First release line with production levels of features besides ``metadata.version``."""


class ClusterLevels(NamedTuple):
    """Levels that a node may use, whatever its own release, while nodes of several releases are in its cluster."""

    protocol: str
    """Level of ``inter.broker.protocol.version`` (ZooKeeper mode) or ``metadata.version`` in use: ``3.9-IV0``."""
    oldest: Version
    """Oldest release of a broker or controller: what all of them understand (ApiVersions, KIP-35)."""
    features: tuple[tuple[str, int], ...] = ()
    """Finalized levels of the other features, by name; not listed is 0."""


def at_levels(profile: Profile, levels: ClusterLevels) -> Profile:
    """Return the profile of a node of a cluster that is being upgraded.

    Rules that its software alone decides are those of its release; the others are those of :mod:`rule_gates`. Gates of
    a part of a rule are not modelled: such a rule is switched on as a whole by the software.
    """
    protocol, finalized = metadata_version(levels.protocol), dict(levels.features)
    flags: dict[str, Any] = {}
    for rule in PROTOCOL_RULES:
        gate = gate_of(rule, profile.mode)
        if gate is None:
            continue
        own = FLAG_BY_NAME[rule].holds(profile.number)
        if gate.by in ("protocol", "message.format"):
            flags[rule] = own and is_at_least(protocol, metadata_version(gate.level))
        elif gate.by == "api_versions":
            flags[rule] = own and FLAG_BY_NAME[rule].holds(levels.oldest)
        elif profile.number >= _FIRST_FEATURES:
            flags[rule] = finalized.get(gate.by, 0) >= int(gate.level)
    flags |= {name: on for name, on in profile.rules if name in flags}
    return replace(profile, protocol=levels.protocol, levels=levels.features, **flags)


def _by_name(rows: tuple[tuple[str, Version, int], ...], release: Version) -> dict[str, int]:
    """Return feature → level in a release: its last row that the release has reached."""
    return {name: level for name, since, level in rows if release >= since}


def _reached(levels: tuple[tuple[Version, int], ...], release: Version) -> int:
    return [level for since, level in levels if release >= since][-1]
