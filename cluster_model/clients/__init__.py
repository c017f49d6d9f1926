"""Kafka's clients as simulated processes: producers, consumers and the admin client.

metadata: the client's metadata cache, and metadata responses kept stale by a fault.
coordinator_connection: lookup of a coordinator, and requests to it.
workload: rates, load and record sizes of an application.
admin_client: the admin client (KafkaAdminClient).

The packages producer and consumer hold the two large clients; consumer may use producer, not the reverse. Clients
depend on util, protocol, spec, assignors, kernel, connections and log; of the broker they use only the client side of
fetch sessions.
"""

from cluster_model.clients.admin_client import ADMIN, NAME, Answer, BrokerCall, DescribeMetadata, Request
from cluster_model.clients.workload import sizes_of

__all__ = [
    "ADMIN",
    "NAME",
    "Answer",
    "BrokerCall",
    "DescribeMetadata",
    "Request",
    "sizes_of",
]
