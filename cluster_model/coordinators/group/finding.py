"""FindCoordinator: who leads the partition that a group's or a transaction's state is in (``KafkaApis``).

A broker answers from its own metadata cache. A stale one names the old leader, who then says NOT_COORDINATOR.
"""

from collections.abc import Container, Mapping

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import GROUP, TRANSACTION, FindCoordinatorRequest, FindCoordinatorResponse
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.spec.internal_topics import OFFSETS, TRANSACTIONS, coordinator_partition

TOPIC_OF = {GROUP: OFFSETS, TRANSACTION: TRANSACTIONS}


def find(
    request: FindCoordinatorRequest,
    partitions: Mapping[str, int],
    states: Mapping[str, PartitionState],
    live: Container[int],
) -> FindCoordinatorResponse:
    """The answer. COORDINATOR_NOT_AVAILABLE: there is no such topic, or its partition has no leader that lives.

    ``partitions`` is how many each internal topic has, or would have.
    """
    topic = TOPIC_OF.get(request.key_type)
    if topic is None:
        return FindCoordinatorResponse(request.correlation, KafkaError.INVALID_REQUEST, NOBODY)
    state = states.get(f"{topic}-{coordinator_partition(request.key, partitions[topic])}")
    if state is None or state.leader == NOBODY or state.leader not in live:
        return FindCoordinatorResponse(request.correlation, KafkaError.COORDINATOR_NOT_AVAILABLE, NOBODY)
    return FindCoordinatorResponse(request.correlation, KafkaError.NONE, state.leader)
