"""A run, and the same run once more from a keyframe."""

from collections.abc import Callable

from cluster_model.cluster import Cluster


def comes_out_again(cluster: Cluster, act: Callable[[Cluster], object]) -> bool:
    """Whether ``act`` from here on leads to the same digest when the cluster is taken back and it is done again."""
    keyframe, at = cluster.save(), cluster.digest()
    act(cluster)
    digest = cluster.digest()
    assert digest != at, "nothing happened"
    cluster.load(keyframe)
    assert cluster.digest() == at
    act(cluster)
    return cluster.digest() == digest
