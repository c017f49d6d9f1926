"""A broker's port: open while the broker accepts, and kept for it while it does not.

A port that nobody holds may be given to any socket of this machine that connects to somewhere, even to a client that
looks for this very broker, which would then find itself; and the broker could not come back.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

BACKLOG = 1024


class Port:
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
