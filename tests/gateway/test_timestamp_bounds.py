"""How far timestamps of real clients may be from the leader's clock, by the bounds of each release."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from cluster_model.protocol.errors import KafkaError as E
from tests.gateway.hosting import playbook
from tests.gateway.test_admin_wire import create
from tests.gateway.test_records_wire import produce
from tests.gateway.wire import BEGAN_MS, Wire
from tests.support.releases import those_of

pytestmark = pytest.mark.slow

HOUR_MS = 3_600_000
AT_MS = 4_000
"""How long the cluster has run."""
BOUNDS: dict[str, dict[str, str]] = {
    "plain": {},
    "both": {"message.timestamp.difference.max.ms": "60000"},
    "before": {"message.timestamp.before.max.ms": "60000"},
    "after": {"message.timestamp.after.max.ms": "60000"},
    "sides": {
        "message.timestamp.difference.max.ms": "60000", "message.timestamp.after.max.ms": "600000",
        "message.timestamp.before.max.ms": str(2**63 - 1),
    },
    "appended": {"message.timestamp.type": "LogAppendTime", "message.timestamp.difference.max.ms": "60000"},
}  # fmt: skip


def batch(*away_ms: int) -> bytes:
    """Records whose times are so far from now."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for number, away in enumerate(away_ms):
        builder.append(number, BEGAN_MS + AT_MS + away, None, b"value", [])
    return bytes(builder.build())


@pytest.fixture(scope="module", params=["2.8", "3.5", "3.6", "3.9", "4.0"])
def hosted(request: pytest.FixtureRequest) -> tuple[str, Wire]:
    """A release, and a cluster of it with a topic for each of the bounds that it has."""
    kafka: str = request.param
    wire = Wire(playbook(kafka, min_isr=1))
    wire.run(2)
    for name, configs in BOUNDS.items():
        placed = [{"partition_index": 0, "broker_ids": (1,)}]
        given = [{"name": key, "value": value} for key, value in configs.items()]
        error = create(wire, name, assignments=placed, configs=given).error_code
        assert error == (E.NONE if has(kafka, name) else E.INVALID_CONFIG)
    wire.run(AT_MS // 1_000 - 2)
    return kafka, wire


def has(kafka: str, topic: str) -> bool:
    return those_of("topic", kafka, BOUNDS[topic]) == BOUNDS[topic]


@pytest.mark.parametrize(
    ("topic", "away_ms", "refused"),
    [
        ("plain", (-900 * HOUR_MS,), ()),
        ("plain", (HOUR_MS - 5_000,), ()),
        ("plain", (HOUR_MS + 5_000,), ("4.0",)),
        ("plain", (0, HOUR_MS + 5_000, 0), ("4.0",)),
        ("both", (-50_000, 50_000), ()),
        ("both", (-70_000, 0), ("2.8", "3.5", "3.6", "3.9")),
        ("both", (0, 70_000, 0), ("2.8", "3.5", "3.6", "3.9")),
        ("before", (0, -70_000, 0), ("3.6", "3.9", "4.0")),
        ("before", (HOUR_MS - 5_000,), ()),
        ("after", (-70_000, 70_000), ("3.6", "3.9", "4.0")),
        ("after", (-900 * HOUR_MS,), ()),
        ("sides", (70_000,), ()),
        ("sides", (-70_000,), ("3.6", "3.9")),
        ("appended", (-70_000, 70_000), ()),
    ],
)
def test_a_batch_with_a_record_too_far_away_is_refused(
    hosted: tuple[str, Wire], topic: str, away_ms: tuple[int, ...], refused: tuple[str, ...]
) -> None:
    kafka, wire = hosted
    expected = E.INVALID_TIMESTAMP if kafka in refused else E.NONE
    found = produce(wire, 1, topic, 0, batch(*away_ms)).error_code
    assert found == (expected if has(kafka, topic) else E.UNKNOWN_TOPIC_OR_PARTITION)


def test_records_without_a_time_are_taken(hosted: tuple[str, Wire]) -> None:
    kafka, wire = hosted
    topic = "before" if has(kafka, "before") else "both"
    assert produce(wire, 1, topic, 0, batch(-1 - BEGAN_MS - AT_MS)).error_code == E.NONE
