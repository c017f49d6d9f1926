"""Playbooks whose sessions are reported on together: three of the library, and two with something of everything."""

from pathlib import Path
from typing import Final

from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from spark_report.input.sessions import SessionInput, check_session
from tests.spark_report import golden
from tests.support.library import playbook_of

TWO_MEMBERS: Final = """\
floodmark: 1
name: two-members
seed: 5
cluster: {kafka: "3.9", brokers: 3, config: {offsets.topic.num.partitions: 3}}
topics:
  - {name: orders, partitions: 4, replication: 3}
clients:
  producers:
    - {name: clicks, topic: orders, rate: 60/s, config: {acks: 1}}
    - {name: checkout, topic: orders, rate: 30/s, config: {acks: all}}
  groups:
    - {name: billing, topics: [orders], members: 2, coordinated: true, fail_every: 200,
       config: {auto.offset.reset: earliest, auto.commit.interval.ms: 1000, session.timeout.ms: 6000}}
steps:
  - {at: 8s, inject: gc_pause, target: leader(orders-0), for: 12s}
  - {at: 30s, inject: partition, target: client(billing/0), for: 12s}
settle: 20s
"""


TRANSACTIONS: Final = """\
floodmark: 1
name: transactions
seed: 5
cluster: {kafka: "4.1", brokers: 3, config: {offsets.topic.num.partitions: 3, transaction.state.log.num.partitions: 3}}
topics:
  - {name: orders, partitions: 4, replication: 3}
clients:
  producers:
    - {name: ledger, topic: orders, rate: 100/s, config: {transactional.id: one},
       transactions: {every: 700ms, abort_every: 3}}
    - {name: heir, topic: orders, rate: 100/s, start: 12s, config: {transactional.id: one}, transactions: {every: 1s}}
    - {name: clicks, topic: orders, rate: 300/s, config: {linger.ms: 50},
       interceptors: [{name: audit, fail_every: 100}]}
  groups:
    - {name: careful, topics: [orders], members: 2, processing: 4ms,
       config: {group.protocol: consumer, isolation.level: read_committed, auto.offset.reset: earliest}}
steps:
  - {at: 8010ms, inject: crash, target: client(clicks), for: 3s}
  - {at: 14300ms, inject: crash, target: client(careful/0), for: 4s}
settle: 70s
"""


def played(parent: Path) -> dict[str, SessionInput]:
    """Each recorded with its own seed, by the name of its playbook."""
    own = {"two-members": loads(TWO_MEMBERS, "recorded.yaml"), "transactions": loads(TRANSACTIONS, "recorded.yaml")}
    return {name: _played(playbook, parent) for name, playbook in {**_of_library(), **own}.items()}


def _of_library() -> dict[str, Playbook]:
    return {name: playbook_of(name) for name in golden.PLAYBOOKS}


def _played(playbook: Playbook, parent: Path) -> SessionInput:
    result = Session.start(playbook, recorder=Recorder(parent)).finish()
    found = check_session(Path(result.session))
    assert isinstance(found, SessionInput)
    return found
