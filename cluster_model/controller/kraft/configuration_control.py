"""Configurations of topics and brokers, changed live (``ConfigurationControlManager``, KIP-339). Sans-IO."""

from typing import Final

from cluster_model.controller.kraft.metadata import MetadataImage
from cluster_model.controller.kraft.records import ClearElrRecord, ConfigRecord, Record
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    ConfigOperation,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cluster_model.protocol.config_defs import MIN_ISR, SCOPES, Scope, check
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.errors import KafkaError, ModelError

LISTS: Final = (
    "cleanup.policy",
    "log.cleanup.policy",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
"""Configurations that are lists: only those take APPEND and SUBTRACT."""


def typed(scope: Scope, key: str, text: str) -> ConfigValue:
    """A configuration's value out of the text that an administrator gives.

    Raises:
        ModelError: an unknown key, or a value that it does not take.
    """
    known = SCOPES[scope].get(key)
    if known is not None and known.type == "int":
        try:
            return check(scope, key, int(text))
        except ValueError:
            pass
    return check(scope, key, text)


class ConfigurationControl:
    """Decisions about configurations over one image."""

    __slots__ = ("_elr", "_image")

    def __init__(self, image: MetadataImage, *, elr: bool) -> None:
        """``elr``: whether KIP-966 is on."""
        self._image = image
        self._elr = elr

    def alter(self, request: IncrementalAlterConfigsRequest) -> tuple[list[Record], IncrementalAlterConfigsResponse]:
        """All of a resource's changes, or none of them."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for resource in request.resources:
            error, message, changes = self._resource(resource)
            records.extend(changes)
            answers.append(AdminError(resource.name, error, message))
        records += self._clearing(records)
        return records, IncrementalAlterConfigsResponse(request.correlation, tuple(answers))

    def _clearing(self, records: list[Record]) -> list[Record]:
        """With another minimum nobody knows any more who was in sync when an ISR fell below it (KIP-966).

        Of one topic where its own minimum changes, of all topics where that of all brokers does
        (``createClearElrRecordsAsNeeded``).
        """
        if not self._elr:
            return []
        return [
            ClearElrRecord(record.name if record.type == "topic" else "")
            for record in records
            if isinstance(record, ConfigRecord) and record.key == MIN_ISR
        ]

    def _resource(self, resource: AlterConfigsResource) -> tuple[KafkaError, str, list[Record]]:
        unknown = self._unknown(resource)
        if unknown is not KafkaError.NONE:
            return unknown, "", []
        scope: Scope = "topic" if resource.type == "topic" else "broker"
        records: list[Record] = []
        own = self._image.config(resource.type, resource.name)
        for config in resource.configs:
            try:
                value = self._value(scope, config, own.get(config.key))
            except ModelError as wrong:
                return KafkaError.INVALID_CONFIG, str(wrong), []
            if self._elr and config.key == MIN_ISR and resource.type == "broker":
                refused = self._refused(resource.name, value)
                if refused:
                    return KafkaError.INVALID_CONFIG, refused, []
            if own.get(config.key) != value:
                records.append(ConfigRecord(resource.type, resource.name, config.key, value))
        return KafkaError.NONE, "", records

    @staticmethod
    def _refused(broker: str, value: ConfigValue | None) -> str:
        """Why a minimum of brokers may not be set: all must go by the same one, and the controller has to know it."""
        if broker:
            return f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
        return f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled." if value is None else ""

    def _unknown(self, resource: AlterConfigsResource) -> KafkaError:
        if resource.type == "topic":
            known = resource.name in self._image.topics
            return KafkaError.NONE if known else KafkaError.UNKNOWN_TOPIC_OR_PARTITION
        if resource.type != "broker" or (resource.name and not resource.name.isdecimal()):
            return KafkaError.INVALID_REQUEST
        known = not resource.name or int(resource.name) in self._image.brokers
        return KafkaError.NONE if known else KafkaError.BROKER_ID_NOT_REGISTERED

    @staticmethod
    def _value(scope: Scope, config: AlterableConfig, now: ConfigValue | None) -> ConfigValue | None:
        if config.operation == ConfigOperation.DELETE:
            if config.key not in SCOPES[scope]:
                check(scope, config.key, "")
            return None
        if config.operation == ConfigOperation.SET:
            return typed(scope, config.key, config.value)
        if config.key not in LISTS:
            raise ModelError(f"{config.key} is not a list")
        entries = [entry for entry in str(now or "").split(",") if entry]
        given = config.value.split(",")
        if config.operation == ConfigOperation.APPEND:
            entries += [entry for entry in given if entry not in entries]
        else:
            entries = [entry for entry in entries if entry not in given]
        return typed(scope, config.key, ",".join(entries)) if entries else None
