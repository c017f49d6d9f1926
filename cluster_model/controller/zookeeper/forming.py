"""A ZooKeeper-mode cluster at its first instant: everything in ZooKeeper, everybody registered, everything told."""

from collections.abc import Mapping
from typing import Any

from cluster_model.controller.committed import PartitionRecord
from cluster_model.controller.zookeeper import zk
from cluster_model.controller.zookeeper.broker_side import ZooKeeperControl
from cluster_model.controller.zookeeper.controller_context import LiveBroker, Standing, Where
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_IDS,
    CONFIG_CHANGES,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    ISR_CHANGES,
    PERSISTENT,
    TOPICS,
    Assignment,
    BrokerNode,
    StateNode,
    TopicNode,
    broker_path,
    config_path,
    index_of,
    partition_paths,
    state_path,
    topic_of,
    topic_path,
)
from cluster_model.controller.zookeeper.messages import UpdateMetadataRequest
from cluster_model.spec.cluster_spec import ClusterSpec
from cluster_model.zookeeper.ensemble import ZooKeeperService

FIRST_EPOCH = 1
"""Of the first controller."""
Step = tuple[int, Any]
"""(broker, operation)."""


def form(
    service: ZooKeeperService,
    controls: dict[int, ZooKeeperControl],
    spec: ClusterSpec,
    records: Mapping[str, PartitionRecord],
) -> None:
    """The broker with the lowest id is the controller."""
    first = min(controls)
    by_topic: dict[str, list[PartitionRecord]] = {}
    for name, record in records.items():
        by_topic.setdefault(topic_of(name), []).append(record)
    steps: list[Step] = [(first, zk.create(path)) for path in PERSISTENT]
    steps += [(first, zk.create(CONTROLLER_EPOCH, (0,))), (first, zk.put(CONTROLLER_EPOCH, (FIRST_EPOCH,)))]
    steps += [
        (broker, zk.create(broker_path(broker), BrokerNode(control.rack), ephemeral=True))
        for broker, control in controls.items()
    ]
    steps.append((first, zk.create(CONTROLLER, (first,), ephemeral=True)))
    configs = {topic.name: tuple(topic.config.items()) for topic in spec.topics}
    for topic, partitions in by_topic.items():
        steps += _topic(first, topic, configs.get(topic, ()), partitions)
    steps += _watches(first, controls, list(by_topic))
    registered = len(steps)
    steps += [(first, zk.get(broker_path(broker))) for broker in controls]
    clients = [(broker, control.session.client) for broker, control in controls.items()]
    results = service.begin(clients, steps)
    live: dict[int, LiveBroker] = {}
    for (broker, control), result in zip(controls.items(), results[registered:], strict=True):
        assert result.stat is not None
        live[broker] = LiveBroker(result.stat.czxid, control.rack)
    _lead(controls[first], first, live, by_topic)
    _tell(controls, first, live, records)


def _topic(first: int, topic: str, config: tuple[Any, ...], partitions: list[PartitionRecord]) -> list[Step]:
    assignment = tuple(Assignment(index_of(record.name), record.assignment) for record in partitions)
    steps = [
        (first, zk.create(config_path(topic), config)),
        (first, zk.create(topic_path(topic), TopicNode(partitions[0].topic_id, assignment))),
        (first, zk.create(partition_paths(partitions[0].name)[0])),
    ]
    for record in partitions:
        node = StateNode(record.leader, record.leader_epoch, record.isr, FIRST_EPOCH, by="new partition")
        steps += [
            (first, zk.create(partition_paths(record.name)[1])),
            (first, zk.create(state_path(record.name), node)),
        ]
    return steps


def _watches(first: int, controls: dict[int, ZooKeeperControl], topics: list[str]) -> list[Step]:
    steps: list[Step] = []
    for broker in controls:
        steps += [(broker, zk.exists(CONTROLLER, watch=True)), (broker, zk.children(CONFIG_CHANGES, watch=True))]
    steps += [(first, zk.children(path, watch=True)) for path in (BROKER_IDS, TOPICS, DELETE_TOPICS, ISR_CHANGES)]
    steps += [(first, zk.get(topic_path(topic), watch=True)) for topic in topics]
    return steps


def _lead(
    control: ZooKeeperControl, first: int, live: dict[int, LiveBroker], by_topic: dict[str, list[PartitionRecord]]
) -> None:
    """Know everything, as after a failover."""
    context = control.controller.work.context
    context.active = True
    context.epoch, context.epoch_version = FIRST_EPOCH, 1
    context.brokers = dict(live)
    for topic, partitions in by_topic.items():
        context.assign(
            topic, partitions[0].topic_id, tuple(Assignment(index_of(r.name), r.assignment) for r in partitions)
        )
        for record in partitions:
            context.heard(record.name, StateNode(record.leader, record.leader_epoch, record.isr, FIRST_EPOCH), 0)
            context.standing[record.name] = Standing.ONLINE
            for broker in record.assignment:
                context.replicas[record.name, broker] = Where.ONLINE
    control.controller.begin()


def _tell(
    controls: dict[int, ZooKeeperControl],
    first: int,
    live: dict[int, LiveBroker],
    records: Mapping[str, PartitionRecord],
) -> None:
    states = tuple([record.state for record in records.values()])
    epochs = tuple([known.epoch for known in live.values()])
    racks = tuple([known.rack for known in live.values()])
    metadata = UpdateMetadataRequest(0, first, FIRST_EPOCH, -1, states, tuple(live), epochs, racks)
    for broker, control in controls.items():
        control.controller.work.context.leader = first
        control.obedience.begin(metadata, FIRST_EPOCH)
        control.obedience.act(tuple([state for state in states if broker in state.replicas]))
        control.begin(live[broker].epoch)
