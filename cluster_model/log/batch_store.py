"""Store of record batches as each leader wrote them, shared by a partition's replicas, with read-only past views.

A *log branch* is what one leader writes in one epoch from one start offset: an append-only list of batches. A
replica's log is a short list of extents over log branches, replication copies no records, and two replicas hold the
same record at an offset exactly when the same log branch covers it in both: divergence is exact and cheap to find.

A leader that loses the tail of its log and continues in the same epoch starts a new log branch: (partition, epoch)
would not distinguish the lost records from those that took their offsets.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from cluster_model.protocol.records import ABORT, PLAIN, Batch

if TYPE_CHECKING:
    from cluster_model.log.record_keys import KeyModel

_SharedFields = tuple[str, int, int, int, int, int, int, int]
"""(client, producer id, acks, codec, producer epoch, origin, kind, coordinator epoch) of most batches."""

_LONG_AGO: Final = -(1 << 62)


class EpochBranch:
    """Batches of one log branch, dense in offsets from ``start``, stored in columns."""

    __slots__ = (
        "_appended", "_bases", "_field_indexes", "_names", "_newest", "_newest_so_far", "_payloads", "_sequences",
        "_shared_fields", "_shared_index", "_stamps", "_written", "_written_so_far", "broker", "end", "epoch", "id",
        "length", "start", "topic_id", "transactional",
    )  # fmt: skip

    def __init__(self, branch_id: int, broker: int, epoch: int, start: int, topic_id: int = 0) -> None:
        self.id = branch_id
        self.topic_id = topic_id
        """Id of the topic it was written for: a recreated topic of the same name has new log branches."""
        self.broker = broker
        self.epoch = epoch
        self.start = start
        self.end = start
        """Offset after the last record."""
        self.length = 0
        """Number of batches."""
        self._bases = array("q")
        self._written = array("q")
        """Bytes up to and including each batch."""
        self._newest = array("q")
        """Largest timestamp up to and including each batch."""
        self._appended = array("q")
        self._stamps = array("q")
        self._sequences = array("q")
        self._field_indexes = array("L")
        """Each batch's index into the manners."""
        self._shared_fields: list[_SharedFields] = []
        self._shared_index: dict[_SharedFields, int] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        """Batch index → record names; few batches have any."""
        self._payloads: dict[int, bytes] = {}
        """Batch index → bytes of an external client's batch."""
        self._written_so_far = 0
        self._newest_so_far = _LONG_AGO
        self.transactional = False
        """Whether any batch has ever been part of a transaction."""

    def append(self, batch: Batch) -> None:
        """Append a batch at the end."""
        (
            base, records, size, appended_us, client, producer_id, sequence, acks, name, timestamp_us, codec, epoch,
            origin, kind, coordinator_epoch,
        ) = batch  # fmt: skip
        if name:
            self._names[self.length] = name
        self.length += 1
        self._bases.append(base)
        self.end = base + records
        self._written_so_far += size
        self._written.append(self._written_so_far)
        if timestamp_us > self._newest_so_far:
            self._newest_so_far = timestamp_us
        self._newest.append(self._newest_so_far)
        self._appended.append(appended_us)
        self._stamps.append(timestamp_us)
        self._sequences.append(sequence)
        shared = (client, producer_id, acks, codec, epoch, origin, kind, coordinator_epoch)
        index = self._shared_index.get(shared)
        if index is None:
            self.transactional = self.transactional or kind != PLAIN
            index = self._shared_index[shared] = len(self._shared_fields)
            self._shared_fields.append(shared)
        self._field_indexes.append(index)

    def set_payload(self, payload: bytes) -> None:
        """Store the bytes of the last batch."""
        self._payloads[self.length - 1] = payload

    def payload(self, base: int) -> bytes:
        """Return the bytes of the batch at ``base``; empty for a batch of the model's own clients."""
        return self._payloads.get(self.index_at(base), b"")

    def share(self, original: "EpochBranch") -> None:
        """Use another branch's columns, read-only."""
        self._bases, self._written, self._newest = original._bases, original._written, original._newest
        self._appended, self._stamps, self._sequences = original._appended, original._stamps, original._sequences
        self._field_indexes, self._shared_fields, self._names = (
            original._field_indexes,
            original._shared_fields,
            original._names,
        )
        self._payloads = original._payloads
        self.transactional = original.transactional

    def unshare(self) -> None:
        """Copy the shared columns, up to the current length."""
        length = self.length
        self._bases, self._written, self._newest = (
            self._bases[:length], self._written[:length], self._newest[:length]
        )  # fmt: skip
        self._appended, self._stamps, self._sequences = (
            self._appended[:length], self._stamps[:length], self._sequences[:length]
        )  # fmt: skip
        self._field_indexes, self._shared_fields = self._field_indexes[:length], self._shared_fields.copy()
        self._shared_index = {shared: position for position, shared in enumerate(self._shared_fields)}
        self._names = {index: name for index, name in self._names.items() if index < length}
        self._payloads = {index: payload for index, payload in self._payloads.items() if index < length}

    def set_length(self, original: "EpochBranch", length: int) -> None:
        """Expose the first ``length`` batches of the branch whose columns are shared."""
        self.length = length
        self.end = original._bases[length] if length < original.length else original.end
        self._written_so_far = self._written[length - 1] if length else 0
        self._newest_so_far = self._newest[length - 1] if length else _LONG_AGO

    def truncate(self, length: int) -> None:
        """Drop all but the first ``length`` batches."""
        if length < self.length:
            self.end = self._bases[length]
        self.length = length
        columns = (
            self._bases, self._written, self._newest, self._appended, self._stamps, self._sequences, self._field_indexes
        )  # fmt: skip
        for column in columns:
            del column[length:]
        self._names = {index: name for index, name in self._names.items() if index < length}
        self._payloads = {index: payload for index, payload in self._payloads.items() if index < length}
        self._written_so_far = self._written[-1] if length else 0
        self._newest_so_far = self._newest[-1] if length else _LONG_AGO

    def batch(self, index: int) -> Batch:
        """Return a batch by its index, from 0."""
        base = self._bases[index]
        client, producer_id, acks, codec, epoch, origin, kind, coordinator_epoch = self._shared_fields[
            self._field_indexes[index]
        ]
        return Batch(
            base, self._end_of(index) - base, self._size_of(index), self._appended[index], client, producer_id,
            self._sequences[index], acks, self._names.get(index, ()), self._stamps[index], codec,
            epoch, origin, kind, coordinator_epoch,
        )  # fmt: skip

    def _end_of(self, index: int) -> int:
        return self._bases[index + 1] if index + 1 < self.length else self.end

    def _size_of(self, index: int) -> int:
        return self._written[index] - (self._written[index - 1] if index else 0)

    def between(self, start: int, end: int) -> Iterator[Batch]:
        """Iterate over the batches that hold ``[start, end)``, which must be written and not empty."""
        return map(self.batch, range(self.index_at(start), self.index_at(end - 1) + 1))

    def runs(self, start: int, end: int) -> list[tuple[int, str, int, int]]:
        """Return (first offset, client, first record's number, count) of the numbered records of ``[start, end)``.

        Adjacent records with consecutive numbers form one run; markers and unnumbered records are left out.
        """
        found_runs: list[tuple[int, str, int, int]] = []
        offset, client, number, count = start, "", -1, 0
        for index in range(self.index_at(start), self.index_at(end - 1) + 1):
            base = self._bases[index]
            low, high = max(start, base), min(end, self._end_of(index))
            shared = self._shared_fields[self._field_indexes[index]]
            first = self._sequences[index]
            if first < 0 or shared[6] >= ABORT:
                continue
            first += low - base
            if shared[0] == client and number + count == first and offset + count == low:
                count += high - low
                continue
            if count:
                found_runs.append((offset, client, number, count))
            offset, client, number, count = low, shared[0], first, high - low
        if count:
            found_runs.append((offset, client, number, count))
        return found_runs

    def markers_only(self, start: int, end: int) -> bool:
        """Whether all batches at ``[start, end)``, which must be written and not empty, are markers."""
        if not self.transactional:
            return False
        first, last = self.index_at(start), self.index_at(end - 1)
        return all(self._shared_fields[self._field_indexes[index]][6] >= ABORT for index in range(first, last + 1))

    def index_at(self, offset: int) -> int:
        """Return the index of the batch that holds ``offset``."""
        return bisect_right(self._bases, offset) - 1

    def batch_at(self, offset: int) -> Batch:
        """Return the batch that holds ``offset``, which must be written."""
        return self.batch(self.index_at(offset))

    def appended_at(self, offset: int) -> int:
        """Return the append time of the record at ``offset``."""
        return self._appended[bisect_right(self._bases, offset) - 1]

    def appended_together(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Return (first offset, end, append time) of each part of ``[start, end)`` that was appended at one time."""
        first, last = self.index_at(start), self.index_at(end - 1)
        if self._appended[first] == self._appended[last]:
            return [(start, end, self._appended[last])]
        runs: list[tuple[int, int, int]] = []
        for index in range(first, last + 1):
            at, high = self._appended[index], min(end, self._end_of(index))
            if runs and runs[-1][2] == at:
                runs[-1] = (runs[-1][0], high, at)
            else:
                runs.append((runs[-1][1] if runs else start, high, at))
        return runs

    def fit(self, start: int, end: int, max_bytes: int) -> int:
        """Return where a read of ``[start, end)`` stops: after whole batches within ``max_bytes``, at least one."""
        first = bisect_right(self._bases, start) - 1
        written = self._written
        most = max_bytes + (written[first - 1] if first else 0)
        if self._written_so_far <= most or written[self.index_at(end - 1)] <= most:
            return end
        index = max(first, bisect_right(written, most) - 1)
        return min(end, self._end_of(index))

    def bytes_between(self, start: int, end: int) -> int:
        """Return the size of the batches that hold ``[start, end)``, which must not be empty."""
        first = self.index_at(start)
        return self._written[self.index_at(end - 1)] - (self._written[first - 1] if first else 0)

    def measure(self, start: int, end: int) -> tuple[int, int, int]:
        """Return (bytes, first timestamp, largest timestamp) of the batches that hold ``[start, end)``, not empty.

        If the running maximum rises within the range, its last value is the largest; only otherwise are timestamps
        compared.
        """
        bases = self._bases
        first = bisect_right(bases, start) - 1
        stamp = self._stamps[first]
        written = self._written
        before = written[first - 1] if first else 0
        if end <= (bases[first + 1] if first + 1 < self.length else self.end):
            return written[first] - before, stamp, stamp
        last = bisect_right(bases, end - 1) - 1
        newest = self._newest[last]
        if first and newest <= self._newest[first - 1]:
            newest = max(self._stamps[first : last + 1])
        return written[last] - before, stamp, newest


class BatchStore:
    """All log branches of a partition, by id."""

    __slots__ = ("by_id", "keys")

    def __init__(self) -> None:
        self.by_id: list[EpochBranch] = []
        self.keys: dict[str, KeyModel] = {}
        """Keys of the producers whose records have keys."""

    def begin(self, broker: int, epoch: int, start: int, topic_id: int = 0) -> EpochBranch:
        """Start a new log branch."""
        epoch_branch = EpochBranch(len(self.by_id), broker, epoch, start, topic_id)
        self.by_id.append(epoch_branch)
        return epoch_branch

    def any_transactional(self, extents: Iterable[tuple[int, int]]) -> bool:
        """Whether extents, each (first offset, branch id), may include batches of transactions."""
        return any(self.by_id[branch].transactional for _start, branch in extents)

    def batches_of(self, extents: tuple[tuple[int, int], ...], end: int) -> Iterator[tuple[Batch, int]]:
        """Yield the batches of extents up to ``end``, each with its end in the extents."""
        for index, (start, branch) in enumerate(extents):
            last = extents[index + 1][0] if index + 1 < len(extents) else end
            for batch in self.by_id[branch].between(start, last):
                yield batch, min(last, batch.end)

    def is_past_of(self, original: "BatchStore") -> bool:
        """Whether this is a past view of ``original``."""
        return self is original

    def save(self) -> tuple[int, ...]:
        """Return the lengths: log branches only grow, so lengths suffice to go back."""
        return tuple([epoch_branch.length for epoch_branch in self.by_id])

    def check(self, saved: tuple[Any, ...]) -> None:
        """Validate saved lengths, which may be of another history or of discarded batches.

        Raises:
            ValueError: there are fewer branches or batches.
        """
        known = self.save()
        if len(saved) > len(known) or any(wanted > length for wanted, length in zip(saved, known, strict=False)):
            raise ValueError(f"keyframe of another history: log branches of {saved} batches, but there are {known}")

    def load(self, saved: tuple[Any, ...]) -> None:
        """Drop everything written since.

        Raises:
            ValueError: the keyframe belongs to another history.
        """
        self.check(saved)
        del self.by_id[len(saved) :]
        for epoch_branch, length in zip(self.by_id, saved, strict=True):
            epoch_branch.truncate(length)


# Read-only views of logs at an earlier time, without copies.
#
# Batches are only ever appended to a log branch, so an earlier time is a length. A run that continues from there
# repeats, batch by batch, what is already stored, and so writes nothing; the first batch that differs, or that goes
# beyond the end, separates the view from the original permanently.


class EpochBranchView(EpochBranch):
    """The first ``length`` batches of an original branch, or batches of its own after it diverged."""

    __slots__ = ("_original",)

    def __init__(self, original: EpochBranch, length: int) -> None:
        super().__init__(original.id, original.broker, original.epoch, original.start, original.topic_id)
        self._original: EpochBranch | None = original
        """The original whose columns are shared, None after the divergence."""
        self.share(original)
        self.set_length(original, length)

    def append(self, batch: Batch) -> None:
        """Append a batch, which is stored already unless the view diverges here."""
        whole = self._original
        if whole is not None:
            if self.length < whole.length and whole.batch(self.length) == batch:
                self.transactional = whole.transactional
                self.set_length(whole, self.length + 1)
                return
            self._original = None
            self.unshare()
        super().append(batch)


class BatchStoreView(BatchStore):
    """All log branches of a partition at an earlier time."""

    __slots__ = ("_original",)

    def __init__(self, original: BatchStore) -> None:
        super().__init__()
        self._original = original
        self.keys = original.keys

    def begin(self, broker: int, epoch: int, start: int, topic_id: int = 0) -> EpochBranch:
        """Start a new log branch: the original's next one if it is the same."""
        number = len(self.by_id)
        if number < len(self._original.by_id):
            known = self._original.by_id[number]
            if (known.broker, known.epoch, known.start, known.topic_id) == (broker, epoch, start, topic_id):
                self.by_id.append(EpochBranchView(known, 0))
                return self.by_id[-1]
        self.by_id.append(EpochBranchView(EpochBranch(number, broker, epoch, start, topic_id), 0))
        return self.by_id[-1]

    def is_past_of(self, original: BatchStore) -> bool:
        """Whether this is a past view of ``original``."""
        return self._original is original

    def save(self) -> tuple[int, ...]:
        """Return the current lengths."""
        return tuple([epoch_branch.length for epoch_branch in self.by_id if isinstance(epoch_branch, EpochBranchView)])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Return to those lengths of the original, and drop batches of its own."""
        self._original.check(saved)
        self.by_id[:] = [EpochBranchView(self._original.by_id[number], length) for number, length in enumerate(saved)]
