"""Facts of logs and groups from small logs that a test writes: empty ones, transactions, deleted records."""

from pathlib import Path

from gateway.protocol.record_batches import BatchProducer, encode_batch, encode_marker
from tests.real_kafka.conformance.evidence_facts import RealLog, deleted_unread, read_log, skipped_records
from tests.real_kafka.history import Event

LEDGER, OTHER = BatchProducer(7, 0, 0), BatchProducer(8, 0, 0)


def write_segment(directory: Path, base: int, *batches: bytes) -> None:
    partition = directory / "nodes" / "1" / "log" / "orders-0"
    partition.mkdir(parents=True, exist_ok=True)
    (partition / f"{base:020}.log").write_bytes(b"".join(batches))


def batch(base: int, names: list[str], producer: BatchProducer, *, transactional: bool = True) -> bytes:
    records = [(None, f"{name} padding".encode()) for name in names]
    return encode_batch(base, 0, 1_000, records, producer, transactional=transactional)


def acked(client: str, offset: int) -> Event:
    return {"at_us": 0, "client": client, "event": "acked", "partition": "orders-0", "offset": offset}


def polled(*offsets: int) -> Event:
    records = [["orders-0", offset, 0, f"checkout:{offset}"] for offset in offsets]
    return {"at_us": 0, "client": "billing/0", "event": "polled", "records": records}


def test_a_log_whose_records_are_all_deleted_keeps_its_offsets(tmp_path: Path) -> None:
    write_segment(tmp_path, 3794)
    log = read_log(tmp_path, "orders-0", 1)
    assert (log.start, log.end, log.records) == (3794, 3794, {})


def test_without_a_leader_or_its_log_there_are_no_records(tmp_path: Path) -> None:
    assert read_log(tmp_path, "orders-0", -1) == RealLog()
    assert read_log(tmp_path, "orders-0", 1) == RealLog()


def test_records_belong_to_the_transaction_that_its_own_producer_ends(tmp_path: Path) -> None:
    write_segment(
        tmp_path, 0,
        batch(0, ["ledger:0", "ledger:1"], LEDGER),
        batch(2, ["other:0"], OTHER),
        encode_marker(3, 0, 1_000, LEDGER, 0, commit=False),
        batch(4, ["ledger:2"], LEDGER),
        encode_marker(5, 0, 1_000, LEDGER, 0, commit=True),
        encode_marker(6, 0, 1_000, OTHER, 0, commit=True),
        batch(7, ["clicks:0"], BatchProducer(), transactional=False),
    )  # fmt: skip
    log = read_log(tmp_path, "orders-0", 1)
    assert log.records == {0: "ledger:0", 1: "ledger:1", 2: "other:0", 4: "ledger:2", 7: "clicks:0"}
    assert log.aborted == {0, 1}
    assert (log.start, log.end) == (0, 8)


def test_a_group_skips_what_lies_below_its_position_unread() -> None:
    log = RealLog(0, 4, {0: "checkout:0", 1: "checkout:1", 2: "checkout:2", 3: "checkout:3"}, aborted={1})
    seen = {("orders-0", 0, "checkout:0"): 1, ("orders-0", 2, "checkout:2"): 1}
    assert skipped_records(seen, {"orders-0": log}, without_aborted=False) == 1
    assert skipped_records(seen, {"orders-0": log}, without_aborted=True) == 0


def test_a_group_skips_what_was_deleted_before_it_read_on() -> None:
    log = RealLog(6, 9, {offset: f"checkout:{offset}" for offset in range(6, 9)})
    history = [acked("checkout", offset) for offset in range(9)]
    assert deleted_unread([polled(0, 1), polled(6, 7)], history, {"orders-0": log}) == 4
    assert deleted_unread([polled(0, 1)], history, {"orders-0": log}) == 0
    assert deleted_unread([], history, {"orders-0": log}) == 0
