"""Rolling upgrades from one release to another, with producers, groups and a crash, seen in slices or from keyframes.

The first broker is upgraded alone, and the cluster stays mixed while a broker crashes. Then the others follow, and the
new protocol or feature levels are finalized.
"""

from itertools import pairwise
from typing import NamedTuple

from cluster_model.protocol.events import AdminAnswered, AdminRequested, Event
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import Mode, Profile, modes_of
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult
from playbooks.timetravel.timeline import Timeline
from tests.determinism.driver import MOVES

SECOND = 1_000_000


class Upgrade(NamedTuple):
    """From which release to which, in which controller mode, and in which nodes the quorum is."""

    before: str
    after: str
    mode: Mode
    combined: bool = False


LONG = (
    Upgrade("2.0", "3.9", "zookeeper"), Upgrade("3.3", "3.9", "kraft"), Upgrade("3.9", "4.4", "kraft"),
    Upgrade("3.6", "4.1", "kraft", combined=True),
)  # fmt: skip
"""Upgrades over several release lines."""


def _adjacent(mode: Mode, first: str) -> list[Upgrade]:
    lines = [line for line in RELEASE_LINES if mode in modes_of(line)]
    return [Upgrade(before, after, mode) for before, after in pairwise(lines[lines.index(first) :])]


UPGRADES = (*_adjacent("zookeeper", "0.9"), *_adjacent("kraft", "3.3"), *LONG)
"""Every upgrade to the next release line, and :data:`LONG`."""

_TEMPLATE = """
floodmark: 1
name: upgrade
seed: {seed}
cluster:
  kafka: "{before}"
  mode: {mode}
  brokers: 3{controllers}
  network: {{latency: 1ms, jitter: 700us}}
  config: {{replica.lag.time.max.ms: 3000, {internal}}}
topics:
  - {{name: orders, partitions: 2, placement: [[1, 2, 3], [2, 3, 1]], config: {{min.insync.replicas: 2}}}}
  - {{name: bills, partitions: 2, placement: [[3, 1, 2], [1, 3, 2]], config: {{min.insync.replicas: 2}}}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: 5/s, config: {{acks: all, retries: 1000}}}}
{producers}
  groups:
    - {{name: audit, topics: [bills], coordinated: false}}
{groups}
steps:
  - {{at: 2s, admin: rolling_upgrade, to: "{after}", brokers: [1], wait: none, pause: 3s}}
  - {{at: 8s, inject: crash, target: broker({crashed}), for: 1s}}
  - {{at: 16s, admin: rolling_upgrade, to: "{after}", brokers: [2, 3], controllers: false, wait: none, pause: 3s}}
  - {{at: 26s, {finalize}}}
  - {{at: 42s, inject: crash, target: "leader(orders-0)", for: 1s}}
settle: 9s
"""
_IDEMPOTENT = """\
    - {name: billing, topic: orders, rate: 5/s, config: {acks: all, enable.idempotence: true}}
    - name: ledger
      topic: bills
      rate: 5/s
      config: {acks: all, transactional.id: ledger}
      transactions: {every: 1s}"""
_PLAIN = "    - {name: billing, topic: bills, rate: 5/s, config: {acks: all, retries: 1000}}"
_CLASSIC = "    - {name: shipping, topics: [orders, bills], members: 2}"
_MODERN = """
    - {name: analytics, topics: [orders, bills], members: 2, config: {group.protocol: consumer}}"""


def playbook(upgrade: Upgrade, seed: int = 1) -> Playbook:
    """Return the playbook of an upgrade; an odd seed crashes the upgraded broker, an even one another."""
    profile = Profile.of(upgrade.before, upgrade.mode)
    finalize = f'admin: upgrade_features, release: "{upgrade.after}"'
    if upgrade.mode == "zookeeper":
        finalize = f'admin: rolling_upgrade, to: "{upgrade.after}", protocol: "{upgrade.after}", wait: none, pause: 3s'
    modern = upgrade.mode == "kraft" and profile.consumer_protocol
    internal = "offsets.topic.num.partitions: 2"
    internal += ", zookeeper.session.timeout.ms: 4000" if upgrade.mode == "zookeeper" else ""
    internal += ", transaction.state.log.num.partitions: 2" if profile.transactions else ""
    internal += ", group.coordinator.rebalance.protocols: 'classic,consumer'" if modern else ""
    text = _TEMPLATE.format(
        seed=seed, before=upgrade.before, after=upgrade.after, mode=upgrade.mode, finalize=finalize,
        controllers="\n  controllers: [1, 2, 3]" if upgrade.combined else "", crashed=1 + (seed + 1) % 2,
        producers=_IDEMPOTENT if profile.transactions else _PLAIN,
        groups=_CLASSIC + (_MODERN if modern else ""), internal=internal,
    )  # fmt: skip
    return loads(text, "upgrade")


def run(upgrade: Upgrade, slices: str, seed: int = 1) -> tuple[SessionResult, list[Event], str]:
    """Run an upgrade in such slices; returns the result, the events, and digest and counters as text."""
    session = Session.start(playbook(upgrade, seed))
    events: list[Event] = []
    if slices == "keyframes":
        session = _rewound(session)
    elif slices != "whole":
        while session.advance(session.cluster.now_us + MOVES[slices][0], MOVES[slices][1]):
            events += session.drain()
    result = session.finish()
    events += session.drain()
    return result, events, f"{result.digest} {result.events} {session.cluster.executed} {result.ledger}"


def _rewound(session: Session) -> Session:
    timeline = Timeline(session, nearest=600, bytes_per_event=1)
    for second in (5, 9, 17, 24, 33, 45):
        timeline.advance(second * SECOND)
        timeline.seek_time((second - 4) * SECOND)
    return session


def answers(events: list[Event]) -> list[tuple[str, str]]:
    """Return the operations with their errors, and those that had no answer with ``unanswered``."""
    answered = [(event.operation, event.error) for event in events if isinstance(event, AdminAnswered)]
    missing = sum(isinstance(event, AdminRequested) for event in events) - len(answered)
    return answered + [("", "unanswered")] * missing
