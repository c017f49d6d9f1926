"""Leader epochs of fetches in a session (KAFKA-9338)."""

import pytest

from cluster_model.broker.fetch.fetch_reads import serve_fetch
from cluster_model.broker.partition.fetch_sessions import FULL, SESSIONLESS
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import FetchPartition, FetchRequest
from tests.cluster_model.leaders import LeaderRig

FENCED = KafkaError.FENCED_LEADER_EPOCH
NONE = KafkaError.NONE


@pytest.mark.parametrize(("kafka", "in_session"), [("2.1", NONE), ("2.4", NONE), ("2.5.0", FENCED), ("3.9", FENCED)])
def test_up_to_2_4_only_a_full_fetch_is_fenced(kafka: str, in_session: KafkaError) -> None:
    rig = LeaderRig(kafka, mode="zookeeper")
    rig.append(1)
    for session_epoch, error in ((FULL, FENCED), (SESSIONLESS, FENCED), (1, in_session)):
        fetch = FetchPartition(rig.replica.partition, 0, rig.replica.leader_epoch - 1, -1)
        request = FetchRequest(1, 2, -1, 0, 1000, (fetch,), session_epoch=session_epoch)
        assert serve_fetch(rig.replica, request, fetch, 0, (), book=False).error == error
