"""The event thread of a ZooKeeper-mode controller (``ControllerEventManager``), and the operations of its tasks.

The task of an event is a generator: it yields ZooKeeper operations, which are sent all at once, and continues when
every response has arrived, as the controller's event thread does (``ControllerEventManager``, ``KafkaZkClient``). While
it waits, no other task of this thread runs.

A generator cannot be saved. It depends only on the thread's state at its start and the responses that it received, so
these are saved, and loading runs it again up to the same point with all side effects suppressed.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_channels import ControllerChannels, RequestBatch
from cluster_model.controller.zookeeper.controller_context import ControllerContext
from cluster_model.controller.zookeeper.kafka_zk_client import (
    CONTROLLER_EPOCH,
    StateNode,
    ZkResult,
    config_path,
    state_path,
)
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.configs import BrokerConfig, TopicConfig, ZkControllerSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile

Steps = Generator[tuple[Any, ...], tuple[Any, ...], None]
"""Task of an event: yields operations, and is sent their results."""
Task = tuple[Any, ...]
"""An event of a thread: its name and its arguments."""


class SideEffects:
    """Side effects of a thread besides ZooKeeper operations; suppressed (``still``) while a task is replayed."""

    __slots__ = ("_emit", "_port", "suppressed")

    def __init__(self, port: NodeContext, emit: Callable[[Event], None]) -> None:
        self._port = port
        self._emit = emit
        self.suppressed = False

    @property
    def now(self) -> int:
        """Current virtual time in µs."""
        return self._port.now

    def send(self, node: int, message: tuple[Any, ...]) -> None:
        """Send a message."""
        if not self.suppressed:
            self._port.send(node, message)

    def timer(self, delay: int, *timer: Any) -> None:
        """Set a timer."""
        if not self.suppressed:
            self._port.timer(delay, *timer)

    def emit(self, event: Event) -> None:
        """Emit an event."""
        if not self.suppressed:
            self._emit(event)

    def do(self, action: Callable[..., None], *arguments: Any) -> None:
        """Call a function outside the thread."""
        if not self.suppressed:
            action(*arguments)


class ControllerEventThread:
    """A thread that runs one task at a time (``ControllerEventThread``)."""

    __slots__ = (
        "_ask", "_base", "_begin", "_effects", "_given", "_got", "_inside", "_keep", "_queue", "_restore", "_serial",
        "_steps", "_task", "_wanted", "name",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        begin: Callable[[Task], Steps],
        ask: Callable[[Any, Task], None],
        effects: SideEffects,
        keep: Callable[[], Any],
        restore: Callable[[Any], None],
    ) -> None:
        """``keep`` and ``restore`` save and load the state that only the tasks of this thread change."""
        self.name = name
        self._begin = begin
        self._ask = ask
        self._effects = effects
        self._keep = keep
        self._restore = restore
        self._queue: deque[Task] = deque()
        self._serial = 0
        """Number of batches of operations so far; responses carry the number of their batch."""
        self._steps: Steps | None = None
        self._task: Task = ()
        self._base: Any = None
        self._given: list[tuple[Any, ...]] = []
        self._got: list[Any] = []
        self._wanted = 0
        self._inside = False

    @property
    def busy(self) -> bool:
        """Whether a task is in progress."""
        return self._steps is not None

    def waits(self, name: str) -> bool:
        """Whether an event of that name is queued."""
        return any(task[0] == name for task in self._queue)

    def put(self, *task: Any) -> None:
        """Queue an event."""
        if not self._effects.suppressed:
            self._queue.append(task)
            self._run_next()

    def clear(self) -> None:
        """Drop all queued events (``ControllerEventManager.clearAndPut``)."""
        if not self._effects.suppressed:
            self._queue.clear()

    def abandon(self) -> None:
        """Drop all queued events and the task in progress: the process or its session has ended."""
        self._queue.clear()
        if self._steps is not None and not self._inside:
            self._steps.close()
            self._steps = None

    def on_response(self, token: Task, result: Any) -> None:
        """Handle ZooKeeper's response to the operation with that token."""
        if self._steps is None or token[1] != self._serial:
            return
        self._got.append(result)
        if len(self._got) == self._wanted:
            answers = tuple(self._got)
            self._given.append(answers)
            self._inside = True
            self._advance(self._steps, answers)
            self._inside = False
            self._run_next()

    def _run_next(self) -> None:
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
        if not self._effects.suppressed:
            self._serial += 1
            for operation in wanted:
                self._ask(operation, (self.name, self._serial))

    def save(self) -> tuple[Any, ...]:
        """Return all state, including that of ``keep``."""
        queue = tuple(self._queue)
        if self._steps is None:
            return (queue, self._serial, self._keep(), (), (), ())
        return (queue, self._serial, self._base, self._task, tuple(self._given), tuple(self._got))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        queue, self._serial, self._base, self._task, given, got = saved
        self._queue = deque(queue)
        self._steps = None
        self._restore(self._base)
        if not self._task:
            return
        self._effects.suppressed = True
        self._steps = steps = self._begin(self._task)
        self._advance(steps, None)
        for answers in given:
            self._advance(steps, answers)
        self._effects.suppressed = False
        self._given = list(given)
        self._got = list(got)


# Operations shared by the controller's tasks: its context, ZooKeeper, requests to brokers and settings.


Answers = Generator[tuple[Any, ...], tuple[ZkResult, ...], tuple[ZkResult, ...]]
Doing = Generator[tuple[Any, ...], tuple[ZkResult, ...], None]
"""A task without a result."""
Failures = Generator[tuple[Any, ...], tuple[ZkResult, ...], dict[str, KafkaError]]
"""A task that returns its failures: partition → error."""


class ControllerMovedError(Exception):
    """Another broker is the controller: a write failed on the version of /controller_epoch."""


class ControllerOperations:
    """Context, ZooKeeper access, broker requests and settings of one controller."""

    __slots__ = (
        "batch", "broker_id", "channels", "config", "context", "defaults", "effects", "profile", "put", "settings",
    )  # fmt: skip

    def __init__(
        self,
        broker_id: int,
        profile: Profile,
        config: BrokerConfig,
        defaults: dict[str, Any],
        effects: SideEffects,
        channels: ControllerChannels,
        put: Callable[..., None],
    ) -> None:
        """``defaults`` are the brokers' static configurations; ``put`` queues an event of the thread."""
        self.broker_id = broker_id
        self.profile = profile
        self.config = config
        self.defaults = defaults
        self.settings = ZkControllerSettings.of(profile, defaults)
        self.effects = effects
        self.channels = channels
        self.put = put
        self.context = ControllerContext()
        self.batch = RequestBatch(broker_id, profile, self.context)

    def run(self, operations: Iterable[Any]) -> Answers:
        """Run ZooKeeper operations: all at once since 1.1 (KAFKA-5642), before that one after the other."""
        wanted = tuple(operations)
        if not wanted:
            return ()
        if self.profile.async_zookeeper:
            return (yield wanted)
        answers: tuple[ZkResult, ...] = ()
        for operation in wanted:
            answers += yield (operation,)
        return answers

    def write(self, operations: Iterable[Any]) -> Answers:
        """Run writes; since 2.1 each fails unless this broker is still the controller (KAFKA-6082).

        Raises:
            ControllerMovedError: it is not.
        """
        if not self.profile.zk_controller_epoch:
            return (yield from self.run(operations))
        version = self.context.epoch_version
        answers = yield from self.run(
            [kafka_zk_client.guarded(write, CONTROLLER_EPOCH, version) for write in operations]
        )
        if any(answer.moved for answer in answers):
            raise ControllerMovedError
        return answers

    def write_states(self, changes: dict[str, PartitionChange], written: Callable[[str], None]) -> Generator[
        tuple[Any, ...], tuple[ZkResult, ...], list[str]
    ]:  # fmt: skip
        """Write partition states on condition of their known versions; return the partitions with outdated ones.

        ``written`` is called for each success, in order, once the context is updated.
        """
        epoch = self.context.epoch
        nodes = {
            name: StateNode(
                change.state.leader, change.state.leader_epoch, change.state.isr, epoch, change.state.recovering,
                change.by, change.clean,
            )
            for name, change in changes.items()
        }  # fmt: skip
        versions = [self.context.partitions[name].partition_epoch for name in nodes]
        operations = [
            kafka_zk_client.put(state_path(name), node, version)
            for (name, node), version in zip(nodes.items(), versions, strict=True)
        ]
        answers = yield from self.write(operations)
        outdated: list[str] = []
        for (name, node), answer in zip(nodes.items(), answers, strict=True):
            if answer.ok:
                self.context.update_state(name, node, answer.version)
                written(name)
            elif answer.outdated:
                outdated.append(name)
        return outdated

    def read_states(self, names: list[str]) -> Generator[tuple[Any, ...], tuple[ZkResult, ...], dict[str, KafkaError]]:
        """Read partition states again; return failures: no state, or one of a newer controller."""
        answers = yield from self.run([kafka_zk_client.get(state_path(name)) for name in names])
        failed: dict[str, KafkaError] = {}
        for name, answer in zip(names, answers, strict=True):
            if not answer.ok:
                failed[name] = KafkaError.UNKNOWN_TOPIC_OR_PARTITION
            elif answer.data.controller_epoch > self.context.epoch:
                failed[name] = KafkaError.STALE_CONTROLLER_EPOCH
            else:
                self.context.update_state(name, answer.data, answer.version)
        return failed

    def read_configs(self, topics: list[str]) -> Doing:
        """Read topics' own configurations again (``KafkaZkClient.getLogConfigs``)."""
        answers = yield from self.run([kafka_zk_client.get(config_path(topic)) for topic in topics])
        for topic, answer in zip(topics, answers, strict=True):
            self.context.configs[topic] = answer.data if answer.ok else ()

    def topic_config(self, topic: str) -> TopicConfig:
        """Effective configuration of a topic, as last read."""
        broker_config = {**self.defaults, **self.context.defaults}
        return TopicConfig.of(self.profile, broker_config, dict(self.context.configs.get(topic, ())))

    @property
    def allows_unclean(self) -> bool:
        """Whether the brokers' default allows unclean leader election."""
        return TopicConfig.of(self.profile, {**self.defaults, **self.context.defaults}, {}).unclean

    def flush(self) -> None:
        """Send the collected requests."""
        self.batch.send(self._send)

    def _send(self, broker: int, request: Any) -> None:
        self.effects.do(self.channels.send, broker, request)

    def update_metadata(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        """Send UpdateMetadata to these brokers about these partitions at once."""
        self.batch.add_update_metadata(brokers, partitions)
        self.flush()
