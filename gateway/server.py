"""Listeners: one for each modelled broker, open, closed or silent as its process is.

A crash closes the listener and resets every connection; it opens again when the broker says that it would
(:attr:`~cluster_model.broker.control_plane_client.Control.listening`). A pause stops reading, as a garbage collection does:
the kernel's buffers fill up. A machine without power says nothing to anybody until it is back.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from cluster_model.broker.control_plane_client import Listening
from cluster_model.protocol.events import Event, NodeDown, NodePaused, NodeResumed, NodeUp
from gateway.connection import Connection
from gateway.framing import LARGEST
from gateway.ports import Port
from gateway.protocol.context import House
from gateway.realtime_driver import Engine

MOST: Final = 4_000
"""Connections at a time."""
MOST_KEPT: Final = 512 * 1024 * 1024
"""Bytes of requests that wait, of all connections."""
IDLE_S: Final = 600.0
"""``connections.max.idle.ms``."""
HALF_S: Final = 60.0
"""How long the second half of a request may take from the last byte on."""
LOOK_S: Final = 5.0
_POWER: Final = "power_loss"


class Door:
    """One broker's."""

    def __init__(self, doors: "Doors", broker: int) -> None:
        self.broker = broker
        self.paused = False
        self.dark = False
        self.listening = Listening.CLOSED
        """What the broker does with who comes, as long as it is neither paused nor dark."""
        self.connections: dict[Connection, None] = {}
        self.port = Port(lambda: doors.connection(self))
        self._doors = doors

    @property
    def silent(self) -> bool:
        """Whether nothing is read for now."""
        return self.paused or self.dark or self.listening is Listening.SILENT

    def came(self, connection: Connection) -> bool:
        """Whether one more may."""
        if self._doors.count >= MOST:
            self.complain(f"found more than {MOST} connections")
            return False
        self.connections[connection] = None
        return True

    def gone(self, connection: Connection) -> None:
        """It is closed."""
        self.connections.pop(connection, None)

    def complain(self, text: str) -> None:
        """Somebody sent what is no request."""
        self._doors.on_complaint(self.broker, text)

    def look(self) -> None:
        """Read or not, everywhere."""
        for connection in tuple(self.connections):
            connection.look()

    def reset(self) -> None:
        """Every connection breaks."""
        for connection in tuple(self.connections):
            connection.abort()


class Doors:
    """All of them."""

    def __init__(self, engine: Engine, house: House, host: str, *, largest: int = LARGEST) -> None:
        self.on_complaint: Callable[[int, str], None] = lambda broker, text: None
        self._engine = engine
        self._house = house
        self._host = host
        self._largest = largest
        self._doors = {broker: Door(self, broker) for broker in house.cluster.brokers}
        self._starting: dict[int, None] = dict.fromkeys(self._doors)
        """Brokers that do not serve yet."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: Any = None

    @property
    def count(self) -> int:
        """Connections, of all."""
        return sum(len(door.connections) for door in self._doors.values())

    @property
    def kept(self) -> int:
        """Bytes of requests that wait, of all connections."""
        return sum(connection.kept for door in self._doors.values() for connection in door.connections)

    async def open(self, port: int) -> None:
        """Listen on consecutive ports from ``port`` on, or wherever there is room if it is 0.

        Raises:
            OSError: a port is taken.
        """
        for place, (broker, door) in enumerate(self._doors.items()):
            await door.port.take(self._host, port + place if port else 0)
            self._house.addresses[broker] = (self._host, door.port.number)
        self.look_in()
        await asyncio.gather(*self._tasks)
        self._look()

    def connection(self, door: Door) -> Connection:
        """The protocol of one more client."""
        return Connection(door, self._engine, self._house, largest=self._largest)

    def happened(self, events: Iterable[Event]) -> None:
        """Do to sockets what happened to processes."""
        for event in events:
            if isinstance(event, NodeDown | NodeUp | NodePaused | NodeResumed) and event.broker in self._doors:
                self._befell(self._doors[event.broker], event)

    def _befell(self, door: Door, event: Event) -> None:
        if isinstance(event, NodePaused | NodeResumed):
            door.paused = isinstance(event, NodePaused)
            door.look()
        elif isinstance(event, NodeUp):
            door.port.close()
            door.reset()
            door.dark = door.paused = False
            door.listening = Listening.CLOSED
            self._starting[door.broker] = None
        elif event.detail == _POWER:  # type: ignore[attr-defined]
            self._starting.pop(door.broker, None)
            door.dark = True
            door.look()
        else:
            self._starting.pop(door.broker, None)
            door.paused = False
            door.listening = Listening.CLOSED
            door.port.close()
            door.reset()

    def look_in(self) -> None:
        """See how far brokers that are coming up have got."""
        for broker in tuple(self._starting):
            door = self._doors[broker]
            listening = self._house.cluster.brokers[broker].control.listening
            if listening is not door.listening:
                door.listening = listening
                self._do(self._listen(door))
                door.look()
            if listening is Listening.OPEN:
                del self._starting[broker]

    async def _listen(self, door: Door) -> None:
        while door.listening is not Listening.CLOSED and not door.port.is_open:
            try:
                await door.port.open()
            except OSError as error:
                door.complain(str(error))
                await asyncio.sleep(LOOK_S)

    def _do(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def broken(self, broker: int) -> None:
        """The network gave up every connection to a broker."""
        if not self._doors[broker].dark:
            self._doors[broker].reset()

    def _look(self) -> None:
        """Close what has been idle for too long, and what takes too much."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        kept = 0
        for door in self._doors.values():
            for connection in tuple(door.connections):
                patience = HALF_S if connection.in_the_middle else IDLE_S
                kept += connection.kept
                if not door.silent and now - connection.heard_at > patience:
                    connection.abort()
                elif kept > MOST_KEPT:
                    door.complain(f"found more than {MOST_KEPT} bytes of requests that wait")
                    connection.abort()
        self._timer = loop.call_later(LOOK_S, self._look)

    async def close(self) -> None:
        """Let nobody in any more, and everybody out."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        for door in self._doors.values():
            door.port.give_back()
            door.reset()
        await asyncio.sleep(0)
