"""What all steps by hand stand on: disks, processes, the controller's state, and every decision it ever made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.controller.cluster_parts import Parts
from cluster_model.controller.immediate_controller import Decider
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import PartitionState

NOW: Final = 0
"""Time stands still."""

CLIENT: Final = "a client"
"""The producer and the consumer that steps speak for."""

Params = dict[str, Any]
Handler = Callable[[Params], KafkaError]


@dataclass(slots=True)
class ManualContext:
    """Shared by the groups of verbs; each group keeps its own messages under way."""

    parts: Parts
    up: dict[int, bool]
    """Broker → whether its process runs."""
    live: dict[int, int]
    """Brokers that the controller takes to be alive, with their broker epochs."""
    registered: dict[int, int]
    """Broker epoch of each broker's newest registration, fenced ones included."""
    emit: Callable[[Event], None]
    counted_on: dict[int, int] = field(init=False)
    """Broker epoch of each broker's registration that the controller has acted on."""
    decider: Decider = field(init=False)
    settle: Callable[[Replica], None] = field(init=False)
    """Answers the produces that a step has settled."""
    stop: Callable[[int, str], KafkaError] = field(init=False)
    """Ends a broker's process, for the reason given."""
    decisions: dict[str, list[PartitionState]] = field(init=False)
    """Every state of every partition that the controller ever committed, oldest first."""

    def __post_init__(self) -> None:
        profile = self.parts.profile
        self.counted_on = dict(self.registered)
        self.decider = Decider(self.parts.committed, profile, elr=profile.elr)
        self.decisions = {name: [record.state] for name, record in self.parts.committed.records.items()}

    def note_decisions(self) -> None:
        """Keep what the controller has newly committed, so that it can be delivered later."""
        for name, record in self.parts.committed.records.items():
            known = self.decisions.setdefault(name, [])
            if not known or record.state != known[-1]:
                known.append(record.state)

    def replica(self, params: Params, key: str = "broker") -> Replica:
        """The replica that a step speaks of.

        Raises:
            ModelError: there is none.
        """
        partition, broker = params["partition"], params[key]
        replicas = self.parts.replicas.get(partition)
        if replicas is None:
            raise ModelError(
                f"no partition {partition!r}; there are {', '.join(self.parts.replicas)}", code="no_partition"
            )
        if broker not in replicas:
            holders = ", ".join(map(str, replicas))
            raise ModelError(
                f"broker {broker} holds no replica of {partition}; its replicas are on {holders}", code="no_replica"
            )
        return replicas[broker]

    def replicas_on(self, broker: int) -> list[Replica]:
        """Every replica on a broker's disks.

        Raises:
            ModelError: no such broker.
        """
        if broker not in self.up:
            raise ModelError(f"no broker {broker}; there are {', '.join(map(str, self.up))}", code="no_broker")
        return [replicas[broker] for replicas in self.parts.replicas.values() if broker in replicas]

    def running(self) -> dict[int, int]:
        """Brokers whose process runs, with their broker epochs."""
        return {broker: self.registered[broker] for broker, runs in self.up.items() if runs}

    def count_on(self, broker: int) -> None:
        """The controller acts on its newest registration: it unfences it, tells it anything, or judges if it joins."""
        self.counted_on[broker] = self.registered[broker]

    def tell_live(self, broker: int) -> None:
        """A running broker's metadata cache takes up which brokers live."""
        if self.up[broker]:
            self.parts.metadata[broker].live = dict(self.live)

    def tell_all_live(self) -> None:
        """The same for all: no step depends on a cache that is stale about who lives."""
        for broker in self.up:
            self.tell_live(broker)
