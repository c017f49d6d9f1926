"""Real-time driver: keeps virtual time in step with wall-clock time, and carries requests and responses.

Virtual time runs at wall-clock speed, since real clients have timeouts. A model that cannot keep up falls behind
instead of catching up later; recordings contain virtual time only, so a replay is not affected.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Protocol

from cluster_model.protocol.events import Event
from faults.declarations import Action
from gateway.protocol.context import RequestHandlerGenerator, ResponseFields
from playbooks.engine.session import Session
from playbooks.recording.event_codec import DROP, OPEN, ExternalInput, request_input

LATE_US: Final = 500_000
"""Maximum lag of virtual time behind wall-clock time, in microseconds; any further lag is permanent."""
SLICE_US: Final = 20_000
"""Virtual time that runs before sockets are served again, in microseconds."""
LONGEST_S: Final = 0.1
"""Maximum seconds between two runs of the model."""
MAX_BLIND_REQUESTS: Final = 1024
"""Number of recent acks=0 requests whose connection is remembered, so that it can be closed on an error."""


class Loop(Protocol):
    """The part of an event loop that the driver needs; tests have their own."""

    def time(self) -> float:
        """Return the time in seconds."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Any:
        """Schedule a call."""


class FlowOwner(Protocol):
    """Owner of a request in progress, usually its connection."""

    def on_response(self, response: ResponseFields) -> None:
        """Handle the end of the request; None: there is no response."""

    def failed(self) -> None:
        """Handle an error without a response, on which the broker closes the connection."""

    def refuse(self, reason: str) -> None:
        """Handle a request that is invalid or cannot be executed."""


class FlowState:
    """Request in progress: its generator, and the responses it waits for."""

    __slots__ = ("answers", "broker", "client", "flow", "owner", "tokens")

    def __init__(self, owner: FlowOwner, broker: int, client: str, flow: RequestHandlerGenerator) -> None:
        self.owner = owner
        self.broker = broker
        self.client = client
        self.flow = flow
        self.tokens: tuple[int, ...] = ()
        self.answers: dict[int, Any] = {}


class RealtimeDriver:
    """Driver that runs one session in step with wall-clock time."""

    def __init__(self, session: Session, loop: Loop) -> None:
        self.session = session
        self.on_events: Callable[[list[Event]], None] = _ignore
        """Called with new events."""
        self.on_time: Callable[[], None] = _nothing
        """Called after virtual time has advanced."""
        self.on_broken: Callable[[int], None] = _ignore
        """Called with a broker whose connections were all reset."""
        self.permanent_lag_us = 0
        """Total permanent lag behind wall-clock time, in microseconds."""
        self._loop = loop
        self._flows: dict[int, FlowState] = {}
        self._blind: OrderedDict[int, FlowOwner] = OrderedDict()
        self._arrived: list[tuple[int, Any]] = []
        self._broken: list[int] = []
        self._began = 0.0
        self._timer: Any = None
        self._advancing = False
        self.failure: Exception | None = None
        """Exception that stopped the model, and with it virtual time."""
        self.over = False

    def begin(self) -> None:
        """Connect to the session and start virtual time."""
        outside = self.session.cluster.external_clients
        outside.on_answer = lambda token, answer: self._arrived.append((token, answer))
        outside.on_broken = self._broken.append
        self.session.submit_request(ExternalInput(OPEN))
        self._began = self._loop.time() - self.session.cluster.now_us / 1_000_000
        self.advance()

    def end(self) -> None:
        """Stop virtual time."""
        self.over = True
        if self._timer is not None:
            self._timer.cancel()
        self.session.cluster.external_clients.on_answer = lambda token, answer: None
        self.session.cluster.external_clients.on_broken = _ignore

    @property
    def target_us(self) -> int:
        """Current target of virtual time, in microseconds."""
        return int((self._loop.time() - self._began) * 1_000_000)

    # -- requests ---------------------------------------------------------------------------------------------------

    def run(self, owner: FlowOwner, broker: int, client: str, flow: RequestHandlerGenerator) -> FlowState:
        """Start a request; its owner learns of its end, possibly before this returns."""
        running = FlowState(owner, broker, client, flow)
        self.advance()
        self._go_on(running, None)
        self.advance()
        return running

    def cancel(self, running: FlowState) -> None:
        """Cancel a request whose owner has disconnected."""
        left = tuple(token for token in running.tokens if self._flows.pop(token, None) is not None)
        running.flow.close()
        if left and not self.over:
            self.session.submit_request(ExternalInput(DROP, body=left))

    def act(self, action: Action) -> str:
        """Perform an operator's action now; raises as :meth:`Session.act` does."""
        self.advance()
        try:
            return self.session.act(action)
        finally:
            self.advance()

    def _go_on(self, running: FlowState, answers: Any) -> None:
        """Run the request up to the next model requests whose responses it waits for."""
        while True:
            try:
                batch = running.flow.send(answers)
            except StopIteration as stop:
                running.owner.on_response(stop.value)
                return
            except Exception as error:  # an error in a handler closes the client's connection only
                running.owner.refuse(f"{type(error).__name__}: {error}")
                return
            broker = batch.broker if batch.broker >= 0 else running.broker
            hand_in, client = self.session.submit_request, running.client
            tokens = tuple([hand_in(request_input(broker, client, request)) for request in batch.requests])
            if batch.waits and tokens:
                running.tokens = tokens
                self._flows.update(dict.fromkeys(tokens, running))
                return
            if batch.closes:
                self._blind.update(dict.fromkeys(tokens, running.owner))
            while len(self._blind) > MAX_BLIND_REQUESTS:
                self._blind.popitem(last=False)
            answers = ()

    def _deliver(self) -> None:
        arrived, self._arrived = self._arrived, []
        for token, answer in arrived:
            running = self._flows.pop(token, None)
            if running is None:
                owner = self._blind.pop(token, None)
                if owner is not None:
                    owner.failed()
                continue
            running.answers[token] = answer
            if len(running.answers) == len(running.tokens):
                answers = tuple([running.answers[each] for each in running.tokens])
                running.answers, running.tokens = {}, ()
                self._go_on(running, answers)
        broken, self._broken = self._broken, []
        for broker in broken:
            self.on_broken(broker)

    def collect(self) -> None:
        """Report new events."""
        events = self.session.drain()
        if events:
            self.on_events(events)

    # -- time -------------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Advance the model to the current time, and deliver responses and events."""
        if self._advancing or self.over:
            return
        self._advancing = True
        try:
            self._catch_up()
        except Exception as error:  # a timer has no caller to raise it to
            self.failure, self.over = error, True
        finally:
            self._advancing = False
        self._arrange()

    def _catch_up(self) -> None:
        session = self.session
        now = session.cluster.now_us
        lag_us = self.target_us - now
        if lag_us > LATE_US:
            self._began += (lag_us - LATE_US) / 1_000_000
            self.permanent_lag_us += lag_us - LATE_US
        target = min(max(self.target_us, now), now + SLICE_US)
        while True:
            if not session.advance(target):
                self.over = True
            self.collect()
            self.on_time()
            if not self._arrived and not self._broken:
                return
            self._deliver()

    def _arrange(self) -> None:
        """Schedule the next run for the model's next event."""
        if self.over:
            return
        session = self.session
        times = [at for at in (session.cluster.next_event_us(), session.moment_us()) if at >= 0]
        left = min(times, default=1 << 62) - self.target_us
        if session.cluster.now_us < self.target_us - SLICE_US:
            left = 0
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(min(max(left, 0) / 1_000_000, LONGEST_S), self.advance)


def _ignore(_result: Any) -> None:
    """Ignore the argument; default of callbacks."""


def _nothing() -> None:
    """Do nothing; default of callbacks."""
