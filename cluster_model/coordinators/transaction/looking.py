"""What an administrator asks about transactions, and is told (KIP-664, 3.0).

Coordinators tell of transactional ids, the leader of a partition of the producers that wrote to it. A transaction that
hangs is known to the second and not to the first. ``error`` is a number of :class:`~cluster_model.protocol.errors.KafkaError`.
"""

from collections.abc import Callable
from typing import Final

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.hosted_coordinators import Tenants
from cluster_model.coordinators.transaction.transaction_metadata import PREPARED, Metadata, TxnState
from cluster_model.coordinators.transaction.transaction_state_manager import Registry
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.admin_messages_part import (
    ActiveProducer,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.versions import Profile

STATE_NAMES: Final = {
    TxnState.EMPTY: "Empty",
    TxnState.ONGOING: "Ongoing",
    TxnState.PREPARE_COMMIT: "PrepareCommit",
    TxnState.PREPARE_ABORT: "PrepareAbort",
    TxnState.COMPLETE_COMMIT: "CompleteCommit",
    TxnState.COMPLETE_ABORT: "CompleteAbort",
    TxnState.DEAD: "Dead",
    TxnState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
"""As the tools write them (``TransactionState``)."""


class Looked:
    """The answers of one broker. It has no state of its own."""

    __slots__ = ("_left", "_port", "_profile", "_registry", "_tenants", "handlers")

    def __init__(
        self,
        port: Port,
        profile: Profile,
        tenants: Tenants,
        registry: Registry,
        left: Callable[[str], tuple[str, ...]],
    ) -> None:
        """``left`` are the partitions that have not confirmed an id's marker, while it is being sent."""
        self._port = port
        self._profile = profile
        self._tenants = tenants
        self._registry = registry
        self._left = left
        self.handlers: Handlers = {
            ListTransactionsRequest: self._list,
            DescribeTransactionsRequest: self._describe,
            DescribeProducersRequest: self._producers,
        }

    def _list(self, source: int, request: ListTransactionsRequest) -> None:
        """``listTransactionStates``: a coordinator that is still reading would not tell all."""
        error = KafkaError.COORDINATOR_LOAD_IN_PROGRESS if self._registry.loading else KafkaError.NONE
        if not self._profile.transaction_tools:
            error = KafkaError.UNSUPPORTED_VERSION
        found: tuple[ListedTransaction, ...] = ()
        if not error:
            wanted = request.producer_ids
            found = tuple([
                ListedTransaction(each.id, each.value.producer_id, STATE_NAMES[each.state])
                for each in self._registry.ids.values()
                if not wanted or each.value.producer_id in wanted
            ])  # fmt: skip
        self._port.send(source, ListTransactionsResponse(request.correlation, error, self._port.node_id, found))

    def _describe(self, source: int, request: DescribeTransactionsRequest) -> None:
        error = KafkaError.UNSUPPORTED_VERSION
        metadata = self._registry.ids.get(request.transactional_id)
        if self._profile.transaction_tools:
            error = self._registry.status(request.transactional_id)
        if not error and metadata is None:
            error = KafkaError.TRANSACTIONAL_ID_NOT_FOUND
        answer = DescribeTransactionsResponse(request.correlation, error, request.transactional_id)
        if not error and metadata is not None:
            value = metadata.value
            answer = answer._replace(
                producer_id=value.producer_id, producer_epoch=value.producer_epoch, state=STATE_NAMES[metadata.state],
                timeout_us=value.timeout_us, start_us=value.start_us, partitions=self._unmarked(metadata),
            )  # fmt: skip
        self._port.send(source, answer)

    def _unmarked(self, metadata: Metadata) -> tuple[str, ...]:
        """Each goes off the list with its marker (``TransactionMetadata.removePartition``)."""
        return self._left(metadata.id) if metadata.state in PREPARED else metadata.value.partitions

    def _producers(self, source: int, request: DescribeProducersRequest) -> None:
        partition = request.partition
        error, found = self._tenants.producers(partition)
        if not self._profile.transaction_tools:
            error, found = KafkaError.UNSUPPORTED_VERSION, ()
        told = tuple([ActiveProducer(*each) for each in found])
        self._port.send(source, DescribeProducersResponse(request.correlation, error, partition, told))
