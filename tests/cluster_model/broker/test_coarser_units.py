"""Retention times in coarser units after dynamic changes and restarts (KAFKA-17584)."""

import pytest

from cluster_model.broker.topic_configs import TopicConfigs
from cluster_model.protocol.configs import DAY_US
from cluster_model.protocol.versions import Profile, modes_of

HOUR_US = DAY_US // 24


def configs(kafka: str, mode: str) -> TopicConfigs:
    return TopicConfigs(Profile.of(kafka, mode), {"log.retention.hours": 2, "log.roll.hours": 3}, 1)


def times(found: TopicConfigs) -> tuple[int, int]:
    log = found.of("orders").log
    return log.retention_us // HOUR_US, log.roll_us // HOUR_US


@pytest.mark.parametrize(("kafka", "kept"), [("2.5", True), ("2.6", False), ("3.7.1", False), ("3.7.2", True)])
def test_a_change_of_any_configuration_of_logs_removes_them(kafka: str, kept: bool) -> None:
    found = configs(kafka, modes_of(kafka)[0])
    found.reconfigure({"num.io.threads": 4})
    assert times(found) == (2, 3)
    found.reconfigure({"num.io.threads": 4, "message.max.bytes": 900_000})
    assert times(found) == ((2, 3) if kept else (168, 168))


@pytest.mark.parametrize(("mode", "hours"), [("zookeeper", (2, 3)), ("kraft", (168, 168))])
def test_a_restarted_broker_reads_its_file_again(mode: str, hours: tuple[int, int]) -> None:
    """In KRaft mode it then applies its dynamic configuration as a change."""
    found = configs("3.7.1", mode)
    found.reconfigure({"message.max.bytes": 900_000})
    assert found.restarted() is (mode == "zookeeper")
    assert times(found) == hours


@pytest.mark.parametrize(("kafka", "days"), [("1.1", 1), ("2.5", 1), ("2.6", 7)])
def test_a_deleted_dynamic_time_stays_up_to_2_5(kafka: str, days: int) -> None:
    """KAFKA-10268: until the broker restarts."""
    found = TopicConfigs(Profile.of(kafka), {}, 1)
    found.reconfigure({"log.retention.ms": 86_400_000, "message.max.bytes": 900_000})
    found.reconfigure({})
    log = found.of("orders").log
    assert (log.retention_us // DAY_US, log.max_message > 900_000) == (days, True)
    assert found.restarted()
    assert found.of("orders").log.retention_us == 7 * DAY_US
