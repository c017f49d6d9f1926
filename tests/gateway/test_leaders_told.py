"""Who refuses says who leads, and where: in the versions in which Kafka's broker does."""

from types import SimpleNamespace
from typing import Any

import pytest
from kio.serial import entity_reader

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import FetchData, FetchResponse, ProduceResponse
from cluster_model.protocol.records import Slice
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec
from gateway.handlers.produce_fetch import fetch, produce
from gateway.protocol import api_versions
from gateway.protocol.codec import response_schema, write_response
from gateway.protocol.context import ApiCall, GatewayCluster, RequestHandlerGenerator, topic_uuid
from gateway.protocol.record_batches import encode_batch

REFUSED = KafkaError.NOT_LEADER_OR_FOLLOWER


@pytest.fixture(scope="module")
def context() -> GatewayCluster:
    spec = ClusterSpec("3.9", "kraft", tuple(BrokerSpec(number) for number in (1, 2, 3)), (TopicSpec("orders", 1, 3),))
    addresses = {number: ("127.0.0.1", 9091 + number) for number in (1, 2, 3)}
    return GatewayCluster(Cluster.build(spec, 1), 0, addresses)


def answered(flow: RequestHandlerGenerator, answer: Any, api: int, version: int) -> Any:
    """What a client reads, if that is the model's answer."""
    next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.send((answer,))
    data = write_response(api, version, 1, stop.value.value)
    header = 5 if response_schema(api, version).__flexible__ else 4
    return entity_reader(response_schema(api, version))(data[header:], 0)[0]


def fetched(context: GatewayCluster, version: int, current: tuple[int, int] | None) -> Any:
    state = context.states(1)["orders-0"]
    asked = SimpleNamespace(partition=0, fetch_offset=5, partition_max_bytes=100)
    topic = SimpleNamespace(topic="orders", topic_id=topic_uuid("orders", state.topic_id), partitions=(asked,))
    request = SimpleNamespace(topics=(topic,), max_wait=None, min_bytes=1, max_bytes=100, isolation_level=0)
    data = FetchData("orders-0", 5, REFUSED, -1, -1, -1, Slice(5, 5, ()), current=current)
    flow = fetch(ApiCall(context, 1, "app", api_versions.FETCH, version, request))
    return answered(flow, FetchResponse(0, (data,)), api_versions.FETCH, version)


def produced(context: GatewayCluster, version: int, current: tuple[int, int] | None) -> Any:
    each = SimpleNamespace(index=0, records=encode_batch(0, 0, 1, [(None, b"value")]))
    topic = SimpleNamespace(name="orders", partition_data=(each,))
    request = SimpleNamespace(acks=-1, topic_data=(topic,), timeout=None)
    answer = ProduceResponse(0, "orders-0", REFUSED, -1, -1, -1, -1, current)
    flow = produce(ApiCall(context, 1, "app", api_versions.PRODUCE, version, request))
    return answered(flow, answer, api_versions.PRODUCE, version)


def leader_of(response: Any) -> tuple[int, int]:
    (topic,) = response.responses
    (each,) = getattr(topic, "partition_responses", ()) or topic.partitions
    return (each.current_leader.leader_id, each.current_leader.leader_epoch)


@pytest.mark.parametrize(("ask", "since"), [(fetched, 16), (fetched, 18), (produced, 10)])
def test_the_leader_comes_with_its_address(ask: Any, since: int, context: GatewayCluster) -> None:
    told = ask(context, since, (3, 7))
    assert leader_of(told) == (3, 7)
    assert [(each.node_id, each.host, each.port) for each in told.node_endpoints] == [(3, "127.0.0.1", 9094)]
    assert ask(context, since, None).node_endpoints == ()


@pytest.mark.parametrize(("ask", "version"), [(fetched, 12), (fetched, 15)])
def test_before_there_was_room_for_the_address_the_leader_is_not_named(
    ask: Any, version: int, context: GatewayCluster
) -> None:
    assert leader_of(ask(context, version, (3, 7))) == (-1, -1)


@pytest.mark.parametrize(("ask", "version"), [(fetched, 4), (fetched, 11), (produced, 3), (produced, 9)])
def test_older_versions_have_no_place_for_it(ask: Any, version: int, context: GatewayCluster) -> None:
    assert not hasattr(ask(context, version, (3, 7)), "node_endpoints")


@pytest.mark.parametrize(("ask", "version"), [(fetched, 16), (produced, 10)])
def test_a_leader_that_the_broker_takes_for_dead_has_no_address(
    ask: Any, version: int, context: GatewayCluster
) -> None:
    told = ask(context, version, (9, 7))
    assert (leader_of(told), told.node_endpoints) == ((9, 7), ())
