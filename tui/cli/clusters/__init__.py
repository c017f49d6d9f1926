"""Commands about an existing cluster.

cluster_import: a cluster file from what tools, files or the cluster itself say.
"""

__all__ = ["cluster_import"]
