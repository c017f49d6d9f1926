"""The keys ``to`` and ``to_config`` of a group, and what they are refused for."""

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.parser.loader import loads
from tests.support.mistakes import keys, messages, mistakes_of

TEXT = """floodmark: 1
cluster: {{kafka: "{kafka}"}}
topics:
  - {{name: orders, partitions: 1, replication: 3}}
  - {{name: bills, partitions: 1, replication: 3}}
clients:
  groups:
    - {{name: billing, {keys}}}
"""


def text(keys: str, kafka: str = "3.9", topics: str = "topics: [orders]") -> str:
    return TEXT.format(kafka=kafka, keys=f"{topics}, {keys}")


def test_output_topic_and_config_of_a_group() -> None:
    (group,) = loads(text("to: bills, commit: transaction, to_config: {transaction.timeout.ms: 5000}"), "x").spec.groups
    assert (group.output_topic, group.commit, group.output_config) == (
        "bills",
        "transaction",
        {"transaction.timeout.ms": 5000},
    )
    (group,) = loads(text("to: bills, commit: sync", "0.9"), "x").spec.groups
    assert (group.output_topic, group.commit, group.output_config) == ("bills", "sync", {})
    (group,) = loads(text("commit: sync"), "x").spec.groups
    assert (group.output_topic, group.output_config) == ("", {})


@pytest.mark.parametrize(
    ("keys_given", "around", "key"),
    [
        ("to: receipts", {}, "to"),
        ("to: orders", {}, "to"),
        ("to: bills", {"topics": 'pattern: "b.*"'}, "to"),
        ("to: bills, fail_every: 5, dead_letter: bills", {}, "to"),
        ("to: bills, commit: handed_off", {}, "to"),
        ("commit: transaction", {}, "commit"),
        ("to: bills, commit: transaction", {"kafka": "0.10.2"}, "commit"),
        ("to: bills, commit: transaction, coordinated: false", {}, "commit"),
        ("to: bills, commit: transaction, config: {enable.auto.commit: true}", {}, "commit"),
        ("to_config: {acks: 1}", {}, "to_config"),
        ("to: bills, to_config: {transactional.id: a}", {}, "to_config"),
        ("to: bills, commit: transaction, to_config: {acks: 1}", {}, "to_config"),
    ],
    ids=str,
)
def test_invalid_outputs_are_rejected(
    keys_given: str, around: dict[str, str], key: str, snapshot: SnapshotAssertion
) -> None:
    problems = mistakes_of(lambda: loads(text(keys_given, **around), "x"))
    assert keys(problems) == [f"clients.groups[1].{key}"]
    assert messages(problems) == snapshot
