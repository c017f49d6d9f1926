"""Configuration keys of transactions: of their coordinators, and of producers that write in them."""

from typing import Final

from cluster_model.protocol.config_key import ConfigKey
from cluster_model.protocol.versions import TRANSACTION_FEATURE

TRANSACTION_COORDINATOR: Final = (
    ConfigKey("transaction.state.log.num.partitions", "int", "Partitions of __transaction_state.", 1, 1_000),
    ConfigKey("transaction.state.log.replication.factor", "int", "Replicas of __transaction_state.", 1, 100),
    ConfigKey("transaction.state.log.min.isr", "int", "In-sync replicas that __transaction_state needs.", 1),
    ConfigKey("transaction.max.timeout.ms", "int", "Longest timeout that a transaction may ask for.", 1),
    ConfigKey("transactional.id.expiration.ms", "int", "Silence after which a transactional id is forgotten.", 1),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", "int",
        "How often transactions are looked for that have been open for too long.", 1,
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms", "int",
        "How often transactional ids are looked for that nobody uses.", 1,
    ),
    ConfigKey(
        "transaction.partition.verification.enable", "bool",
        "Whether leaders check that a partition is part of a transaction (3.6).",
    ),
    ConfigKey(
        TRANSACTION_FEATURE, "int", "Feature level: at 2 every transaction has an epoch (KRaft; default since 4.0).",
        0, 2,
    ),
)  # fmt: skip
"""Of brokers."""

TRANSACTIONAL_PRODUCER: Final = (
    ConfigKey(
        "transactional.id",
        "str",
        "Makes the producer write in transactions, as the only one of that name (0.11).",
        pattern="[a-zA-Z0-9._-]{1,200}",
        form="a name",
    ),
    ConfigKey("transaction.timeout.ms", "int", "How long a transaction may be open (0.11).", 1),
)  # fmt: skip
"""Of producers."""
