"""Groups of the consumer protocol under random joins, leaves, pauses, partitions and failovers (KIP-848).

- At no time do two members own the same partition, except one without contact for a whole session: it does not know
yet.

- Once all faults are healed, every partition has an owner, and the assignment is as balanced as possible.
"""

import random

import pytest

from cluster_model.assignors.assignors import UniformAssignor
from cluster_model.assignors.base import MemberSubscription, TopicPartition, Topics
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import Event, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from tests.cluster_model.coordinators.group.consumer_protocol.clusters import ModernTalk
from tests.cluster_model.coordinators.group.members import SECOND
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

SESSION = 8 * SECOND
PARTITIONS = 5


class WideTalk(ModernTalk):
    """A cluster with more partitions."""

    placement = ((1, 2, 3), (2, 3, 1), (3, 1, 2), (1, 3, 2), (2, 1, 3))


class Storm:
    """A cluster with a group, and random faults."""

    def __init__(self, kafka: str, seed: int, *, naive: bool = False) -> None:
        self.dice = random.Random(seed)
        config: dict[str, ConfigValue] = {"group.consumer.session.timeout.ms": SESSION // 1_000}
        self.talk = WideTalk(kafka, config=config, offsets={"min.insync.replicas": 2}, seed=seed, naive=naive)
        self.talk.listen = self._listen
        self.owners: dict[str, dict[str, None]] = {}
        """Partition → consumers that own it in their own view."""
        self.zombies = 0
        self.moves = 0
        self.talk.run(1)
        for _ in range(2):
            self._new()

    def _new(self) -> None:
        number = len(self.talk.consumers)
        instance = f"pod-{number}" if number % 4 == 3 else ""
        self.talk.consumer(f"c{number}", instance=instance, request_timeout_ms=4_000)

    def _listen(self, event: Event) -> None:
        self.talk.cluster.emit(event)
        if isinstance(event, PartitionsAssigned):
            self.moves += 1
            for name in _names(event.detail):
                owners = self.owners.setdefault(name, {})
                for other in owners:
                    silent = event.at_us - self.talk.heard[other]
                    assert silent >= SESSION, f"{name} of {other} to {event.client} at {event.at_us}: {silent}"
                    self.zombies += 1
                owners[event.client] = None
        elif isinstance(event, (PartitionsRevoked, PartitionsLost)):
            for name in _names(event.detail):
                self.owners[name].pop(event.client)

    def running(self) -> list[str]:
        return [
            name for name, consumer in self.talk.consumers.items() if name in self.talk.owned() and not consumer.failed
        ]

    def step(self) -> None:
        """Run one random action, then let some time pass."""
        cluster, dice = self.talk.cluster, self.dice
        acts = ("crash", "pause", "heal", "heal", "cut", "new", "new", "close", "stall", "stall", "wake", "apart")
        act = dice.choice(acts)
        broker = dice.choice((1, 2, 3))
        whole = all(cluster.state_of(number) is ProcessState.RUNNING for number in (1, 2, 3))
        name = dice.choice(self.running())
        node = self.talk.node(name)
        if act == "crash" and whole:
            cluster.crash(broker)
        elif act == "pause" and whole:
            cluster.pause(broker)
        elif act == "cut" and whole:
            for other in (1, 2, 3):
                if other != broker:
                    cluster.cut(broker, other, 1)
        elif act == "heal":
            self.heal()
        elif act == "new" and len(self.running()) < 6:
            self._new()
        elif act == "close" and len(self.running()) > 2 and cluster.state_of(node) is ProcessState.RUNNING:
            self._close(name)
        elif act == "stall" and cluster.state_of(node) is ProcessState.RUNNING:
            cluster.pause(node)
        elif act == "wake" and cluster.state_of(node) is ProcessState.PAUSED:
            cluster.resume(node)
        elif act == "apart":
            cluster.cut(node, broker, 1)
            cluster.cut(broker, node, 1)
        self.talk.run(dice.choice((0.002, 0.02, 0.3, 2, 5, 12)))

    def _close(self, name: str) -> None:
        for owners in self.owners.values():
            owners.pop(name, None)
        self.talk.consumers[name].close()

    def heal(self) -> None:
        cluster = self.talk.cluster
        for broker in (1, 2, 3):
            if cluster.state_of(broker) is ProcessState.DOWN:
                cluster.restart(broker)
            elif cluster.state_of(broker) is ProcessState.PAUSED:
                cluster.resume(broker)
            for other in (1, 2, 3):
                if other != broker:
                    cluster.heal_cut(broker, other, 1)
            for name in self.talk.consumers:
                cluster.heal_cut(self.talk.node(name), broker, 1)
                cluster.heal_cut(broker, self.talk.node(name), 1)

    def calm(self) -> None:
        """Heal all faults, and wait for long enough."""
        self.heal()
        for name in self.talk.consumers:
            if self.talk.cluster.state_of(self.talk.node(name)) is ProcessState.PAUSED:
                self.talk.cluster.resume(self.talk.node(name))
        self.talk.run(90)


def _names(detail: str) -> list[str]:
    return detail.rpartition(": ")[2].split(", ")


def _parsed(name: str) -> TopicPartition:
    return TopicPartition("orders", int(name.rpartition("-")[2]))


@pytest.mark.parametrize("kafka", ["3.9", "4.1"])
@pytest.mark.parametrize("seed", spread_sample(range(10), 3))
def test_no_partition_is_ever_two_members_and_all_comes_out_even(kafka: str, seed: int) -> None:
    storm = Storm(kafka, seed)
    for _ in range(30):
        storm.step()
    storm.calm()
    group = storm.talk.group
    owned = {name: storm.talk.consumers[name].assignment for name in storm.running()}
    assert str(group.state) == "Stable"
    assert {says.client_id for says in group.members.values()} == set(owned)
    assert sorted(sum(owned.values(), ())) == [f"orders-{number}" for number in range(PARTITIONS)]
    assert {group.members[member].client_id: share for member, share in group.target.items()} == owned
    members = [
        MemberSubscription(each, ("orders",), owned=tuple(map(_parsed, share))) for each, share in group.target.items()
    ]
    again = UniformAssignor().assign(members, Topics({"orders": PARTITIONS}))
    assert {each: tuple(map(str, share)) for each, share in again.items()} == group.target
    assert storm.moves >= 3


def test_zombies_were_among_them() -> None:
    found = [Storm("4.1", seed) for seed in range(3)]
    for storm in found:
        for _ in range(50):
            storm.step()
    assert sum(storm.zombies for storm in found) > 0
