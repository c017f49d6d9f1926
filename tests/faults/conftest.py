"""What most tests of faults begin with."""

import pytest

from cluster_model.cluster import Cluster
from faults.injector import FaultInjector
from tests.faults.rigs import SECOND, begun, board_of, busy_cluster


@pytest.fixture
def cluster() -> Cluster:
    """The busy cluster, a second into its life."""
    return begun(SECOND, busy_cluster)[0]


@pytest.fixture
def board(cluster: Cluster) -> FaultInjector:
    """Its board, with nothing on it."""
    return board_of(cluster)
