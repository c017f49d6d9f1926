"""The key ``transactions`` of a producer, and what it is refused for."""

import pytest

from cluster_model.spec.cluster_spec import TransactionPlan
from playbooks.errors import PlaybookError
from playbooks.parser.loader import loads

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
        ("transactions: {every: 2s, abort: 10}", TransactionPlan(0, 2_000_000, 10)),
        ("transactions: {records: 5, every: 1s, hang: 3}", TransactionPlan(5, 1_000_000, 0, 3)),
    ],
)
def test_when_they_end(more: str, plan: TransactionPlan | None) -> None:
    (producer,) = loads(text(more), "x").spec.producers
    assert producer.transactions == plan
    assert producer.config == {"transactional.id": "l-1"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (text("transactions: {records: 5}", ""), "allowed only with transactional.id in the producer's config"),
        (text("transactions: {records: 0}"), "transactions.records"),
        (text("transactions: {every: 0s}"), "a time above 0"),
        (text("transactions: {often: 5}"), "unknown key 'often'"),
        (text(config="transactional.id: l-1, acks: 1"), "transactional.id is given, so acks must be all"),
        (
            text(config="transactional.id: l-1, enable.idempotence: false"),
            "transactional.id is given, so enable.idempotence must not be false",
        ),
        (text(config="transactional.id: l-1, retries: 0"), "transactional.id is given, so retries must be above 0"),
        (text(config='transactional.id: l-1, client.version: "0.10.2"'), "transactions exist since Kafka 0.11"),
        (text(kafka="0.10.2"), "transactions exist since Kafka 0.11"),
        (text(level="read_all"), "read_uncommitted, read_committed"),
        (text(target="nobody"), "found 'nobody', allowed are the playbook's producers ledger"),
    ],
)
def test_what_is_refused(source: str, said: str) -> None:
    with pytest.raises(PlaybookError) as caught:
        loads(source, "x")
    assert said in str(caught.value)


def test_an_old_client_gets_what_its_id_needs() -> None:
    spec = loads(text(kafka="2.4"), "x").spec
    assert spec.producers[0].config == {"transactional.id": "l-1"}
