"""What clients outside may see goes by the weakest of what they asked for, and is the same from a keyframe on."""

from cluster_model.cluster import Cluster
from cluster_model.external_clients import ExternalClientSettings
from cluster_model.protocol.messages import FetchPartition, FetchRequest, InitProducerIdRequest, ProduceRequest
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

SECOND = 1_000_000


def batch(acks: int = -1, pid: int = -1, kind: int = 0) -> ProduceRequest:
    return ProduceRequest(0, "orders-0", acks, SECOND, "app", pid, -1, 1, 61, kind=kind)


def test_the_weakest_acks_count() -> None:
    for first, second, found in ((-1, 1, 1), (1, -1, 1), (1, 0, 0), (0, -1, 0), (-1, -1, -1)):
        manners = ExternalClientSettings()
        manners.wrote(batch(first))
        manners.wrote(batch(second))
        assert manners.producers["app"].acks == found


def test_another_producer_id_means_resends_without_idempotence() -> None:
    manners = ExternalClientSettings()
    manners.wrote(batch(pid=7))
    manners.wrote(batch(pid=7))
    assert (manners.producers["app"].idempotent, manners.producers["app"].resends) == (True, False)
    manners.wrote(batch(pid=8, kind=1))
    assert manners.producers["app"].resends
    assert manners.producers["app"].transactional
    manners.wrote(batch())
    assert not manners.producers["app"].idempotent


def test_snapshots_and_views_include_external_clients() -> None:
    spec = ClusterSpec("3.9", "kraft", tuple(map(BrokerSpec, (1, 2, 3))), (TopicSpec("orders", 1, 3),))
    cluster = Cluster.build(spec, 3)
    before = cluster.save()
    outside = cluster.external_clients
    outside.open()
    outside.send_request(1, "app", batch(1))
    asked = FetchRequest(0, -1, -1, 0, 1 << 20, (FetchPartition("orders-0", 0, -1, -1),), isolation=1)
    outside.send_request(1, "reader", asked)
    outside.send_request(1, "shop", InitProducerIdRequest(0, "till"))
    kept = cluster.save()
    cluster.load(before)
    force = cluster.checker.anomalies.allowed_anomalies
    assert (outside.settings.readers, force.why_lost("app", "orders-0")) == ({}, "")
    cluster.load(kept)
    assert force.why_lost("app", "orders-0") == "acks=1"
    assert outside.settings.readers == {"reader": "wire committed"}
    assert outside.settings.transactional_ids == {"shop": "till"}
