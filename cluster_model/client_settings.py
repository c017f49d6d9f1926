"""The settings of a cluster's clients that decide what they may see, from the spec."""

from collections import ChainMap

from cluster_model.checker.anomalies.client_settings import ClientSettings, ProducerSettings, manner
from cluster_model.client_factory import configured_instance
from cluster_model.clients.consumer.dead_letters import SUFFIX as LETTERS
from cluster_model.clients.producer.application_producers import SUFFIX as OUTPUT
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.manners import Manners
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.versions import Profile
from cluster_model.spec.application import TRANSACTION
from cluster_model.spec.cluster_spec import RIVAL, ClusterSpec


def client_settings(spec: ClusterSpec, profile: Profile, outside: Manners) -> ClientSettings:
    """Of every producer, of what members write with, of every group, and of whoever comes from outside."""
    producers: dict[str, ProducerSettings] = {}
    for each in spec.producers:
        settings = _producer(profile, each.config, resends=each.resends)
        producers[each.name] = producers[each.name + RIVAL] = settings
    copiers: dict[str, None] = {}
    static: dict[str, None] = {}
    groups: dict[str, str] = {}
    for group in spec.groups:
        coordinated = group.coordinated and profile.group_membership
        committed_only = ConsumerConfig.of(profile, group.config).committed_only
        groups[group.name] = manner(coordinated=coordinated, committed_only=committed_only)
        for number, member in enumerate(f"{group.name}/{number}" for number in range(group.members)):
            if configured_instance(group, number):
                static[member] = None
            producers[member + LETTERS] = _producer(profile, {"acks": "all"})
            if group.to:
                config: dict[str, ConfigValue] = {"acks": "all", **group.to_config}
                if group.commit == TRANSACTION:
                    config["transactional.id"] = member
                    copiers[member] = None
                producers[member + OUTPUT] = _producer(profile, config)
    return ClientSettings(
        ChainMap(producers, outside.producers), groups, outside.readers, frozenset(copiers), frozenset(static)
    )


def _producer(profile: Profile, config: dict[str, ConfigValue], *, resends: bool = False) -> ProducerSettings:
    found = ProducerConfig.of(profile, config)
    return ProducerSettings(
        found.acks, found.idempotent, found.retries, found.max_in_flight, bool(found.transactional_id), resends
    )
