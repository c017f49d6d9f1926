"""The connection of a blocking thread: matching of results, and timeouts of attempts."""

from typing import Any

import pytest

from cluster_model.connections.process_connections import BlockingConnection, Connector
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.versions import Profile

SECOND = 1_000_000
PEER = 2


class Wire:
    """Replacement for a node context that counts attempts."""

    def __init__(self) -> None:
        self.now = 0
        self.attempts = 0
        self.stopped: list[int] = []

    def connect(self, target: int) -> int:
        assert target == PEER
        self.attempts += 1
        return self.attempts

    def stop_connecting(self, attempt: int) -> None:
        self.stopped.append(attempt)


def made(kafka: str = "3.9", **config: int) -> tuple[Any, BlockingConnection]:
    settings = BrokerConfig.of(Profile.of(kafka), {name.replace("_", "."): value for name, value in config.items()})
    wire: Any = Wire()
    return wire, BlockingConnection(Connector(wire, settings.connections, RandomStream(0, "c")), PEER, is_open=False)


def test_an_accepted_attempt_opens_it_and_a_refused_one_does_not() -> None:
    _wire, connection = made()
    connection.begin(SECOND)
    assert connection.is_being_made
    assert connection.on_response(ConnectionRefused(1))
    assert (connection.is_open, connection.is_being_made) == (False, False)
    connection.begin(SECOND)
    assert connection.on_response(Connected(2))
    assert (connection.is_open, connection.is_being_made) == (True, False)


@pytest.mark.parametrize("answer", [Connected(1), ConnectionRefused(1)])
def test_the_answer_to_an_earlier_attempt_is_none_to_a_later_one(answer: Connected | ConnectionRefused) -> None:
    wire, connection = made()
    connection.begin(SECOND)
    connection.close()
    assert wire.stopped == [1]
    assert not connection.on_response(answer)
    connection.begin(SECOND)
    assert not connection.on_response(answer)
    assert connection.is_being_made
    assert connection.on_response(Connected(2))


def test_a_disconnect_during_an_attempt_is_of_an_earlier_connection() -> None:
    _wire, connection = made()
    connection.begin(SECOND)
    assert not connection.broke()
    assert connection.on_response(Connected(1))
    assert connection.broke()
    assert not connection.broke(), "it breaks once"


@pytest.mark.parametrize(
    ("kafka", "most_s", "low_s", "high_s"),
    [("0.8.2", 30, 30, 30), ("2.6", 30, 30, 30), ("2.7", 30, 8, 12), ("3.9", 30, 8, 12), ("3.9", 5, 5, 5)],
)
def test_how_long_an_attempt_may_take(kafka: str, most_s: int, low_s: int, high_s: int) -> None:
    """KIP-601's limit varies by a fifth, and never grows: a failure is forgotten when the connection is closed."""
    _wire, connection = made(kafka)
    limits = []
    for _attempt in range(50):
        limits.append(connection.begin(most_s * SECOND))
        connection.close()
    assert low_s * SECOND <= min(limits)
    assert max(limits) <= high_s * SECOND
    assert (len(set(limits)) > 1) == (low_s != high_s)


def test_the_limit_is_configured_and_constant_without_room_to_vary() -> None:
    limits = {"socket_connection_setup_timeout_ms": 700, "socket_connection_setup_timeout_max_ms": 700}
    _wire, connection = made("3.9", **limits)
    assert connection.begin(30 * SECOND) == 700_000


def test_a_restored_connection_waits_for_the_same_attempt() -> None:
    _wire, connection = made()
    connection.begin(SECOND)
    saved = connection.save()
    connection.close()
    connection.load(saved)
    assert connection.until == SECOND
    assert connection.on_response(Connected(1))
