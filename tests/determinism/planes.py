"""``python -m tests.determinism.planes SLICES``: each kind of control plane, with every operation and the newer faults.

One playbook for all of them: an administrator does all there is to do while controllers die, stand still and are cut
off. ``SLICES`` are those of :mod:`tests.determinism.driver`, or ``keyframes``: seen by an operator who rewinds.
"""

import json
import sys

from cluster_model.protocol.events import AdminAnswered, AdminRequested, Event
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.timetravel.timeline import Timeline
from tests.determinism.driver import MOVES

SECOND = 1_000_000

PLANES = {
    "zookeeper": ("2.8", "mode: zookeeper", "3.4"),
    "dedicated": ("4.1", "mode: kraft", "4.4"),
    "combined": ("3.5", "mode: kraft\n  controllers: [1, 2, 3]", "3.9"),
}
"""Name → version, how the playbook says so, and the version to upgrade to."""

TEMPLATE = """
floodmark: 1
name: everything
seed: 5
cluster:
  kafka: "{kafka}"
  {mode}
  brokers: [{{id: 1, rack: a}}, {{id: 2, rack: b}}, {{id: 3, rack: c}}, {{id: 4, rack: a}}]
  network: {{latency: 1ms, jitter: 700us}}
  config: {{{keeper}.session.timeout.ms: 3000, replica.lag.time.max.ms: 3000}}
topics:
  - {{name: orders, partitions: 2, placement: [[1, 2, 3], [2, 3, 1]], config: {{min.insync.replicas: 2}}}}
  - {{name: bills, partitions: 3, replication: 2}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: 5/s, config: {{acks: all}}}}
    - {{name: audit, topic: bills, rate: 2/s, config: {{acks: "1"}}}}
  groups:
    - {{name: billing, topics: [orders, bills], members: 2}}
steps:
  - {{at: 2s, admin: create_topic, topic: fresh, partitions: 3, replication: 2}}
  - {{at: 3s, admin: add_partitions, topic: bills, total: 5}}
  - {{at: 5s, admin: reassign, partition: orders-0, brokers: [4, 1, 2], throttle: 2000}}
  - {{at: 5500ms, admin: cancel, operation: reassign}}
  - {{at: 6s, admin: set_replication, topic: fresh, factor: 3}}
  - {{at: 7s, inject: partition, target: random(brokers), to: "random(2, brokers)", for: 3s}}
  - {{at: 8s, admin: alter_topic_config, topic: orders, set: {{retention.ms: 600000}}}}
  - {{at: 10s, inject: gc_pause, target: leader(orders-1), for: 4s}}
  - {{at: 11s, admin: alter_broker_config, set: {{log.retention.ms: 500000}}}}
  - {{at: 15s, inject: partition, target: controller + random(clients), direction: out, for: 7s}}
  - {{at: 24s, admin: delete_records, partition: orders-1, before: 20}}
  - {{at: 26s, inject: crash, target: controller, for: 4s}}
  - {{at: 31s, inject: gc_pause, target: "random(2, {quorum})", for: 8s}}
  - {{at: 42s, admin: shutdown, broker: 3, restart_after: 1s}}
  - {{at: 47s, admin: delete_topic, topic: fresh}}
  - {{at: 48s, admin: rolling_restart, brokers: [4, 2]}}
  - {{at: 61s, admin: elect_leaders}}
  - {{at: 62s, admin: decommission, broker: 4}}
  - {{when: operations() == 0, admin: rolling_upgrade, to: "{to}", brokers: [2, 3, 1]}}
{finalize}
  - {{when: operations() == 0, heal: all}}
settle: 6s
"""

FINALIZE = {
    "kraft": '  - {{when: operations() == 0, admin: upgrade_features, release: "{to}"}}',
    "zookeeper": '  - {{when: operations() == 0, admin: rolling_upgrade, to: "{to}", protocol: "{to}", brokers: [1]}}',
}
"""Mode → the step that lets the nodes use what the new version brings."""


def playbook(plane: str) -> Playbook:
    """The playbook for a kind of plane."""
    kafka, mode, to = PLANES[plane]
    quorum = "zookeepers" if "zookeeper" in mode else "controllers"
    keeper = "zookeeper" if "zookeeper" in mode else "broker"
    finalize = FINALIZE["zookeeper" if "zookeeper" in mode else "kraft"].format(to=to)
    text = TEMPLATE.format(kafka=kafka, mode=mode, quorum=quorum, keeper=keeper, to=to, finalize=finalize)
    return loads(text, plane)


def run(plane: str, slices: str) -> tuple[Session, list[Event], str]:
    """One run in such slices: the session, its events as far as they were drained, and digest and counters as text."""
    session = Session.start(playbook(plane))
    events: list[Event] = []
    if slices == "keyframes":
        session = rewound(session)
    elif slices != "whole":
        turn = 0
        while session.advance(session.cluster.now_us + MOVES[slices][0], MOVES[slices][1]):
            turn += 1
            if turn % 7 == 0:
                events += session.drain()
    result = session.finish()
    events += session.drain()
    return session, events, f"{result.digest} {result.events} {session.cluster.executed} {result.ledger}"


def rewound(session: Session) -> Session:
    """The session, after its past was looked at in between."""
    timeline = Timeline(session, nearest=600, bytes_per_event=1)
    for second in (6, 17, 34, 49, 63, 71, 80, 84):
        timeline.advance(second * SECOND)
        timeline.seek_time((second - 3) * SECOND)
    return session


def operations(events: list[Event]) -> tuple[list[str], list[str]]:
    """The operations that were asked for, and with which errors they were answered."""
    asked = [event.operation for event in events if isinstance(event, AdminRequested)]
    return asked, [event.error for event in events if isinstance(event, AdminAnswered)]


def main() -> None:
    """Print one JSON object: plane → digest."""
    print(json.dumps({plane: run(plane, sys.argv[1])[2] for plane in PLANES}))


if __name__ == "__main__":
    main()
