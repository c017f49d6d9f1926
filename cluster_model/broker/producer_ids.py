"""Producer ids, as a broker gives them to who asks (``ProducerIdManager``): out of blocks of a thousand."""

from typing import Any, Final

from cluster_model.broker.partition.partition import BrokerMetadata
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import InitProducerIdRequest, InitProducerIdResponse

BLOCK: Final = 1_000
"""Ids of a block (``ProducerIdsBlock``)."""
_BROKERS: Final = 1_000
"""More than the largest broker id: blocks of different brokers never meet."""


class ProducerIds:
    """One broker's block. The rest of it is lost with the process; the count of blocks is the cluster's, and stays.

    The controller's part is taken for granted: the n-th block of a broker has a number of its own, and is there as
    soon as it is needed.
    """

    __slots__ = ("_blocks", "_left", "_metadata", "_port")

    def __init__(self, port: Port, metadata: BrokerMetadata) -> None:
        self._port = port
        self._metadata = metadata
        self._blocks = 0
        """How many this broker has had."""
        self._left = 0
        """Ids of the newest that nobody has."""

    def stopped(self) -> None:
        """The process died."""
        self._left = 0

    def asked(self, source: int, request: InitProducerIdRequest) -> None:
        """InitProducerId without a transactional id: a new id, epoch 0."""
        producer_id = self.generate()
        if producer_id < 0:
            error = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
            self._port.send(source, InitProducerIdResponse(request.correlation, error, -1, -1))
            return
        self._port.send(source, InitProducerIdResponse(request.correlation, KafkaError.NONE, producer_id, 0))

    def generate(self) -> int:
        """A new id, -1 if there is none: the broker has just started, and has been told nothing yet."""
        if not self._metadata.live:
            return -1
        if not self._left:
            self._blocks += 1
            self._left = BLOCK
        block = (self._blocks - 1) * _BROKERS + self._port.node_id
        producer_id = (block + 1) * BLOCK - self._left
        self._left -= 1
        return producer_id

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._blocks, self._left)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._blocks, self._left = saved
