"""Keeps the model in step with the wall, hands requests in, and brings answers back to whoever asked.

Virtual time is the wall's, one for one: real clients have timeouts. A model that cannot keep up falls behind instead of
racing after the wall; what is recorded is virtual time, so a replay does not know.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Protocol

from cluster_model.protocol.events import Event
from faults.declarations import Action
from gateway.protocol.context import Flow, Said
from playbooks.engine.session import Session
from playbooks.recording.event_codec import DROP, OPEN, Ingress, asked

LATE_US: Final = 500_000
"""So far behind the wall the model may be; what is more is given up."""
SLICE_US: Final = 20_000
"""Virtual time that is run before sockets are looked at again."""
LONGEST_S: Final = 0.1
"""Between two looks at the model, whatever it has to do."""
BLIND: Final = 1024
"""Requests with acks=0 whose connection is known, should one turn out to have gone wrong."""


class Loop(Protocol):
    """As much of an event loop as is needed; a test has its own."""

    def time(self) -> float:
        """Seconds."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Any:
        """Do it later."""


class FlowOwner(Protocol):
    """Who has a flow under way."""

    def done(self, said: Said) -> None:
        """It has come to its end; None: there is no response."""

    def failed(self) -> None:
        """The broker closed the door on it."""

    def refuse(self, why: str) -> None:
        """What it asked for cannot be carried out, or is none of what may be asked."""


class FlowState:
    """A flow under way."""

    __slots__ = ("answers", "broker", "client", "flow", "owner", "tokens")

    def __init__(self, owner: FlowOwner, broker: int, client: str, flow: Flow) -> None:
        self.owner = owner
        self.broker = broker
        self.client = client
        self.flow = flow
        self.tokens: tuple[int, ...] = ()
        self.answers: dict[int, Any] = {}


class Engine:
    """One session, run by the wall's clock."""

    def __init__(self, session: Session, loop: Loop) -> None:
        self.session = session
        self.on_events: Callable[[list[Event]], None] = _nobody
        """Told of everything that happened."""
        self.on_time: Callable[[], None] = _nothing
        """Called when time has passed."""
        self.on_broken: Callable[[int], None] = _nobody
        """Told of a broker that broke all connections."""
        self.given_up_us = 0
        """How far virtual time has fallen behind the wall in all."""
        self._loop = loop
        self._flows: dict[int, FlowState] = {}
        self._blind: OrderedDict[int, FlowOwner] = OrderedDict()
        self._arrived: list[tuple[int, Any]] = []
        self._broken: list[int] = []
        self._began = 0.0
        self._timer: Any = None
        self._pumping = False
        self.failure: Exception | None = None
        """What broke the model itself; time has stopped then."""
        self.over = False

    def begin(self) -> None:
        """Let clients come, and time pass."""
        outside = self.session.cluster.outside
        outside.on_answer = lambda token, answer: self._arrived.append((token, answer))
        outside.on_broken = self._broken.append
        self.session.hand_in(Ingress(OPEN))
        self._began = self._loop.time() - self.session.cluster.now_us / 1_000_000
        self.pump()

    def end(self) -> None:
        """Let no more time pass."""
        self.over = True
        if self._timer is not None:
            self._timer.cancel()
        self.session.cluster.outside.on_answer = lambda token, answer: None
        self.session.cluster.outside.on_broken = _nobody

    @property
    def wall_us(self) -> int:
        """Where virtual time should stand."""
        return int((self._loop.time() - self._began) * 1_000_000)

    # -- requests ---------------------------------------------------------------------------------------------------

    def run(self, owner: FlowOwner, broker: int, client: str, flow: Flow) -> FlowState:
        """Begin a flow, now; its owner hears of its end, perhaps before this comes back."""
        running = FlowState(owner, broker, client, flow)
        self.pump()
        self._go_on(running, None)
        self.pump()
        return running

    def cancel(self, running: FlowState) -> None:
        """Its owner is gone."""
        left = tuple(token for token in running.tokens if self._flows.pop(token, None) is not None)
        running.flow.close()
        if left and not self.over:
            self.session.hand_in(Ingress(DROP, body=left))

    def act(self, action: Action) -> str:
        """Do what an operator asks, now; raises as :meth:`Session.act` does."""
        self.pump()
        try:
            return self.session.act(action)
        finally:
            self.pump()

    def _go_on(self, running: FlowState, answers: Any) -> None:
        """Up to the next question that has to be waited for."""
        while True:
            try:
                question = running.flow.send(answers)
            except StopIteration as stop:
                running.owner.done(stop.value)
                return
            except Exception as error:  # whatever a handler makes of what strangers send ends their connection only
                running.owner.refuse(f"{type(error).__name__}: {error}")
                return
            broker = question.broker if question.broker >= 0 else running.broker
            hand_in, client = self.session.hand_in, running.client
            tokens = tuple([hand_in(asked(broker, client, request)) for request in question.requests])
            if question.waits and tokens:
                running.tokens = tokens
                self._flows.update(dict.fromkeys(tokens, running))
                return
            if question.closes:
                self._blind.update(dict.fromkeys(tokens, running.owner))
            while len(self._blind) > BLIND:
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
        """Tell of what has happened by now."""
        events = self.session.drain()
        if events:
            self.on_events(events)

    # -- time -------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Bring the model to the wall's time, and everybody what came of it."""
        if self._pumping or self.over:
            return
        self._pumping = True
        try:
            self._catch_up()
        except Exception as error:  # a timer has nobody to raise it to
            self.failure, self.over = error, True
        finally:
            self._pumping = False
        self._arrange()

    def _catch_up(self) -> None:
        session = self.session
        now = session.cluster.now_us
        behind = self.wall_us - now
        if behind > LATE_US:
            self._began += (behind - LATE_US) / 1_000_000
            self.given_up_us += behind - LATE_US
        target = min(max(self.wall_us, now), now + SLICE_US)
        while True:
            if not session.advance(target):
                self.over = True
            self.collect()
            self.on_time()
            if not self._arrived and not self._broken:
                return
            self._deliver()

    def _arrange(self) -> None:
        """Look again when the model has something to do."""
        if self.over:
            return
        session = self.session
        moments = [at for at in (session.cluster.next_event_us(), session.moment_us()) if at >= 0]
        left = min(moments, default=1 << 62) - self.wall_us
        if session.cluster.now_us < self.wall_us - SLICE_US:
            left = 0
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(min(max(left, 0) / 1_000_000, LONGEST_S), self.pump)


def _nobody(_told: Any) -> None:
    """Nobody listens."""


def _nothing() -> None:
    """Nobody looks."""
