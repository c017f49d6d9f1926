"""A thread of a broker that works events off one at a time, and waits for ZooKeeper in the middle of them.

What it does for an event is written as a generator: it yields operations for ZooKeeper, all sent at once, and goes on
when every answer is there, as the controller's event thread does (``ControllerEventManager``, ``KafkaZkClient``).
While it waits, nothing else of this lane runs.

A generator cannot be saved. It depends on nothing but the lane's state at its start and the answers it got, so these
are saved, and loading runs it again up to the same point with all effects held back.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from cluster_model.kernel.node_context import Port
from cluster_model.protocol.events import Event

Steps = Generator[tuple[Any, ...], tuple[Any, ...], None]
"""What a lane does for an event: yields operations, is sent their answers."""
Task = tuple[Any, ...]
"""An event of a lane: its name, and what belongs to it."""


class Hands:
    """All that a lane does to the world besides asking ZooKeeper; still while the past is run again."""

    __slots__ = ("_emit", "_port", "still")

    def __init__(self, port: Port, emit: Callable[[Event], None]) -> None:
        self._port = port
        self._emit = emit
        self.still = False

    @property
    def now(self) -> int:
        """Virtual microseconds."""
        return self._port.now

    def send(self, node: int, message: tuple[Any, ...]) -> None:
        """Send a message."""
        if not self.still:
            self._port.send(node, message)

    def timer(self, delay: int, *timer: Any) -> None:
        """Set a timer."""
        if not self.still:
            self._port.timer(delay, *timer)

    def emit(self, event: Event) -> None:
        """Add to the trace."""
        if not self.still:
            self._emit(event)

    def do(self, action: Callable[..., None], *arguments: Any) -> None:
        """Anything else that leaves the lane."""
        if not self.still:
            action(*arguments)


class Lane:
    """One such thread."""

    __slots__ = ("_ask", "_base", "_begin", "_given", "_got", "_hands", "_inside", "_keep", "_queue",
                 "_restore", "_serial", "_steps", "_task", "_wanted", "name")  # fmt: skip

    def __init__(
        self,
        name: str,
        begin: Callable[[Task], Steps],
        ask: Callable[[Any, Task], None],
        hands: Hands,
        keep: Callable[[], Any],
        restore: Callable[[Any], None],
    ) -> None:
        """``keep`` and ``restore`` are save and load of the state that events of this lane, and they alone, change."""
        self.name = name
        self._begin = begin
        self._ask = ask
        self._hands = hands
        self._keep = keep
        self._restore = restore
        self._queue: deque[Task] = deque()
        self._serial = 0
        """How many batches of operations there have been: answers name the one they are for."""
        self._steps: Steps | None = None
        self._task: Task = ()
        self._base: Any = None
        self._given: list[tuple[Any, ...]] = []
        self._got: list[Any] = []
        self._wanted = 0
        self._inside = False

    @property
    def busy(self) -> bool:
        """Whether an event is being worked on."""
        return self._steps is not None

    def waits(self, name: str) -> bool:
        """Whether an event of that name is in the queue."""
        return any(task[0] == name for task in self._queue)

    def put(self, *task: Any) -> None:
        """A new event, behind all others."""
        if not self._hands.still:
            self._queue.append(task)
            self._go_on()

    def clear(self) -> None:
        """Forget every event that waits (``ControllerEventManager.clearAndPut``)."""
        if not self._hands.still:
            self._queue.clear()

    def abandon(self) -> None:
        """Forget everything, what is being done included: the process, or its session, is gone."""
        self._queue.clear()
        if self._steps is not None and not self._inside:
            self._steps.close()
            self._steps = None

    def answered(self, token: Task, result: Any) -> None:
        """ZooKeeper answered the operation asked with ``token``."""
        if self._steps is None or token[1] != self._serial:
            return
        self._got.append(result)
        if len(self._got) == self._wanted:
            answers = tuple(self._got)
            self._given.append(answers)
            self._inside = True
            self._advance(self._steps, answers)
            self._inside = False
            self._go_on()

    def _go_on(self) -> None:
        if self._inside:
            return
        self._inside = True
        while self._steps is None and self._queue:
            self._task = self._queue.popleft()
            self._base = self._keep()
            self._given = []
            self._steps = steps = self._begin(self._task)
            self._advance(steps, None)
        self._inside = False

    def _advance(self, steps: Steps, answers: tuple[Any, ...] | None) -> None:
        try:
            wanted = next(steps) if answers is None else steps.send(answers)
        except StopIteration:
            self._steps = None
            return
        self._got = []
        self._wanted = len(wanted)
        if not self._hands.still:
            self._serial += 1
            for operation in wanted:
                self._ask(operation, (self.name, self._serial))

    def save(self) -> tuple[Any, ...]:
        """All state, that of ``keep`` included."""
        queue = tuple(self._queue)
        if self._steps is None:
            return (queue, self._serial, self._keep(), (), (), ())
        return (queue, self._serial, self._base, self._task, tuple(self._given), tuple(self._got))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        queue, self._serial, self._base, self._task, given, got = saved
        self._queue = deque(queue)
        self._steps = None
        self._restore(self._base)
        if not self._task:
            return
        self._hands.still = True
        self._steps = steps = self._begin(self._task)
        self._advance(steps, None)
        for answers in given:
            self._advance(steps, answers)
        self._hands.still = False
        self._given = list(given)
        self._got = list(got)
