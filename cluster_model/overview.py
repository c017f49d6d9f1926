"""What a whole timed cluster looks like from outside, at one instant."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from cluster_model import cluster_overview
from cluster_model.checker.liveness.expected_stalls import stuck
from cluster_model.clients.producer.producer import Producer
from cluster_model.inspection import partition_views
from cluster_model.kernel.process import ProcessState
from cluster_model.observation.views import BrokerView, ClientView, ClusterView, GroupView, ProducerView
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.cluster_spec import ProducerSpec

if TYPE_CHECKING:
    from cluster_model.cluster import Cluster


def overview(cluster: "Cluster") -> ClusterView:
    """Everything now; active faults are added by who injects them."""
    partitions = partition_views.partition_views(cluster.world, cluster.checker)
    led = Counter(each.leader for each in partitions)
    stale = Counter(belief.broker for each in partitions for belief in each.beliefs)
    return ClusterView(
        now_us=cluster.now_us,
        events=cluster.executed,
        profile=cluster.profile.name,
        controller=_controller(cluster),
        controller_epoch=cluster.plane.controller_epoch(),
        controllers=cluster.plane.view(),
        brokers=tuple(
            _broker_view(cluster, each.id, each.rack, led[each.id], stale[each.id]) for each in cluster.spec.brokers
        ),
        partitions=partitions,
        producers=(
            *[_producer_view(cluster.producers[spec.name], spec) for spec in cluster.spec.producers],
            *[_producer_view(letters, letters.spec) for letters in cluster.clients.letter_producers],
            *[_producer_view(rival, spec) for spec, rival in cluster.clients.rivals.present],
        ),
        groups=tuple(_group_view(cluster, spec.name) for spec in cluster.spec.groups),
        clients=tuple(_client_view(cluster, node, name) for node, name in cluster.clients.names.items()),
        ledger=partition_views.ledger_view(cluster.checker),
        faults=(),
        violations=cluster.query.violations(),
        stuck=() if cluster.checker.liveness is None else stuck(cluster.checker.liveness.sight),
        overdue=cluster.query.overdue(),
        unjudged=() if cluster.checker.liveness is None else cluster.checker.liveness.unjudged,
    )


def _controller(cluster: "Cluster") -> str:
    """Name of who acts as controller, with its state where that is not running."""
    active = cluster.plane.active()
    if active == NOBODY:
        return "no controller"
    state = cluster.state_of(active).name.lower()
    name = cluster.name_of(active)
    return name if state == "running" else f"{name} ({state})"


def _broker_view(cluster: "Cluster", broker: int, rack: str, leads: int, stale: int) -> BrokerView:
    state = cluster.state_of(broker)
    shown: Any = {ProcessState.RUNNING: "up", ProcessState.PAUSED: "paused"}.get(state, "down")
    if shown == "up" and not cluster.brokers[broker].control.registered:
        shown = "starting"
    plane = cluster.plane
    return BrokerView(
        id=broker,
        rack=rack,
        state=shown,
        fenced=not plane.is_live(broker),
        leads=leads,
        faults=(),
        stale=stale,
        epoch=cluster.brokers[broker].control.broker_epoch,
        shutting_down=plane.is_shutting_down(broker),
        controller=plane.controller_known_to(broker) if cluster.is_up(broker) else NOBODY,
    )


def _client_view(cluster: "Cluster", node: int, name: str) -> ClientView:
    state = cluster.state_of(node)
    shown: Any = {ProcessState.RUNNING: "up", ProcessState.PAUSED: "paused"}.get(state, "down")
    return ClientView(node, name, shown)


def _producer_view(producer: Producer, spec: ProducerSpec) -> ProducerView:
    return ProducerView(
        spec.name, spec.topic, producer.acks, producer.sent, producer.acked, producer.failed, producer.unknown,
        producer.in_flight, producer.queued, producer.refused, producer.last_error,
    )  # fmt: skip


def _group_view(cluster: "Cluster", name: str) -> GroupView:
    spec = next(spec for spec in cluster.spec.groups if spec.name == name)
    members = [consumer for consumer in cluster.consumers.values() if consumer.group == name]
    positions = tuple(item for consumer in members for item in consumer.positions.items())
    read = sum(consumer.read for consumer in members)
    return GroupView(
        name,
        spec.topics,
        cluster_overview.members(cluster, spec),
        read,
        cluster.query.lag(name),
        positions,
        generation=cluster_overview.generation(cluster, spec),
        assignment=cluster_overview.assignment(cluster, spec),
        committed=tuple(cluster_overview.committed(cluster, spec).items()),
    )
