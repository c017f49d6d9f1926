"""Records that a group's applications had fetched and not processed when they ended."""

from cluster_model.checker.ledger.consumption import DeliveredRecords
from cluster_model.protocol.events import RecordsAbandoned, RecordsRead

P = "orders-0"


def handed(readings: DeliveredRecords, start: int, count: int, partition: str = P, group: str = "g") -> None:
    readings.records_read(RecordsRead(1, f"{group}/0", group, partition, 1, 0, start, count, 5, 0, start + count))


def abandoned(readings: DeliveredRecords, start: int, count: int, partition: str = P, group: str = "g") -> None:
    readings.records_abandoned(RecordsAbandoned(2, f"{group}/0", group, partition, start, count, "crash"))


def test_abandoned_records_count_once_until_they_are_delivered_again() -> None:
    readings = DeliveredRecords()
    handed(readings, 0, 100)
    abandoned(readings, 40, 60)
    abandoned(readings, 90, 10)
    assert readings.abandoned("g") == 60
    handed(readings, 50, 20)
    assert readings.abandoned("g") == 40
    handed(readings, 30, 15)
    handed(readings, 95, 50)
    assert readings.abandoned("g") == 5 + 25


def test_each_group_and_partition_has_its_own() -> None:
    readings = DeliveredRecords()
    abandoned(readings, 0, 10)
    abandoned(readings, 0, 10, "orders-1")
    abandoned(readings, 0, 10, P, "other")
    handed(readings, 0, 10, "orders-1")
    assert (readings.abandoned("g"), readings.abandoned("other"), readings.abandoned("nobody")) == (10, 10, 0)
    abandoned(readings, 0, 3, "orders-1")
    readings.deleted(P)
    assert (readings.abandoned("g"), readings.abandoned("other")) == (3, 0)


def test_it_is_saved_and_loaded() -> None:
    readings, other = DeliveredRecords(), DeliveredRecords()
    abandoned(readings, 0, 10)
    other.load(readings.save())
    handed(other, 0, 4)
    assert (readings.abandoned("g"), other.abandoned("g")) == (10, 6)
