"""Configurations for tests that run under several Kafka releases."""

from collections.abc import Mapping
from typing import Any

from cluster_model.protocol.config_defaults import DEFAULTS, DefaultScope
from cluster_model.protocol.releases import parse_version


def those_of(scope: DefaultScope, kafka: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given configurations that a release has."""
    version = parse_version(kafka)
    return {name: value for name, value in config.items() if DEFAULTS[scope][name].exists(version)}
