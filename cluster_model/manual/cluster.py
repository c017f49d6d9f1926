"""A hand-stepped cluster: no timers, no deliveries, only the protocol actions that steps name.

The replicas, leaderships and decisions are the very objects of the timed cluster. Time stands still, so what normally
waits for time is a step. Refusals are Kafka's errors by name, and change nothing.
"""

from typing import Any

from cluster_model.checker.checker import Checker
from cluster_model.controller.cluster_parts import build_parts
from cluster_model.inspection import partition_views
from cluster_model.inspection.condition_functions import Query
from cluster_model.kernel.rng import Streams
from cluster_model.manual.broker import Processes
from cluster_model.manual.consume import HandConsumer
from cluster_model.manual.context import NOW, Ground, Handler
from cluster_model.manual.control import Decisions
from cluster_model.manual.fetch import RoundTrips
from cluster_model.manual.governing import HAND_CONTROLLER, HandControl
from cluster_model.manual.isr import IsrChanges
from cluster_model.manual.requests import Produces
from cluster_model.manual.state import state_of
from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.observation import metadata_staleness
from cluster_model.observation.cluster_state import World
from cluster_model.observation.event_log import Trace
from cluster_model.observation.views import BrokerView, ClusterView, LogView
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event
from cluster_model.spec.cluster_spec import ClusterSpec

__all__ = ["MANUAL_VERBS", "ManualCluster"]


class ManualCluster:
    """Brokers, a controller's state, and nothing that moves by itself."""

    def __init__(self, spec: ClusterSpec, seed: int) -> None:
        self.spec = spec
        self.seed = seed
        self.trace = Trace()
        self.executed = 0
        """Steps taken so far."""
        ids = tuple(broker.id for broker in spec.brokers)
        live = dict.fromkeys(ids, 0)
        parts = build_parts(spec, Streams(seed), self.emit, live)
        self.profile = parts.profile
        for metadata in parts.metadata.values():
            metadata.live = dict(live)
        for replicas in parts.replicas.values():
            for replica in replicas.values():
                replica.by_hand = True
        self._ground = Ground(parts, dict.fromkeys(ids, True), live, dict(live), self.emit)
        self._produces = Produces(self._ground)
        self._consumer = HandConsumer(self._ground)
        self._handlers = self._verbs()
        governing = HandControl(self._ground)
        self.world = World(
            self.profile, parts.committed.records, parts.replicas, parts.lineages, self.is_up, ids, governing.known,
            self._ground.counted_on.__getitem__,
        )  # fmt: skip
        self.checker = Checker(self.world, self.emit)
        self.trace.set_observer(self.checker.observe, self.checker.listeners())
        self.query = Query(self.world, self.checker, lambda: NOW, dict, governing)

    def _verbs(self) -> dict[str, Handler]:
        ground = self._ground
        trips = RoundTrips(ground)
        changes = IsrChanges(ground)
        return {
            **self._produces.handlers,
            **trips.handlers,
            **changes.handlers,
            **Decisions(ground, trips, changes).handlers,
            **Processes(ground, trips, changes, self._produces).handlers,
            **self._consumer.handlers,
            "show": lambda _params: KafkaError.NONE,
        }

    @property
    def now_us(self) -> int:
        """Always the same instant."""
        return NOW

    def is_up(self, broker: int) -> bool:
        """Whether a broker's process runs; the controller's always does."""
        return self._ground.up.get(broker, broker == HAND_CONTROLLER)

    def act(self, verb: str, params: dict[str, Any]) -> str:
        """Take one step; the name of Kafka's error where the protocol refuses it, else the empty string.

        Raises:
            ModelError: an unknown verb, partition or broker, or a missing parameter: the step makes no sense.
        """
        handler = self._handlers.get(verb)
        if handler is None:
            raise ModelError(f"no step {verb!r}; there are {', '.join(MANUAL_VERBS)}")
        for name, param in MANUAL_VERBS[verb].params.items():
            if param.required and name not in params:
                raise ModelError(f"{verb} needs {name}: {param.doc}")
        self.executed += 1
        error = handler(params)
        self._ground.note_decisions()
        return "" if error is KafkaError.NONE else error.name

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of all partitions, in order."""
        return tuple(self.world.records)

    def state(self, partition: str | None = None) -> dict[str, dict[str, Any]]:
        """What each broker holds and believes of a partition (the first by default), and the controller's word."""
        name = self.partitions[0] if partition is None else partition
        self.world.record(name)
        return state_of(self._ground, self.query, self._consumer, name)

    def emit(self, event: Event) -> None:
        """Add an event to the trace, and so to the digest."""
        self.trace.emit(event)

    def drain(self) -> list[Event]:
        """Trace events since the last drain."""
        return self.trace.drain()

    def digest(self) -> str:
        """Hex digest of everything that happened so far."""
        return self.trace.digest(NOW, self.executed)

    def stop_producers(self) -> None:
        """There are none."""

    def close(self) -> None:
        """End of the trace: produces still waiting have no known outcome, and the ledger becomes final."""
        self._produces.close()
        self.checker.invariants.close()
        self.checker.ledger.close(NOW)

    def view(self) -> ClusterView:
        """Everything now."""
        partitions = partition_views.partition_views(self.world, self.checker)
        brokers = tuple(
            BrokerView(
                broker.id, broker.rack, "up" if self.is_up(broker.id) else "down", not self.is_up(broker.id),
                sum(partition.leader == broker.id for partition in partitions), (),
                metadata_staleness.stale(self.world, broker.id), self._ground.registered[broker.id],
            )
            for broker in self.spec.brokers
        )  # fmt: skip
        ledger = partition_views.ledger_view(self.checker)
        violations = self.query.violations()
        return ClusterView(
            NOW, self.executed, self.profile.name, "by hand", brokers, partitions, (), (), ledger, (), violations
        )

    def log_view(self, partition: str, start: int, end: int) -> LogView:
        """The logs of a partition side by side over ``[start, end)``."""
        return partition_views.log_view(self.world, self.checker, partition, start, end)
