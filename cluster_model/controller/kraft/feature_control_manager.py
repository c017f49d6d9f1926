"""Feature levels at the active controller (``FeatureControlManager``, KIP-584). Sans-IO.

A level is raised only if the release of every registered broker supports it. Nodes follow a new level as soon as they
have replayed its record.
"""

from collections.abc import Mapping

from cluster_model.controller.kraft.metadata import FeatureLevelRecord, MetadataImage, Record
from cluster_model.protocol.admin_messages import (
    AdminError,
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
    UpgradeType,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.features import (
    CHANGED_METADATA,
    ELR_NEEDS,
    LOWEST_BOOTSTRAP_LEVEL,
    METADATA_FEATURE,
    Feature,
    features_of,
    highest_levels,
)
from cluster_model.protocol.versions import ELR_FEATURE, Profile


class FeatureControlManager:
    """Decides about feature levels of one cluster, from the image of one controller."""

    __slots__ = ("_atomic", "_features", "_image")

    def __init__(self, image: MetadataImage, profile: Profile, config: Mapping[str, ConfigValue]) -> None:
        self._image = image
        self._features = {feature.name: feature for feature in features_of(profile, config)}
        self._atomic = profile.atomic_feature_updates

    def level(self, name: str) -> int:
        """Return the finalized level of a feature, 0 if it has none."""
        feature = self._features.get(name)
        return self._image.features.get(name, 0 if feature is None else feature.level)

    def update(self, request: UpdateFeaturesRequest) -> tuple[list[Record], UpdateFeaturesResponse]:
        """Return the records and the result of each update; the last update of a feature counts."""
        updates = {update.feature: update for update in request.updates}
        proposed = {name: self.level(name) for name in self._features}
        proposed.update({name: update.level for name, update in updates.items()})
        results: list[AdminError] = []
        records: list[Record] = []
        for name, update in sorted(updates.items()):
            reason = self._reject_reason(update, proposed)
            if reason:
                results.append(AdminError(name, KafkaError.INVALID_UPDATE_VERSION, reason))
                continue
            results.append(AdminError(name, KafkaError.NONE))
            if update.level != self.level(name):
                records.append(FeatureLevelRecord(name, update.level))
        number = request.correlation_id
        failed = [result for result in results if result.error]
        if self._atomic and failed:
            return [], UpdateFeaturesResponse(number, failed[0].error, f"{failed[0].name}: {failed[0].message}", ())
        return records, UpdateFeaturesResponse(number, KafkaError.NONE, "", tuple(results))

    def _reject_reason(self, update: FeatureUpdate, proposed: Mapping[str, int]) -> str:
        """Why Kafka rejects an update, empty if it does not (``FeatureControlManager.updateFeature``)."""
        level = update.level
        if update.type not in tuple(UpgradeType):
            return f"found upgrade type {update.type}, expected 1 to 3"
        feature = self._features.get(update.feature)
        if feature is None:
            return f"found {update.feature!r}, supported are {', '.join(self._features)}"
        if not feature.lowest <= level <= feature.highest:
            return f"found level {level}, supported are {feature.lowest} to {feature.highest}"
        current = self.level(feature.name)
        if level < current and update.type == UpgradeType.UPGRADE:
            return f"found a downgrade from level {current} to {level}, allowed by upgrade type 2 or 3 only"
        if level > current and update.type != UpgradeType.UPGRADE:
            return f"found an upgrade from level {current} to {level}, allowed by upgrade type 1 only"
        return self._broker_reject_reason(feature, level) or _dependency_reject_reason(
            feature, level, current, proposed
        )

    def _broker_reject_reason(self, feature: Feature, level: int) -> str:
        """Why a registered broker does not support a level (``QuorumFeatures.reasonNotSupported``)."""
        for broker, known in self._image.brokers.items():
            highest = highest_levels(known.newest_level).get(feature.name, 0)
            if level > highest:
                return f"found level {level}, but broker {broker} supports at most {highest}"
        return ""


def _dependency_reject_reason(feature: Feature, level: int, current: int, proposed: Mapping[str, int]) -> str:
    if feature.name == METADATA_FEATURE:
        return _metadata_reject_reason(level, current)
    if feature.name == ELR_FEATURE and level and proposed[METADATA_FEATURE] < ELR_NEEDS:
        return f"found {METADATA_FEATURE} {proposed[METADATA_FEATURE]}, allowed from {ELR_NEEDS}"
    return ""


def _metadata_reject_reason(level: int, current: int) -> str:
    """``updateMetadataVersion``: no downgrade over a level that changed the records, safe or not (KAFKA-13896)."""
    if level < LOWEST_BOOTSTRAP_LEVEL:
        return f"found level {level}, allowed from {LOWEST_BOOTSTRAP_LEVEL}"
    crossed = [changed for changed in CHANGED_METADATA if level < changed <= current]
    return f"found level {level}, but level {crossed[0]} changed the metadata records" if crossed else ""
