"""Features of a cluster, as ApiVersions tells them (KIP-584): those that the model has.

A client that finds ``transaction.version`` 2 writes without AddPartitionsToTxn, and goes on in another epoch after each
transaction (KIP-890).
"""

from typing import Final, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE

SINCE: Final = (4, 0, 0)
"""The release that has them."""


class Feature(NamedTuple):
    """A feature's name, its highest level, and the one that it has."""

    name: str
    highest: int
    level: int


def features(cluster: Cluster) -> tuple[Feature, ...]:
    """Those of a cluster; none before 4.0, and none in ZooKeeper mode."""
    profile = cluster.profile
    if not profile.kraft or profile.number < SINCE:
        return ()
    transactions = 2 if profile.transactions_v2 else int(cluster.spec.config.get(TRANSACTION_FEATURE, 1))
    return (Feature(ELR_FEATURE, 1, int(profile.elr)), Feature(TRANSACTION_FEATURE, 2, transactions))
