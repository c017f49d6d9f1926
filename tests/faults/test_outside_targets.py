"""Groups and transactional producers outside of the model can be aimed at as soon as they have shown themselves."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.group_messages import JoinGroupRequest
from cluster_model.protocol.messages import InitProducerIdRequest
from cluster_model.spec.cluster_spec import OFFSETS, TRANSACTIONS, BrokerSpec, ClusterSpec, TopicSpec
from faults.declarations.targets import SelectorError, resolve


def test_their_coordinators(snapshot: SnapshotAssertion) -> None:
    topics = tuple(TopicSpec(name, 1, 3) for name in (OFFSETS, TRANSACTIONS))
    spec = ClusterSpec("3.9", "kraft", tuple(map(BrokerSpec, (1, 2, 3))), topics)
    cluster = Cluster.build(spec, 3)
    for target, code in (
        ("coordinator(billing)", "no_group"),
        ("transaction_coordinator(shop)", "no_transactional_producer"),
    ):
        with pytest.raises(SelectorError) as caught:
            resolve(target, cluster)
        assert caught.value.code == code
        assert str(caught.value) == snapshot
    cluster.external_clients.send_request(
        1, "reader", JoinGroupRequest(0, "billing", "reader", "", 10_000_000, 10_000_000, ())
    )
    cluster.external_clients.send_request(1, "shop", InitProducerIdRequest(0, "till"))
    assert len(resolve("coordinator(billing)", cluster)) == 1
    assert len(resolve("transaction_coordinator(shop)", cluster)) == 1
