"""The key ``transactions`` of a producer, and what it is refused for."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.spec.cluster_spec import TransactionPlan
from playbooks.parser.loader import loads
from tests.support.mistakes import keys, messages, mistakes_of

TEXT = """floodmark: 1
cluster: {{kafka: "{kafka}"}}
topics:
  - {{name: orders, partitions: 1, replication: 3}}
clients:
  producers:
    - name: ledger
      topic: orders
      rate: 100/s
      config: {{{config}}}
      {more}
  groups:
    - {{name: audit, topics: [orders], config: {{isolation.level: {level}}}}}
steps:
  - {{at: 1s, inject: lag, target: transaction_coordinator({target}), for: 1s}}
"""


CONFIG = "clients.producers[1].config."


def text(
    more: str = "",
    config: str = "transactional.id: l-1",
    kafka: str = "3.9",
    level: str = "read_committed",
    target: str = "ledger",
) -> str:
    return TEXT.format(more=more, config=config, kafka=kafka, level=level, target=target)


@pytest.mark.parametrize(
    ("more", "plan"),
    [
        ("", None),
        ("transactions: {records: 50}", TransactionPlan(50)),
        ("transactions: {every: 2s, abort_every: 10}", TransactionPlan(0, 2_000_000, 10)),
        ("transactions: {records: 5, every: 1s, hang: 3}", TransactionPlan(5, 1_000_000, 0, 3)),
    ],
)
def test_when_they_end(more: str, plan: TransactionPlan | None) -> None:
    (producer,) = loads(text(more), "x").spec.producers
    assert producer.transactions == plan
    assert producer.config == {"transactional.id": "l-1"}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"more": "transactions: {records: 5}", "config": ""}, "clients.producers[1].transactions"),
        ({"more": "transactions: {records: 0}"}, "clients.producers[1].transactions.records"),
        ({"more": "transactions: {every: 0s}"}, "clients.producers[1].transactions.every"),
        ({"more": "transactions: {often: 5}"}, "clients.producers[1].transactions.often"),
        ({"config": "transactional.id: l-1, acks: 1"}, CONFIG + "acks"),
        ({"config": "transactional.id: l-1, enable.idempotence: false"}, CONFIG + "transactional.id"),
        ({"config": "transactional.id: l-1, retries: 0"}, CONFIG + "retries"),
        ({"config": 'transactional.id: l-1, client.version: "0.10.2"'}, CONFIG + "transactional.id"),
        ({"kafka": "0.10.2"}, CONFIG + "transactional.id"),
        ({"level": "read_all"}, "clients.groups[1].config.isolation.level"),
        ({"target": "nobody"}, "steps[1].target"),
    ],
    ids=str,
)
def test_invalid_transaction_plans_are_rejected(given: dict[str, str], key: str, snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: loads(text(**given), "x"))
    lacks = ["clients.groups[1].config.isolation.level"] if "kafka" in given else []
    assert keys(problems) == [key, *lacks]
    assert messages(problems) == snapshot


def test_an_old_client_gets_what_its_id_needs() -> None:
    spec = loads(text(kafka="2.4"), "x").spec
    assert spec.producers[0].config == {"transactional.id": "l-1"}
