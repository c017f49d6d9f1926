"""A leader's log with transactions, written batch by batch."""

from cluster_model.broker.partition.partition import AppendResult
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ProduceRequest
from cluster_model.protocol.records import ABORT, COMMIT, PLAIN, TRANSACTIONAL
from tests.cluster_model.leaders import LeaderRig

P = "t-0"
E = KafkaError


class Writer:
    """Producers by id that write to one leader, each with its next sequence number."""

    def __init__(self, kafka: str = "3.5", **topic: int | str | bool) -> None:
        self.rig = LeaderRig(kafka, topic={name.replace("_", "."): value for name, value in topic.items()})
        self.now = 0
        self._next: dict[tuple[int, int], int] = {}

    @property
    def leadership(self):  # type: ignore[no-untyped-def]
        """Return the leadership of the rig's replica."""
        found = self.rig.replica.leadership
        assert found is not None
        return found

    def request(
        self, pid: int, records: int, *, epoch: int, kind: int, sequence: int, names: tuple[str, ...] = ()
    ) -> ProduceRequest:
        """Return a batch of a producer."""
        return ProduceRequest(
            1, P, 1, 1_000, f"p{pid}", pid, sequence, records, 100, names, producer_epoch=epoch, kind=kind
        )

    def write(
        self, pid: int, records: int = 1, *, epoch: int = 0, kind: int = TRANSACTIONAL, names: tuple[str, ...] = ()
    ) -> AppendResult:
        """Append the producer's next batch; ``pid`` -1 has no sequence number."""
        sequence = self._next.get((pid, epoch), 0)
        result: AppendResult = self.leadership.append(
            self.now, self.request(pid, records, epoch=epoch, kind=kind, sequence=sequence, names=names)
        )
        if not result.error:
            self._next[pid, epoch] = sequence + records
        return result

    def plain(self, records: int = 1) -> AppendResult:
        """Append records without a producer id."""
        return self.write(-1, records, kind=PLAIN)

    def end(self, pid: int, *, commit: bool, epoch: int = 0, coordinator: int = 0) -> AppendResult:
        """Append a marker."""
        request = ProduceRequest(
            0, P, 1, 0, "__transaction_state", pid, -1, 1, 78, producer_epoch=epoch,
            kind=COMMIT if commit else ABORT, coordinator_epoch=coordinator,
        )  # fmt: skip
        result: AppendResult = self.leadership.append(self.now, request)
        return result

    def commit(self, pid: int, **more: int) -> AppendResult:
        """Append a COMMIT marker."""
        return self.end(pid, commit=True, **more)

    def abort(self, pid: int, **more: int) -> AppendResult:
        """Append an ABORT marker."""
        return self.end(pid, commit=False, **more)

    def replicated(self, offset: int = -1) -> None:
        """Let both followers fetch everything up to an offset, by default all."""
        end = self.rig.replica.log.leo if offset < 0 else offset
        for follower in (2, 3):
            self.rig.fetch(follower, end, wait_us=0)

    @property
    def lso(self) -> int:
        """Return the last stable offset."""
        return self.rig.replica.lso
