"""Messages that are under way from one process to another, for who looks on: nothing is changed by looking.

The queue of events is gone through each time, so that a message costs nothing while nobody asks.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import MESSAGE, Process

Place = Literal["wire", "cut", "line", "paused", "cpu"]
"""``wire``: on its way; ``cut``: its packets are dropped, and sent again; ``line``: queues for a limited line.

``paused`` and ``cpu``: it has arrived, and waits for the process or for its slow CPU.
"""


class Flight(NamedTuple):
    """One message."""

    place: Place
    arrives_us: int
    """-1 while that is not decided."""
    message: Any


def flights(network: Network, source: int, target: int) -> Iterator[Flight]:
    """All messages from one living process to another; those of a former life of either are left out."""
    there, here = network.processes[source], network.processes[target]
    for at_us, _order, kind, node, payload in network.kernel.waiting():
        if kind == MESSAGE and node == target and payload and _alive(payload, there, here):
            yield Flight("wire", at_us, payload[3])
    link = network.outgoing(source).get(target)
    if link is not None:
        for held in link.held:
            if _alive(held.payload, there, here):
                yield Flight("cut", -1, held.payload[3])
        for queued in network.troubles.queued(link):
            if _alive(queued.payload, there, here):
                yield Flight("line", -1, queued.payload[3])
    for kind, payload in here.held:
        if kind == MESSAGE and payload[0] == source:
            yield Flight("paused", -1, payload[3])
    for kind, node, payload, _free in () if here.cpu is None else here.cpu.queue:
        if kind == MESSAGE and node == target and payload[0] == source:
            yield Flight("cpu", -1, payload[3])


def _alive(payload: Payload, source: Process, target: Process) -> bool:
    """Whether both ends are what they were when it was sent."""
    lives: tuple[int, int, int] = payload[:3]
    return lives == (source.id, source.incarnation, target.incarnation)
