"""Kafka as a deterministic simulation: brokers, both control planes, coordinators and clients in virtual time.

cluster: a whole cluster, its assembly and its run.
client_factory: its clients.
process_control: crash, shutdown, restart and CPU speed of its processes.
faultpoints: where faults take effect on brokers, connections and clients.
external_clients: the node of the gateway's real clients.
cluster_overview: views of a whole cluster.
node_releases: what each node runs while a cluster is upgraded.
snapshots: keyframes, to which a session can return.
fidelity: which of Kafka's rules are modelled, and which are not.
known_issues: bugs of released Kafkas.

Imports go downward only, in this order: util, protocol, known_issues, spec, assignors, kernel, connections, log,
broker, zookeeper, then controller, coordinators and clients (which do not import each other), observation, checker,
inspection, this package, manual and model_checker. Only the standard library is used.
"""

__all__ = [
    "client_factory",
    "cluster",
    "cluster_overview",
    "external_clients",
    "fidelity",
    "snapshots",
]
