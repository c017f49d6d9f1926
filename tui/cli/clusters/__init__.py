"""Commands about an existing cluster.

cluster_import: a cluster file from what tools, files or the cluster itself say.
cluster_risks: the partitions that each loss of brokers or racks takes away.
new_playbook: a commented first playbook on the cluster of a cluster file.
"""

__all__ = ["cluster_import", "cluster_risks", "new_playbook"]
