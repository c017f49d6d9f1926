"""A broker's port follows its process: closed while it cannot serve, and nobody else's meanwhile."""

import contextlib
import errno
import socket
import struct
from collections.abc import Iterator

import pytest

from cluster_model.broker.control_plane_client import ListenerState
from gateway.server import framed
from tests.gateway.hosting import Served, playbook, served, until
from tests.gateway.running import PATIENCE_S

pytestmark = [pytest.mark.sockets, pytest.mark.slow]
METADATA = framed(struct.pack(">hhih", 3, 1, 9, -1) + struct.pack(">i", -1))


def listening(host: Served) -> ListenerState:
    found: ListenerState = host.asked(lambda cluster: cluster.brokers[2].control.listening)
    return found


def came(host: Served) -> socket.socket | None:
    try:
        return socket.create_connection(host.address(2), timeout=PATIENCE_S)
    except ConnectionRefusedError:
        return None


def says(client: socket.socket) -> bytes:
    """What the broker says about the cluster."""
    client.sendall(METADATA)
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
        data += client.recv(65_536)
    return data


@contextlib.contextmanager
def crashed(version: str, fault: str = "crash", session_ms: int = 1_000, down_us: int = 1_200_000) -> Iterator[Served]:
    config = f", broker.session.timeout.ms: {session_ms}, broker.heartbeat.interval.ms: 200"
    with served(playbook(version, config=config)) as host:
        host.act(fault, "broker(2)", down_us)
        yield host


@pytest.mark.parametrize("fault", ["crash", "power_loss"])
def test_a_client_that_comes_too_early_is_refused_and_the_first_that_is_not_learns_everything(fault: str) -> None:
    with crashed("3.9", fault, session_ms=3_000, down_us=200_000) as host:  # it is up for long before it serves
        until(lambda: host.asked(lambda cluster: not cluster.is_up(2)))
        until(lambda: host.asked(lambda cluster: cluster.is_up(2)))
        assert came(host) is None
        client = until(lambda: came(host))
        assert listening(host) is ListenerState.OPEN
        assert b"orders" in says(client)
        client.close()


def test_before_3_5_it_is_taken_in_and_answered_when_the_broker_can() -> None:
    with crashed("3.4", session_ms=5_000, down_us=200_000) as host:  # it may not register before the old session lapses
        until(lambda: listening(host) is ListenerState.CLOSED)
        assert came(host) is None
        until(lambda: listening(host) is ListenerState.SILENT)
        client = came(host)
        assert client is not None
        assert b"orders" in says(client)
        assert listening(host) is ListenerState.OPEN
        client.close()


@pytest.mark.parametrize("server", [False, True])
def test_the_port_of_a_stopped_broker_stays_reserved(server: bool) -> None:
    with crashed("3.9") as host:
        until(lambda: came(host) is None)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, server)
            with pytest.raises(OSError, match="in use") as refused:
                other.bind(host.address(2))
        assert refused.value.errno == errno.EADDRINUSE
        assert not host.complaints
