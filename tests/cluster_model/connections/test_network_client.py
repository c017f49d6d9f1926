"""Connections of a client: timing of attempts, requests that wait for them, and their cost for a producer."""

from itertools import pairwise
from typing import Any

import pytest

from cluster_model.connections.network_client import ConnectionState, NetworkClient, growing_us
from cluster_model.kernel.network import SYN_TIMEOUT_US
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import ProduceRetried
from cluster_model.protocol.messages import NO_LEADER, FetchRequest, ProduceRequest
from tests.cluster_model.rigs import CONNECTING, LATENCY, MS, SECOND, ConsumerRig, ProducerRig, state

READY, DISCONNECTED = ConnectionState.READY, ConnectionState.DISCONNECTED
CONNECTING_STATE, CHECKING = ConnectionState.CONNECTING, ConnectionState.CHECKING_API_VERSIONS


def port_of(rig: ProducerRig) -> NetworkClient:
    return rig.producer._port


def attempts(rig: ProducerRig, broker: int, duration: int) -> list[int]:
    """Return the times when the client begins to connect to a broker, sampled every fifth of a millisecond."""
    begun: list[int] = []
    before = port_of(rig).state(broker)
    for _step in range(duration * 5 // MS):
        rig.run(MS // 5)
        now = port_of(rig).state(broker)
        if now is CONNECTING_STATE and before is not CONNECTING_STATE:
            begun.append(rig.now)
        before = now
    return begun


def waiting(kafka: str = "3.9", **config: ConfigValue) -> ProducerRig:
    """Return a producer with one batch for broker 1, whose process was killed just after the connection."""
    settings = {name.replace("_", "."): value for name, value in config.items()}
    rig = ProducerRig(kafka=kafka, batches=2, interval=50 * MS, config=settings)
    rig.run(60 * MS)
    rig.answer(rig.produced()[0])
    rig.network.crash(1)
    return rig


# --- cost of an attempt -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retries", [0, 3])
def test_only_what_is_in_flight_when_a_brokers_process_dies_costs_an_attempt(retries: int) -> None:
    rig = ProducerRig(kafka="2.0", batches=20, config={"retries": retries})
    rig.run(15 * MS)
    assert len(rig.produced()) == 1
    rig.network.crash(1)
    rig.run(2 * SECOND)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 2, 1))
    rig.run(SECOND)
    taken = [(request.sequence, request.records) for request in rig.produced(2)]
    assert taken == [(0, 1), (1, 19)][not retries :]
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 1 - bool(retries)}
    assert sum(event.count for event in rig.of(ProduceRetried)) == bool(retries)


def test_batches_waiting_for_a_connection_are_sent_in_order() -> None:
    rig = ProducerRig(batches=5, config={"batch.size": 0})
    rig.run(5 * MS)
    rig.network.crash(1)
    rig.run(100 * MS)
    assert rig.produced() == []
    assert rig.producer.queued == 5
    rig.network.restart(1)
    rig.run(2 * SECOND)
    assert [request.sequence for request in rig.produced()] == [0, 1, 2, 3, 4]
    assert rig.of(ProduceRetried) == []


@pytest.mark.parametrize(("kafka", "after_s"), [("2.0", 30), ("2.1", 120), ("3.9", 120)])
def test_batches_that_were_never_sent_expire_as_failed(kafka: str, after_s: int) -> None:
    rig = waiting(kafka)
    rig.run((after_s - 1) * SECOND)
    assert rig.books() == {"acked": 1, "failed": 0, "unknown": 0}
    rig.run(3 * SECOND)
    assert rig.books() == {"acked": 1, "failed": 1, "unknown": 0}


def test_without_a_response_to_its_requests_only_the_timeout_ends_a_connection() -> None:
    rig = ProducerRig(batches=20, config={"request.timeout.ms": 2_000})
    rig.run(15 * MS)
    rig.network.power_off(1)
    rig.run(2 * SECOND - 10 * MS)
    assert (port_of(rig).state(1), rig.of(ProduceRetried)) == (READY, [])
    rig.run(20 * MS)
    assert port_of(rig).state(1) is DISCONNECTED


def test_a_request_timeout_fails_whatever_else_is_in_flight_on_the_connection() -> None:
    """Metadata is requested from the broker that has batches; it gets no response, and the batches' come too late."""
    config: dict[str, ConfigValue] = {
        "request.timeout.ms": 2_000, "batch.size": 0, "enable.idempotence": False, "acks": "1",
    }  # fmt: skip
    rig = ProducerRig(batches=4, interval=500 * MS, config=config)
    rig.run(100 * MS)
    for broker in (2, 3):
        port_of(rig).ready(broker)
        port_of(rig).disconnect(broker)
    rig.producer._metadata.refresh()
    rig.run(10 * MS)
    assert rig.metadata_asked() == [1]
    rig.run(1_800 * MS)
    late = rig.produced()[-1]
    rig.run(200 * MS)
    assert port_of(rig).state(1) is not READY
    assert rig.producer.in_flight == 0
    assert sum(event.count for event in rig.of(ProduceRetried)) == 0
    rig.answer(late)
    assert rig.books()["acked"] == 0


def test_a_fetch_timeout_requests_metadata_from_another_broker() -> None:
    rig = ConsumerRig(leaders=(1, 2, 3), config={"request.timeout.ms": 5_000, "metadata.max.age.ms": 3_000})
    rig.network.pause(1)
    metadata = rig.consumer.metadata
    while metadata._node != 1 and rig.now < 4 * SECOND:
        rig.run(MS)
    while rig.consumer._port.state(1) is READY and rig.now < 9 * SECOND:
        rig.run(MS)
    rig.run(200 * MS)
    assert metadata._node not in (1, NO_LEADER)


# --- timing of retries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "config", "pauses_ms"),
    [
        ("0.10.2", {}, [50, 50, 50, 50, 50]),
        ("0.11", {}, [50, 100, 200, 400, 800, 1_000, 1_000]),
        ("3.9", {}, [50, 100, 200, 400, 800, 1_000, 1_000]),
        ("3.9", {"reconnect_backoff_ms": 300, "reconnect_backoff_max_ms": 300}, [300, 300, 300]),
        ("0.11", {"reconnect_backoff_ms": 100}, [100, 100, 100]),
        ("3.9", {"reconnect_backoff_ms": 100}, [100, 100, 100]),
        ("3.6", {"reconnect_backoff_ms": 300, "reconnect_backoff_max_ms": 100}, [300, 300, 300]),
        ("3.7", {"reconnect_backoff_ms": 300, "reconnect_backoff_max_ms": 100}, [100, 100, 100]),
        ("3.9", {"reconnect_backoff_ms": 100, "reconnect_backoff_max_ms": 400}, [100, 200, 400, 400]),
    ],
)
def test_pauses_between_attempts_double_since_kip_144(
    kafka: str, config: dict[str, ConfigValue], pauses_ms: list[int]
) -> None:
    rig = waiting(kafka, **config)
    lost_at = rig.now + LATENCY
    begun = attempts(rig, 1, 2 * sum(pauses_ms) * MS)
    refused = [lost_at, *[at + 2 * LATENCY for at in begun]]
    found = [(at - before) // MS for before, at in zip(refused, begun, strict=False)]
    varies = len(set(pauses_ms)) > 1
    for pause_ms, expected_ms in zip(found, pauses_ms, strict=False):
        low, high = (expected_ms * 8 // 10, expected_ms * 12 // 10) if varies else (expected_ms, expected_ms)
        assert low <= pause_ms <= high + 1
    assert len(found) >= len(pauses_ms)


@pytest.mark.parametrize(("kafka", "most"), [("0.11", 1_200 * MS), ("3.6", 1_200 * MS), ("3.7", SECOND)])
def test_chance_takes_no_time_beyond_its_maximum_since_kip_580(kafka: str, most: int) -> None:
    settings = ProducerRig(kafka=kafka).config.connections
    jitter = RandomStream(0, "jitter")
    drawn = [growing_us(settings, 50 * MS, SECOND, 9, jitter) for _ in range(200)]
    assert most - 20 * MS < max(drawn) <= most


@pytest.mark.parametrize(("kafka", "setup_s"), [("2.6", 0), ("2.7", 10), ("3.9", 10)])
def test_unanswered_connection_attempts_time_out_since_kip_601(kafka: str, setup_s: int) -> None:
    rig = waiting(kafka, request_timeout_ms=300_000, **({} if kafka < "2.1" else {"delivery_timeout_ms": 400_000}))
    rig.network.power_off(1)
    rig.run(200 * MS)
    assert port_of(rig).state(1) is CONNECTING_STATE
    rig.run(7 * SECOND)
    assert port_of(rig).state(1) is CONNECTING_STATE
    again = attempts(rig, 1, 6 * SECOND)
    assert len(again) == (1 if setup_s else 0)


def test_the_time_for_an_attempt_doubles_up_to_its_maximum() -> None:
    config: dict[str, ConfigValue] = {
        "socket_connection_setup_timeout_ms": 1_000, "socket_connection_setup_timeout_max_ms": 4_000,
    }  # fmt: skip
    rig = waiting("3.9", **config)
    rig.network.power_off(1)
    lasted = [(after - at) // MS for at, after in pairwise(attempts(rig, 1, 14 * SECOND))]
    for number, (low_ms, high_ms) in enumerate([(800, 1_200), (1_600, 2_400), (3_200, 4_000)]):
        pause_ms = 120 << number
        assert low_ms < lasted[number] < high_ms + pause_ms


def test_before_kip_601_the_operating_system_gives_an_attempt_up() -> None:
    rig = waiting("2.6", request_timeout_ms=300_000, delivery_timeout_ms=400_000)
    rig.network.power_off(1)
    begun = attempts(rig, 1, SECOND)
    rig.run(SYN_TIMEOUT_US - 2 * SECOND)
    begun += attempts(rig, 1, 2 * SECOND)
    assert [(after - at) // SECOND for at, after in pairwise(begun)] == [SYN_TIMEOUT_US // SECOND]


# --- the first request ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "asks"), [("0.10.1", False), ("0.10.2", True), ("3.9", True)])
def test_a_paused_process_accepts_but_does_not_answer_the_first_request(kafka: str, asks: bool) -> None:
    rig = waiting(kafka)
    rig.network.restart(1)
    rig.network.pause(1)
    rig.run(2 * SECOND)
    assert port_of(rig).state(1) is (CHECKING if asks else READY)
    assert rig.producer.queued == (1 if asks else 0)
    rig.network.resume(1)
    rig.run(CONNECTING)
    assert port_of(rig).state(1) is READY
    assert [request.sequence for request in rig.produced()] == [0, 1]


def test_a_first_request_without_an_answer_is_given_up_at_the_request_timeout() -> None:
    rig = waiting("3.9", request_timeout_ms=3_000)
    rig.brokers[1].tells_versions = False
    rig.network.restart(1)
    begun = attempts(rig, 1, 7 * SECOND)
    assert len(begun) == 3
    assert all(3 * SECOND < after - at < 3_300 * MS for at, after in pairwise(begun[-2:]))


# --- choice of a broker -----------------------------------------------------------------------------------------------


def test_requests_to_any_broker_prefer_a_connected_one() -> None:
    rig = ProducerRig(leaders=(1,), batches=40, config={"metadata.max.age.ms": 300})
    rig.run(15 * MS)
    rig.network.crash(1)
    for _round in range(12):
        rig.run(110 * MS)
        if (asked := rig.metadata_asked()) and asked[-1] != 1:
            rig.answer_metadata(asked[-1], state("t-0", 1))
    assert len(rig.metadata_asked()) > 4
    assert 1 not in rig.metadata_asked()
    ranks = [port_of(rig).rank(broker)[0] for broker in (1, 2, 3)]
    assert ranks[0] > 1
    assert ranks[1:] == [0, 0]


def test_a_consumer_does_not_fetch_while_it_may_not_connect() -> None:
    rig = ConsumerRig(config={"reconnect.backoff.ms": 5_000, "reconnect.backoff.max.ms": 5_000})
    rig.network.crash(1)
    rig.network.restart(1)
    lost_at = rig.now + LATENCY
    rig.run(6 * SECOND)
    assert rig.times(FetchRequest, 1)[1:] == [lost_at + 5 * SECOND + CONNECTING + LATENCY]


# --- state ----------------------------------------------------------------------------------------------------------


def test_a_client_that_starts_in_the_middle_has_to_connect_first() -> None:
    rig = ProducerRig(leaders=(), batches=1)
    assert sorted(port_of(rig).state(broker) for broker in (1, 2, 3)) == [DISCONNECTED, DISCONNECTED, CONNECTING_STATE]
    rig.run(CONNECTING - 1)
    assert sorted(port_of(rig).state(broker) for broker in (1, 2, 3)) == [DISCONNECTED, DISCONNECTED, CHECKING]


@pytest.mark.parametrize("at_ms", [30, 900, 4_000])
def test_a_loaded_client_connects_exactly_as_the_first_time(at_ms: int) -> None:
    rig = waiting("3.9")
    rig.run(at_ms * MS)
    saved = (rig.network.save(), rig.producer.save(), rig.streams.save())

    def rest() -> list[Any]:
        rig.brokers[1].got.clear()
        rig.run(SECOND)
        rig.network.restart(1)
        rig.run(3 * SECOND)
        return [*rig.brokers[1].got, port_of(rig).save()]

    once = rest()
    network, producer, streams = saved
    rig.streams.load(streams)
    rig.network.load(network)
    rig.producer.load(producer)
    assert rest() == once
    assert any(isinstance(message, ProduceRequest) for _at, message in once[:-1])


def test_the_view_lists_leaders_that_batches_wait_to_connect_to() -> None:
    rig = waiting("3.9")
    rig.network.restart(1)
    rig.network.pause(1)
    assert rig.producer.unconnected == ()
    rig.run(2 * SECOND)
    assert rig.producer.unconnected == ((1, CHECKING.text),)
    rig.network.resume(1)
    rig.run(CONNECTING)
    assert rig.producer.unconnected == ()
