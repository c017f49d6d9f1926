"""Topics whose names differ only in dots and underscores, whose metrics would collide (KAFKA-2337, KAFKA-14337)."""

import pytest

from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads

PLAYBOOK = """
floodmark: 1
name: colliding
cluster: {{kafka: "{kafka}", mode: {mode}, brokers: 1}}
topics:
  - {{name: orders, placement: [[1]]}}
steps:
  - {{at: 1s, admin: create_topic, topic: a.b, partitions: 1, replication: 1, refused: never}}
  - {{at: 5s, admin: create_topic, topic: a_b, partitions: 1, replication: 1, refused: {collides}}}
  - {{at: 10s, admin: create_topic, topic: a.b, partitions: 1, replication: 1, refused: TOPIC_ALREADY_EXISTS}}
settle: 5s
expect:
  - unexpected_violations() == 0
"""


@pytest.mark.parametrize(
    ("kafka", "mode", "collides"),
    [
        ("0.8.2", "zookeeper", "never"),
        ("0.9", "zookeeper", "INVALID_TOPIC_EXCEPTION"),
        ("3.9", "zookeeper", "INVALID_TOPIC_EXCEPTION"),
        ("3.3.0", "kraft", "INVALID_TOPIC_EXCEPTION"),
        ("4.1", "kraft", "INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_a_name_that_collides_is_rejected_since_0_9(kafka: str, mode: str, collides: str) -> None:
    result = start_session(loads(PLAYBOOK.format(kafka=kafka, mode=mode, collides=collides), "colliding.yaml")).finish()
    assert (result.verdict, [each.detail for each in result.expectations if not each.ok]) == ("pass", [])
