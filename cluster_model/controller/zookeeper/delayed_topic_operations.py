"""Answers to requests about topics that wait until the controller's broker knows of what was done (ZooKeeper mode).

``DelayedCreatePartitions`` and ``DelayedDeleteTopics`` in the topic purgatory: new partitions need a leader in the
metadata of the broker that answers, a deleted topic must be gone from it. What is not so after the request's timeout is
REQUEST_TIMED_OUT, though it may still come. In KRaft mode no answer waits.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.protocol.admin_messages import (
    AdminError,
    CreatableTopicResult,
    CreatePartitionsRequest,
    DeleteTopicsRequest,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, PartitionState

DELAYED: Final = "delayed topics"
"""Name of the timer."""

States = Mapping[str, PartitionState]


class Delayed(NamedTuple):
    """An answer that waits until ``deadline``."""

    source: int
    request: Any
    response: Any
    deadline: int


class DelayedTopicOperations:
    """The delayed answers of one broker."""

    __slots__ = ("_alarm", "_port", "_states", "_waiting")

    def __init__(self, port: NodeContext, states: Callable[[], States]) -> None:
        """``states`` is the broker's metadata cache."""
        self._port = port
        self._states = states
        self._alarm = Alarm(port, DELAYED)
        self._waiting: list[Delayed] = []

    def answer(self, source: int, request: Any, response: Any) -> None:
        """Answer CreateTopics, DeleteTopics or CreatePartitions, now or once the broker knows of it."""
        if request.timeout_us <= 0 or getattr(request, "validate_only", False):
            self._port.send(source, response)
            return
        deadline = self._port.now + request.timeout_us
        self._waiting.append(Delayed(source, request, response, deadline))
        self._alarm.want(deadline)
        self.look()

    def look(self) -> None:
        """The broker has perhaps learned something."""
        if not self._waiting:
            return
        states = self._states()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            unseen = _unseen(each.request, each.response, states)
            if unseen and each.deadline > self._port.now:
                self._waiting.append(each)
                continue
            results = [
                entry._replace(error=KafkaError.REQUEST_TIMED_OUT) if entry.name in unseen else entry
                for entry in each.response.topics
            ]
            self._port.send(each.source, each.response._replace(topics=tuple(results)))

    def rang(self) -> None:
        """The timer: some may have waited for too long."""
        if self._alarm.rang():
            self.look()
            if self._waiting:
                self._alarm.want(min(each.deadline for each in self._waiting))

    def stopped(self) -> None:
        """The process died."""
        self._waiting.clear()
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._waiting), self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        waiting, alarm = saved
        self._waiting = list(waiting)
        self._alarm.load(alarm)


def _unseen(request: Any, response: Any, states: States) -> list[str]:
    """Topics of which the broker does not know yet what was done to them."""
    totals = {each.topic: each.total for each in request.topics} if isinstance(request, CreatePartitionsRequest) else {}
    found = []
    for entry in response.topics:
        if entry.error:
            continue
        if isinstance(request, DeleteTopicsRequest):
            seen = f"{entry.name}-0" not in states
        else:
            seen = _all_led(entry, totals, states)
        if not seen:
            found.append(entry.name)
    return found


def _all_led(entry: AdminError | CreatableTopicResult, totals: Mapping[str, int], states: States) -> bool:
    """Whether every partition of a topic has a leader (``DelayedCreatePartitions.isMissingLeader``)."""
    count = entry.partitions if isinstance(entry, CreatableTopicResult) else totals[entry.name]
    known = [states.get(f"{entry.name}-{number}") for number in range(count)]
    return all(state is not None and state.leader != NOBODY for state in known)
