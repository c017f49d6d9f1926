"""A cluster behind a gateway without sockets: frames go in, answers come out, and time passes when somebody asks."""

import asyncio
import io
import struct
from pathlib import Path
from typing import Any

from kio.serial import entity_reader, entity_writer

from gateway.protocol.api_versions import offered
from gateway.protocol.codec import _maker, request_schema, response_schema
from gateway.protocol.context import GatewayCluster
from gateway.realtime_driver import RealtimeDriver
from gateway.server import PLAIN_HEADERS, KafkaConnection, framed
from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from tests.gateway.hosting import playbook

BEGAN_MS = 1_700_000_000_000
STEP_S = 0.02
PATIENCE = 3_000
"""Steps in which an answer has to come."""


class Wall:
    """A loop's clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Any, /) -> Any:
        return self

    def cancel(self) -> None:
        pass


class Door:
    reading_paused = False

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.complaints = 0

    has_room = True

    def unread(self, connection: KafkaConnection, size: int) -> None:
        pass

    def register(self, connection: KafkaConnection) -> bool:
        return True

    def remove(self, connection: KafkaConnection) -> None:
        pass

    def report_error(self, text: str) -> None:
        self.complaints += 1


class Pipe:
    """As much of a transport as a connection uses."""

    def __init__(self) -> None:
        self.closed = False
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    close = abort

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Wire:
    """One gateway; what comes of it depends on what is asked, and on nothing else."""

    def __init__(self, told: Any = None, parent: Path | None = None) -> None:
        recorder = None if parent is None else Recorder(parent, live=True)
        self.session = Session.start(told or playbook("4.1"), recorder=recorder, open_ended=True)
        cluster = self.session.cluster
        addresses = dict.fromkeys(cluster.brokers, ("127.0.0.1", 9092))
        self.context = GatewayCluster(
            cluster, BEGAN_MS, addresses, offered(cluster.profile.number, kraft=cluster.profile.kraft)
        )
        self._wall = Wall()
        self._doors = {broker: Door(broker) for broker in cluster.brokers}
        self._loop = asyncio.new_event_loop()
        self.engine = RealtimeDriver(self.session, self._wall)
        self.engine.begin()

    def sent(self, broker: int, data: bytes, turns: int = PATIENCE) -> Pipe:
        """What a connection of its own comes to."""
        return self._loop.run_until_complete(self._sent(broker, data, turns))

    async def _sent(self, broker: int, data: bytes, turns: int) -> Pipe:
        pipe = Pipe()
        connection = KafkaConnection(self._doors[broker], self.engine, self.context, largest=1 << 20)
        connection.connection_made(pipe)  # type: ignore[arg-type]
        connection.data_received(data)
        for _turn in range(turns):
            if pipe.written or pipe.closed:
                break
            self.run(STEP_S)
        connection.connection_lost(None)
        return pipe

    def run(self, span_s: float) -> None:
        """Let time pass."""
        until = self._wall.now + span_s
        while self._wall.now < until:
            self._wall.now = min(until, self._wall.now + STEP_S)
            self.engine.advance()
        if self.engine.failure is not None:
            raise self.engine.failure

    def ask(self, broker: int, api: int, version: int, client: str = "c", **said: Any) -> Any:
        """The answer to a request, by the codec's own class."""
        schema = request_schema(api, version)
        out = io.BytesIO()
        out.write(struct.pack(">hhih", api, version, 1, len(client)) + client.encode())
        out.write(b"\0" if schema.__flexible__ else b"")
        entity_writer(schema)(out, _maker(schema)(said))
        pipe = self.sent(broker, framed(out.getvalue()))
        assert pipe.written, f"no answer to API {api} version {version}"
        answer = response_schema(api, version)
        tagged = answer.__flexible__ and api not in PLAIN_HEADERS
        return entity_reader(answer)(pipe.written[8 + tagged :], 0)[0]

    @property
    def complaints(self) -> int:
        """How often somebody sent what is no request."""
        return sum(door.complaints for door in self._doors.values())

    def close(self) -> SessionResult:
        """The session's end."""
        self.run(2)
        self.engine.end()
        self._loop.close()
        return self.session.finish()
