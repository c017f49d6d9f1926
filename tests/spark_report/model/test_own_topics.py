"""Kafka's own topics never stand before those of users."""

from typing import Any

from spark_report.model.format import fold_internal_topics, is_internal, user_topic_rows

OWN = "__consumer_offsets"


def row(partition: str, length: int = 1, scope: str = "partition", client: str = "") -> dict[str, Any]:
    return {"partition": partition, "length": length, "scope": scope, "client": client}


def test_only_kafkas_names_begin_so() -> None:
    assert [is_internal(name) for name in (f"{OWN}-3", "__transaction_state-0", "orders-0", "_mine-0")] == [
        *(True, True, False, False)
    ]


def test_users_rows_come_alone_where_there_are_any() -> None:
    assert user_topic_rows([row(f"{OWN}-0"), row("orders-0")]) == [row("orders-0")]
    assert user_topic_rows([row(f"{OWN}-0")]) == [row(f"{OWN}-0")]
    assert user_topic_rows([]) == []


def test_internal_topics_are_folded_to_their_worst_partition() -> None:
    found = [row(f"{OWN}-0", 3), row("orders-1"), row(f"{OWN}-7", 9), row(f"{OWN}-0", 2), row("orders-0")]
    assert fold_internal_topics(found, lambda each: each["length"]) == [
        row("orders-1"),
        row("orders-0"),
        row(f"{OWN}, worst of 2 partitions", 9),
    ]


def test_client_outages_stay_beside_internal_topics() -> None:
    felt = row(f"{OWN}-0", 4, "client", "billing")
    assert fold_internal_topics([row(f"{OWN}-0", 3), felt], lambda each: each["length"]) == [row(f"{OWN}-0", 3), felt]
