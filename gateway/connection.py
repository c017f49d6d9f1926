"""One client's connection to one broker: requests are answered one at a time, in the order in which they came.

So does Kafka: a connection is muted while its request is under way (``SocketServer``). What a client may make this
process keep is bounded, whatever it sends.
"""

import asyncio
from collections import deque
from typing import Any, Final, Protocol

from gateway.framing import FrameError, Frames, framed
from gateway.handlers.registry import HANDLERS
from gateway.protocol import api_versions
from gateway.protocol.codec import Header, RequestError, read_header, read_request, write_response
from gateway.protocol.context import Call, House, Said
from gateway.realtime_driver import Engine, Running

WAITING: Final = 64
"""Whole requests that wait behind the one under way before no more is read."""
AT_ONCE: Final = 32
"""Requests that are answered before other connections have their turn."""
UNSUPPORTED_VERSION: Final = 35
PLAIN_HEADERS: Final = (api_versions.API_VERSIONS,)


class Door(Protocol):
    """Where a connection came in."""

    broker: int

    @property
    def silent(self) -> bool:
        """Whether nothing is read for now."""

    def came(self, connection: "Connection") -> bool:
        """Whether one more may."""

    def gone(self, connection: "Connection") -> None:
        """It is closed."""

    def complain(self, text: str) -> None:
        """Somebody sent what is no request."""


class Connection(asyncio.Protocol):
    """The protocol of one socket."""

    def __init__(self, door: Door, engine: Engine, house: House, *, largest: int) -> None:
        self._door = door
        self._engine = engine
        self._house = house
        self._frames = Frames(largest)
        self._waiting: deque[bytes] = deque()
        self._running: Running | None = None
        self._header: Header | None = None
        self._transport: Any = None
        self._answering = False
        self._full = False
        """Whether the client does not read what it is sent."""
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
        running, self._running = self._running, None
        if running is not None:
            self._engine.cancel(running)
        self._door.gone(self)

    def pause_writing(self) -> None:
        """The client does not read."""
        self._full = True

    def resume_writing(self) -> None:
        """It does again."""
        self._full = False
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
    def in_the_middle(self) -> bool:
        """Whether half a request has come."""
        return self._frames.waiting > 0

    # -- requests ---------------------------------------------------------------------------------------------------

    def _answer(self) -> None:
        """Take what waits, one after the other."""
        if self._answering:
            return
        self._answering = True
        left = AT_ONCE
        try:
            while self._waiting and self._running is None and not self._full and not self._door.silent:
                if self._transport.is_closing():
                    return
                if not left:
                    asyncio.get_running_loop().call_soon(self._go_on)
                    return
                left -= 1
                self._take(self._waiting.popleft())
        except RequestError as error:
            self.refuse(str(error))
        finally:
            self._answering = False

    def _go_on(self) -> None:
        self._answer()
        self.look()

    def _take(self, frame: bytes) -> None:
        header = read_header(frame)
        low, high = self._house.ranges.get(header.api, (0, -1))
        if not low <= header.version <= high:
            self._unsupported(header)
            return
        request = read_request(header, frame)
        call = Call(self._house, self._door.broker, header.client, header.api, header.version, request)
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
        if said is not None:
            plain = header.api in PLAIN_HEADERS
            try:
                response = write_response(header.api, header.version, header.correlation, said, plain=plain)
            except Exception as error:  # what a stranger asked for is in the answer, and may not go into one
                self.refuse(f"{type(error).__name__}: {error}")
                return
            self._transport.write(framed(response))
        if not self._answering:
            self._answer()
            self.look()

    def failed(self) -> None:
        """The broker closes the door."""
        self._transport.close()

    def refuse(self, why: str) -> None:
        """It sent what cannot be answered: say so, and let it go."""
        self._door.complain(why)
        self._waiting.clear()
        self._transport.abort()
