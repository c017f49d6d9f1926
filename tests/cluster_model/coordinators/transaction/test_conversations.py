"""Messages between producers, coordinators and leaders, as files; renewed by ``make goldens``."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_model.coordinators.transaction.transaction_state_manager import TxnState
from cluster_model.protocol.transaction_messages import EndTxnRequest
from tests.cluster_model.coordinators.transaction.talks import Talk
from tests.support.golden import GoldenFile

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "conversations"


def two_transactions(kafka: str) -> Talk:
    """One transaction commits and the next one aborts; the second starts before the first one's markers are written."""
    talk = Talk(kafka)
    talk.run(3)
    producer = talk.producer("pay")
    producer.init()
    producer.add("orders-0", "orders-1")
    producer.write("orders-0", 2)
    producer.write("orders-1")
    producer.end(commit=True)
    producer.add("orders-0")
    talk.run(0.1)
    producer.add("orders-0")
    producer.write("orders-0")
    producer.end(commit=False)
    talk.run(1)
    return talk


def version_2(kafka: str) -> Talk:
    """Writes add their partitions, and every end raises the epoch, which fences late batches (KIP-890)."""
    talk = Talk(kafka)
    talk.run(3)
    producer = talk.producer("pay")
    producer.init()
    producer.write("orders-1", version=12)
    late = producer.batch("orders-1", version=12)
    producer.end(commit=True, version=5)
    producer.write("orders-0", version=12)
    talk.run(0.1)
    producer.write("orders-0", version=12)
    talk.note("a batch of the first transaction arrives")
    producer.ask(2, late)
    producer.end(commit=False, version=5)
    talk.run(1)
    return talk


def takeover(kafka: str) -> Talk:
    """A second process starts with the same id while the first one's transaction is open."""
    talk = Talk(kafka)
    talk.run(3)
    old = talk.producer("pay")
    old.init()
    old.add("orders-0")
    old.write("orders-0")
    talk.note("another process takes the id over")
    new = talk.producer("pay", "pay-2")
    new.init()
    talk.run(0.5)
    new.init()
    talk.note("the zombie resumes")
    old.write("orders-0")
    old.end(commit=True)
    new.add("orders-0")
    new.write("orders-0")
    new.end(commit=True)
    talk.run(1)
    return talk


def coordinator_crash(kafka: str) -> Talk:
    """The coordinator dies between its decision and the last marker; its successor completes the transaction."""
    talk = Talk(kafka)
    talk.run(3)
    producer = talk.producer("pay")
    producer.init()
    producer.add("orders-0", "orders-1")
    producer.write("orders-0")
    producer.write("orders-1")
    old = producer.coordinator
    producer.send(old, EndTxnRequest(0, "pay", producer.producer_id, producer.epoch, True))
    while talk.state("pay") is not TxnState.PREPARE_COMMIT:
        talk.run(0.0001)
    talk.note("the coordinator dies")
    talk.cluster.crash(old)
    talk.run(30)
    producer.end(commit=True)
    producer.add("orders-1")
    talk.run(1)
    return talk


CASES = [
    (two_transactions, "0.11"),
    (two_transactions, "3.5"),
    (two_transactions, "3.9"),
    (version_2, "4.1"),
    (takeover, "2.8"),
    (takeover, "3.5"),
    (coordinator_crash, "2.8"),
    (coordinator_crash, "3.5"),
]


def name_of(play: Callable[[str], Talk], kafka: str) -> str:
    return f"{play.__name__.replace('_', '-')}@{kafka}.txt"


@pytest.mark.parametrize(("play", "kafka"), CASES)
def test_conversation(play: Callable[[str], Talk], kafka: str, golden_file: GoldenFile) -> None:
    assert play(kafka).text() == golden_file(FILES / name_of(play, kafka))


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {name_of(*case) for case in CASES}
