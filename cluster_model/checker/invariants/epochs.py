"""Epochs never fall: a partition's, a broker's, a controller's, those of the batches along a log and of the cache."""

from itertools import pairwise
from typing import Any, Final

from cluster_model.checker.invariants.ground import Ground, Heard, Property, listed
from cluster_model.checker.invariants.promise import ALONG_THE_LOG, Mend, Promise
from cluster_model.protocol.events import (
    AssignmentChanged,
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    PartitionOffline,
    RecoveryChanged,
    Truncated,
)
from cluster_model.protocol.messages import NOBODY

EPOCHS: Final = Promise(
    "epoch-monotonicity",
    "Epochs never fall",
    "Leader, partition, controller and broker epochs never fall in what is committed; the epochs of batches never fall "
    "along a log, and its epoch cache rises in both fields and ends within the log.",
    "KIP-101, KIP-279, KIP-320 (epochs along a log); KIP-380 (broker epochs)",
    (
        Mend("epoch_truncation", "KIP-101", "0.11", ALONG_THE_LOG),
        Mend("kip_279", "KIP-279", "2.0", ALONG_THE_LOG),
        Mend("kip_320", "KIP-320", "2.1", ALONG_THE_LOG),
    ),
    "Up to 0.10.2 batches have no epochs.",
)

EPOCHS_KEPT: Final = 64
"""Of controllers: how many of the newest are remembered."""

Decision = LeaderElected | IsrChanged | PartitionOffline | ElrChanged | RecoveryChanged | AssignmentChanged


class EpochMonotonicity(Property):
    """Looked at when an epoch is committed, and along a log when its broker takes up another role or cuts it."""

    __slots__ = ("_brokers", "_controllers", "_nodes", "_partitions")
    promise = EPOCHS

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._partitions: dict[str, tuple[int, int]] = {}
        self._brokers: dict[int, int] = {}
        self._controllers: dict[int, str] = {}
        """Controller epoch → whose, for the newest epochs."""
        self._nodes: dict[str, int] = {}
        """Node → the newest epoch of which it was the controller."""

    def hears(self) -> Heard:
        """Decisions, roles, registrations."""
        decisions = (LeaderElected, IsrChanged, PartitionOffline, ElrChanged, RecoveryChanged, AssignmentChanged)
        return {
            **dict.fromkeys(decisions, self._decided),
            **dict.fromkeys((BecameLeader, BecameFollower, Truncated), self._along_the_log),
            BrokerRegistered: self._registered,
            ControllerChanged: self._succeeded,
        }

    def _decided(self, event: Decision) -> None:
        now = (event.leader_epoch, event.partition_epoch)
        before = self._partitions.get(event.partition, (0, 0))
        if now[0] < before[0] or now[1] < before[1]:
            detail = f"(leader epoch, partition epoch) went from {before} to {now}"
            leader = NOBODY if isinstance(event, PartitionOffline) else event.leader
            self.ground.report(self.promise, event.at_us, event.partition, leader, detail, epoch=now[0])
        self._partitions[event.partition] = now

    def _registered(self, event: BrokerRegistered) -> None:
        plane, broker = self.ground.plane, event.broker
        if plane is None:
            return
        before, epoch = self._brokers.get(broker, -1), plane.broker_epoch(broker)
        if epoch < before:
            detail = f"the epoch of broker {broker} went from {before} to {epoch}"
            self.ground.report(self.promise, event.at_us, "", broker, detail, fault=f"down to {epoch}")
        self._brokers[broker] = epoch

    def _succeeded(self, event: ControllerChanged) -> None:
        """No two controllers have one epoch; who has one again has a greater one."""
        epoch, node = event.leader_epoch, event.node
        known = self._controllers.setdefault(epoch, node)
        if known != node:
            detail = f"{known} and {node} both are the controller of epoch {epoch}"
            self.ground.report(self.promise, event.at_us, "", event.broker, detail, epoch=epoch)
        if len(self._controllers) > EPOCHS_KEPT:
            del self._controllers[min(self._controllers)]
        newest = self._nodes.get(node, epoch)
        if newest > epoch:
            detail = f"{node} is the controller of epoch {epoch}, and was that of epoch {newest}"
            self.ground.report(self.promise, event.at_us, "", event.broker, detail, epoch=epoch)
        self._nodes[node] = max(newest, epoch)

    def _along_the_log(self, event: BecameLeader | BecameFollower | Truncated) -> None:
        partition, broker = event.partition, event.broker
        replica = self.world.replicas.get(partition, {}).get(broker)
        if replica is None or not self.world.profile.epoch_truncation:
            return
        log = replica.log
        entries = log.epochs.entries
        rising = all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(entries))
        if not rising or (entries and entries[-1][1] > log.leo):
            detail = f"the epoch cache of broker {broker} is {listed(entries)} with LEO {log.leo}"
            self.ground.report(
                self.promise, event.at_us, partition, broker, detail, offsets=(entries[-1][1], log.leo),
                epoch=entries[-1][0],
            )  # fmt: skip
        written = [(log.lineages.by_id[stint].epoch, start) for start, stint in log.extents]
        fallen = next((two for one, two in pairwise(written) if one[0] > two[0]), None)
        if fallen is not None:
            detail = f"the log of broker {broker} has batches of epochs {listed(epoch for epoch, _start in written)}"
            self.ground.report(
                self.promise, event.at_us, partition, broker, detail, fault="log", offsets=(fallen[1], log.leo),
                epoch=fallen[0], when=(ALONG_THE_LOG,),
            )  # fmt: skip

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._partitions.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(
            tuple(table.items()) for table in (self._partitions, self._brokers, self._controllers, self._nodes)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._partitions, self._brokers, self._controllers, self._nodes = map(dict, saved)
