"""The keys ``to`` and ``to_config`` of a group, and what they are refused for."""

import pytest

from playbooks.errors import PlaybookError
from playbooks.parser.loader import loads

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


def test_what_a_group_writes() -> None:
    (group,) = loads(text("to: bills, commit: transaction, to_config: {transaction.timeout.ms: 5000}"), "x").spec.groups
    assert (group.to, group.commit, group.to_config) == ("bills", "transaction", {"transaction.timeout.ms": 5000})
    (group,) = loads(text("to: bills, commit: sync", "0.9"), "x").spec.groups
    assert (group.to, group.commit, group.to_config) == ("bills", "sync", {})
    (group,) = loads(text("commit: sync"), "x").spec.groups
    assert (group.to, group.to_config) == ("", {})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (text("to: receipts"), "receipts"),
        (text("to: orders"), "which the group reads itself"),
        (text("to: bills", topics='pattern: "b.*"'), "which the group reads itself"),
        (text("to: bills, fails: 5, dead_letter: bills"), "allowed is one of them"),
        (text("to: bills, commit: handed_off"), "allowed where the poll loop waits for its output"),
        (text("commit: transaction"), "allowed only with to"),
        (text("to: bills, commit: transaction", "0.10.2"), "found 'transaction' with Kafka 0.10.2, allowed since 0.11"),
        (text("to: bills, commit: transaction, coordinated: false"), "allowed where it is coordinated"),
        (text("to: bills, commit: transaction, config: {enable.auto.commit: true}"), "with enable.auto.commit"),
        (text("to_config: {acks: 1}"), "allowed only with to"),
        (text("to: bills, to_config: {transactional.id: a}"), "each member's name is its own"),
        (text("to: bills, commit: transaction, to_config: {acks: 1}"), "so acks must be all"),
    ],
)
def test_what_is_refused(source: str, said: str) -> None:
    with pytest.raises(PlaybookError, match=said):
        loads(source, "x")
