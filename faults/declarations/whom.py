"""Whom a fault can be done to: the kinds of targets that declarations speak of."""

from cluster_model.cluster import Cluster


def fits(accepts: str, node: int, cluster: Cluster) -> bool:
    """Whether a node is of a kind of targets (:data:`faults.declarations.fault.ACCEPTS`)."""
    if accepts == "brokers":
        return node in cluster.brokers
    if accepts == "controllers":
        return node in cluster.plane.controllers()
    if accepts == "plane":
        return node in cluster.plane.servers or node in cluster.plane.controllers()
    name = cluster.clients.names.get(node)
    if accepts == "consumers":
        return name is not None and name in cluster.consumers
    if accepts == "producers":
        return name is not None and name in cluster.producers
    if accepts == "clients":
        return name is not None
    if accepts == "hosts":
        return name is not None or node in cluster.brokers
    return accepts == "nodes" or name is not None or node in cluster.brokers or node in cluster.plane.servers
