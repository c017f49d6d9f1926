"""Clusters with every setting that fetching depends on, and what is done to them: drawn, and the same every time."""

from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.controller.raft.raft_client import ALARM, RaftClient
from cluster_model.kernel.event_loop import LANES, LAST
from cluster_model.kernel.link import INTO, OUT, LinkCondition
from cluster_model.kernel.process import TIMER, ProcessState
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.support.releases import those_of

MS: Final = 1_000
SECOND: Final = 1_000_000
VERSIONS: Final = (
    "0.8.2", "0.9", "0.10.1", "0.10.2", "0.11", "1.0", "1.1", "2.0", "2.1", "2.3", "2.4", "2.5", "2.7", "2.8", "3.2",
    "3.3", "3.5", "3.6", "3.7", "3.9", "4.0", "4.1",
)  # fmt: skip
Config = dict[str, ConfigValue]


def _some(random: Random, **choices: list[ConfigValue]) -> Config:
    """A few of these settings, a value of each."""
    return {name.replace("_", "."): random.choice(values) for name, values in choices.items() if random.random() < 0.3}


def _broker_config(random: Random, wait_ms: int) -> Config:
    config = _some(
        random,
        replica_lag_time_max_ms=[700, 4_000],
        num_replica_fetchers=[1, 2, 3, 4],
        max_incremental_fetch_session_cache_slots=[0, 1, 2, 3],
        leader_replication_throttled_rate=[1, 60, 2_000],
        follower_replication_throttled_rate=[1, 60, 2_000],
        replica_socket_timeout_ms=[1, 3, 300, 3_000],
        replica_fetch_backoff_ms=[1, 300],
        replica_high_watermark_checkpoint_interval_ms=[50, 700],
        log_retention_check_interval_ms=[500, 3_000],
        log_flush_scheduler_interval_ms=[700],
        log_flush_offset_checkpoint_interval_ms=[900],
        log_flush_start_offset_checkpoint_interval_ms=[900],
        log_cleaner_backoff_ms=[500],
        replica_fetch_max_bytes=[300],
    )
    if random.random() < 0.6:
        config["log.initial.task.delay.ms"] = random.choice([0, 2_000])
    config["replica.fetch.wait.max.ms"] = wait_ms
    if random.random() < 0.5:
        config["replica.selector.class"] = "RackAwareReplicaSelector"
    return config


def _topic(random: Random, name: str, brokers: int) -> TopicSpec:
    config = _some(
        random,
        retention_ms=[0, 2_000, 9_000],
        retention_bytes=[0, 900],
        segment_bytes=[300, 2_000],
        segment_ms=[1_000],
        segment_index_bytes=[24],
        index_interval_bytes=[0],
        flush_messages=[1, 3],
        flush_ms=[0, 2_000],
        file_delete_delay_ms=[0],
    )
    for side in ("leader", "follower"):
        if random.random() < 0.6:
            config[f"{side}.replication.throttled.replicas"] = random.choice(["*", "*", "0:1,0:2,1:2"])
    if random.random() < 0.3:
        config |= {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": random.choice(["0", "0.5"])}
    if random.random() < 0.5:
        config["unclean.leader.election.enable"] = random.random() < 0.5
    if random.random() < 0.3:
        config["min.insync.replicas"] = 2
    return TopicSpec(name, random.choice([1, 2, 5]), random.randrange(2, min(brokers, 3) + 1), config=config)


def drawn_spec(random: Random) -> ClusterSpec:
    """A small cluster with records far apart, so that exchanges fall asleep and are woken."""
    brokers = random.choice([2, 3, 4])
    racked = random.random() < 0.5
    topics = tuple(_topic(random, name, brokers) for name in ("t", "u")[: random.choice([1, 2])])
    producers = tuple(
        ProducerSpec(
            f"writer {index}",
            random.choice(topics).name,
            random.choice([90 * MS, 300 * MS, 3 * SECOND, 20 * SECOND]),
            random.choice([1, 1, 4]),
            config={"acks": random.choice(["all", "1", "0"])},
            keys=random.choice([0, 3]),
        )
        for index in range(2)
    )
    groups = tuple(
        GroupSpec(
            f"readers {index}",
            (topics[0].name,),
            random.choice([1, 2]),
            config={
                "auto.offset.reset": random.choice(["earliest", "latest"]),
                **({"client.rack": random.choice("ab")} if racked else {}),
                **({"fetch.max.wait.ms": 3_000} if random.random() < 0.3 else {}),
            },
        )
        for index in range(random.choice([0, 0, 1, 2]))
    )
    return of_its_release(
        ClusterSpec(
            kafka=random.choice(VERSIONS),
            mode=None,
            brokers=tuple(BrokerSpec(index + 1, random.choice("ab") if racked else "") for index in range(brokers)),
            topics=topics,
            producers=producers,
            groups=groups,
            network=NetworkSpec(
                # Where messages take no time, a consumer between a leader and a follower that disagree asks for ever.
                random.choice([1 if racked else 0, 1, 100, 500, 20_000]),
                random.choice([0, 0, 1, 200, 3_000]),
            ),
            config=_broker_config(random, random.choice([1, 20, 500, 500])),
            writeback_us=random.choice([2, 30]) * SECOND,
        )
    )


def of_its_release(spec: ClusterSpec) -> ClusterSpec:
    """Without the configurations that its Kafka does not have."""
    return replace(
        spec,
        topics=tuple(replace(each, config=those_of("topic", spec.kafka, each.config)) for each in spec.topics),
        groups=tuple(replace(each, config=those_of("consumer", spec.kafka, each.config)) for each in spec.groups),
        config=those_of("broker", spec.kafka, spec.config),
    )


@dataclass(frozen=True)
class Step:
    """Wait, or handle ``events`` if that is not 0; then do something to ``node``; ``number`` chooses."""

    pause_us: int
    events: int
    verb: str
    node: int
    other: int
    number: int


VERBS: Final = (
    "crash", "torn", "power_loss", "shutdown", "disk_loss", "restart", "restart", "restart", "pause", "resume",
    "resume", "add_lag", "remove_lag", "cut", "cut", "mend", "mend", "elect", "delete", "controller", "nothing",
    "shape", "shape", "shape", "lift", "lift", "sever", "sever",
)  # fmt: skip


def drawn_plan(random: Random, spec: ClusterSpec) -> list[Step]:
    """What is done, from the first step to the last."""
    ids = [broker.id for broker in spec.brokers]
    quick = spec.config["replica.fetch.wait.max.ms"] == 1
    most = (2 if quick else 40) * SECOND
    steps: list[Step] = []
    for _number in range(random.choice([3, 10, 20])):
        pause = random.choice([1, random.randrange(600 * MS), random.randrange(most)])
        events = random.choice([0, 0, random.randrange(1, 300)])
        node, other = random.sample(ids, 2)
        steps.append(Step(pause, events, random.choice(VERBS), node, other, random.randrange(1 << 20)))
    steps.append(Step((3 if quick else 30) * SECOND, 0, "nothing", ids[0], ids[1], 0))
    return steps


def act(cluster: Cluster, step: Step) -> None:
    """Do what a step says, if it can be done as things are."""
    node, number = step.node, step.number
    state = cluster.state_of(node)
    alive = state in (ProcessState.RUNNING, ProcessState.PAUSED)
    partitions = list(cluster.cluster_state.records)
    partition = partitions[number % len(partitions)]
    if step.verb in ("crash", "torn") and alive:
        cluster.crash(node, torn=step.verb == "torn")
    elif step.verb == "power_loss" and alive:
        cluster.power_loss(node, number % 9 if number & 64 else -1)
    elif step.verb == "shutdown" and state is ProcessState.RUNNING:
        cluster.shutdown(node)
    elif step.verb == "disk_loss" and number % 3 == 0:
        cluster.disk_loss(node)
    elif step.verb == "restart" and not alive:
        cluster.restart(node)
    elif step.verb == "pause" and state is ProcessState.RUNNING:
        cluster.pause(node)
    elif step.verb == "resume" and state is ProcessState.PAUSED:
        cluster.resume(node)
    elif step.verb == "add_lag":
        cluster.add_lag(node, step.other, number, number % (100 * MS), number % 2 * 50 * MS)
    elif step.verb == "remove_lag":
        for fault, _latency, _jitter in cluster.network.link(node, step.other).lag[:1]:
            cluster.remove_lag(node, step.other, fault)
    elif step.verb == "cut":
        cluster.cut(node, cluster.plane.controllers()[0] if number % 4 == 0 else step.other, number % 2)
        if number % 3:
            cluster.cut(step.other, node, number % 2)
    elif step.verb == "mend":
        for source, target in list(cluster.network._links):
            cluster.heal_cut(source, target, number % 2)
    elif step.verb in ("shape", "lift", "sever"):
        _shake_wiring(cluster, step)
    elif step.verb == "elect":
        cluster.elect_leaders(partition, unclean=number % 2 == 0)
    elif step.verb == "delete":
        cluster.delete_records(partition, number % 12 - 1)
    elif step.verb == "controller":
        _shake_controller(cluster, number)


SHAPES: Final = (
    LinkCondition(rate=400), LinkCondition(rate=50_000), LinkCondition(rate=3_000, cards=OUT), LinkCondition(rate=3_000,
    cards=OUT | INTO), LinkCondition(loss=30_000), LinkCondition(loss=700_000), LinkCondition(answer_us=2 * SECOND,
    answer_jitter_us=SECOND), LinkCondition(answer_us=700), LinkCondition(repeats=20_000), LinkCondition(close_us=3 *
    SECOND), LinkCondition(rate=9_000, loss=9_000),
)  # fmt: skip


def _shake_wiring(cluster: Cluster, step: Step) -> None:
    number = step.number
    other = cluster.plane.controllers()[0] if number % 4 == 0 else step.other
    if step.verb == "lift":
        cluster.link_faults.lift(100 + number % 2)
    elif other == step.node:
        return
    elif step.verb == "sever":
        cluster.link_faults.sever([(step.node, other)])
    else:
        shape = SHAPES[number // 4 % len(SHAPES)]
        cluster.link_faults.shape(step.node, other, 100 + number % 2, shape)
        if number % 3:
            cluster.link_faults.shape(other, step.node, 100 + number % 2, shape)


def _shake_controller(cluster: Cluster, number: int) -> None:
    nodes = cluster.plane.controllers()
    node = nodes[number // 2 % len(nodes)]
    state = cluster.state_of(node)
    if state is ProcessState.PAUSED:
        cluster.resume(node)
    elif state is not ProcessState.RUNNING:
        cluster.restart(node)
    elif number % 2:
        cluster.pause(node)
    else:
        cluster.crash(node)


Place = tuple[int, int]
"""(time, order) of a point in the kernel's order."""


def advance(cluster: Cluster, step: Step) -> Place:
    """Go on for as long as a step says; returns where that ends, maybe in the middle of an instant.

    Where messages take no time, orders go up and down within an instant, and in a quorum they differ by what was left
    out (see :func:`state`): then it is gone through to its end.
    """
    cluster.run(cluster.now_us + step.pause_us, step.events)
    if not cluster.spec.network.latency_us or _peers(cluster):
        cluster.run(cluster.now_us)
    return cluster.now_us, cluster.network.kernel.order


def reach(cluster: Cluster, place: Place) -> None:
    """Go on to where another cluster of the same history stands."""
    kernel = cluster.network.kernel
    at, order = place
    if order == LAST:
        cluster.run(at)
        return
    while kernel._heap[0][:2] <= place:
        kernel.step()
    assert (kernel.now, kernel.order) == (at, order)


def _peers(cluster: Cluster) -> list[RaftClient]:
    """Members of the KRaft quorum, none in ZooKeeper mode."""
    members: list[Any] = [server for _name, server in cluster.plane.servers.values()]
    members += [broker.control for broker in cluster.brokers.values()]
    return [member.peer for member in members if hasattr(member, "peer")]


def _rings(kind: int, payload: tuple[Any, ...]) -> bool:
    """Whether an event is an alarm of the quorum."""
    return kind == TIMER and payload[1] == (ALARM,)


def _saved(cluster: Cluster) -> tuple[Any, ...]:
    """A keyframe without the alarms of a quorum: when they are set to ring depends on what was left out."""
    alarms = [peer._timer for peer in _peers(cluster)]
    rings = [alarm.at for alarm in alarms]
    for alarm in alarms:
        alarm.forget()
    saved = cluster.save()
    for alarm, at in zip(alarms, rings, strict=True):
        alarm.load(at)
    return saved


def state(cluster: Cluster) -> tuple[Any, ...]:
    """Everything there is, with all sleepers awake: what they left out must not be missing anywhere."""
    cluster.network.wake_exchanges()
    _releases, network, streams, *others, trace = _saved(cluster)
    (now, order, sequence, _laned, _behind, heap), processes, links, exchanges, *beside = network
    awake = tuple(
        (place, saved[:3], [(block, left, max(now, arrives)) for block, left, arrives in saved[5]])
        for place, saved in exchanges
    )
    events = sorted(heap, key=lambda event: event[:2])
    if _peers(cluster):
        # An alarm of the quorum that is late by nothing is an ordinary event: numbers differ, their order does not.
        sequence = 0
        events = [
            (at, 0 if number < LANES else number, *rest) for at, number, *rest in events if not _rings(rest[0], rest[2])
        ]
        processes = tuple(
            (*process, tuple(event for event in held if not _rings(*event))) for *process, held in processes
        )
    kernel = (now, order, sequence, events)
    seed, places = streams
    rest_of_it = (beside, seed, sorted(places), tuple(others))
    return (kernel, processes, links, awake, rest_of_it, trace[1:], cluster.trace.digest(0, 0))


def seen(cluster: Cluster) -> tuple[Any, ...]:
    """Everything that can be observed from outside."""
    logs = [cluster.log_view(name, 0, 1 << 40) for name in cluster.cluster_state.records]
    return (cluster.drain(), replace(cluster.view(), events=0), logs)


def go_on(cluster: Cluster, plan: list[Step]) -> list[str]:
    """Do all of these; returns the digest after each."""
    digests: list[str] = []
    for step in plan:
        advance(cluster, step)
        act(cluster, step)
        digests.append(cluster.digest())
    return digests
