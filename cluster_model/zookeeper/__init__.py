"""The ZooKeeper ensemble: servers, elections, data tree and client sessions.

ensemble: the ensemble as the model uses it, and one server process (QuorumPeer).
election: fast leader election; zab: ZAB at the leader, its followers and learners, and session expiry.
request_processor: a server's clients, and the order of their requests.
data_tree: znodes, transactions and watches.
client: a client's connection to the ensemble.
messages: messages between clients and servers.

It builds on kernel, and on protocol for its settings; it is independent of Kafka.
"""

__all__ = [
    "client",
    "ensemble",
    "messages",
]
