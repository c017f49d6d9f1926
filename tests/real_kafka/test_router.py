"""Router between TUN devices, with pairs of datagram sockets instead of devices and a clock that a test moves."""

import os
import socket
from collections.abc import Iterator

import pytest

from tests.real_kafka.router import LinkEffect, Router
from tests.real_kafka.steps import links_between

MS = 1_000_000
ADDRESSES = {"a": "10.77.0.1", "b": "10.77.0.2", "c": "10.77.0.3"}
A_TO_B = ("a", "b")


def packet(target: str, payload: bytes = b"x") -> bytes:
    """Return an IPv4 packet to a node; only version and destination matter."""
    return bytes([0x45]) + bytes(15) + socket.inet_aton(ADDRESSES.get(target, "10.77.0.99")) + payload


class FakeNetwork:
    """Three nodes: each has the end that its operating system would read and write."""

    def __init__(self, seed: int = 0) -> None:
        self.now_ns = 0
        self.router = Router(seed=seed, clock=lambda: self.now_ns)
        self.ends: dict[str, socket.socket] = {}
        self.devices: dict[str, socket.socket] = {}
        for name, address in ADDRESSES.items():
            self.devices[name], self.ends[name] = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            for end in (self.devices[name], self.ends[name]):
                end.setblocking(False)
            self.router.connect(name, address, self.devices[name].fileno())

    def send(self, source: str, *packets: bytes) -> None:
        """Send packets, and let the router read them."""
        for each in packets:
            os.write(self.ends[source].fileno(), each)
        self.router.receive(self.devices[source].fileno())

    def received(self, target: str, at_ns: int) -> list[bytes]:
        """Return what arrives at a node until a time, without the headers."""
        self.now_ns = at_ns
        self.router.deliver()
        found = []
        while True:
            try:
                found.append(self.ends[target].recv(70_000)[20:])
            except BlockingIOError:
                return found

    def close(self) -> None:
        """Close everything."""
        self.router.stop()
        for end in (*self.ends.values(), *self.devices.values()):
            end.close()


@pytest.fixture
def network() -> Iterator[FakeNetwork]:
    made = FakeNetwork()
    yield made
    made.close()


def test_packets_reach_their_addressee_alone(network: FakeNetwork) -> None:
    network.send("a", packet("b", b"1"), packet("c", b"2"))
    assert network.received("b", 0) == [b"1"]
    assert network.received("c", 0) == [b"2"]
    assert network.received("a", 0) == []


def test_packets_to_nobody_and_other_protocols_are_dropped(network: FakeNetwork) -> None:
    network.send("a", packet("nobody"), b"\x60" + bytes(40), b"short")
    assert [network.received(node, 0) for node in ADDRESSES] == [[], [], []]
    assert (network.router.forwarded, network.router.dropped) == (0, 1)


def test_a_cut_of_one_direction_leaves_the_other(network: FakeNetwork) -> None:
    network.router.apply(1, [A_TO_B], LinkEffect(cut=True))
    network.send("a", packet("b", b"1"), packet("c", b"2"))
    network.send("b", packet("a", b"3"))
    assert network.received("b", 0) == []
    assert network.received("c", 0) == [b"2"]
    assert network.received("a", 0) == [b"3"]


def test_a_link_is_whole_when_the_last_cut_is_healed(network: FakeNetwork) -> None:
    network.router.apply(1, [A_TO_B], LinkEffect(cut=True))
    network.router.apply(2, [A_TO_B, ("c", "b")], LinkEffect(cut=True))
    network.router.heal(1)
    network.send("a", packet("b", b"1"))
    network.router.heal(2)
    network.send("a", packet("b", b"2"))
    assert network.received("b", 0) == [b"2"]


def test_latencies_add_up(network: FakeNetwork) -> None:
    network.router.latency_us = 1_000
    network.router.apply(1, [A_TO_B], LinkEffect(latency_us=50_000))
    network.router.apply(2, [A_TO_B], LinkEffect(latency_us=20_000))
    network.send("a", packet("b", b"1"))
    assert network.received("b", 71 * MS - 1) == []
    assert network.received("b", 71 * MS) == [b"1"]


def test_packets_of_a_link_stay_in_order_when_its_latency_falls(network: FakeNetwork) -> None:
    network.router.apply(1, [A_TO_B], LinkEffect(latency_us=50_000))
    network.send("a", packet("b", b"1"))
    network.router.heal(1)
    network.send("a", packet("b", b"2"))
    assert network.received("b", 49 * MS) == []
    assert network.received("b", 50 * MS) == [b"1", b"2"]


def test_jitter_is_within_its_bound_and_keeps_the_order(network: FakeNetwork) -> None:
    network.router.apply(1, [A_TO_B], LinkEffect(jitter_us=10_000))
    network.send("a", *(packet("b", bytes([number])) for number in range(50)))
    early = network.received("b", 5 * MS)
    assert network.received("b", 10 * MS) == [bytes([number]) for number in range(len(early), 50)]
    assert early == [bytes([number]) for number in range(len(early))]


def test_a_rate_spaces_packets_out(network: FakeNetwork) -> None:
    network.router.apply(1, [A_TO_B], LinkEffect(rate=1_000))
    network.send("a", packet("b", bytes(80)), packet("b", bytes(80)))  # 100 bytes each with their headers
    assert len(network.received("b", 99 * MS)) == 0
    assert len(network.received("b", 100 * MS)) == 1
    assert len(network.received("b", 200 * MS)) == 1


def test_loss_is_a_share_of_the_packets_and_repeats_with_the_seed() -> None:
    def arrived(seed: int) -> list[bytes]:
        made = FakeNetwork(seed=seed)
        made.router.apply(1, [A_TO_B], LinkEffect(loss_ppm=300_000))
        for number in range(200):
            made.send("a", packet("b", bytes([number])))
        found = made.received("b", 0)
        made.close()
        return found

    first = arrived(7)
    assert 110 < len(first) < 170
    assert first == arrived(7)
    assert first != arrived(8)


def test_losses_of_two_faults_are_independent(network: FakeNetwork) -> None:
    network.router.apply(1, [A_TO_B], LinkEffect(loss_ppm=500_000))
    network.router.apply(2, [A_TO_B], LinkEffect(loss_ppm=1_000_000))
    network.send("a", packet("b"))
    assert network.received("b", 0) == []


def test_a_running_router_forwards_and_stops() -> None:
    made = FakeNetwork()
    made.router.start()
    made.ends["b"].settimeout(10)
    os.write(made.ends["a"].fileno(), packet("b", b"1"))
    assert made.ends["b"].recv(100)[20:] == b"1"
    made.close()


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("out", [("a", "b"), ("a", "c")]),
        ("in", [("b", "a"), ("c", "a")]),
        ("both", [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")]),
    ],
)
def test_links_between_two_sides(direction: str, expected: list[tuple[str, str]]) -> None:
    assert list(links_between(["a"], ["a", "b", "c"], direction)) == expected
