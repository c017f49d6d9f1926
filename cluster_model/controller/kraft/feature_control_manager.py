"""Levels of features at the active controller (``FeatureControlManager``). Sans-IO.

Levels are those that the cluster was formed with: what Kafka refuses is refused here by the same error, and a change
that Kafka would make is FEATURE_UPDATE_FAILED, for the rules of a running cluster stay what they are.
"""

from collections.abc import Mapping
from typing import Final

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
)
from cluster_model.protocol.versions import ELR_FEATURE, Profile

_FIXED: Final = "levels of features are those that the cluster was formed with"


class FeatureControl:
    """Decisions about the features of one cluster."""

    __slots__ = ("_features", "_whole")

    def __init__(self, profile: Profile, config: Mapping[str, ConfigValue]) -> None:
        self._features = {feature.name: feature for feature in features_of(profile, config)}
        self._whole = profile.atomic_feature_updates

    def update(self, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """The result of each update; the last one of a feature counts."""
        updates = {update.feature: update for update in request.updates}
        proposed = {name: feature.level for name, feature in self._features.items()}
        proposed.update({name: update.level for name, update in updates.items()})
        results = []
        for name, update in sorted(updates.items()):
            refused = self._refused(update, proposed)
            if refused:
                results.append(AdminError(name, KafkaError.INVALID_UPDATE_VERSION, refused))
            elif not request.validate_only and update.level != self._features[name].level:
                results.append(AdminError(name, KafkaError.FEATURE_UPDATE_FAILED, _FIXED))
            else:
                results.append(AdminError(name, KafkaError.NONE))
        number = request.correlation
        failed = [result for result in results if result.error]
        if self._whole and failed:
            return UpdateFeaturesResponse(number, failed[0].error, f"{failed[0].name}: {failed[0].message}", ())
        return UpdateFeaturesResponse(number, KafkaError.NONE, "", tuple(results))

    def _refused(self, update: FeatureUpdate, proposed: Mapping[str, int]) -> str:
        """Why Kafka refuses an update, empty if it does not (``FeatureControlManager.updateFeature``)."""
        level = update.level
        if update.type not in tuple(UpgradeType):
            return f"found upgrade type {update.type}, allowed are 1 to 3"
        feature = self._features.get(update.feature)
        if feature is None:
            return f"found {update.feature!r}, supported are {', '.join(self._features)}"
        if not feature.lowest <= level <= feature.highest:
            return f"found level {level}, supported are {feature.lowest} to {feature.highest}"
        if level < feature.level and update.type == UpgradeType.UPGRADE:
            return f"found level {level}, which is a downgrade from {feature.level}, by an upgrade"
        if level > feature.level and update.type != UpgradeType.UPGRADE:
            return f"found level {level}, which is an upgrade from {feature.level}, by a downgrade"
        if update.feature == METADATA_FEATURE:
            return _metadata_refused(level, feature)
        if update.feature == ELR_FEATURE and level and proposed[METADATA_FEATURE] < ELR_NEEDS:
            return f"found {METADATA_FEATURE} {proposed[METADATA_FEATURE]}, needed is {ELR_NEEDS}"
        return ""


def _metadata_refused(level: int, feature: Feature) -> str:
    """``updateMetadataVersion``: no downgrade over a level that changed the records, safe or not (KAFKA-13896)."""
    if level < LOWEST_BOOTSTRAP_LEVEL:
        return f"found level {level}, allowed from {LOWEST_BOOTSTRAP_LEVEL} on"
    lost = [each for each in CHANGED_METADATA if level < each <= feature.level]
    return f"found level {level}, and level {lost[0]} has changed the metadata since" if lost else ""
