"""Whatever comes in on a socket: the process lives, and others are served meanwhile."""

import contextlib
import io
import random
import socket
import struct
from typing import Any

import pytest
from kio.serial import entity_writer

from gateway.protocol.codec import _maker, request_schema
from gateway.protocol.record_batches import encode_batch
from gateway.server import framed
from tests.gateway.hosting import Served, playbook, served, until

pytestmark = pytest.mark.sockets
METADATA = framed(struct.pack(">hhih", 3, 1, 9, -1) + struct.pack(">i", 0))


def request(api: int, version: int, correlation_id: int, **said: Any) -> bytes:
    """A request as a frame, of a version whose header has no tags."""
    schema = request_schema(api, version)
    out = io.BytesIO()
    out.write(struct.pack(">hhih", api, version, correlation_id, -1))
    entity_writer(schema)(out, _maker(schema)(said))
    return framed(out.getvalue())


def connected(host: Served, broker: int = 1, kept: int = 0) -> socket.socket:
    """``kept``: as many bytes as the kernel keeps of what is not read, about; 0: what is usual."""
    found = socket.socket()
    if kept:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, kept)
    found.settimeout(10)
    found.connect(host.address(broker))
    return found


def answered(found: socket.socket) -> bytes:
    """One whole response; empty where the door is closed."""
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
        try:
            more = found.recv(65_536)
        except ConnectionResetError:
            return b""
        if not more:
            return b""
        data += more
    return data[4:]


def test_noise_closes_its_own_connection_and_no_other() -> None:
    noise = random.Random(7)
    with served(largest=10_000) as host:
        friend = connected(host)
        for turn in range(60):
            with connected(host) as stranger:
                kind = struct.pack(">hhih", noise.choice([0, 1, 3, 9, 11, 18, 99]), noise.randrange(-1, 14), turn, -1)
                body = noise.randbytes(noise.randrange(60))
                stranger.sendall(framed(kind + body) if turn % 3 else noise.randbytes(40))
            if turn % 10 == 0:
                friend.sendall(METADATA)
                assert answered(friend)[:4] == b"\0\0\0\t"
        with connected(host) as greedy:
            greedy.sendall(struct.pack(">i", 2_000_000_000))
            assert answered(greedy) == b""
        assert any("10000" in each for each in host.complaints)
        friend.close()


def test_a_newer_api_versions_is_reported_what_there_is() -> None:
    with served() as host, connected(host) as client:
        client.sendall(framed(struct.pack(">hhih", 18, 77, 5, -1) + b"\0"))
        assert answered(client) == struct.pack(">ihihhh", 5, 35, 1, 18, 0, 4)


def test_requests_sent_at_once_are_answered_in_order() -> None:
    with served() as host, connected(host) as client:
        frames = [struct.pack(">hhih", 3, 1, number, -1) + struct.pack(">i", 0) for number in range(50)]
        client.sendall(b"".join(map(framed, frames)))
        reader = client.makefile("rb")
        for number in range(50):
            (size,) = struct.unpack(">i", reader.read(4))
            assert struct.unpack(">i", reader.read(size)[:4])[0] == number


@pytest.mark.slow
def test_idle_and_slow_connections_do_not_delay_others() -> None:
    with served() as host:
        idle = [connected(host, 1 + number % 3) for number in range(1_000)]
        slow = idle[:50]
        with connected(host) as client:
            for turn in range(len(METADATA) - 1):
                for each in slow:
                    each.sendall(METADATA[turn : turn + 1])
                client.sendall(METADATA)
                assert answered(client)
        doors = host.gateway.listeners
        assert host.asked(lambda cluster: doors.count) >= 1_000
        assert host.asked(lambda cluster: doors.queued_bytes) <= len(slow) * len(METADATA)
        for each in slow:
            each.sendall(METADATA[-1:])
            assert answered(each)
        for each in idle:
            each.close()


def test_a_length_alone_takes_no_memory_and_requests_are_not_heaped_up() -> None:
    with served(largest=1 << 20) as host:
        greedy = [connected(host) for _turn in range(20)]
        for each in greedy:
            each.sendall(struct.pack(">i", 1 << 20) + bytes(100))
        doors = host.gateway.listeners
        host.act("gc_pause", "broker(1)", 1_000_000)
        with connected(host) as eager:
            eager.settimeout(0.3)
            with pytest.raises(TimeoutError):  # nobody reads, and what the kernel takes is little
                eager.sendall(METADATA * 5_000_000)
            assert host.asked(lambda cluster: doors.queued_bytes) < 20 * 200 + 1_000_000
        for each in greedy:
            each.close()


def test_unread_responses_are_bounded_and_others_are_served() -> None:
    """Ten readers ask for 16 MB each and take nothing of it: there is room for 1 MB and one answer more.

    Records are acknowledged by all replicas, so that the HW is past them when they are fetched.
    """
    most, batch, fetched = 1 << 20, 900_000, 16 << 20
    with served(playbook("3.9", topic=", max.message.bytes: 1000000"), most_unread=most) as host:
        leader = host.asked(lambda cluster: cluster.query.leader("orders-0"))
        with connected(host, leader) as writer:
            for number in range(18):
                records = encode_batch(0, 0, 1_700_000_000_000, [(None, bytes(batch))])
                writer.sendall(request(0, 3, number, transactional_id=None, acks=-1, timeout=9_000, topic_data=[
                    {"name": "orders", "partition_data": [{"index": 0, "records": records}]}]))  # fmt: skip
                assert answered(writer)[:4] == struct.pack(">i", number)
        fetch = request(1, 4, 7, replica_id=-1, max_wait=0, min_bytes=1, max_bytes=fetched, isolation_level=0, topics=[
            {"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": fetched}]},
        ])  # fmt: skip
        greedy = [connected(host, leader, kept=4_096) for _number in range(10)]
        for each in greedy:
            each.sendall(fetch)

        def unread() -> int:
            doors = host.gateway.listeners
            connections = [each for door in doors._listeners.values() for each in door.connections]
            return int(host.asked(lambda _: sum(each._transport.get_write_buffer_size() for each in connections)))

        until(lambda: unread() > most)
        with connected(host, leader) as client:
            for _turn in range(10):
                client.sendall(METADATA)
                assert answered(client)
                assert unread() < most + fetched
            client.sendall(fetch)
            for each in greedy:
                each.close()
            assert len(answered(client)) > 16 * batch


@pytest.mark.slow
def test_a_paused_broker_is_silent_and_a_crashed_one_is_gone() -> None:
    with served(playbook(config=", broker.session.timeout.ms: 1000, broker.heartbeat.interval.ms: 200")) as host:
        with connected(host, 2) as client:
            over_us = host.now_us() + 1_500_000
            host.act("gc_pause", "broker(2)", 1_500_000)
            client.sendall(METADATA)
            assert answered(client)
            assert host.now_us() >= over_us
            host.act("crash", "broker(2)", 1_000_000)
            assert client.recv(10) == b"" if _open(client) else True
        with pytest.raises(OSError, match="refused"):
            connected(host, 2)
        with back(host, 2) as client:
            client.sendall(METADATA)
            assert answered(client)


def back(host: Served, broker: int) -> socket.socket:
    """A connection to a broker that is coming up."""

    def came() -> socket.socket | None:
        with contextlib.suppress(ConnectionRefusedError):
            return connected(host, broker)
        return None

    return until(came)


def _open(client: socket.socket) -> bool:
    """Whether an abort has not been noticed yet as a reset."""
    try:
        return client.recv(1, socket.MSG_PEEK) != b""
    except ConnectionResetError:
        return False


def test_a_partition_from_a_broker_keeps_connections_open_and_silent() -> None:
    with served() as host, connected(host, 3) as client:
        host.act("partition", "client(outside)", 2_000_000, to="broker(3)")
        client.sendall(METADATA)
        client.settimeout(1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(10)
        assert answered(client)
