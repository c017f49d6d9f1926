"""Features of a KRaft cluster by release: which levels its nodes support, and which one is finalized (KIP-584).

``MetadataVersion``, ``Feature`` and ``QuorumFeatures.defaultSupportedFeatureMap``. A cluster is formed with the newest
``metadata.version`` of its release that is for production, and with the levels of other features that go with it; its
configuration may set other levels of those that change a rule here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE, Profile, Version

METADATA_FEATURE: Final = "metadata.version"
KRAFT_FEATURE: Final = "kraft.version"
GROUP_FEATURE: Final = "group.version"
SHARE_FEATURE: Final = "share.version"

_METADATA_LEVELS: Final[tuple[tuple[Version, int], ...]] = (
    ((3, 3, 0), 7), ((3, 4, 0), 8), ((3, 5, 0), 11), ((3, 6, 0), 14), ((3, 7, 0), 19), ((3, 8, 0), 20), ((3, 9, 0), 21),
    ((4, 0, 0), 25), ((4, 1, 0), 27),
)  # fmt: skip
"""Release → ``MetadataVersion.LATEST_PRODUCTION``."""
_LOWEST_METADATA_LEVELS: Final[tuple[tuple[Version, int], ...]] = (((3, 3, 0), 1), ((4, 0, 0), 7))
"""Release → ``MINIMUM_KRAFT_VERSION``, from 4.0 on ``MINIMUM_VERSION``."""
LOWEST_BOOTSTRAP_LEVEL: Final = 4
"""3.3-IV0, ``MINIMUM_BOOTSTRAP_VERSION``: the first that has records of features."""
CHANGED_METADATA: Final = (1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23)
"""Levels of ``metadata.version`` with other records than the one before (``MetadataVersion.didMetadataChange``)."""
ELR_NEEDS: Final = 23
"""The level of ``metadata.version`` that :data:`ELR_FEATURE` depends on (``EligibleLeaderReplicasVersion``)."""

_HIGHEST: Final[tuple[tuple[str, Version, int], ...]] = (
    (ELR_FEATURE, (4, 0, 0), 1),
    (GROUP_FEATURE, (4, 0, 0), 1),
    (KRAFT_FEATURE, (3, 9, 0), 1),
    (SHARE_FEATURE, (4, 1, 0), 1),
    (TRANSACTION_FEATURE, (4, 0, 0), 2),
)
"""Feature, the release that supports it first, and its highest level for production; the lowest is 0."""


class Feature(NamedTuple):
    """A feature's name, the levels that are supported, and the one that is finalized, 0 for none."""

    name: str
    lowest: int
    highest: int
    level: int


def features_of(profile: Profile, config: Mapping[str, ConfigValue]) -> tuple[Feature, ...]:
    """All of a cluster, by name; none in ZooKeeper mode (``BrokerFeatures.createEmpty``)."""
    if not profile.kraft:
        return ()
    levels = {
        ELR_FEATURE: int(profile.elr),
        GROUP_FEATURE: 1,
        TRANSACTION_FEATURE: 2 if profile.transactions_v2 else int(config.get(TRANSACTION_FEATURE, 1)),
    }
    found = [
        Feature(name, 0, highest, levels.get(name, 0)) for name, since, highest in _HIGHEST if profile.number >= since
    ]
    newest = _reached(_METADATA_LEVELS, profile)
    found.append(Feature(METADATA_FEATURE, _reached(_LOWEST_METADATA_LEVELS, profile), newest, newest))
    return tuple(sorted(found))


def _reached(levels: tuple[tuple[Version, int], ...], profile: Profile) -> int:
    return [level for since, level in levels if profile.number >= since][-1]
