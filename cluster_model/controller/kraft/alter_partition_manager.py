"""What the leaders on one broker propose, brought to the controller (``AlterPartitionManager``, KIP-497).

One request is under way at a time, with everything that waits; what comes meanwhile goes with the next. No proposal is
given up: it is repeated until it is answered.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.kraft.controller_channel import ControllerChannel
from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest, AlterPartitionBatchResponse
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse

RETRY_US: Final = 50_000
"""Pause after an answer that refused everything."""
AGAIN: Final = "alter partition again"


class AlterPartitionManager:
    """One broker's."""

    __slots__ = ("_broker_epoch", "_correlation", "_flying", "_port", "_take", "_waiting", "channel")

    def __init__(
        self,
        port: Port,
        channel: ControllerChannel,
        broker_epoch: Callable[[], int],
        take: Callable[[AlterPartitionResponse], None],
    ) -> None:
        """``take`` gets the answers for partitions."""
        self._port = port
        self.channel = channel
        self._broker_epoch = broker_epoch
        self._take = take
        self._waiting: dict[str, AlterPartitionRequest] = {}
        """Proposals without an answer, those under way included; a newer one takes the place of the older."""
        self._correlation = 0
        self._flying = False

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """A leader wants another ISR."""
        self._waiting[proposal.partition] = proposal
        self.propagate()

    def propagate(self) -> None:
        """Send what waits, unless a request is under way."""
        if self._flying or not self._waiting:
            return
        self._flying = True
        self._correlation += 1
        epoch = self._broker_epoch()
        partitions = tuple(proposal._replace(broker_epoch=epoch) for proposal in self._waiting.values())
        self.channel.send(AlterPartitionBatchRequest(self._correlation, self._port.node_id, epoch, partitions))

    def answered(self, response: AlterPartitionBatchResponse) -> None:
        """Hand the answers out; whatever was not answered is asked again."""
        request = self.channel.answered(response)
        if request is None:
            return
        if response.error != KafkaError.NONE:
            self._port.timer(RETRY_US, AGAIN, self._correlation)
            return
        for answer in response.partitions:
            waiting = self._waiting.get(answer.partition)
            if waiting is not None and waiting.correlation == answer.correlation:
                del self._waiting[answer.partition]
                self._take(answer)
        # Only now: what the answers made leaders propose anew goes together, and nothing that was answered goes again.
        self._flying = False
        self.propagate()

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        """The pause after a refusal is over."""
        if self._flying and timer[1] == self._correlation and not self.channel.busy:
            self._flying = False
            self.propagate()

    def stopped(self) -> None:
        """The process died."""
        self._waiting.clear()
        self._flying = False
        self.channel.stopped()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._waiting.values()), self._correlation, self._flying, self.channel.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        waiting, self._correlation, self._flying, channel = saved
        self._waiting = {proposal.partition: proposal for proposal in waiting}
        self.channel.load(channel)
