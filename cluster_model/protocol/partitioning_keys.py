"""Configurations of where a producer sends what names no partition."""

from typing import Final

from cluster_model.protocol.config_key import LONG_MAX, ConfigKey

PARTITIONER_CLASS: Final = "partitioner.class"
IGNORE_KEYS: Final = "partitioner.ignore.keys"
ADAPTIVE: Final = "partitioner.adaptive.partitioning.enable"
AVAILABILITY: Final = "partitioner.availability.timeout.ms"

PARTITIONERS: Final = tuple(
    f"{package}{name}"
    for package, name in (
        ("org.apache.kafka.clients.producer.internals.", "DefaultPartitioner"),
        ("org.apache.kafka.clients.producer.", "RoundRobinPartitioner"),
        ("org.apache.kafka.clients.producer.", "UniformStickyPartitioner"),
    )
)
"""By their Java names; the last part is enough."""

PARTITIONING: Final = (
    ConfigKey(
        PARTITIONER_CLASS, "str", "Who chooses partitions; the version's default unless given.",
        choices=(*(name.rpartition(".")[2] for name in PARTITIONERS), *PARTITIONERS),
    ),
    ConfigKey(IGNORE_KEYS, "bool", "Whether records with keys are spread like those without (3.3)."),
    ConfigKey(ADAPTIVE, "bool", "Whether partitions with shorter queues get more (3.3)."),
    ConfigKey(
        AVAILABILITY, "int", "Silence of a leader after which its partitions are left out; 0 never (3.3).", 0,
        LONG_MAX // 1_000,
    ),
)  # fmt: skip
