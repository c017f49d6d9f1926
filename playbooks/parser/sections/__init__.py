"""The sections of a playbook that are no steps: cluster, topics, clients, expectations, guards, storm.

cluster: cluster, topics and clients: their keys, and the specification that they come to.
clients: keys of producers, consumers and applications: load, records, partitioners, transactions, outputs.
expectations: `expect`, `guards` and `storm`.

Builds on `playbooks.parser.document`. The result is a `ClusterSpec` of `cluster_model` and values of
`playbooks.model`.
"""

__all__ = [
    "cluster",
    "expectations",
]
