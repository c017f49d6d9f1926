"""Supported and finalized feature levels of a KRaft cluster by release (KIP-584).

As Kafka's ``MetadataVersion``, ``Feature`` and ``QuorumFeatures.defaultSupportedFeatureMap``. A cluster is formatted
with the newest production ``metadata.version`` of its release and the feature levels that belong to it. Its
configuration may set other levels of the features that change a rule of the model.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.metadata_versions import latest_of
from cluster_model.protocol.releases import Version
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE, Profile

METADATA_FEATURE: Final = "metadata.version"
KRAFT_FEATURE: Final = "kraft.version"
GROUP_FEATURE: Final = "group.version"
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
    """Return the features of a cluster, by name; none in ZooKeeper mode (``BrokerFeatures.createEmpty``)."""
    if not profile.kraft:
        return ()
    levels = _by_name(_DEFAULTS, profile) | {
        ELR_FEATURE: int(profile.elr),
        TRANSACTION_FEATURE: 2 if profile.transactions_v2 else int(config.get(TRANSACTION_FEATURE, 1)),
    }
    found = [Feature(name, 0, highest, levels.get(name, 0)) for name, highest in _by_name(_HIGHEST, profile).items()]
    newest = latest_of(profile.version).number
    found.append(Feature(METADATA_FEATURE, _reached(_LOWEST_METADATA_LEVELS, profile), newest, newest))
    return tuple(sorted(found))


def _by_name(rows: tuple[tuple[str, Version, int], ...], profile: Profile) -> dict[str, int]:
    """Return feature → level in a release: its last row that the release has reached."""
    return {name: level for name, since, level in rows if profile.number >= since}


def _reached(levels: tuple[tuple[Version, int], ...], profile: Profile) -> int:
    return [level for since, level in levels if profile.number >= since][-1]
