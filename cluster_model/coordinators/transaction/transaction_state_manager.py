"""Transactional ids of one coordinator: the state and records of each, and their partitions of the topic.

Sans-IO. A change is *prepared*, written to the log, and only then made: whoever asks meanwhile is told that
transactions are concurrent.
"""

import json
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import TOLD_OF_APPEND, Tenants
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.crash_recovery import reading_us
from cluster_model.protocol.errors import KafkaError
from cluster_model.spec.cluster_spec import TRANSACTIONS, coordinator_partition

# Records of ``__transaction_state`` as named records: ``KEY=VALUE``, compact JSON arrays, and ``KEY=`` a tombstone.
#
# A key begins with Kafka's key version 0 (``TransactionLogKey``, ``TransactionLogValue``).


NO_ID: Final = -1
NO_EPOCH: Final = -1
_KEY_VERSION: Final = 0


class TxnValue(NamedTuple):
    """What is known of a transactional id.

    ``state`` is a :class:`TxnState`. ``start_us`` is when the open transaction began, -1 for none. ``client_version``
    2: the client knows that its epoch rises with every transaction (KIP-890).
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
    """The record's text; without a value its tombstone."""
    return f"{_text([_KEY_VERSION, transactional_id])}={'' if value is None else _text(value)}"


def decode(text: str) -> tuple[str, TxnValue | None]:
    """Undo of :func:`encode`.

    Raises:
        ValueError: a record of something else.
    """
    key_text, _sign, value_text = text.partition("=")
    version, transactional_id = json.loads(key_text)
    if version != _KEY_VERSION:
        raise ValueError(f"no record of a transaction: {text!r}")
    if not value_text:
        return transactional_id, None
    producer_id, epoch, timeout_us, state, partitions, *more = json.loads(value_text)
    return transactional_id, TxnValue(producer_id, epoch, timeout_us, state, tuple(partitions), *more)


def _text(value: Any) -> str:
    # A record's key ends at its first "=", so there is none inside: the sign only ever stands in a JSON string.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")


LAST_EPOCH: Final = 32_766
"""From this epoch on an id is exhausted, and a new one is given (``isEpochExhausted``)."""


class TxnState(IntEnum):
    """Kafka's states by their ids in the log; the last is never written."""

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
"""From where a state may be reached."""


class Transit(NamedTuple):
    """A change that is prepared (``TxnTransitMetadata``): what will be, once it is written."""

    value: TxnValue
    last_epoch: int


class TransactionMetadata:
    """What a coordinator knows of one transactional id."""

    __slots__ = ("failed_fence", "id", "last_epoch", "pending", "value")

    def __init__(self, transactional_id: str, value: TxnValue, last_epoch: int = NO_EPOCH) -> None:
        self.id = transactional_id
        self.value = value
        self.last_epoch = last_epoch
        """The epoch before, by which a repeated InitProducerId or EndTxn is known; not in the log."""
        self.pending: TxnState | None = None
        """The state that is being written."""
        self.failed_fence = False
        """An epoch was raised to fence a producer, and could not be written: it is not raised again."""

    @property
    def state(self) -> TxnState:
        """As of the log."""
        return TxnState(self.value.state)

    @property
    def exhausted(self) -> bool:
        """Whether the producer id has no epoch left to give."""
        return self.value.producer_epoch >= LAST_EPOCH

    # -- changes ----------------------------------------------------------------------------------------------------

    def prepare(self, value: TxnValue, last_epoch: int) -> Transit:
        """Begin a change.

        Raises:
            ValueError: another one is under way, or this one has no such predecessor.
        """
        wanted = TxnState(value.state)
        if self.pending is not None or self.state not in PREDECESSORS[wanted]:
            raise ValueError(f"{self.id}: from {self.state.name} (pending {self.pending!r}) to {wanted.name}")
        self.pending = wanted
        return Transit(value, last_epoch)

    def complete(self, transit: Transit) -> None:
        """A change is written."""
        self.pending = None
        self.value, self.last_epoch = transit

    def prepare_epoch(self, timeout_us: int, expected_epoch: int, now: int) -> Transit | None:
        """A new epoch of the same id (``prepareIncrementProducerEpoch``); None if the one who asks is fenced.

        ``expected_epoch`` is what the asker believes to have, -1 for none: with it a request that comes again is told
        the same.
        """
        epoch, last = self.value.producer_epoch, NO_EPOCH
        bumped = epoch + 1
        if expected_epoch != NO_EPOCH:
            last = epoch
            if epoch not in (NO_EPOCH, expected_epoch):
                if expected_epoch != self.last_epoch:
                    return None
                bumped, last = epoch, self.last_epoch
        return self.prepare(self._empty(timeout_us, now)._replace(producer_epoch=bumped), last)

    def prepare_rotation(self, producer_id: int, timeout_us: int, now: int, *, expected: bool) -> Transit:
        """A new id, its epochs from 0 (``prepareProducerIdRotation``)."""
        value = self._empty(timeout_us, now)._replace(
            producer_id=producer_id, producer_epoch=0, previous_producer_id=self.value.producer_id
        )
        return self.prepare(value, self.value.producer_epoch if expected else NO_EPOCH)

    def _empty(self, timeout_us: int, now: int) -> TxnValue:
        return self.value._replace(
            timeout_us=timeout_us, state=S.EMPTY, partitions=(), start_us=-1, last_update_us=now, next_producer_id=NO_ID
        )

    def prepare_partitions(self, partitions: tuple[str, ...], now: int, client_version: int = 0) -> Transit:
        """More partitions, and a transaction if none is open (``prepareAddPartitions``)."""
        value = self.value
        more = tuple([each for each in dict.fromkeys(partitions) if each not in value.partitions])
        start = value.start_us if self.state is S.ONGOING else now
        return self.prepare(
            value._replace(
                state=S.ONGOING, partitions=(*value.partitions, *more), start_us=start, last_update_us=now,
                client_version=client_version,
            ),
            self.last_epoch,
        )  # fmt: skip

    def prepare_fence(self) -> int:
        """Lock the open transaction to end it in the producer's place; returns the epoch that fences the producer."""
        self.prepare(self.value._replace(state=S.PREPARE_EPOCH_FENCE), NO_EPOCH)
        return self.value.producer_epoch + (not self.failed_fence)

    def prepare_end(
        self, *, committed: bool, now: int, fence: int = NO_EPOCH, bumps: bool = False, next_id: int = NO_ID
    ) -> Transit:
        """Decide the open transaction (``prepareAbortOrCommit``). ``bumps``: with a new epoch for the next one.

        ``fence`` is the epoch of :meth:`prepare_fence`, which stays even if writing fails.
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
            client_version=2 if bumps else 0,
        )  # fmt: skip
        return self.prepare(value, epoch if bumps else self.last_epoch)

    def prepare_complete(self, now: int) -> Transit:
        """Every marker is written, or will be (``prepareComplete``); an id that is exhausted gives way to the next."""
        self.failed_fence = False
        value = self.value
        state = S.COMPLETE_COMMIT if self.state is S.PREPARE_COMMIT else S.COMPLETE_ABORT
        done = value._replace(state=state, partitions=(), last_update_us=now, next_producer_id=NO_ID)
        if value.next_producer_id != NO_ID:
            done = done._replace(
                producer_id=value.next_producer_id, producer_epoch=0, previous_producer_id=value.producer_id
            )
        return self.prepare(done, self.last_epoch)

    # -- answers to requests ----------------------------------------------------------------------------------------

    def knows(self, producer_id: int, epoch: int) -> bool:
        """Whether somebody who believes to be this may ask for a new epoch (``isValidProducerId``)."""
        value = self.value
        return (
            value.producer_epoch == NO_EPOCH
            or producer_id == value.producer_id
            or (producer_id == value.previous_producer_id and epoch >= LAST_EPOCH)
        )

    def may_add(self, producer_id: int, epoch: int) -> KafkaError:
        """Whether partitions may be added by this producer (``handleAddPartitionsToTransaction``)."""
        if producer_id != self.value.producer_id:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING
        if epoch != self.value.producer_epoch:
            return KafkaError.PRODUCER_FENCED
        if self.pending is not None or self.state in PREPARED:
            return KafkaError.CONCURRENT_TRANSACTIONS
        return KafkaError.NONE

    def may_write(self, producer_id: int, epoch: int) -> KafkaError:
        """What a leader is told that asks for a producer (``handleVerifyPartitionsInTransaction``)."""
        if producer_id != self.value.producer_id:
            return KafkaError.INVALID_PRODUCER_ID_MAPPING
        if epoch != self.value.producer_epoch:
            return KafkaError.PRODUCER_FENCED
        return KafkaError.CONCURRENT_TRANSACTIONS if self.state in PREPARED else KafkaError.NONE

    def may_end(self, producer_id: int, epoch: int, *, committed: bool, bumps: bool) -> tuple[KafkaError, bool]:
        """Whether a producer may end its transaction, and whether it has done so already (``endTransaction``).

        ``bumps``: the producer's version gives each transaction an epoch, so one that asks again has the last one.
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
        """The same where the epoch tells a request that is repeated from the next one (KIP-890, part 2).

        What has nothing in it may be aborted, and gets a new epoch for it: a producer cannot know what was written.
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
        """The answer to a request for an end that is written already, or is being written."""
        if self.state is (S.COMPLETE_COMMIT if committed else S.COMPLETE_ABORT):
            return KafkaError.NONE, True
        if self.state is (S.PREPARE_COMMIT if committed else S.PREPARE_ABORT):
            return KafkaError.CONCURRENT_TRANSACTIONS, False
        return KafkaError.INVALID_TXN_STATE, False

    def timed_out(self, now: int) -> bool:
        """Whether its transaction has been open for too long, counted from its start (``timedOutTransactions``)."""
        value = self.value
        return self.state is S.ONGOING and self.pending is None and value.start_us + value.timeout_us < now

    def expired(self, now: int, expiration_us: int) -> bool:
        """Whether nobody has used it for so long that it is forgotten (``removeExpiredTransactionalIds``)."""
        return self.state in IDLE and self.pending is None and self.value.last_update_us + expiration_us <= now

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.id,
            self.value,
            self.last_epoch,
            -1 if self.pending is None else int(self.pending),
            self.failed_fence,
        )

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "TransactionMetadata":
        """Undo of :meth:`save`."""
        transactional_id, value, last_epoch, pending, failed_fence = saved
        found = cls(transactional_id, value, last_epoch)
        found.pending = None if pending < 0 else TxnState(pending)
        found.failed_fence = failed_fence
        return found


# The transactional ids of one coordinator, and their partitions of the topic (``TransactionStateManager``).
#
# A change of an id is written here, and whoever asked for it hears how that went. A partition that the broker comes to
# lead is read first; meanwhile its ids are loading. Its leader epoch is the coordinator's epoch, which markers carry.


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
