"""Transactional ids of one coordinator: their state and records, by partition of the topic.

Sans-IO. A change is *prepared*, written to the log, and only then applied: until then other requests fail with
CONCURRENT_TRANSACTIONS.
"""

import json
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import APPEND_ERRORS, CoordinatorHost
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.crash_recovery import reading_us
from cluster_model.protocol.errors import KafkaError
from cluster_model.spec.cluster_spec import TRANSACTIONS, coordinator_partition

# Records of ``__transaction_state`` as text: ``KEY=VALUE``, compact JSON arrays; ``KEY=`` is a tombstone. A key starts
# with Kafka's key version 0 (``TransactionLogKey``, ``TransactionLogValue``).


NO_ID: Final = -1
NO_EPOCH: Final = -1
_KEY_VERSION: Final = 0


class TxnValue(NamedTuple):
    """State of a transactional id in the log.

    ``state`` is a :class:`TxnState`. ``start_us`` is the start of the open transaction, -1 for none. ``client_version``
    2: the client supports an epoch bump with every transaction (KIP-890).
    """

    producer_id: int
    producer_epoch: int
    timeout_us: int
    state: int
    partitions: tuple[str, ...] = ()
    last_update_us: int = -1
    start_us: int = -1
    previous_producer_id: int = NO_ID
    next_producer_id: int = NO_ID
    client_version: int = 0


def encode(transactional_id: str, value: TxnValue | None) -> str:
    """Encode a record as text; without a value a tombstone."""
    return f"{_text([_KEY_VERSION, transactional_id])}={'' if value is None else _text(value)}"


def decode(text: str) -> tuple[str, TxnValue | None]:
    """Undo :func:`encode`.

    Raises:
        ValueError: the record is of another kind.
    """
    key_text, _sign, value_text = text.partition("=")
    version, transactional_id = json.loads(key_text)
    if version != _KEY_VERSION:
        raise ValueError(f"record of {TRANSACTIONS}: found key version {version}, expected {_KEY_VERSION}: {text!r}")
    if not value_text:
        return transactional_id, None
    producer_id, epoch, timeout_us, state, partitions, *more = json.loads(value_text)
    return transactional_id, TxnValue(producer_id, epoch, timeout_us, state, tuple(partitions), *more)


def _text(value: Any) -> str:
    # A record's key ends at its first "=", so the character is escaped inside JSON strings, the only place for it.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")


LAST_EPOCH: Final = 32_766
"""From this epoch on a producer id is exhausted and replaced by a new one (``isEpochExhausted``)."""


class TxnState(IntEnum):
    """Kafka's transaction states by their ids in the log; the last one is never written."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


S = TxnState
_COMPLETE: Final = (S.COMPLETE_COMMIT, S.COMPLETE_ABORT)
PREPARED: Final = (S.PREPARE_COMMIT, S.PREPARE_ABORT)
IDLE: Final = (S.EMPTY, *_COMPLETE)
PREDECESSORS: Final = {
    S.EMPTY: IDLE,
    S.ONGOING: (S.ONGOING, *IDLE),
    S.PREPARE_COMMIT: (S.ONGOING,),
    S.PREPARE_ABORT: (S.ONGOING, S.PREPARE_EPOCH_FENCE, *IDLE),
    S.COMPLETE_COMMIT: (S.PREPARE_COMMIT,),
    S.COMPLETE_ABORT: (S.PREPARE_ABORT,),
    S.DEAD: IDLE,
    S.PREPARE_EPOCH_FENCE: (S.ONGOING,),
}
"""State → states from which it can be reached."""


class TransitMetadata(NamedTuple):
    """A prepared change: the state after it is written (``TxnTransitMetadata``)."""

    value: TxnValue
    last_epoch: int


class TransactionMetadata:
    """State of one transactional id at its coordinator (``TransactionMetadata``)."""

    __slots__ = ("failed_fence", "id", "last_epoch", "pending", "value")

    def __init__(self, transactional_id: str, value: TxnValue, last_epoch: int = NO_EPOCH) -> None:
        self.id = transactional_id
        self.value = value
        self.last_epoch = last_epoch
        """Previous epoch, by which a repeated InitProducerId or EndTxn is recognised; not in the log."""
        self.pending: TxnState | None = None
        """State that is being written, None for none."""
        self.failed_fence = False
        """Whether an epoch was raised to fence a producer and could not be written; it is not raised again."""

    @property
    def state(self) -> TxnState:
        """State in the log."""
        return TxnState(self.value.state)

    @property
    def exhausted(self) -> bool:
        """Whether the producer id has no epoch left."""
        return self.value.producer_epoch >= LAST_EPOCH

    # -- changes ----------------------------------------------------------------------------------------------------

    def prepare(self, value: TxnValue, last_epoch: int) -> TransitMetadata:
        """Start a change.

        Raises:
            ValueError: another change is in progress, or the state transition is invalid.
        """
        target = TxnState(value.state)
        if self.pending is not None or self.state not in PREDECESSORS[target]:
            raise ValueError(
                f"{self.id}: found a transition from {self.state.name} (pending {self.pending!r}) to {target.name}"
            )
        self.pending = target
        return TransitMetadata(value, last_epoch)

    def complete(self, transit: TransitMetadata) -> None:
        """Apply a change that is written."""
        self.pending = None
        self.value, self.last_epoch = transit

    def starts_earlier(self, transit: TransitMetadata) -> bool:
        """Whether a change adds partitions to a transaction that starts before the last one: a clock was set back."""
        return transit.value.state == S.ONGOING and transit.value.start_us < self.value.start_us

    def prepare_epoch(self, timeout_us: int, expected_epoch: int, now: int) -> TransitMetadata | None:
        """Prepare a new epoch of the same id (``prepareIncrementProducerEpoch``); None if the producer is fenced.

        ``expected_epoch`` is the epoch that the producer believes to have, -1 for none: with it a repeated request gets
        the same response.
        """
        epoch, last = self.value.producer_epoch, NO_EPOCH
        bumped = epoch + 1
        if expected_epoch != NO_EPOCH:
            last = epoch
            if epoch not in (NO_EPOCH, expected_epoch):
                if expected_epoch != self.last_epoch:
                    return None
                bumped, last = epoch, self.last_epoch
        value = self._empty(timeout_us, now)._replace(producer_epoch=bumped, previous_producer_id=NO_ID)
        return self.prepare(value, last)

    def prepare_rotation(self, producer_id: int, timeout_us: int, now: int, *, expected: bool) -> TransitMetadata:
        """Prepare a new producer id, its epochs from 0 (``prepareProducerIdRotation``)."""
        value = self._empty(timeout_us, now)._replace(
            producer_id=producer_id, producer_epoch=0, previous_producer_id=self.value.producer_id
        )
        return self.prepare(value, self.value.producer_epoch if expected else NO_EPOCH)

    def _empty(self, timeout_us: int, now: int) -> TxnValue:
        return self.value._replace(
            timeout_us=timeout_us, state=S.EMPTY, partitions=(), start_us=-1, last_update_us=now, next_producer_id=NO_ID
        )

    def prepare_partitions(
        self, partitions: tuple[str, ...], now: int, client_version: int = 0, *, keeps_previous: bool = True
    ) -> TransitMetadata:
        """Prepare additional partitions, and a transaction if none is open (``prepareAddPartitions``).

        ``keeps_previous``: whether a replaced producer id stays known until the next InitProducerId.
        """
        value = self.value
        more = tuple([partition for partition in dict.fromkeys(partitions) if partition not in value.partitions])
        start = value.start_us if self.state is S.ONGOING else now
        return self.prepare(
            value._replace(
                state=S.ONGOING, partitions=(*value.partitions, *more), start_us=start, last_update_us=now,
                client_version=client_version,
                previous_producer_id=value.previous_producer_id if keeps_previous else NO_ID,
            ),
            self.last_epoch,
        )  # fmt: skip

    def prepare_fence(self) -> int:
        """Lock the open transaction to end it in the producer's place; return the epoch that fences the producer."""
        self.prepare(self.value._replace(state=S.PREPARE_EPOCH_FENCE), NO_EPOCH)
        return self.value.producer_epoch + (not self.failed_fence)

    def prepare_end(
        self,
        *,
        committed: bool,
        now: int,
        fence: int = NO_EPOCH,
        bumps: bool = False,
        next_id: int = NO_ID,
        keeps_previous: bool = True,
        client_version: int = 0,
    ) -> TransitMetadata:
        """Prepare the end of the open transaction (``prepareAbortOrCommit``); ``bumps``: with a new epoch after it.

        ``fence`` is the epoch of :meth:`prepare_fence`, which stays in force even if writing fails. ``client_version``
        is that of transactions without ``bumps``.
        """
        if fence != NO_EPOCH:
            self.pending = None
            self.value = self.value._replace(producer_epoch=fence)
            self.last_epoch = NO_EPOCH
        epoch = self.value.producer_epoch
        state = S.PREPARE_COMMIT if committed else S.PREPARE_ABORT
        began = self.value.start_us if self.state is S.ONGOING else now
        value = self.value._replace(
            state=state, producer_epoch=epoch + bumps, next_producer_id=next_id, last_update_us=now, start_us=began,
            client_version=2 if bumps else client_version,
            previous_producer_id=self.value.previous_producer_id if keeps_previous else NO_ID,
        )  # fmt: skip
        return self.prepare(value, epoch if bumps else self.last_epoch)

    def prepare_complete(self, now: int) -> TransitMetadata:
        """Prepare the completion after all markers (``prepareComplete``); an exhausted producer id is replaced."""
        self.failed_fence = False
        value = self.value
        state = S.COMPLETE_COMMIT if self.state is S.PREPARE_COMMIT else S.COMPLETE_ABORT
        done = value._replace(
            state=state, partitions=(), last_update_us=now, next_producer_id=NO_ID,
            previous_producer_id=NO_ID if value.client_version == 2 else value.previous_producer_id,
        )  # fmt: skip
        if value.next_producer_id != NO_ID:
            done = done._replace(
                producer_id=value.next_producer_id, producer_epoch=0, previous_producer_id=value.producer_id
            )
        return self.prepare(done, self.last_epoch)

    # -- checks of requests ------------------------------------------------------------------------------------------

    def knows(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer with this id and epoch can request a new epoch (``isValidProducerId``)."""
        value = self.value
        return (
            value.producer_epoch == NO_EPOCH
            or producer_id == value.producer_id
            or (producer_id == value.previous_producer_id and epoch >= LAST_EPOCH)
        )

    def check_add(self, producer_id: int, epoch: int) -> KafkaError:
        """Check whether this producer can add partitions (``handleAddPartitionsToTransaction``)."""
        if producer_id != self.value.producer_id:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING
        if epoch != self.value.producer_epoch:
            return KafkaError.PRODUCER_FENCED
        if self.pending is not None or self.state in PREPARED:
            return KafkaError.CONCURRENT_TRANSACTIONS
        return KafkaError.NONE

    def may_write(self, producer_id: int, epoch: int) -> KafkaError:
        """Check a producer for the verification by a leader (``handleVerifyPartitionsInTransaction``)."""
        if producer_id != self.value.producer_id:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING
        if epoch != self.value.producer_epoch:
            return KafkaError.PRODUCER_FENCED
        return KafkaError.CONCURRENT_TRANSACTIONS if self.state in PREPARED else KafkaError.NONE

    def may_end(self, producer_id: int, epoch: int, *, committed: bool, bumps: bool) -> tuple[KafkaError, bool]:
        """Check the end of a transaction (``endTransaction``); the second value is whether it has ended already.

        ``bumps``: the producer's version bumps the epoch with each transaction, so a repeated request has the previous
        one.
        """
        if bumps:
            return self._may_end_and_bump(producer_id, epoch, committed=committed)
        if producer_id != self.value.producer_id:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING, False
        if epoch != self.value.producer_epoch:
            return KafkaError.PRODUCER_FENCED, False
        if self.pending is not None:
            return KafkaError.CONCURRENT_TRANSACTIONS, False
        if self.state is S.ONGOING:
            return KafkaError.NONE, False
        return self._has_ended(committed=committed)

    def _may_end_and_bump(self, producer_id: int, epoch: int, *, committed: bool) -> tuple[KafkaError, bool]:
        """Check an end whose epoch distinguishes a repeated request from the next one (KIP-890, part 2).

        An empty transaction can be aborted and gets a new epoch: a producer cannot know what was written.
        """
        value, state = self.value, self.state
        bumped = value.producer_epoch == epoch + 1
        rotated = producer_id == value.previous_producer_id and epoch == LAST_EPOCH and value.producer_epoch == 0
        if self.pending is not None:
            return KafkaError.CONCURRENT_TRANSACTIONS, False
        if producer_id != value.producer_id and not rotated:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING, False
        current = epoch == value.producer_epoch and state not in PREPARED
        again = (state in PREPARED and bumped) or (state in _COMPLETE and (bumped or rotated))
        if not (current or again):
            return KafkaError.PRODUCER_FENCED, False
        if again:
            return self._has_ended(committed=committed)
        return (KafkaError.NONE if state is S.ONGOING or not committed else KafkaError.INVALID_TXN_STATE), False

    def _has_ended(self, *, committed: bool) -> tuple[KafkaError, bool]:
        """Result of a repeated request for an end that is written or being written."""
        if self.state is (S.COMPLETE_COMMIT if committed else S.COMPLETE_ABORT):
            return KafkaError.NONE, True
        if self.state is (S.PREPARE_COMMIT if committed else S.PREPARE_ABORT):
            return KafkaError.CONCURRENT_TRANSACTIONS, False
        return KafkaError.INVALID_TXN_STATE, False

    def timed_out(self, now: int) -> bool:
        """Whether its transaction has been open longer than its timeout, from its start (``timedOutTransactions``)."""
        value = self.value
        return self.state is S.ONGOING and self.pending is None and value.start_us + value.timeout_us < now

    def expired(self, now: int, expiration_us: int) -> bool:
        """Whether the id has been unused for the expiration time (``removeExpiredTransactionalIds``)."""
        return self.state in IDLE and self.pending is None and self.value.last_update_us + expiration_us <= now

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.id,
            self.value,
            self.last_epoch,
            -1 if self.pending is None else int(self.pending),
            self.failed_fence,
        )

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "TransactionMetadata":
        """Restore the state that :meth:`save` returned."""
        transactional_id, value, last_epoch, pending, failed_fence = saved
        found = cls(transactional_id, value, last_epoch)
        found.pending = None if pending < 0 else TxnState(pending)
        found.failed_fence = failed_fence
        return found


# The transactional ids of one coordinator, and their partitions of the topic (``TransactionStateManager``). It writes
# the changes of ids and reports the results. A partition that the broker starts to lead is read first; in the meantime
# its ids are loading. Its leader epoch is the coordinator epoch in markers.


LOAD_US: Final = 10_000
"""Shortest time to read a partition, as for groups."""
LOADED: Final = "transaction partition"
RETRY: Final = "transaction append"
RETRY_US: Final = 100_000
"""Pause before a decision that must be written is retried."""


class WritePurpose(NamedTuple):
    """Purpose of a write: ``kind`` selects the next step; ``source`` -1 means that no response is due."""

    kind: str
    source: int = -1
    correlation_id: int = 0
    version: int = 0


class PendingTransition(NamedTuple):
    """A change that is being written."""

    id: str
    epoch: int
    transit: TransitMetadata
    after: WritePurpose


class TransactionStateManager:
    """Transactional ids of one coordinator, in order of creation (``TransactionStateManager``)."""

    __slots__ = (
        "_done", "_free_at", "_hosted", "_partitions", "_port", "_start_never_falls", "_token", "_writes", "ids",
        "loading", "owned",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        hosted: CoordinatorHost,
        partitions: int,
        done: Callable[[PendingTransition, KafkaError, TransactionMetadata | None], None],
        *,
        start_never_falls: bool = False,
    ) -> None:
        """``done`` receives the result of a write, and the metadata of its id if it is still here.

        ``start_never_falls``: a transaction that starts before the last one of its id stays pending (KAFKA-8803).
        """
        self._port = port
        self._hosted = hosted
        self._partitions = partitions
        self._done = done
        self._start_never_falls = start_never_falls
        self.ids: dict[str, TransactionMetadata] = {}
        self.owned: dict[int, int] = {}
        """Partition that the broker leads and has read → leader epoch."""
        self.loading: dict[int, tuple[int, int]] = {}
        """Partition → (time at which it will have been read, epoch)."""
        self._writes: dict[int, PendingTransition] = {}
        self._token = 0
        self._free_at = 0

    def partition_of(self, transactional_id: str) -> int:
        """Index of the partition of an id."""
        return coordinator_partition(transactional_id, self._partitions)

    def epoch_of(self, transactional_id: str) -> int:
        """Coordinator epoch for an id, -1 if this broker is not its coordinator."""
        return self.owned.get(self.partition_of(transactional_id), -1)

    def status(self, transactional_id: str) -> KafkaError:
        """Error of requests of an id at this broker, NONE if it is the coordinator."""
        number = self.partition_of(transactional_id)
        if number in self.loading:
            return KafkaError.COORDINATOR_LOAD_IN_PROGRESS
        return KafkaError.NONE if number in self.owned else KafkaError.NOT_COORDINATOR

    def verify(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: tuple[str, ...]
    ) -> tuple[KafkaError, tuple[str, ...]]:
        """Check whether partitions are part of the open transaction; also return those that are not (KIP-890)."""
        metadata = self.ids.get(transactional_id)
        if metadata is None:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING, ()
        error = metadata.may_write(producer_id, epoch)
        if error:
            return error, ()
        known = metadata.value.partitions if metadata.state is TxnState.ONGOING else ()
        missing = tuple([partition for partition in partitions if partition not in known])
        return (KafkaError.TRANSACTION_ABORTABLE if missing else KafkaError.NONE), missing

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self, metadata: TransactionMetadata, transit: TransitMetadata, after: WritePurpose) -> None:
        """Write a prepared change (``appendTransactionToLog``); the write times out after the transaction timeout."""
        self._append(PendingTransition(metadata.id, self.epoch_of(metadata.id), transit, after))

    def _append(self, write: PendingTransition) -> None:
        self._token += 1
        self._writes[self._token] = write
        value = write.transit.value
        partition = f"{TRANSACTIONS}-{self.partition_of(write.id)}"
        self._hosted.append(TRANSACTIONS, partition, (encode(write.id, value),), self._token, value.timeout_us)

    def appended(self, token: int, error: KafkaError) -> bool:
        """Handle the result of a write; False if it is not one of these."""
        write = self._writes.pop(token, None)
        if write is None:
            return False
        metadata = self.ids.get(write.id)
        if metadata is not None and self.epoch_of(write.id) != write.epoch:
            metadata = None
        result = APPEND_ERRORS.get(error, error)
        if metadata is None:
            result = result or KafkaError.NOT_COORDINATOR
        elif not result:
            if self._start_never_falls and metadata.starts_earlier(write.transit):
                return True  # the exception leaves the change pending, and the request without a response
            metadata.complete(write.transit)
        elif write.after.kind == "complete":
            # It must be retried here: the transaction is decided, answered and has its markers.
            self._token += 1
            self._writes[self._token] = write
            self._port.timer(RETRY_US, RETRY, self._token)
            return True
        else:
            metadata.pending = None
        self._done(write, result, metadata)
        return True

    def retry(self, token: int) -> None:
        """Write again after a pause, if this broker is still the coordinator."""
        write = self._writes.pop(token, None)
        if write is not None and self.epoch_of(write.id) == write.epoch:
            self._append(write)

    def new_token(self) -> int:
        """Return a token for an append that is not a change of an id."""
        self._token += 1
        return self._token

    def remove(self, removed: list[TransactionMetadata]) -> None:
        """Remove ids, with a tombstone each."""
        for metadata in removed:
            del self.ids[metadata.id]
            partition = f"{TRANSACTIONS}-{self.partition_of(metadata.id)}"
            self._hosted.write(partition, (encode(metadata.id, None),))

    # -- loading and unloading --------------------------------------------------------------------------------------

    def leads(self, number: int, epoch: int) -> bool:
        """The broker leads a partition in an epoch: read it (again); False if that epoch is already known."""
        loading = self.loading.get(number)
        if self.owned.get(number) == epoch or (loading is not None and loading[1] == epoch):
            return False
        self.resigned(number)
        size = self._hosted.size(f"{TRANSACTIONS}-{number}")
        if not size:
            self.owned[number] = epoch
            return True
        now = self._port.now
        self._free_at = max(now, self._free_at) + LOAD_US + reading_us(size)
        self.loading[number] = (self._free_at, epoch)
        self._port.timer(self._free_at - now, LOADED, number, self._free_at)
        return True

    def read(self, number: int, at: int) -> list[TransactionMetadata]:
        """Restore the ids of a partition after its reading time, and return them."""
        loading = self.loading.get(number)
        if loading is None or loading[0] != at:
            return []
        del self.loading[number]
        self.owned[number] = loading[1]
        values: dict[str, TxnValue] = {}
        for _offset, text in self._hosted.read(f"{TRANSACTIONS}-{number}"):
            transactional_id, value = decode(text)
            values.pop(transactional_id, None)
            if value is not None:
                values[transactional_id] = value
        for transactional_id, value in values.items():
            self.ids[transactional_id] = TransactionMetadata(transactional_id, value)
        return [self.ids[transactional_id] for transactional_id in values]

    def resigned(self, number: int) -> None:
        """The broker lost a partition, or leads it in a new epoch: forget its ids."""
        self.loading.pop(number, None)
        if self.owned.pop(number, None) is not None:
            self.ids = {name: metadata for name, metadata in self.ids.items() if self.partition_of(name) != number}

    def stopped(self) -> None:
        """The process died; its memory is lost."""
        self.ids.clear()
        self.owned.clear()
        self.loading.clear()
        self._writes.clear()
        self._free_at = 0

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            tuple([metadata.save() for metadata in self.ids.values()]), tuple(self.owned.items()),
            tuple(self.loading.items()), tuple(self._writes.items()), self._token, self._free_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        ids, owned, loading, writes, self._token, self._free_at = saved
        self.ids = {each[0]: TransactionMetadata.from_saved(each) for each in ids}
        self.owned, self.loading, self._writes = dict(owned), dict(loading), dict(writes)
