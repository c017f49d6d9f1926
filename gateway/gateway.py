"""A gateway: a session of the model, and listeners that real clients can come to."""

import asyncio
import time
from collections.abc import Callable

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event
from faults.declarations.action import Action
from gateway.framing import LARGEST
from gateway.protocol.api_versions import OLDEST, offered
from gateway.protocol.context import House
from gateway.realtime_driver import Engine
from gateway.server import Doors
from playbooks.engine.session import Session


class Gateway:
    """Make one inside a running event loop, :meth:`open` it, and :meth:`close` it before the session is finished."""

    def __init__(
        self, session: Session, *, host: str = "127.0.0.1", creates_topics: bool = True, largest: int = LARGEST
    ) -> None:
        """``largest``: bytes of a request.

        Raises:
            ModelError: a release whose clients speak what cannot be read here.
        """
        profile = session.cluster.profile
        if profile.number < OLDEST:
            raise ModelError(f"kafka {profile.version}: found {profile.version}, allowed are releases from 1.0 on")
        self.session = session
        self.on_events: Callable[[list[Event]], None] = lambda events: None
        """Told of everything that happens."""
        began_ms = int(time.time() * 1_000) - session.cluster.now_us // 1_000
        self.house = House(session.cluster, began_ms, ranges=offered(profile.number), creates_topics=creates_topics)
        self.engine = Engine(session, asyncio.get_running_loop())
        self.doors = Doors(self.engine, self.house, host, largest=largest)
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
