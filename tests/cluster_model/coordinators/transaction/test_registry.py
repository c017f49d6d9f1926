"""Transactional ids and their partitions in isolation: results of writes, and changes of leadership."""

from typing import Any

import pytest

from cluster_model.coordinators.transaction.transaction_state_manager import (
    RETRY_US,
    PendingTransition,
    TransactionMetadata,
    TransactionStateManager,
    TxnState,
    TxnValue,
    WritePurpose,
    encode,
)
from cluster_model.protocol.errors import KafkaError
from tests.cluster_model.leaders import Wire

E = KafkaError
S = TxnState
VALUE = TxnValue(7, 0, 60_000_000, S.ONGOING, ("t-0",))


class Topic:
    """The only partition of the topic: written records, and what a reader finds."""

    def __init__(self) -> None:
        self.appends: list[tuple[int, tuple[str, ...]]] = []
        self.found: list[str] = []

    def append(self, _topic: str, _partition: str, names: tuple[str, ...], token: int, _timeout_us: int) -> None:
        self.appends.append((token, names))

    def size(self, _partition: str) -> int:
        return len(self.found)

    def read(self, _partition: str) -> list[tuple[int, str]]:
        return list(enumerate(self.found))


class Rig:
    """A registry that leads its partition in epoch 3 and knows one id with an open transaction."""

    def __init__(self) -> None:
        self.wire: Any = Wire(1)
        self.topic: Any = Topic()
        self.ends: list[tuple[str, KafkaError, bool]] = []
        self.registry = TransactionStateManager(self.wire, self.topic, 1, self._done)
        assert self.registry.leads(0, 3)
        self.metadata = self.registry.ids["pay"] = TransactionMetadata("pay", VALUE)

    def _done(self, write: PendingTransition, error: KafkaError, metadata: TransactionMetadata | None) -> None:
        self.ends.append((write.after.kind, error, metadata is not None))

    def write(self, kind: str = "end") -> int:
        """Start to write a decision; return its token."""
        transit = self.metadata.prepare_end(committed=True, now=1)
        self.registry.write(self.metadata, transit, WritePurpose(kind))
        token: int = self.topic.appends[-1][0]
        return token


def test_a_change_is_made_when_it_is_written() -> None:
    rig = Rig()
    token = rig.write()
    assert rig.metadata.state is S.ONGOING
    assert rig.registry.appended(token, E.NONE)
    assert (rig.metadata.state, rig.metadata.pending) == (S.PREPARE_COMMIT, None)
    assert rig.ends == [("end", E.NONE, True)]
    assert not rig.registry.appended(token, E.NONE)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, E.COORDINATOR_NOT_AVAILABLE),
        (E.REQUEST_TIMED_OUT, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_change_that_cannot_be_written_is_not_made(error: KafkaError, told: KafkaError) -> None:
    rig = Rig()
    rig.registry.appended(rig.write(), error)
    assert (rig.metadata.state, rig.metadata.pending) == (S.ONGOING, None)
    assert rig.ends == [("end", told, True)]


def test_the_completion_is_tried_until_it_is_written() -> None:
    rig = Rig()
    token = rig.write("complete")
    rig.registry.appended(token, E.NOT_ENOUGH_REPLICAS)
    assert rig.ends == []
    (at, timer), *_more = rig.wire.timers
    assert at == RETRY_US
    rig.registry.retry(timer[1])
    assert len(rig.topic.appends) == 2
    assert rig.topic.appends[0][1] == rig.topic.appends[1][1]
    rig.registry.appended(rig.topic.appends[-1][0], E.NONE)
    assert rig.ends == [("complete", E.NONE, True)]


def test_but_not_by_a_coordinator_that_is_none_any_more() -> None:
    rig = Rig()
    rig.registry.appended(rig.write("complete"), E.NOT_ENOUGH_REPLICAS)
    rig.registry.resigned(0)
    rig.registry.retry(rig.wire.timers[0][1][1])
    assert len(rig.topic.appends) == 1


def test_a_write_of_a_former_epoch_changes_nothing_in_this_one() -> None:
    rig = Rig()
    token = rig.write()
    assert rig.registry.leads(0, 4)
    fresh = rig.registry.ids["pay"] = TransactionMetadata("pay", VALUE)
    rig.registry.appended(token, E.NONE)
    assert fresh.state is S.ONGOING
    assert rig.ends == [("end", E.NOT_COORDINATOR, False)]


def test_a_partition_is_read_before_it_counts_and_again_in_every_epoch() -> None:
    rig = Rig()
    rig.topic.found = [encode("pay", VALUE), encode("old", VALUE), encode("old", None)]
    assert not rig.registry.leads(0, 3), "no news"
    assert rig.registry.leads(0, 5)
    assert rig.registry.status("pay") is E.COORDINATOR_LOAD_IN_PROGRESS
    assert not rig.registry.leads(0, 5)
    _at, timer = rig.wire.timers[-1]
    assert rig.registry.read(timer[1], timer[2] + 1) == [], "timer of another reading"
    assert [each.id for each in rig.registry.read(timer[1], timer[2])] == ["pay"]
    assert (rig.registry.status("pay"), rig.registry.epoch_of("pay")) == (E.NONE, 5)
    rig.registry.resigned(0)
    assert (rig.registry.status("pay"), rig.registry.epoch_of("pay")) == (E.NOT_COORDINATOR, -1)
    assert not rig.registry.ids
