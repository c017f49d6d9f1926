"""A gateway in a thread of its own, for clients that block."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from faults.declarations.fault import Action
from gateway.server import MOST_UNREAD, Gateway
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from tests.gateway.running import PATIENCE_S

PLAYBOOK = """
floodmark: 1
name: served
seed: 5
cluster: {{kafka: "{kafka}", brokers: 3, config: {{num.partitions: 3, default.replication.factor: 3{config}}}}}
topics: [{{name: orders, partitions: 3, replication: 3, config: {{min.insync.replicas: {min_isr}{topic}}}}}]
{clients}
settle: 5s
"""


def playbook(kafka: str = "3.9", *, config: str = "", topic: str = "", min_isr: int = 2, clients: str = "") -> Any:
    told = PLAYBOOK.format(kafka=kafka, config=config, topic=topic, min_isr=min_isr, clients=clients)
    return loads(told, "served.yaml")


T = TypeVar("T")


def until(what: Callable[[], T | None], told: Callable[[], object] = lambda: "it does not happen") -> T:
    """Wait for something to happen; returns what came of it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.01)
    return found


class Served:
    """What a test talks to."""

    def __init__(self, session: Session, largest: int, most_unread: int) -> None:
        self.session = session
        self.complaints: list[str] = []
        self.result: SessionResult | None = None
        self._bounds = {"largest": largest, "most_unread": most_unread}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self.gateway = Gateway(self.session, **self._bounds)
        self.gateway.listeners.on_error = lambda broker, text: self.complaints.append(text)
        await self.gateway.open(0)
        self._ready.set()
        await self._stop.wait()
        await self.gateway.close()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(60)
        assert self._failure is None, self._failure

    def stop(self) -> SessionResult:
        if self.result is None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)
            assert self._failure is None, self._failure
            self.result = self.session.finish()
        return self.result

    @property
    def bootstrap(self) -> str:
        return self.gateway.bootstrap

    def address(self, broker: int) -> tuple[str, int]:
        return self.gateway.context.addresses[broker]

    def act(self, name: str, target: str, for_us: int = -1, verb: Any = "inject", **params: Any) -> str:
        async def act() -> str:
            return self.gateway.act(Action(verb, name, target, params, for_us))

        return asyncio.run_coroutine_threadsafe(act(), self._loop).result(20)

    def asked(self, question: Any) -> Any:
        async def ask() -> Any:
            return question(self.session.cluster)

        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result(20)

    def now_us(self) -> int:
        """The time of the cluster: it goes with the wall, but stands while this process does not run."""
        now_us: int = self.asked(lambda cluster: cluster.now_us)
        return now_us

    def let_pass(self, span_us: int) -> None:
        """Wait until so much time of the cluster is over."""
        end_us = self.now_us() + span_us
        until(lambda: self.now_us() > end_us)


@contextmanager
def served(
    told: Any = None, parent: Path | None = None, largest: int = 1 << 20, most_unread: int = MOST_UNREAD
) -> Iterator[Served]:
    recorder = None if parent is None else Recorder(parent, live=True)
    host = Served(Session.start(told or playbook(), recorder=recorder, open_ended=True), largest, most_unread)
    host.start()
    try:
        yield host
    finally:
        host.stop()
