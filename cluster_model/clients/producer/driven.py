"""A producer that the application of a consumer has beside it: it sends when it is asked to, and goes by no time."""

from typing import Any

from cluster_model.clients.producer.producer import Producer
from cluster_model.kernel.event_loop import Payload
from cluster_model.protocol.messages import Message
from cluster_model.spec.cluster_spec import ProducerSpec


class DrivenProducer(Producer):
    """The node; whatever happens to it, its application may have something to do."""

    __slots__ = ()

    def __init__(self, *parts: Any) -> None:
        """``parts`` are those of every producer."""
        super().__init__(*parts)

    @property
    def spec(self) -> ProducerSpec:
        """What it was made from."""
        return self._spec

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        super().receive(source, message)
        self._look()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        super().on_timer(timer)
        self._look()

    def on_disconnect(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        super().on_disconnect(peer)
        self._look()

    def _look(self) -> None:
        """Go on as far as the application can."""
