"""Parser of the sections of a playbook except steps: cluster, topics, clients, expectations, guards, storm.

cluster: cluster, topics and clients: their keys, and the resulting specification.
clients: keys of producers, consumers and applications: load, records, partitioners, transactions, outputs.
expectations: `expect`, `guards` and `storm`.

Builds on `playbooks.parser.document`. The result is a `ClusterSpec` of `cluster_model` and values of
`playbooks.model`.
"""

__all__ = [
    "cluster",
    "expectations",
]
