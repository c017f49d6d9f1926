"""Kafka's clients, as processes of the simulation.

metadata: what a client knows of leaders, and responses that a fault keeps old.
coordinator_connection: finding a coordinator, and the requests to it.
workload: rates, loads and record sizes of an application.
admin_client: the administrator's client (KafkaAdminClient).

producer and consumer hold the two large clients; consumer may use producer, not the other way round. Clients build on
util, protocol, spec, assignors, kernel, connections and log; of the broker they use only the fetch sessions' client
side.
"""

from cluster_model.clients.admin_client import ADMIN, NAME, Answer, AtBroker, Describe, Request
from cluster_model.clients.workload import sizes_of

__all__ = [
    "ADMIN",
    "NAME",
    "Answer",
    "AtBroker",
    "Describe",
    "Request",
    "sizes_of",
]
