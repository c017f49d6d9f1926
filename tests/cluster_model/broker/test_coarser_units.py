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
