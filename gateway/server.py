"""The gateway: a listener for each modelled broker, frames, and connections that answer requests in order.

A crash closes the listener and resets every connection; it opens again when the broker says that it would
(:attr:`~cluster_model.broker.control_plane_client.Control.listening`). A pause stops reading, as a garbage collection
does: the kernel's buffers fill up. A machine without power says nothing to anybody until it is back.
"""

import asyncio
import errno
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from cluster_model.broker import ListenerState
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event, NodeDown, NodePaused, NodeResumed, NodeUp
from faults.declarations import Action
from gateway.handlers.registry import HANDLERS
from gateway.protocol import api_versions
from gateway.protocol.api_versions import OLDEST, as_known, offered
from gateway.protocol.codec import Header, RequestError, read_header, read_request, write_response
from gateway.protocol.context import ApiCall, House, Said
from gateway.realtime_driver import Engine, FlowState
from playbooks.engine.session import Session

# Frames: four bytes of length, then as many bytes (``NetworkReceive``); an invalid length closes the connection.


LARGEST: Final = 100 * 1024 * 1024
"""``socket.request.max.bytes``."""
_LENGTH: Final = struct.Struct(">i")


class FrameError(ValueError):
    """Bytes that are no frame; the message says what was found and what is allowed."""


class Frames:
    """Cuts a stream of bytes into frames. What is kept is what has arrived: a length alone takes no memory."""

    __slots__ = ("_buffer", "_largest", "_wanted")

    def __init__(self, largest: int = LARGEST) -> None:
        self._buffer = bytearray()
        self._largest = largest
        self._wanted = -1
        """Length of the frame that is arriving, -1 while its length is."""

    @property
    def waiting(self) -> int:
        """Bytes that are no whole frame yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Whole frames, in order.

        Raises:
            FrameError: a length that is negative or more than is allowed.
        """
        buffer = self._buffer
        buffer += data
        at = 0
        while True:
            if self._wanted < 0:
                if len(buffer) - at < _LENGTH.size:
                    break
                self._wanted = self._checked(_LENGTH.unpack_from(buffer, at)[0])
                at += _LENGTH.size
            if len(buffer) - at < self._wanted:
                break
            frame = bytes(memoryview(buffer)[at : at + self._wanted])
            at += self._wanted
            self._wanted = -1
            yield frame
        del buffer[:at]

    def _checked(self, length: int) -> int:
        if not 0 < length <= self._largest:
            raise FrameError(f"found a frame of {length} bytes, allowed are 1 to {self._largest}")
        return length


def framed(payload: bytes) -> bytes:
    """A frame."""
    return _LENGTH.pack(len(payload)) + payload


# One client's connection to one broker: requests are answered one at a time, in the order in which they came.
#
# So does Kafka: a connection is muted while its request is under way (``SocketServer``). What a client may make this
# process keep is bounded, whatever it sends.


MOST_UNREAD: Final = 256 * 1024 * 1024
"""Bytes of answers that clients have not read yet, of all connections, before answers with records wait."""
WAITING: Final = 64
"""Whole requests that wait behind the one under way before no more is read."""
AT_ONCE: Final = 32
"""Requests that are answered before other connections have their turn."""
UNSUPPORTED_VERSION: Final = 35
PLAIN_HEADERS: Final = (api_versions.API_VERSIONS,)


class ConnectionListener(Protocol):
    """Where a connection came in."""

    broker: int

    @property
    def silent(self) -> bool:
        """Whether nothing is read for now."""

    @property
    def has_room(self) -> bool:
        """Whether answers with records in them may be made now."""

    def unread(self, connection: "KafkaConnection", size: int) -> None:
        """A client has left so many bytes of its answers unread; 0: it has read them."""

    def came(self, connection: "KafkaConnection") -> bool:
        """Whether one more may."""

    def gone(self, connection: "KafkaConnection") -> None:
        """It is closed."""

    def complain(self, text: str) -> None:
        """Somebody sent what is no request."""


class KafkaConnection(asyncio.Protocol):
    """The protocol of one socket."""

    def __init__(self, door: ConnectionListener, engine: Engine, house: House, *, largest: int) -> None:
        self._door = door
        self._engine = engine
        self._house = house
        self._frames = Frames(largest)
        self._waiting: deque[bytes] = deque()
        self._running: FlowState | None = None
        self._header: Header | None = None
        self._transport: Any = None
        self._answering = False
        self._full = False
        """Whether the client does not read what it is sent."""
        self._held: tuple[Header, Mapping[str, Any]] | None = None
        """An answer with records, for which there is no room yet."""
        self._reading = True
        self.heard_at = 0.0
        """When it last sent anything."""

    # -- the socket -------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = transport
        self.heard_at = asyncio.get_running_loop().time()
        if not self._door.came(self):
            transport.abort()  # type: ignore[attr-defined]
            return
        # Not at once: an older Python begins to read behind this call, even if it was told here not to.
        asyncio.get_running_loop().call_soon(self.look)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self.heard_at = asyncio.get_running_loop().time()
        try:
            self._waiting.extend(self._frames.feed(data))
        except FrameError as error:
            self.refuse(str(error))
            return
        self._answer()
        self.look()

    def connection_lost(self, _error: Exception | None) -> None:
        """The client is gone."""
        self._waiting.clear()
        self._held = None
        running, self._running = self._running, None
        if running is not None:
            self._engine.cancel(running)
        self._door.gone(self)

    def pause_writing(self) -> None:
        """The client does not read."""
        self._full = True
        self._door.unread(self, self.unread)

    def resume_writing(self) -> None:
        """It does again."""
        self._full = False
        self._door.unread(self, 0)
        self._answer()
        self.look()

    def go_on(self) -> None:
        """Answer and take what waits, if that may be now; read or not, as things are."""
        free = self._door.has_room and not self._door.silent
        if self._held is not None and free and not self._transport.is_closing():
            header, said = self._held
            self._held = None
            self._write(header, said)
        self._answer()
        self.look()

    def look(self) -> None:
        """Read or not, as things are."""
        reads = not self._door.silent and len(self._waiting) < WAITING and not self._full
        if reads != self._reading and not self._transport.is_closing():
            self._reading = reads
            if reads:
                self._transport.resume_reading()
                self._answer()
            else:
                self._transport.pause_reading()

    def abort(self) -> None:
        """Close it at once: what is on its way is lost."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def kept(self) -> int:
        """Bytes that wait here."""
        return self._frames.waiting + sum(map(len, self._waiting))

    @property
    def unread(self) -> int:
        """Bytes of answers that wait for the client to read them."""
        size: int = self._transport.get_write_buffer_size()
        return size

    @property
    def in_the_middle(self) -> bool:
        """Whether half a request has come."""
        return self._frames.waiting > 0

    @property
    def _may_take(self) -> bool:
        """Whether nothing is under way, and the client reads."""
        return self._running is None and self._held is None and not self._full and not self._door.silent

    # -- requests ---------------------------------------------------------------------------------------------------

    def _answer(self) -> None:
        """Take what waits, one after the other."""
        if self._answering:
            return
        self._answering = True
        left = AT_ONCE
        try:
            while self._waiting and self._may_take:
                if self._transport.is_closing():
                    return
                if not left:
                    asyncio.get_running_loop().call_soon(self.go_on)
                    return
                left -= 1
                self._take(self._waiting.popleft())
        except RequestError as error:
            self.refuse(str(error))
        finally:
            self._answering = False

    def _take(self, frame: bytes) -> None:
        header = read_header(frame)
        low, high = self._house.ranges.get(header.api, (0, -1))
        if not low <= header.version <= high:
            self._unsupported(header)
            return
        request = read_request(header, frame)
        call = ApiCall(self._house, self._door.broker, header.client, header.api, header.version, request)
        self._header = header
        self._running = None
        client = self._house.account(header.client)
        began = self._engine.run(self, self._door.broker, client, HANDLERS[header.api](call))
        if self._header is header:
            self._running = began

    def _unsupported(self, header: Header) -> None:
        """A newer ApiVersions is told what there is (KIP-511); anything else closes the connection, as Kafka does."""
        if header.api != api_versions.API_VERSIONS:
            raise RequestError(f"API {header.api} version {header.version} is not offered")
        low, high = self._house.ranges[api_versions.API_VERSIONS]
        keys = [{"api_key": api_versions.API_VERSIONS, "min_version": low, "max_version": high}]
        said = {"error_code": UNSUPPORTED_VERSION, "api_keys": keys}
        self._transport.write(framed(write_response(header.api, 0, header.correlation, said)))

    def done(self, said: Said) -> None:
        """The model has answered."""
        header, self._header = self._header, None
        self._running = None
        if header is None or self._transport.is_closing():
            return
        if said is not None and header.api == api_versions.FETCH and not self._door.has_room:
            self._held = header, said
            return
        if said is not None and not self._write(header, said):
            return
        if not self._answering:
            self.go_on()

    def _write(self, header: Header, said: Mapping[str, Any]) -> bool:
        """Send an answer; whether it could be made."""
        try:
            known = as_known(header.api, header.version, said)
            plain = header.api in PLAIN_HEADERS
            response = write_response(header.api, header.version, header.correlation, known, plain=plain)
        except Exception as error:  # what a stranger asked for is in the answer, and may not go into one
            self.refuse(f"{type(error).__name__}: {error}")
            return False
        self._transport.write(framed(response))
        return True

    def failed(self) -> None:
        """The broker closes the door."""
        self._transport.close()

    def refuse(self, why: str) -> None:
        """It sent what cannot be answered: say so, and let it go."""
        self._door.complain(why)
        self._waiting.clear()
        self._transport.abort()


# A broker's port: open while the broker accepts, and kept for it while it does not.
#
# A port that nobody holds may be given to any socket of this machine that connects to somewhere, even to a client
# that looks for this very broker, which would then find itself; and the broker could not come back.


BACKLOG = 1024


class BrokerPort:
    """One broker's, at every address that the host's name stands for."""

    def __init__(self, made: Callable[[], asyncio.Protocol]) -> None:
        """``made`` makes the protocol of a connection."""
        self.is_open = False
        self.number = 0
        self._made = made
        self._places: list[tuple[int, Any]] = []
        """Family and address each."""
        self._held: list[socket.socket] = []
        """Bound, and not listened on."""
        self._servers: list[asyncio.Server] = []

    async def take(self, host: str, port: int) -> None:
        """Have it, closed; 0: any that is free.

        Raises:
            OSError: it is taken, or there is no such host.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        missing: OSError | None = None
        for family, _type, _protocol, _name, address in dict.fromkeys(found):
            place = (family, (address[0], self.number or port, *address[2:]))
            try:
                held = _bound(*place)
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    self.give_back()
                    raise
                missing = error
                continue
            self._held.append(held)
            self._places.append((family, held.getsockname()))
            self.number = held.getsockname()[1]
        if missing is not None and not self._held:
            raise missing

    async def open(self) -> None:
        """Listen.

        Raises:
            OSError: somebody else got hold of it.
        """
        if self.is_open:
            return
        self._hold()
        self.is_open = True
        loop = asyncio.get_running_loop()
        held, self._held = self._held, []
        for each in held:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # its connections may outlive it
            server = await loop.create_server(self._made, sock=each, backlog=BACKLOG)
            self._servers.append(server)
        if not self.is_open:  # closed meanwhile
            self.is_open = True
            self.close()

    def close(self) -> None:
        """Refuse whoever comes from now on."""
        if self.is_open:
            self.is_open = False
            servers, self._servers = self._servers, []
            for server in servers:
                server.close()
            if servers:
                with suppress(OSError):  # open() tries again, and says so
                    self._hold()

    def _hold(self) -> None:
        for place in self._places[len(self._held) :]:
            self._held.append(_bound(*place))

    def give_back(self) -> None:
        """The end."""
        self.close()
        for each in self._held:
            each.close()
        self._held, self._places = [], []


def _bound(family: int, address: Any) -> socket.socket:
    """A socket that keeps a port from everybody: from other servers too, once it does not let it be used again."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    except OSError as error:
        made.close()
        raise OSError(error.errno, f"{error.strerror}: {address[0]} port {address[1]}") from None
    return made


MOST: Final = 4_000
"""Connections at a time."""
MOST_KEPT: Final = 512 * 1024 * 1024
"""Bytes of requests that wait, of all connections."""
IDLE_S: Final = 600.0
"""``connections.max.idle.ms``."""
HALF_S: Final = 60.0
"""How long the second half of a request may take from the last byte on, and an unread answer while there is no room."""
LOOK_S: Final = 5.0
_POWER: Final = "power_loss"


class BrokerListener:
    """One broker's."""

    def __init__(self, doors: "BrokerListeners", broker: int) -> None:
        self.broker = broker
        self.paused = False
        self.dark = False
        self.listening = ListenerState.CLOSED
        """What the broker does with who comes, as long as it is neither paused nor dark."""
        self.connections: dict[KafkaConnection, None] = {}
        self.port = BrokerPort(lambda: doors.connection(self))
        self._doors = doors

    @property
    def silent(self) -> bool:
        """Whether nothing is read for now."""
        return self.paused or self.dark or self.listening is ListenerState.SILENT

    @property
    def has_room(self) -> bool:
        """Whether answers with records in them may be made."""
        return self._doors.unread.has_room

    def unread(self, connection: KafkaConnection, size: int) -> None:
        """A client has left so many bytes of its answers unread; 0: it has read them."""
        self._doors.unread.note(connection, size)

    def came(self, connection: KafkaConnection) -> bool:
        """Whether one more may."""
        if self._doors.count >= MOST:
            self.complain(f"found more than {MOST} connections")
            return False
        self.connections[connection] = None
        return True

    def gone(self, connection: KafkaConnection) -> None:
        """It is closed."""
        self.connections.pop(connection, None)
        self._doors.unread.note(connection, 0)

    def complain(self, text: str) -> None:
        """Somebody sent what is no request."""
        self._doors.on_complaint(self.broker, text)

    def look(self) -> None:
        """Let every connection continue, if it may."""
        for connection in tuple(self.connections):
            connection.go_on()

    def reset(self) -> None:
        """Every connection breaks."""
        for connection in tuple(self.connections):
            connection.abort()


class Unread:
    """Answers that clients have not read yet, by connection: while they are too many, none with records is made."""

    def __init__(self, most: int, go_on: Callable[[], None]) -> None:
        """``go_on`` has every connection look whether it may go on."""
        self._most = most
        self._go_on = go_on
        self._sizes: dict[KafkaConnection, tuple[int, float]] = {}
        """Bytes, and since when they wait."""
        self._all = 0

    @property
    def has_room(self) -> bool:
        """Whether they are not too many."""
        return self._all < self._most

    def note(self, connection: KafkaConnection, size: int) -> None:
        """A connection has so many bytes unread."""
        had_room = self.has_room
        known, since = self._sizes.pop(connection, (0, 0.0))
        self._all += size - known
        if size:
            still = 0 < known <= size
            self._sizes[connection] = (size, since if still else asyncio.get_running_loop().time())
        if self.has_room and not had_room:
            asyncio.get_running_loop().call_soon(self._go_on)

    def oldest(self, now: float, patience_s: float) -> list[KafkaConnection]:
        """Those that have read nothing for too long, while there is no room."""
        for connection in tuple(self._sizes):
            self.note(connection, connection.unread)
        if self.has_room:
            return []
        return [connection for connection, (_size, since) in self._sizes.items() if now - since > patience_s]


class BrokerListeners:
    """All of them."""

    def __init__(
        self, engine: Engine, house: House, host: str, *, largest: int = LARGEST, most_unread: int = MOST_UNREAD
    ) -> None:
        self.on_complaint: Callable[[int, str], None] = lambda broker, text: None
        self._engine = engine
        self._house = house
        self._host = host
        self._largest = largest
        self._doors = {broker: BrokerListener(self, broker) for broker in house.cluster.brokers}
        self._starting: dict[int, None] = dict.fromkeys(self._doors)
        """Brokers that do not serve yet."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: Any = None
        self.unread = Unread(most_unread, self._go_on)

    def _go_on(self) -> None:
        for door in self._doors.values():
            door.look()

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

    def connection(self, door: BrokerListener) -> KafkaConnection:
        """The protocol of one more client."""
        return KafkaConnection(door, self._engine, self._house, largest=self._largest)

    def happened(self, events: Iterable[Event]) -> None:
        """Do to sockets what happened to processes."""
        for event in events:
            if isinstance(event, NodeDown | NodeUp | NodePaused | NodeResumed) and event.broker in self._doors:
                self._befell(self._doors[event.broker], event)

    def _befell(self, door: BrokerListener, event: Event) -> None:
        if isinstance(event, NodePaused | NodeResumed):
            door.paused = isinstance(event, NodePaused)
            door.look()
        elif isinstance(event, NodeUp):
            door.port.close()
            door.reset()
            door.dark = door.paused = False
            door.listening = ListenerState.CLOSED
            self._starting[door.broker] = None
        elif event.detail == _POWER:  # type: ignore[attr-defined]
            self._starting.pop(door.broker, None)
            door.dark = True
            door.look()
        else:
            self._starting.pop(door.broker, None)
            door.paused = False
            door.listening = ListenerState.CLOSED
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
            if listening is ListenerState.OPEN:
                del self._starting[broker]

    async def _listen(self, door: BrokerListener) -> None:
        while door.listening is not ListenerState.CLOSED and not door.port.is_open:
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
        for connection in self.unread.oldest(now, HALF_S):
            connection.refuse(f"found answers unread for {HALF_S:.0f} s, and their buffer full")
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


# The gateway: a session of the model, and its listeners.


class Gateway:
    """Make one inside a running event loop, :meth:`open` it, and :meth:`close` it before the session is finished."""

    def __init__(
        self,
        session: Session,
        *,
        host: str = "127.0.0.1",
        creates_topics: bool = True,
        largest: int = LARGEST,
        most_unread: int = MOST_UNREAD,
    ) -> None:
        """``largest``: bytes of a request; ``most_unread``: of all answers that clients have not read.

        Raises:
            ModelError: a release whose clients speak what cannot be read here.
        """
        profile = session.cluster.profile
        if profile.number < OLDEST:
            raise ModelError(
                f"kafka {profile.version}: found {profile.version}, allowed are releases from 1.0 on",
                code="version_too_old",
            )
        self.session = session
        self.on_events: Callable[[list[Event]], None] = lambda events: None
        """Told of everything that happens."""
        began_ms = int(time.time() * 1_000) - session.cluster.now_us // 1_000
        ranges = offered(profile.number, kraft=profile.kraft)
        self.house = House(session.cluster, began_ms, ranges=ranges, creates_topics=creates_topics)
        self.engine = Engine(session, asyncio.get_running_loop())
        self.doors = BrokerListeners(self.engine, self.house, host, largest=largest, most_unread=most_unread)
        self.engine.on_broken = self.doors.broken

    async def open(self, port: int) -> None:
        """Let clients come, and time pass.

        Raises:
            OSError: a port is taken.
        """
        await self.doors.open(port)
        self.engine.on_events = self._happened
        self.engine.on_time = self.doors.look_in
        self.engine.begin()

    def _happened(self, events: list[Event]) -> None:
        self.doors.happened(events)
        self.on_events(events)

    @property
    def bootstrap(self) -> str:
        """What a client is configured with."""
        return ",".join(f"{host}:{port}" for host, port in self.house.addresses.values())

    def act(self, action: Action) -> str:
        """Do what an operator asks, now; raises :class:`~faults.declarations.fault.FaultError` if that cannot be."""
        return self.engine.act(action)

    async def close(self) -> None:
        """Let everybody out, and no more time pass; the session can be finished then."""
        await self.doors.close()
        self.engine.end()
