"""What messages are to a connection, and how large: every class there is, and every message that a cluster sends."""

import importlib
import pkgutil
from typing import Any

import pytest

import cluster_model
from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.cluster import Cluster
from cluster_model.faultpoints import ENTRY, ENVELOPE, MESSAGE_KINDS, RESPONSE_OF, kind_of, size_of
from cluster_model.kernel.link import OTHER, REQUEST, RESPONSE, STRICT_RESPONSE
from cluster_model.kernel.process import DISCONNECTED, HANDSHAKES
from cluster_model.protocol.messages import FetchResponse, MetadataRequest, MetadataResponse, ProduceRequest
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from cluster_model.zookeeper import messages as zookeeper

SECOND = 1_000_000


def message_classes() -> dict[str, type[Any]]:
    """Every class of the model that is called a request or a response, by name."""
    return {
        name: value
        for module in pkgutil.walk_packages(cluster_model.__path__, "cluster_model.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, type) and issubclass(value, tuple) and name.endswith(("Request", "Response"))
    }


def test_every_request_has_its_response_and_none_is_missing() -> None:
    classes = message_classes()
    assert len(classes) > 90
    of_zookeeper = {zookeeper.ConnectRequest, zookeeper.ConnectResponse, zookeeper.ClientRequest}
    assert {*RESPONSE_OF, *RESPONSE_OF.values()} == set(classes.values()) - of_zookeeper
    for question, answer in RESPONSE_OF.items():
        assert answer.__name__ == question.__name__.removesuffix("Request") + "Response"


def test_kinds_of_messages() -> None:
    assert kind_of(MetadataRequest(1)) == REQUEST
    assert kind_of(MetadataResponse(1, (), ())) == STRICT_RESPONSE
    assert kind_of(zookeeper.ClientPong(1, 2)) == RESPONSE
    assert kind_of(zookeeper.ClientPing(1)) == kind_of("no message") == OTHER


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_whatever_a_cluster_sends_is_known_and_has_a_size(
    kafka: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ClusterSpec(
        kafka,
        mode,
        (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
        (TopicSpec("t", 2, 3),),
        (ProducerSpec("p", "t", SECOND // 10, 20, record_bytes=500),),
        (GroupSpec("g", ("t",)),),
    )
    cluster = Cluster.build(spec, 1)
    sizes: dict[str, list[int]] = {}
    others: dict[str, None] = {}
    deliver = cluster.network._deliver

    def look(target: int, payload: tuple[Any, ...]) -> None:
        message = payload[3]
        if message is DISCONNECTED or isinstance(message, HANDSHAKES):
            deliver(target, payload)
            return
        size = size_of(message, cluster.epoch_branches)
        if isinstance(message, ProduceRequest):
            assert size == ENVELOPE + ENTRY + message.size
        elif isinstance(message, FetchResponse):
            records = sum(
                slice_bytes(cluster.epoch_branches[data.partition], data.records) for data in message.partitions
            )
            assert size == ENVELOPE + ENTRY * len(message.partitions) + records
        sizes.setdefault(type(message).__name__, []).append(size)
        if type(message) not in MESSAGE_KINDS:
            others[type(message).__name__] = None
        deliver(target, payload)

    handlers = cluster.network.kernel._handlers
    monkeypatch.setattr(cluster.network.kernel, "_handlers", (look, *handlers[1:]))
    cluster.run(10 * SECOND)
    cluster.crash(1)
    cluster.run(20 * SECOND)
    assert max(sizes["ProduceRequest"]) > 9_000
    assert max(sizes["FetchResponse"]) > 9_000
    assert all(size >= ENVELOPE for found in sizes.values() for size in found)
    assert max(sizes["MetadataResponse"]) >= ENVELOPE + 5 * ENTRY
    if mode == "kraft":
        assert list(others) == []
    else:
        assert set(others) <= {"ClientPing", "ClientRequest", "LeaderPing", "FollowerPing", "Proposal", "Ack", "Commit",
                               "Forward", "Touch"}  # fmt: skip
        assert "LeaderPing" in others
