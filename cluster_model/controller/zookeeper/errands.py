"""A broker's own errands in ZooKeeper: to register, to learn configurations, to find the controller."""

from collections.abc import Callable, Generator
from typing import Any

from cluster_model.controller.zookeeper import zk
from cluster_model.controller.zookeeper.controller_event_queue import Hands, Lane, Steps, Task
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    CONTROLLER,
    TOPIC_CONFIGS,
    BrokerNode,
    broker_config_path,
    broker_path,
    config_path,
)
from cluster_model.controller.zookeeper.zk import Answer
from cluster_model.protocol.messages import NOBODY

Doing = Generator[tuple[Any, ...], tuple[Answer, ...], None]
REGISTER_AGAIN = "register again"
EVERYBODY = "<default>"
"""Name of the configuration that holds for all brokers."""


class Errands:
    """One lane per broker."""

    __slots__ = ("_broker", "_configured", "_found", "_hands", "_rack", "_read", "_registered", "_retry_us", "lane")

    def __init__(
        self,
        broker: int,
        rack: str,
        retry_us: int,
        hands: Hands,
        ask: Callable[[Any, Task], None],
        registered: Callable[[int], None],
        configured: Callable[[str, str, tuple[Any, ...]], None],
        found: Callable[[int], None],
    ) -> None:
        """``registered`` gets the broker epoch; ``configured`` (``topic`` or ``broker``, its name, its settings)."""
        self._broker = broker
        self._rack = rack
        self._retry_us = retry_us
        self._hands = hands
        self._registered = registered
        self._configured = configured
        self._found = found
        self._read = 0
        """Config change notes read so far."""
        self.lane = Lane("errands", self._begin, ask, hands, lambda: self._read, self._restore)

    def _restore(self, read: int) -> None:
        self._read = read

    def _begin(self, task: Task) -> Steps:
        name, *arguments = task
        if name == "register":
            return self._register(*arguments)
        if name == "configure":
            return self._configure()
        if name == "configs_changed":
            return self._configs_changed()
        return self._find()

    def _register(self, session: int) -> Doing:
        """Make the node that says that this broker lives; its czxid is the broker epoch.

        A broker that is back before its old session has lapsed finds its old node. 0.8.2 waits for a session's time and
        tries again (``ZkUtils.createEphemeralPathExpectConflictHandleZKBug``). From 0.9 on the process ends, and
        whatever watches over it starts it again: that is modelled as another try after the time that a start takes.
        """
        path = broker_path(self._broker)
        (made,) = yield (zk.create(path, BrokerNode(self._rack), ephemeral=True),)
        (there,) = yield (zk.get(path),)
        if there.ok and (made.ok or there.owner == session):
            self._hands.do(self._registered, there.czxid)
        else:
            self._hands.timer(self._retry_us, REGISTER_AGAIN, session)

    def _configure(self) -> Doing:
        """Every configuration there is, at the start of the process."""
        (notes,) = yield (zk.children(CONFIG_CHANGES, watch=True),)
        (topics, brokers) = yield (zk.children(TOPIC_CONFIGS), zk.children(BROKER_CONFIGS))
        wanted = [("topic", name) for name in topics.children]
        wanted += [("broker", name) for name in (EVERYBODY, str(self._broker)) if name in brokers.children]
        yield from self._tell(wanted)
        self._read = _newest(notes.children, self._read)

    def _configs_changed(self) -> Doing:
        """Somebody changed configurations, and left a note for each (``DynamicConfigManager``)."""
        (listed,) = yield (zk.children(CONFIG_CHANGES, watch=True),)
        fresh = [note for note in listed.children if _number(note) >= self._read]
        if not fresh:
            return
        notes = yield tuple([zk.get(f"{CONFIG_CHANGES}/{note}") for note in fresh])
        wanted = list({answer.data: None for answer in notes if answer.ok})
        mine = ("", EVERYBODY, str(self._broker))
        yield from self._tell([(kind, name) for kind, name in wanted if kind == "topic" or name in mine])
        self._read = _newest(listed.children, self._read)

    def _tell(self, wanted: list[tuple[str, str]]) -> Doing:
        if not wanted:
            return
        paths = [
            config_path(name) if kind == "topic" else broker_config_path("" if name == EVERYBODY else name)
            for kind, name in wanted
        ]
        answers = yield tuple([zk.get(path) for path in paths])
        for (kind, name), answer in zip(wanted, answers, strict=True):
            if answer.ok:
                self._hands.do(self._configured, kind, name, answer.data)

    def _find(self) -> Doing:
        (who,) = yield (zk.get(CONTROLLER),)
        self._hands.do(self._found, who.data[0] if who.ok else NOBODY)

    def stopped(self) -> None:
        """The process died."""
        self.lane.abandon()
        self._read = 0


def _number(note: str) -> int:
    return int(note.rpartition("_")[2])


def _newest(notes: tuple[str, ...], read: int) -> int:
    return max([read, *[_number(note) + 1 for note in notes]])
