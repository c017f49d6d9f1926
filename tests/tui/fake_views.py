"""Hand-built views, and a small real session, for tests of the screen."""

from dataclasses import replace

from cluster_model.observation.views import (
    BrokerView,
    ClusterView,
    EpochRun,
    FaultView,
    GroupView,
    LedgerView,
    LogView,
    PartitionView,
    ProducerView,
    ReplicaLogView,
    ReplicaView,
)
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook


def replica(broker, status="in_sync", leo=100, hw=98, behind=0, **more):
    fields = {
        "log_start": 0,
        "epochs": ((0, 0), (3, 40)),
        "believed_leader": 1,
        "believed_epoch": 3,
        "believed_isr": (1, 2, 3) if status == "leader" else (),
    }
    return ReplicaView(broker=broker, status=status, leo=leo, hw=hw, behind=behind, **(fields | more))


def partition(name="orders-0", leader=1, isr=(1, 2, 3), missing=0, replicas=None):
    if replicas is None:
        replicas = tuple(replica(each, "leader" if each == leader else "in_sync") for each in (1, 2, 3))
    return PartitionView(
        name=name,
        leader=leader,
        leader_epoch=3,
        partition_epoch=5,
        isr=isr,
        assignment=(1, 2, 3),
        min_isr=2,
        hw=98,
        leo=100,
        log_start=0,
        replicas=replicas,
        missing=missing,
    )


def view(brokers=3, partitions=None, now_us=53_412_000, **more):
    """A cluster in good health, unless told otherwise."""
    partitions = tuple(partition(f"orders-{at}") for at in range(4)) if partitions is None else partitions
    fields = {
        "events": 12_345,
        "profile": "3.9-kraft",
        "controller": "controller",
        "brokers": tuple(BrokerView(each, "", "up", False, 2, ()) for each in range(1, brokers + 1)),
        "producers": (
            ProducerView("checkout", "orders", -1, 200, 190, 0, 0, 1, 9, 0, ""),
            ProducerView("clicks", "orders", 1, 300, 280, 2, 5, 1, 0, 3, "NOT_LEADER_OR_FOLLOWER"),
        ),
        "groups": (
            GroupView(
                "billing",
                ("orders",),
                2,
                150,
                12,
                (("orders-0", 92), ("orders-1", 98)),
                committed=(("orders-0", 90), ("orders-1", 98)),
            ),
        ),
        "ledger": LedgerView(500, 470, 2, 5, 0, 0, 0, 0, 0),
        "faults": (),
        "violations": 0,
    }
    return ClusterView(now_us=now_us, partitions=partitions, **(fields | more))


def troubled():
    """One of everything that can be wrong."""
    sick = partition(
        "orders-1",
        leader=2,
        isr=(2,),
        missing=4,
        replicas=(
            replica(1, "down", leo=130, behind=-30),
            replica(2, "leader"),
            replica(3, "lagging", leo=13, behind=87),
        ),
    )
    cut = partition(
        "orders-2",
        leader=-1,
        isr=(1,),
        replicas=(
            replica(1, "truncating", leo=109, behind=-9),
            replica(2, "diverged"),
            replica(3, "down", leo=1, behind=99),
        ),
    )
    sound = view()
    return replace(
        sound,
        brokers=(
            replace(sound.brokers[0], state="down", fenced=True, leads=0, faults=("crash",)),
            replace(sound.brokers[1], state="paused", faults=("gc_pause",)),
            replace(sound.brokers[2], faults=("lag",)),
        ),
        partitions=(partition("orders-0"), sick, cut),
        ledger=LedgerView(500, 470, 2, 5, 4, 1, 1, 0, 0),
        faults=(
            FaultView(1, "crash", "broker 1", 50_000_000, -1, ""),
            FaultView(2, "gc_pause", "broker 2", 50_000_000, 71_600_000, ""),
            FaultView(3, "lag", "broker 3", 50_000_000, -1, "latency=200000"),
        ),
    )


def log(start=90, end=150):
    """A leader at epoch 5, a follower three behind, and a former leader with a tail of its own."""
    return LogView(
        partition="orders-3",
        start=start,
        end=end,
        leader=2,
        hw=134,
        lanes=(
            ReplicaLogView(
                2, "leader", 139, 134, 0, (EpochRun(90, 104, 3, False, False), EpochRun(104, 139, 5, False, False))
            ),
            ReplicaLogView(
                3, "in_sync", 136, 131, 95, (EpochRun(95, 104, 3, False, False), EpochRun(104, 136, 5, False, False))
            ),
            ReplicaLogView(
                1,
                "truncating",
                130,
                121,
                0,
                (
                    EpochRun(90, 104, 3, False, False),
                    EpochRun(104, 121, 4, False, False),
                    EpochRun(121, 124, 4, True, False),
                    EpochRun(124, 128, 4, True, True),
                    EpochRun(128, 130, 4, True, False),
                ),
                lost=4,
                diverged=5,
            ),
        ),
    )


def playbook(*, orders=6, payments=4, settle_us=1_000_000, clients=True, calm=False):
    """A sandbox of three brokers under load, without a file.

    ``calm``: few records a second, and of Kafka's own partitions one for fifty; what nobody looks at costs little.
    """
    every_us = (50_000, 40_000) if calm else (5_000, 10_000)
    spec = ClusterSpec(
        kafka="3.9",
        mode="kraft",
        brokers=tuple(BrokerSpec(each) for each in (1, 2, 3)),
        topics=(TopicSpec("orders", orders, 3, config={"min.insync.replicas": 2}), TopicSpec("payments", payments, 3)),
        producers=(
            ProducerSpec("checkout", "orders", every_us[0], config={"acks": "all"}, keys=1_000),
            ProducerSpec("clicks", "payments", every_us[1], config={"acks": "1"}, keys=1_000),
        )
        * clients,
        groups=(GroupSpec("billing", ("orders", "payments"), 2, 2_000),) * clients,
        config={"offsets.topic.num.partitions": 1} if calm else {},
    )
    return Playbook(
        path="sandbox.yaml",
        name="sandbox",
        title="A cluster to break",
        story="",
        seed=7,
        spec=spec,
        steps=(),
        settle_us=settle_us,
        expectations=(),
        tags=(),
        source="floodmark: 1\n",
    )


def session(**more):
    """The sandbox, live and not recorded."""
    return Session.start(playbook(**more), open_ended=True)
