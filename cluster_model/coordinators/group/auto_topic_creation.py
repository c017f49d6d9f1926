"""A broker that is asked for a coordinator has the topic made that it lacks (``AutoTopicCreationManager``).

It asks the controller that it knows of by a CreateTopics of its own, for one topic at most once at a time, and whoever
asked is told COORDINATOR_NOT_AVAILABLE and comes again. In KRaft mode the request goes the way of an administrator's,
in an envelope; in ZooKeeper mode to the controller's broker. Chosen: so in all versions, where brokers up to 2.7 wrote
to ZooKeeper themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cluster_model.broker.hosted_coordinators import Tenants
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.admin_messages import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from cluster_model.protocol.config_defaults import Configured
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.messages import NOBODY
from cluster_model.protocol.versions import Profile
from cluster_model.spec.internal_topics import OFFSETS, template


class _PendingCreation(NamedTuple):
    """A request under way, and until when it is waited for."""

    controller: int
    correlation: int
    until: int


class TopicMaker:
    """One broker's."""

    __slots__ = ("_asked", "_config", "_controller", "_correlation", "_partitions", "_port", "_profile", "_tenants")

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: Mapping[str, ConfigValue],
        tenants: Tenants,
        partitions: Mapping[str, int],
        controller: Callable[[], int],
    ) -> None:
        """``partitions`` is how many each topic is to have; ``controller`` tells who is asked, or NOBODY."""
        self._port = port
        self._profile = profile
        self._config = config
        self._tenants = tenants
        self._partitions = partitions
        self._controller = controller
        self._asked: dict[str, _PendingCreation] = {}
        self._correlation = 0

    def look(self, topic: str) -> None:
        """Have a topic made if the metadata cache lists none of its partitions.

        Nothing is asked for while a request is under way, no controller is known, or the version has no such topic.
        """
        states = self._tenants.states
        if any(f"{topic}-{number}" in states for number in range(self._partitions[topic])):
            return
        now, controller = self._port.now, self._controller()
        asked = self._asked.get(topic)
        if controller == NOBODY or (asked is not None and now < asked.until):
            return
        if topic != OFFSETS and not self._profile.transactions:
            return
        self._correlation += 1
        timeout_us = Configured("broker", self._profile.number, self._config).us("request.timeout.ms")
        self._asked[topic] = _PendingCreation(controller, self._correlation, now + timeout_us)
        request = CreateTopicsRequest(self._correlation, (self._wanted(topic),), timeout_us)
        self._port.send(controller, request)

    def _wanted(self, topic: str) -> CreatableTopic:
        wanted = template(topic, self._profile, self._config, len(self._tenants.metadata.live))
        config = tuple([(key, _text(value)) for key, value in wanted.config.items()])
        return CreatableTopic(topic, self._partitions[topic], wanted.replication, config=config)

    def answered(self, _source: int, response: CreateTopicsResponse) -> None:
        """Made or refused: either way it may be asked for again, as when there were too few brokers (KIP-115)."""
        self._drop(lambda asked: asked.correlation == response.correlation)

    def on_disconnect(self, peer: int) -> None:
        """Whatever was asked of ``peer`` will not be answered."""
        self._drop(lambda asked: asked.controller == peer)

    def _drop(self, over: Callable[[_PendingCreation], bool]) -> None:
        self._asked = {topic: asked for topic, asked in self._asked.items() if not over(asked)}

    def stopped(self) -> None:
        """The process died: memory is gone."""
        self._asked.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._asked.items()), self._correlation)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        asked, self._correlation = saved
        self._asked = dict(asked)


def _text(value: ConfigValue) -> str:
    """As an administrator writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
