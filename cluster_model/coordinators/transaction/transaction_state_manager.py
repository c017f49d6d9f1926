"""The transactional ids of one coordinator, and their partitions of the topic (``TransactionStateManager``).

A change of an id is written here, and whoever asked for it hears how that went. A partition that the broker comes to
lead is read first; meanwhile its ids are loading. Its leader epoch is the coordinator's epoch, which markers carry.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import TOLD_OF_APPEND, Tenants
from cluster_model.coordinators.transaction.transaction_metadata import (
    TransactionMetadata,
    Transit,
    TxnState,
    TxnValue,
    decode,
    encode,
)
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.crash_recovery import reading_us
from cluster_model.protocol.errors import KafkaError
from cluster_model.spec.internal_topics import TRANSACTIONS, coordinator_partition

LOAD_US: Final = 10_000
"""What reading a partition takes at least, as for groups."""
LOADED: Final = "transaction partition"
RETRY: Final = "transaction append"
RETRY_US: Final = 100_000
"""After which a decision that must be written is tried again."""


class After(NamedTuple):
    """What a write is for: ``kind`` says what follows, ``source`` -1 that nobody is told."""

    kind: str
    source: int = -1
    correlation: int = 0
    version: int = 0


class PendingTransition(NamedTuple):
    """A change that is being written."""

    id: str
    epoch: int
    transit: Transit
    after: After


class TransactionStateManager:
    """Transactional ids, in the order in which they came here."""

    __slots__ = (
        "_done", "_free_at", "_partitions", "_port", "_tenants", "_token", "_writes", "ids", "loading", "owned",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        tenants: Tenants,
        partitions: int,
        done: Callable[[PendingTransition, KafkaError, TransactionMetadata | None], None],
    ) -> None:
        """``done`` is told how a write went, and of which id as far as it is still here."""
        self._port = port
        self._tenants = tenants
        self._partitions = partitions
        self._done = done
        self.ids: dict[str, TransactionMetadata] = {}
        self.owned: dict[int, int] = {}
        """Partition that is led and read → the epoch in which."""
        self.loading: dict[int, tuple[int, int]] = {}
        """Partition → (when it will have been read, epoch)."""
        self._writes: dict[int, PendingTransition] = {}
        self._token = 0
        self._free_at = 0

    def partition_of(self, transactional_id: str) -> int:
        """Of the topic."""
        return coordinator_partition(transactional_id, self._partitions)

    def epoch_of(self, transactional_id: str) -> int:
        """The coordinator's epoch for an id, -1 while this is not its coordinator."""
        return self.owned.get(self.partition_of(transactional_id), -1)

    def status(self, transactional_id: str) -> KafkaError:
        """Whether requests of an id are for this broker, now."""
        number = self.partition_of(transactional_id)
        if number in self.loading:
            return KafkaError.COORDINATOR_LOAD_IN_PROGRESS
        return KafkaError.NONE if number in self.owned else KafkaError.NOT_COORDINATOR

    def verify(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: tuple[str, ...]
    ) -> tuple[KafkaError, tuple[str, ...]]:
        """Whether partitions are part of the open transaction, and which are not (KIP-890)."""
        metadata = self.ids.get(transactional_id)
        if metadata is None:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING, ()
        error = metadata.may_write(producer_id, epoch)
        if error:
            return error, ()
        known = metadata.value.partitions if metadata.state is TxnState.ONGOING else ()
        missing = tuple([each for each in partitions if each not in known])
        return (KafkaError.TRANSACTION_ABORTABLE if missing else KafkaError.NONE), missing

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self, metadata: TransactionMetadata, transit: Transit, after: After) -> None:
        """Write a prepared change (``appendTransactionToLog``), waiting for it as long as a transaction may take."""
        self._append(PendingTransition(metadata.id, self.epoch_of(metadata.id), transit, after))

    def _append(self, write: PendingTransition) -> None:
        self._token += 1
        self._writes[self._token] = write
        value = write.transit.value
        partition = f"{TRANSACTIONS}-{self.partition_of(write.id)}"
        self._tenants.append(TRANSACTIONS, partition, (encode(write.id, value),), self._token, value.timeout_us)

    def appended(self, token: int, error: KafkaError) -> bool:
        """How a write went; False if it was none of these."""
        write = self._writes.pop(token, None)
        if write is None:
            return False
        metadata = self.ids.get(write.id)
        if metadata is not None and self.epoch_of(write.id) != write.epoch:
            metadata = None
        told = TOLD_OF_APPEND.get(error, error)
        if metadata is None:
            told = told or KafkaError.NOT_COORDINATOR
        elif not told:
            metadata.complete(write.transit)
        elif write.after.kind == "complete":
            # Nobody else would do it: the decision has been answered and marked.
            self._token += 1
            self._writes[self._token] = write
            self._port.timer(RETRY_US, RETRY, self._token)
            return True
        else:
            metadata.pending = None
        self._done(write, told, metadata)
        return True

    def retry(self, token: int) -> None:
        """A timer: write it once more, if this is still the coordinator."""
        write = self._writes.pop(token, None)
        if write is not None and self.epoch_of(write.id) == write.epoch:
            self._append(write)

    def new_token(self) -> int:
        """For an append that is not a change of an id."""
        self._token += 1
        return self._token

    def remove(self, gone: list[TransactionMetadata]) -> None:
        """Forget ids, with a tombstone each."""
        for metadata in gone:
            del self.ids[metadata.id]
            partition = f"{TRANSACTIONS}-{self.partition_of(metadata.id)}"
            self._tenants.write(partition, (encode(metadata.id, None),))

    # -- loading and unloading --------------------------------------------------------------------------------------

    def leads(self, number: int, epoch: int) -> bool:
        """The broker leads a partition in an epoch; False if that is no news. It is read (again) before it counts."""
        loading = self.loading.get(number)
        if self.owned.get(number) == epoch or (loading is not None and loading[1] == epoch):
            return False
        self.resigned(number)
        size = self._tenants.size(f"{TRANSACTIONS}-{number}")
        if not size:
            self.owned[number] = epoch
            return True
        now = self._port.now
        self._free_at = max(now, self._free_at) + LOAD_US + reading_us(size)
        self.loading[number] = (self._free_at, epoch)
        self._port.timer(self._free_at - now, LOADED, number, self._free_at)
        return True

    def read(self, number: int, at: int) -> list[TransactionMetadata]:
        """The time that reading takes is over: the ids that were found."""
        loading = self.loading.get(number)
        if loading is None or loading[0] != at:
            return []
        del self.loading[number]
        self.owned[number] = loading[1]
        found: dict[str, TxnValue] = {}
        for _offset, text in self._tenants.read(f"{TRANSACTIONS}-{number}"):
            transactional_id, value = decode(text)
            found.pop(transactional_id, None)
            if value is not None:
                found[transactional_id] = value
        for transactional_id, value in found.items():
            self.ids[transactional_id] = TransactionMetadata(transactional_id, value)
        return [self.ids[transactional_id] for transactional_id in found]

    def resigned(self, number: int) -> None:
        """The broker leads a partition no more, or anew: its ids are forgotten."""
        self.loading.pop(number, None)
        if self.owned.pop(number, None) is not None:
            self.ids = {name: each for name, each in self.ids.items() if self.partition_of(name) != number}

    def stopped(self) -> None:
        """The process died: memory is gone."""
        self.ids.clear()
        self.owned.clear()
        self.loading.clear()
        self._writes.clear()
        self._free_at = 0

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([each.save() for each in self.ids.values()]), tuple(self.owned.items()),
            tuple(self.loading.items()), tuple(self._writes.items()), self._token, self._free_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        ids, owned, loading, writes, self._token, self._free_at = saved
        self.ids = {each[0]: TransactionMetadata.loaded(each) for each in ids}
        self.owned, self.loading, self._writes = dict(owned), dict(loading), dict(writes)
