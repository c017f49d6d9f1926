"""State shared by all manual steps: disks, processes, the controller's state, and all of its decisions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.controller.cluster_parts import ClusterParts
from cluster_model.controller.immediate_controller import ImmediateController
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import PartitionState

NOW: Final = 0
"""Virtual time, which does not advance."""

Params = dict[str, Any]
Handler = Callable[[Params], KafkaError]


@dataclass(slots=True)
class ManualContext:
    """State shared by all groups of verbs; each group keeps its own messages in flight."""

    parts: ClusterParts
    up: dict[int, bool]
    """Broker → whether its process runs."""
    live: dict[int, int]
    """Brokers that are not fenced, with their broker epochs."""
    registered: dict[int, int]
    """Broker epoch of each broker's newest registration, fenced ones included."""
    emit: Callable[[Event], None]
    used_registrations: dict[int, int] = field(init=False)
    """Broker epoch of each broker's registration last used by the controller."""
    decider: ImmediateController = field(init=False)
    answer_completed: Callable[[Replica], None] = field(init=False)
    """Answer the produce requests completed by a step."""
    stop: Callable[[int, str], KafkaError] = field(init=False)
    """End a broker's process for a reason."""
    decisions: dict[str, list[PartitionState]] = field(init=False)
    """All committed states of each partition, oldest first."""

    def __post_init__(self) -> None:
        profile = self.parts.profile
        self.used_registrations = dict(self.registered)
        self.decider = ImmediateController(self.parts.committed, profile, elr=profile.elr)
        self.decisions = {name: [record.state] for name, record in self.parts.committed.records.items()}

    def record_decisions(self) -> None:
        """Record newly committed states, so that they can be delivered later."""
        for name, record in self.parts.committed.records.items():
            known = self.decisions.setdefault(name, [])
            if not known or record.state != known[-1]:
                known.append(record.state)

    def replica(self, params: Params, key: str = "broker") -> Replica:
        """Return the replica named by the parameters of a step.

        Raises:
            ModelError: there is no such partition or replica.
        """
        partition, broker = params["partition"], params[key]
        replicas = self.parts.replicas.get(partition)
        if replicas is None:
            raise ModelError(
                f"unknown partition {partition!r}; partitions: {', '.join(self.parts.replicas)}", code="no_partition"
            )
        if broker not in replicas:
            holders = ", ".join(map(str, replicas))
            raise ModelError(
                f"broker {broker} has no replica of {partition}; its replicas are on brokers {holders}",
                code="no_replica",
            )
        return replicas[broker]

    def replicas_on(self, broker: int) -> list[Replica]:
        """Return all replicas of a broker.

        Raises:
            ModelError: there is no such broker.
        """
        if broker not in self.up:
            raise ModelError(f"unknown broker {broker}; brokers: {', '.join(map(str, self.up))}", code="no_broker")
        return [replicas[broker] for replicas in self.parts.replicas.values() if broker in replicas]

    def running(self) -> dict[int, int]:
        """Return the brokers whose process runs, with their broker epochs."""
        return {broker: self.registered[broker] for broker, runs in self.up.items() if runs}

    def use_registration(self, broker: int) -> None:
        """Make the controller use a broker's newest registration: to unfence it, send to it, or check an ISR join."""
        self.used_registrations[broker] = self.registered[broker]

    def update_live(self, broker: int) -> None:
        """Update the live brokers in a running broker's metadata cache."""
        if self.up[broker]:
            self.parts.metadata[broker].live = dict(self.live)

    def update_all_live(self) -> None:
        """Update the live brokers in all metadata caches: no step depends on stale ones."""
        for broker in self.up:
            self.update_live(broker)
