"""What most tests of faults begin with."""

import pytest

from cluster_model.cluster import Cluster
from faults.injector import FaultBoard
from tests.faults.rigs import SECOND, board_of, busy_cluster


@pytest.fixture
def cluster() -> Cluster:
    """The busy cluster, a second into its life."""
    cluster = busy_cluster()
    cluster.run(SECOND)
    cluster.drain()
    return cluster


@pytest.fixture
def board(cluster: Cluster) -> FaultBoard:
    """Its board, with nothing on it."""
    return board_of(cluster)
