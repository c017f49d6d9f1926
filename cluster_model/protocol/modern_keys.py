"""Configuration keys of groups by the consumer protocol (KIP-848)."""

from typing import Final

from cluster_model.protocol.config_key import ConfigKey

COORDINATOR: Final = (
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        "str",
        "Whether groups may use the consumer protocol (3.7).",
        pattern="classic( *, *consumer)?|consumer *, *classic",
        form="classic or classic,consumer",
    ),
    ConfigKey("group.consumer.session.timeout.ms", "int", "Session of members by the consumer protocol.", 1),
    ConfigKey("group.consumer.heartbeat.interval.ms", "int", "How often such members are to be heard of.", 1),
    ConfigKey("group.consumer.max.size", "int", "Most members of such a group.", 1),
    ConfigKey(
        "group.consumer.assignors",
        "str",
        "Assignors of the coordinator, the default one first.",
        pattern="(uniform|range)( *, *(uniform|range))*",
        form="uniform and range, separated by commas",
    ),
)  # fmt: skip
"""Of brokers."""

MEMBER: Final = (
    ConfigKey(
        "group.protocol", "str", "How members and their coordinator come to terms: classic, or consumer (3.7, KRaft).",
        choices=("classic", "consumer"),
    ),
    ConfigKey(
        "group.remote.assignor", "str", "The coordinator's assignor that a member wants, with group.protocol consumer.",
        choices=("uniform", "range"),
    ),
)  # fmt: skip
"""Of consumers."""
