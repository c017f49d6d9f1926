"""The gateway: a listener for each modelled broker, frames, and connections that answer requests in order.

A crash closes the listener and resets every connection; the listener opens again when the modelled broker accepts
connections (:attr:`~cluster_model.broker.control_plane_client.ControlPlaneClient.listening`). A paused broker does not
read from its sockets, as during a garbage collection, so the kernel's buffers fill up. A broker without power sends
nothing until it is back.
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
from gateway.protocol.api_versions import OLDEST, offered, with_known_errors
from gateway.protocol.codec import Header, RequestError, read_header, read_request, write_response
from gateway.protocol.context import ApiCall, GatewayCluster, ResponseFields
from gateway.realtime_driver import FlowState, RealtimeDriver
from playbooks.engine.session import Session

# Frames: four bytes of length, then as many bytes (``NetworkReceive``); an invalid length closes the connection.


MAX_REQUEST_BYTES: Final = 100 * 1024 * 1024
"""Default of ``socket.request.max.bytes``."""
_LENGTH: Final = struct.Struct(">i")


class FrameError(ValueError):
    """Invalid frame; the message says what was found and what is allowed."""


class Frames:
    """Splitter of a byte stream into frames. Memory is used for received bytes only, not for announced lengths."""

    __slots__ = ("_buffer", "_largest", "_wanted")

    def __init__(self, largest: int = MAX_REQUEST_BYTES) -> None:
        self._buffer = bytearray()
        self._largest = largest
        self._wanted = -1
        """Length of the incomplete frame; -1 while its length is incomplete."""

    @property
    def waiting(self) -> int:
        """Bytes received of the incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield complete frames, in order.

        Raises:
            FrameError: A length is negative or exceeds the limit.
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
            raise FrameError(f"found a frame of {length} bytes, expected 1 to {self._largest}")
        return length


def framed(payload: bytes) -> bytes:
    """Return the payload as a frame."""
    return _LENGTH.pack(len(payload)) + payload


# Connection of one client to one broker: requests are answered one at a time, in the order of their arrival, as in
# Kafka, which mutes a connection while its request is in progress (``SocketServer``). The memory that a client can make
# this process use is bounded.


MOST_UNREAD: Final = 256 * 1024 * 1024
"""Total bytes of responses that clients have not read yet above which fetch responses wait."""
MAX_QUEUED_REQUESTS: Final = 64
"""Complete requests queued after the current one above which the socket is not read."""
MAX_BURST: Final = 32
"""Requests answered before other connections have their turn."""
UNSUPPORTED_VERSION: Final = 35
PLAIN_HEADERS: Final = (api_versions.API_VERSIONS,)


class ConnectionListener(Protocol):
    """Listener of a broker, as its connections use it."""

    broker: int

    @property
    def reading_paused(self) -> bool:
        """Whether sockets are not read at the moment."""

    @property
    def has_room(self) -> bool:
        """Whether fetch responses may be sent now."""

    def unread(self, connection: "KafkaConnection", size: int) -> None:
        """Record the bytes of responses that a client has not read; 0: it has read all of them."""

    def register(self, connection: "KafkaConnection") -> bool:
        """Register a new connection; return False if there are too many."""

    def remove(self, connection: "KafkaConnection") -> None:
        """Remove a closed connection."""

    def report_error(self, text: str) -> None:
        """Report an invalid request."""


class KafkaConnection(asyncio.Protocol):
    """Protocol of one socket: frames in, responses out, one request at a time."""

    def __init__(
        self, listener: ConnectionListener, engine: RealtimeDriver, context: GatewayCluster, *, largest: int
    ) -> None:
        self._listener = listener
        self._engine = engine
        self._context = context
        self._frames = Frames(largest)
        self._waiting: deque[bytes] = deque()
        self._running: FlowState | None = None
        self._header: Header | None = None
        self._transport: Any = None
        self._answering = False
        self._full = False
        """Whether the client does not read its responses."""
        self._held: tuple[Header, Mapping[str, Any]] | None = None
        """A fetch response that waits until unread responses are below the limit."""
        self._reading = True
        self.received_at = 0.0
        """Time of the last received data, in seconds of the event loop's clock."""

    # -- the socket -------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, or close it if there are too many."""
        self._transport = transport
        self.received_at = asyncio.get_running_loop().time()
        if not self._listener.register(self):
            transport.abort()  # type: ignore[attr-defined]
            return
        # Not at once: an older Python starts reading after this call, even if reading was paused here.
        asyncio.get_running_loop().call_soon(self.update_reading)

    def data_received(self, data: bytes) -> None:
        """Split the data into requests and answer them."""
        self.received_at = asyncio.get_running_loop().time()
        try:
            self._waiting.extend(self._frames.feed(data))
        except FrameError as error:
            self.refuse(str(error))
            return
        self._answer()
        self.update_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        """Cancel the current request and remove the connection."""
        self._waiting.clear()
        self._held = None
        running, self._running = self._running, None
        if running is not None:
            self._engine.cancel(running)
        self._listener.remove(self)

    def pause_writing(self) -> None:
        """Note that the client does not read its responses."""
        self._full = True
        self._listener.unread(self, self.unread)

    def resume_writing(self) -> None:
        """Continue after the client has read its responses."""
        self._full = False
        self._listener.unread(self, 0)
        self._answer()
        self.update_reading()

    def resume(self) -> None:
        """Send the held response, answer queued requests, and pause or resume reading, as the state allows."""
        free = self._listener.has_room and not self._listener.reading_paused
        if self._held is not None and free and not self._transport.is_closing():
            header, response = self._held
            self._held = None
            self._write(header, response)
        self._answer()
        self.update_reading()

    def update_reading(self) -> None:
        """Pause or resume reading, as the state requires."""
        reads = not self._listener.reading_paused and len(self._waiting) < MAX_QUEUED_REQUESTS and not self._full
        if reads != self._reading and not self._transport.is_closing():
            self._reading = reads
            if reads:
                self._transport.resume_reading()
                self._answer()
            else:
                self._transport.pause_reading()

    def abort(self) -> None:
        """Reset the connection: data in transit is lost."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def queued_bytes(self) -> int:
        """Bytes of queued and incomplete requests."""
        return self._frames.waiting + sum(map(len, self._waiting))

    @property
    def unread(self) -> int:
        """Bytes of responses that the client has not read."""
        size: int = self._transport.get_write_buffer_size()
        return size

    @property
    def has_partial_request(self) -> bool:
        """Whether an incomplete request has been received."""
        return self._frames.waiting > 0

    @property
    def _may_take(self) -> bool:
        """Whether no request is in progress and the client reads its responses."""
        return self._running is None and self._held is None and not self._full and not self._listener.reading_paused

    # -- requests ---------------------------------------------------------------------------------------------------

    def _answer(self) -> None:
        """Answer queued requests, one after another."""
        if self._answering:
            return
        self._answering = True
        left = MAX_BURST
        try:
            while self._waiting and self._may_take:
                if self._transport.is_closing():
                    return
                if not left:
                    asyncio.get_running_loop().call_soon(self.resume)
                    return
                left -= 1
                self._take(self._waiting.popleft())
        except RequestError as error:
            self.refuse(str(error))
        finally:
            self._answering = False

    def _take(self, frame: bytes) -> None:
        header = read_header(frame)
        low, high = self._context.ranges.get(header.api, (0, -1))
        if not low <= header.version <= high:
            self._unsupported(header)
            return
        request = read_request(header, frame)
        call = ApiCall(self._context, self._listener.broker, header.client, header.api, header.version, request)
        self._header = header
        self._running = None
        client = self._context.ledger_name(header.client)
        began = self._engine.run(self, self._listener.broker, client, HANDLERS[header.api](call))
        if self._header is header:
            self._running = began

    def _unsupported(self, header: Header) -> None:
        """Answer a newer ApiVersions with the supported range (KIP-511); else refuse, as Kafka does."""
        if header.api != api_versions.API_VERSIONS:
            raise RequestError(f"API {header.api} version {header.version} is not offered")
        low, high = self._context.ranges[api_versions.API_VERSIONS]
        keys = [{"api_key": api_versions.API_VERSIONS, "min_version": low, "max_version": high}]
        response = {"error_code": UNSUPPORTED_VERSION, "api_keys": keys}
        self._transport.write(framed(write_response(header.api, 0, header.correlation_id, response)))

    def on_response(self, response: ResponseFields) -> None:
        """Send the response of the model."""
        header, self._header = self._header, None
        self._running = None
        if header is None or self._transport.is_closing():
            return
        if response is not None and header.api == api_versions.FETCH and not self._listener.has_room:
            self._held = header, response
            return
        if response is not None and not self._write(header, response):
            return
        if not self._answering:
            self.resume()

    def _write(self, header: Header, response_fields: Mapping[str, Any]) -> bool:
        """Send a response; return whether it could be encoded."""
        try:
            known = with_known_errors(header.api, header.version, response_fields)
            plain = header.api in PLAIN_HEADERS
            response = write_response(header.api, header.version, header.correlation_id, known, plain=plain)
        except Exception as error:  # a response repeats values of the request, which may not be encodable
            self.refuse(f"{type(error).__name__}: {error}")
            return False
        self._transport.write(framed(response))
        return True

    def failed(self) -> None:
        """Close the connection, as the broker would."""
        self._transport.close()

    def refuse(self, reason: str) -> None:
        """Report an invalid request and reset the connection."""
        self._listener.report_error(reason)
        self._waiting.clear()
        self._transport.abort()


# Port of a broker: listening while the broker accepts connections, and reserved while it does not.
#
# The system may assign an unreserved port to any outgoing connection, even to that of a client that connects to this
# very broker, which would then connect to itself; and the broker could not listen again.


BACKLOG = 1024


class BrokerPort:
    """Port of one broker on every address of the host name."""

    def __init__(self, made: Callable[[], asyncio.Protocol]) -> None:
        """``made`` creates the protocol of a connection."""
        self.is_open = False
        self.number = 0
        self._made = made
        self._addresses: list[tuple[int, Any]] = []
        """Family and address each."""
        self._held: list[socket.socket] = []
        """Bound, and not listened on."""
        self._servers: list[asyncio.Server] = []

    async def reserve(self, host: str, port: int) -> None:
        """Reserve the port without listening; 0: any free port.

        Raises:
            OSError: The port is in use, or the host is unknown.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        missing: OSError | None = None
        for family, _type, _protocol, _name, address in dict.fromkeys(found):
            address_of_family = (family, (address[0], self.number or port, *address[2:]))
            try:
                held = _bound(*address_of_family)
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    self.release()
                    raise
                missing = error
                continue
            self._held.append(held)
            self._addresses.append((family, held.getsockname()))
            self.number = held.getsockname()[1]
        if missing is not None and not self._held:
            raise missing

    async def open(self) -> None:
        """Start listening on the reserved port.

        Raises:
            OSError: Another process has taken the port.
        """
        if self.is_open:
            return
        self._hold()
        self.is_open = True
        loop = asyncio.get_running_loop()
        held, self._held = self._held, []
        for each in held:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections may outlive the listener
            server = await loop.create_server(self._made, sock=each, backlog=BACKLOG)
            self._servers.append(server)
        if not self.is_open:  # closed meanwhile
            self.is_open = True
            self.close()

    def close(self) -> None:
        """Stop listening and keep the port reserved."""
        if self.is_open:
            self.is_open = False
            servers, self._servers = self._servers, []
            for server in servers:
                server.close()
            if servers:
                with suppress(OSError):  # open() tries again and raises the error
                    self._hold()

    def _hold(self) -> None:
        for address in self._addresses[len(self._held) :]:
            self._held.append(_bound(*address))

    def release(self) -> None:
        """Release the port."""
        self.close()
        for each in self._held:
            each.close()
        self._held, self._addresses = [], []


def _bound(family: int, address: Any) -> socket.socket:
    """Return a socket that reserves a port: other servers cannot bind it once SO_REUSEADDR is off."""
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


MAX_CONNECTIONS: Final = 4_000
"""Maximum number of connections."""
MAX_QUEUED_BYTES: Final = 512 * 1024 * 1024
"""Total bytes of queued requests of all connections above which connections are reset."""
IDLE_S: Final = 600.0
"""Default of ``connections.max.idle.ms``, in seconds."""
STALL_TIMEOUT_S: Final = 60.0
"""Seconds without progress after which an incomplete request is refused, and unread responses if above the limit."""
LOOK_S: Final = 5.0
_POWER: Final = "power_loss"


class BrokerListener:
    """Listener and connections of one broker."""

    def __init__(self, listeners: "BrokerListeners", broker: int) -> None:
        self.broker = broker
        self.paused = False
        self.powered_off = False
        self.listening = ListenerState.CLOSED
        """State of the modelled listener, while the broker is neither paused nor without power."""
        self.connections: dict[KafkaConnection, None] = {}
        self.port = BrokerPort(lambda: listeners.connection(self))
        self._listeners = listeners

    @property
    def reading_paused(self) -> bool:
        """Whether sockets are not read at the moment."""
        return self.paused or self.powered_off or self.listening is ListenerState.SILENT

    @property
    def has_room(self) -> bool:
        """Whether fetch responses may be sent now."""
        return self._listeners.unread.has_room

    def unread(self, connection: KafkaConnection, size: int) -> None:
        """Record the bytes of responses that a client has not read; 0: it has read all of them."""
        self._listeners.unread.note(connection, size)

    def register(self, connection: KafkaConnection) -> bool:
        """Register a new connection; return False if there are too many."""
        if self._listeners.count >= MAX_CONNECTIONS:
            self.report_error(f"found more than {MAX_CONNECTIONS} connections")
            return False
        self.connections[connection] = None
        return True

    def remove(self, connection: KafkaConnection) -> None:
        """Remove a closed connection."""
        self.connections.pop(connection, None)
        self._listeners.unread.note(connection, 0)

    def report_error(self, text: str) -> None:
        """Report an invalid request."""
        self._listeners.on_error(self.broker, text)

    def resume_connections(self) -> None:
        """Let every connection continue if it may."""
        for connection in tuple(self.connections):
            connection.resume()

    def reset(self) -> None:
        """Reset every connection."""
        for connection in tuple(self.connections):
            connection.abort()


class UnreadResponses:
    """Sizes of unread responses by connection: above the limit, no fetch response is sent."""

    def __init__(self, limit: int, go_on: Callable[[], None]) -> None:
        """``go_on`` makes every connection check whether it may continue."""
        self._limit = limit
        self._go_on = go_on
        self._sizes: dict[KafkaConnection, tuple[int, float]] = {}
        """Connection → bytes, and the time since when they are unread."""
        self._all = 0

    @property
    def has_room(self) -> bool:
        """Whether the total is below the limit."""
        return self._all < self._limit

    def note(self, connection: KafkaConnection, size: int) -> None:
        """Record the unread bytes of a connection."""
        had_room = self.has_room
        known, since = self._sizes.pop(connection, (0, 0.0))
        self._all += size - known
        if size:
            still = 0 < known <= size
            self._sizes[connection] = (size, since if still else asyncio.get_running_loop().time())
        if self.has_room and not had_room:
            asyncio.get_running_loop().call_soon(self._go_on)

    def oldest(self, now: float, patience_s: float) -> list[KafkaConnection]:
        """Return the connections that have read nothing for too long, while the total is above the limit."""
        for connection in tuple(self._sizes):
            self.note(connection, connection.unread)
        if self.has_room:
            return []
        return [connection for connection, (_size, since) in self._sizes.items() if now - since > patience_s]


class BrokerListeners:
    """Listeners of all brokers, kept in step with the modelled processes."""

    def __init__(
        self,
        engine: RealtimeDriver,
        context: GatewayCluster,
        host: str,
        *,
        largest: int = MAX_REQUEST_BYTES,
        most_unread: int = MOST_UNREAD,
    ) -> None:
        self.on_error: Callable[[int, str], None] = lambda broker, text: None
        self._engine = engine
        self._context = context
        self._host = host
        self._largest = largest
        self._listeners = {broker: BrokerListener(self, broker) for broker in context.cluster.brokers}
        self._starting: dict[int, None] = dict.fromkeys(self._listeners)
        """Brokers whose listeners are not open yet."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: Any = None
        self.unread = UnreadResponses(most_unread, self._go_on)

    def _go_on(self) -> None:
        for listener in self._listeners.values():
            listener.resume_connections()

    @property
    def count(self) -> int:
        """Number of connections to all brokers."""
        return sum(len(listener.connections) for listener in self._listeners.values())

    @property
    def queued_bytes(self) -> int:
        """Total bytes of queued and incomplete requests."""
        return sum(
            connection.queued_bytes for listener in self._listeners.values() for connection in listener.connections
        )

    async def open(self, port: int) -> None:
        """Listen on consecutive ports from ``port`` on, or on free ports if it is 0.

        Raises:
            OSError: A port is in use.
        """
        for index, (broker, listener) in enumerate(self._listeners.items()):
            await listener.port.reserve(self._host, port + index if port else 0)
            self._context.addresses[broker] = (self._host, listener.port.number)
        self.update_starting()
        await asyncio.gather(*self._tasks)
        self._close_idle()

    def connection(self, listener: BrokerListener) -> KafkaConnection:
        """Return the protocol of a new connection."""
        return KafkaConnection(listener, self._engine, self._context, largest=self._largest)

    def handle_events(self, events: Iterable[Event]) -> None:
        """Apply process events of the model to the sockets."""
        for event in events:
            if isinstance(event, NodeDown | NodeUp | NodePaused | NodeResumed) and event.broker in self._listeners:
                self._apply(self._listeners[event.broker], event)

    def _apply(self, listener: BrokerListener, event: Event) -> None:
        if isinstance(event, NodePaused | NodeResumed):
            listener.paused = isinstance(event, NodePaused)
            listener.resume_connections()
        elif isinstance(event, NodeUp):
            listener.port.close()
            listener.reset()
            listener.powered_off = listener.paused = False
            listener.listening = ListenerState.CLOSED
            self._starting[listener.broker] = None
        elif event.detail == _POWER:  # type: ignore[attr-defined]
            self._starting.pop(listener.broker, None)
            listener.powered_off = True
            listener.resume_connections()
        else:
            self._starting.pop(listener.broker, None)
            listener.paused = False
            listener.listening = ListenerState.CLOSED
            listener.port.close()
            listener.reset()

    def update_starting(self) -> None:
        """Update the listeners of brokers that are starting."""
        for broker in tuple(self._starting):
            listener = self._listeners[broker]
            listening = self._context.cluster.brokers[broker].control.listening
            if listening is not listener.listening:
                listener.listening = listening
                self._do(self._listen(listener))
                listener.resume_connections()
            if listening is ListenerState.OPEN:
                del self._starting[broker]

    async def _listen(self, listener: BrokerListener) -> None:
        while listener.listening is not ListenerState.CLOSED and not listener.port.is_open:
            try:
                await listener.port.open()
            except OSError as error:
                listener.report_error(str(error))
                await asyncio.sleep(LOOK_S)

    def _do(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def broken(self, broker: int) -> None:
        """Reset every connection to a broker, as the modelled network did."""
        if not self._listeners[broker].powered_off:
            self._listeners[broker].reset()

    def _close_idle(self) -> None:
        """Close connections that are idle for too long or use too much memory."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        kept = 0
        for listener in self._listeners.values():
            for connection in tuple(listener.connections):
                patience = STALL_TIMEOUT_S if connection.has_partial_request else IDLE_S
                kept += connection.queued_bytes
                if not listener.reading_paused and now - connection.received_at > patience:
                    connection.abort()
                elif kept > MAX_QUEUED_BYTES:
                    listener.report_error(f"found more than {MAX_QUEUED_BYTES} bytes of queued requests")
                    connection.abort()
        for connection in self.unread.oldest(now, STALL_TIMEOUT_S):
            connection.refuse(f"found responses unread for {STALL_TIMEOUT_S:.0f} s, and their buffer full")
        self._timer = loop.call_later(LOOK_S, self._close_idle)

    async def close(self) -> None:
        """Release all ports and reset all connections."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        for listener in self._listeners.values():
            listener.port.release()
            listener.reset()
        await asyncio.sleep(0)


# The gateway: a session of the model with its listeners.


class Gateway:
    """Gateway in front of one session.

    Create it inside a running event loop, :meth:`open` it, and :meth:`close` it before the session is finished.
    """

    def __init__(
        self,
        session: Session,
        *,
        host: str = "127.0.0.1",
        creates_topics: bool = True,
        largest: int = MAX_REQUEST_BYTES,
        most_unread: int = MOST_UNREAD,
    ) -> None:
        """``largest``: maximum bytes of a request; ``most_unread``: of all responses that clients have not read.

        Raises:
            ModelError: The release is too old: its clients use message versions that are not supported.
        """
        profile = session.cluster.profile
        if profile.number < OLDEST:
            raise ModelError(
                f"kafka: found {profile.version}, the gateway needs Kafka 1.0 or later",
                code="version_too_old",
            )
        self.session = session
        self.on_events: Callable[[list[Event]], None] = lambda events: None
        """Called with all events."""
        began_ms = int(time.time() * 1_000) - session.cluster.now_us // 1_000
        ranges = offered(profile.number, kraft=profile.kraft)
        self.context = GatewayCluster(session.cluster, began_ms, ranges=ranges, creates_topics=creates_topics)
        self.engine = RealtimeDriver(session, asyncio.get_running_loop())
        self.listeners = BrokerListeners(self.engine, self.context, host, largest=largest, most_unread=most_unread)
        self.engine.on_broken = self.listeners.broken

    async def open(self, port: int) -> None:
        """Start listening, and let virtual time pass.

        Raises:
            OSError: A port is in use.
        """
        await self.listeners.open(port)
        self.engine.on_events = self._happened
        self.engine.on_time = self.listeners.update_starting
        self.engine.begin()

    def _happened(self, events: list[Event]) -> None:
        self.listeners.handle_events(events)
        self.on_events(events)

    @property
    def bootstrap(self) -> str:
        """Value of ``bootstrap.servers`` for clients."""
        return ",".join(f"{host}:{port}" for host, port in self.context.addresses.values())

    def act(self, action: Action) -> str:
        """Perform an operator's action now.

        Raises:
            FaultError: The action cannot be performed (:class:`~faults.declarations.fault.FaultError`).
        """
        return self.engine.act(action)

    async def close(self) -> None:
        """Close all connections and stop virtual time; the session can be finished then."""
        await self.listeners.close()
        self.engine.end()
