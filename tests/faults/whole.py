"""A whole cluster for every fault to strike: all kinds of producers and members, each partition busy.

``orders`` has four partitions on five brokers in three racks. ``checkout`` is idempotent, ``ledger`` transactional and
``sensor`` has acks=1; ``billing`` has two static members and ``shipping`` two dynamic ones that write on to ``sent``.
"""

from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.releases import parse_version
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec, TransactionPlan
from faults.declarations.fault import Action, Fault
from faults.declarations.targets import selector_of
from faults.injector import FaultInjector
from tests.faults.rigs import begun, unsettled, until_well

MS: Final = 1_000
SECOND: Final = 1_000_000

PLANES: Final = {"kraft": ("4.0", "kraft"), "zookeeper": ("3.4", "zookeeper"), "old": ("2.1", "zookeeper")}
"""Control plane → version and mode; ``old`` is one where ISRs go by way of ZooKeeper, without static membership."""

CONFIG: Final[dict[str, int | str | bool]] = {
    "replica.lag.time.max.ms": 4_000,
    "replica.socket.timeout.ms": 3_000,
    "min.insync.replicas": 2,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
}

TARGETS: Final = {
    "brokers": "leader(orders-0)",
    "processes": "leader(orders-0)",
    "nodes": "leader(orders-0)",
    "hosts": "leader(orders-0)",
    "clients": "client(billing/0)",
    "consumers": "client(billing/0)",
    "producers": "client(checkout)",
    "controllers": "controller",
    "plane": "controller",
}
"""A target for each kind of targets (:data:`faults.declarations.fault.ACCEPTS`)."""

ELSEWHERE: Final = {
    "processes": ("controller", "client(ledger)", "client(billing/0)", "broker(5)"),
    "nodes": ("controller", "client(sensor)", "members(shipping)", "rack(a)"),
    "hosts": ("brokers", "client(ledger)", "members(shipping)", "client(sensor) + broker(2)"),
    "clients": ("client(ledger)", "members(shipping)"),
    "consumers": ("members(shipping)",),
    "producers": ("client(sensor)", "client(ledger)"),
    "brokers": ("random(brokers)", "coordinator(billing)"),
}
"""Other targets that a fault for such a kind has to do with as well."""

OWN: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "corrupt_batch": ("random(followers(orders-0))", {"partition": "orders-0"}),
    "zombie_producer": ("client(ledger)", {}),
    "duplicate_instance": ("client(billing/0)", {"member": "client(billing/1)"}),
}
"""Faults whose target or parameters are special."""


def elsewhere(fault: Fault) -> tuple[str, ...]:
    """Other targets that it has to do with as well; what takes many nodes has its own."""
    if fault.name in OWN:  # Elsewhere there is no such batch, transaction or instance, or it is the leader's copy.
        return ()
    return ELSEWHERE.get(fault.accepts, ()) if fault.at_least == 1 else MANY


MANY: Final = ("brokers", "brokers + controllers", "all - broker(5) + clients")
"""Targets for faults that take five nodes at once."""


def whole_cluster(plane: str = "kraft", seed: int = 7) -> Cluster:
    """The cluster at its first instant."""
    kafka, mode = PLANES[plane]
    number = parse_version(kafka)
    static = {"group.instance.id": "bill"} if number >= (2, 3, 0) else {}
    bounded = {"delivery.timeout.ms": 20_000} if number >= (2, 1, 0) else {}
    patient = {"request.timeout.ms": 5_000, **bounded}
    short = {"request.timeout.ms": 5_000, "session.timeout.ms": 8_000, "auto.offset.reset": "earliest"}
    session = {"broker.session.timeout.ms": 4_000} if mode == "kraft" else {"zookeeper.session.timeout.ms": 6_000}
    spec = ClusterSpec(
        kafka=kafka,
        mode=mode,
        brokers=tuple(BrokerSpec(broker, rack) for broker, rack in zip((1, 2, 3, 4, 5), "abcab", strict=True)),
        topics=(
            TopicSpec("orders", 4, 3, ((1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 1))),
            TopicSpec("sent", 2, 3, ((2, 1, 5), (5, 3, 2))),
        ),
        producers=(
            ProducerSpec("checkout", "orders", 220 * MS, keys=1_000, config={"enable.idempotence": True, **patient}),
            ProducerSpec(
                "ledger", "orders", 200 * MS, keys=1_000, config={"transactional.id": "ledger", **patient},
                transactions=TransactionPlan(5),
            ),
            ProducerSpec(
                "sensor", "orders", 240 * MS, keys=1_000, config={"acks": "1", "enable.idempotence": False, **patient}
            ),
        ),
        groups=(
            GroupSpec("billing", ("orders",), 2, 1 * MS, config={**short, **static}),
            GroupSpec("shipping", ("orders",), 2, 1 * MS, config=short, output_topic="sent"),
        ),
        config={**CONFIG, **session},
    )  # fmt: skip
    return Cluster.build(spec, seed)


def fits_plane(fault: Fault, plane: str) -> bool:
    """Whether a fault is for that control plane."""
    kafka, mode = PLANES[plane]
    static_members = parse_version(kafka) >= (2, 3, 0)
    return fault.mode in ("", mode) and (static_members or fault.name != "duplicate_instance")


def action_of(fault: Fault, target: str = "", for_us: int = -1) -> Action:
    """The fault with its defaults, on a target that makes sense for it."""
    own, params = OWN.get(fault.name, ("", {}))
    aimed = target or own or fault.example or fault.target or TARGETS[fault.accepts]
    if fault.name == "clock_skew" and "client(" in aimed:
        # A record that lingers waits until the clock that was set back shows its time again (ProducerBatch).
        params = {**params, "by": 60 * SECOND}
    return Action("inject", fault.name, aimed, dict(params), for_us if fault.is_lasting else -1)


def struck(plane: str, fault: Fault, target: str = "", seed: int = 7) -> tuple[Cluster, FaultInjector]:
    """Ten seconds in, the fault has just been injected; ``restart`` finds somebody who is down."""
    cluster, board = begun(10 * SECOND, whole_cluster, plane=plane, seed=seed)
    action = action_of(fault, target)
    if fault.name == "restart":
        (node,) = board.targets(action.target)
        board.inject(Action("inject", "crash", action.target))
        cluster.run(12 * SECOND)
        action = Action("inject", "restart", _selector(cluster, node))
    board.inject(action)
    return cluster, board


def settle(cluster: Cluster, board: FaultInjector, most_us: int = 120 * SECOND) -> None:
    """Healed: let those who are down start again, stop making records, and wait until all is well and stays so."""
    cluster.run(cluster.now_us + 4 * SECOND)
    for node in cluster.nodes():
        if not cluster.is_up(node):
            board.inject(Action("inject", "restart", _selector(cluster, node)))
    cluster.stop_producers()
    until_well(cluster, lambda cluster: unsettled(cluster) + ledger_faults(cluster), most_us)


def _selector(cluster: Cluster, node: int) -> str:
    return selector_of(node, cluster.clients.names.get(node, ""))


def ledger_faults(cluster: Cluster) -> list[str]:
    """What is wrong with the books; acks=1 may lose, acks=all with two in sync may not."""
    query = cluster.query
    found = []
    for name in cluster.producers:
        settled = query.acked(name) + query.failed(name) + query.unknown(name) + query.aborted(name)
        if query.sent(name) != settled:
            found.append(f"{name} sent {query.sent(name)}, {settled} are settled")
        if name != "sensor" and query.acked_lost(name):
            found.append(f"{name} lost {query.acked_lost(name)} acknowledged records")
    twice = [(name, query.duplicates(name)) for name in ("checkout", "ledger")]
    found += [f"{name} has {count} duplicates" for name, count in twice if count]
    if query.unexpected_violations():
        found.append(f"{query.unexpected_violations()} unexpected violations")
    return found
