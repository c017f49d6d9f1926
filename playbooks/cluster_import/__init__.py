"""Import of an existing cluster: what tools, files or the cluster itself say of it becomes a cluster file.

description: what inputs say, and the merge of several; inputs: files and folders with formats recognized by content;
kafka_tools, kcat, server_properties, strimzi, live_cluster: a reader each; cluster_file: the checked result as YAML.
"""

from playbooks.cluster_import.cluster_file import ClusterFile, ClusterSupplement, MissingAnswerError, cluster_file
from playbooks.cluster_import.description import ClusterDescription, GivenValue, Place, merged
from playbooks.cluster_import.inputs import FORMATS, read_inputs
from playbooks.cluster_import.live_cluster import LiveClusterError, client_settings, read_live_cluster

__all__ = [
    "FORMATS",
    "ClusterDescription",
    "ClusterFile",
    "ClusterSupplement",
    "GivenValue",
    "LiveClusterError",
    "MissingAnswerError",
    "Place",
    "client_settings",
    "cluster_file",
    "merged",
    "read_inputs",
    "read_live_cluster",
]
