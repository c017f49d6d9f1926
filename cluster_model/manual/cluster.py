"""A manually stepped cluster: without timers and message delivery, each step is one protocol action.

Replicas, leaderships and controller decisions are those of the timed cluster. Time does not advance, so actions that
normally wait for time are steps. A step that the protocol rejects returns the name of Kafka's error and changes
nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.checker import Checker
from cluster_model.controller.cluster_parts import build_parts
from cluster_model.inspection import partition_views
from cluster_model.inspection.condition_functions import ClientStatistics, ConditionQuery
from cluster_model.kernel.rng import RandomStreams
from cluster_model.manual.context import NOW, Handler, ManualContext, Params
from cluster_model.manual.fetch import FollowerRequests
from cluster_model.manual.requests import IsrChanges, ManualConsumer, ManualProduces
from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.observation import metadata_staleness
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.observation.event_log import EventLog
from cluster_model.observation.views import BrokerView, ClusterView, LogView
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import (
    POWER_LOSS,
    BrokerFenced,
    BrokerRegistered,
    Event,
    NodeDown,
    NodeUp,
    RecoveryFinished,
)
from cluster_model.protocol.messages import PartitionState
from cluster_model.spec.cluster_spec import ClusterSpec

# Steps of broker processes and disks: crashes, clean shutdowns, starts, checkpoints, flushes, segments.


class BrokerProcesses:
    """Steps that affect a broker's process, its page cache and its disks."""

    def __init__(
        self, context: ManualContext, trips: FollowerRequests, changes: IsrChanges, produces: ManualProduces
    ) -> None:
        self._context = context
        self._trips = trips
        self._changes = changes
        self._produces = produces
        context.stop = self._stop
        self._clean = dict.fromkeys(context.up, False)
        """Broker → whether ``.kafka_cleanshutdown`` exists."""
        self.handlers: dict[str, Handler] = {
            "crash": self._crash,
            "power_loss": self._power_loss,
            "disk_loss": self._disk_loss,
            "shutdown": self._shutdown,
            "restart": self._restart,
            "checkpoint": self._checkpoint,
            "flush": self._flush,
            "roll": self._roll,
            "retain": self._retain,
            "delete_records": self._delete_records,
        }

    def _crash(self, params: Params) -> KafkaError:
        return self._stop(params["broker"], "crash")

    def _power_loss(self, params: Params) -> KafkaError:
        error = self._stop(params["broker"], POWER_LOSS)
        if error is KafkaError.NONE:
            for replica in self._context.replicas_on(params["broker"]):
                replica.power_lost(NOW, int(params.get("keep", -1)))
        return error

    def _disk_loss(self, params: Params) -> KafkaError:
        error = self._stop(params["broker"], "disk_loss")
        if error is KafkaError.NONE:
            for replica in self._context.replicas_on(params["broker"]):
                replica.disk_lost(NOW)
        return error

    def _shutdown(self, params: Params) -> KafkaError:
        """Stop a broker by SIGTERM; its leaderships are moved by separate controller steps."""
        broker = params["broker"]
        replicas = self._context.replicas_on(broker)
        if self._context.up[broker]:
            for replica in replicas:
                replica.closed(NOW)
            self._clean[broker] = True
        return self._stop(broker, "shutdown")

    def _stop(self, broker: int, how: str) -> KafkaError:
        replicas = self._context.replicas_on(broker)
        if not self._context.up[broker]:
            return KafkaError.BROKER_NOT_AVAILABLE
        self._context.up[broker] = False
        for replica in replicas:
            replica.stopped()
            self._trips.forget(replica)
            self._changes.forget(replica)
        self._trips.stopped(broker)
        self._produces.stopped(broker)
        self._context.emit(NodeDown(NOW, f"broker {broker}", broker, how))
        return KafkaError.NONE

    def _restart(self, params: Params) -> KafkaError:
        """Start a broker and register it with a new broker epoch; a fenced broker stays fenced.

        With KIP-966 a fenced broker after an unclean shutdown is no longer an eligible leader. A broker that was not
        fenced continues its session.
        """
        broker, context = params["broker"], self._context
        replicas = context.replicas_on(broker)
        if context.up[broker]:
            return KafkaError.DUPLICATE_BROKER_REGISTRATION
        context.up[broker] = True
        clean, self._clean[broker] = self._clean[broker], False
        checked = sum(replica.recovered(clean=clean) for replica in replicas)
        context.registered[broker] = max(context.registered.values()) + 1
        if broker in context.live:
            context.live[broker] = context.registered[broker]
        if not clean and broker not in context.live:
            context.decider.handle_unclean_shutdown(broker, context.live, NOW)
        context.update_all_live()
        context.emit(NodeUp(NOW, f"broker {broker}", broker))
        detail = "clean shutdown, nothing to check" if clean else f"{checked} bytes checked"
        context.emit(RecoveryFinished(NOW, broker, clean, len(replicas), 0, detail))
        return KafkaError.NONE

    def _checkpoint(self, params: Params) -> KafkaError:
        replicas = self._context.replicas_on(params["broker"])
        if not self._context.up[params["broker"]]:
            return KafkaError.NETWORK_EXCEPTION
        for replica in replicas:
            replica.checkpoint(NOW)
        return KafkaError.NONE

    def _flush(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        replica.log.flush(NOW)
        return KafkaError.NONE

    def _roll(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        return KafkaError.NONE if replica.log.roll(NOW, "step") else KafkaError.INVALID_REQUEST

    def _retain(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        replica.retain(NOW)
        return KafkaError.NONE

    def _delete_records(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        before = params["before"]
        return replica.delete_records(-1 if before == "hw" else int(before), NOW)


# Controller steps: elections, fencing, and decisions delivered to one broker at a time.


class ManualController:
    """Steps of the controller: its decisions, and their delivery to brokers."""

    def __init__(self, context: ManualContext, trips: FollowerRequests, changes: IsrChanges) -> None:
        self._context = context
        self._trips = trips
        self._changes = changes
        self.handlers: dict[str, Handler] = {
            "elect": self._elect,
            "elect_leaders": self._elect_leaders,
            "drop_from_isr": self._drop_from_isr,
            "fence": self._fence,
            "unfence": self._unfence,
            "deliver": self._deliver,
        }

    def _elect(self, params: Params) -> KafkaError:
        replica = self._context.replica(params, "leader")
        unclean = bool(params.get("unclean", False))
        live = self._context.running()
        return self._context.decider.elect_manually(replica.partition, replica.broker, NOW, unclean=unclean, live=live)

    def _elect_leaders(self, params: Params) -> KafkaError:
        unclean = bool(params.get("unclean", False))
        return self._context.decider.elect_leaders(params["partition"], self._context.live, NOW, unclean=unclean)

    def _drop_from_isr(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        live = {broker: epoch for broker, epoch in self._context.running().items() if broker != replica.broker}
        return self._context.decider.remove_from_isr_manually(replica.partition, replica.broker, NOW, live=live)

    def _fence(self, params: Params) -> KafkaError:
        broker, context = params["broker"], self._context
        context.replicas_on(broker)
        if broker not in context.live:
            raise ModelError(f"broker {broker} is already fenced; unfence it first", code="fenced_already")
        del context.live[broker]
        context.emit(BrokerFenced(NOW, broker, "session timed out"))
        context.decider.fence(broker, context.live, NOW)
        context.update_all_live()
        return KafkaError.NONE

    def _unfence(self, params: Params) -> KafkaError:
        broker, context = params["broker"], self._context
        context.replicas_on(broker)
        if broker in context.live:
            raise ModelError(f"broker {broker} is not fenced; fence it first", code="not_fenced")
        if not context.up[broker]:
            return KafkaError.BROKER_NOT_AVAILABLE
        context.live[broker] = context.registered[broker]
        context.use_registration(broker)
        context.emit(BrokerRegistered(NOW, broker))
        context.decider.unfence(broker, context.live, NOW)
        context.update_all_live()
        return KafkaError.NONE

    def _deliver(self, params: Params) -> KafkaError:
        replica, context = self._context.replica(params), self._context
        if not context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        decisions = context.decisions[replica.partition]
        wanted = params.get("epoch", "latest")
        if wanted != "latest":
            decisions = [state for state in decisions if state.leader_epoch == wanted]
            if not decisions:
                known = sorted({state.leader_epoch for state in context.decisions[replica.partition]})
                raise ModelError(
                    f"no decision of epoch {wanted} for {replica.partition}; epochs: {known}", code="no_decision"
                )
        context.use_registration(replica.broker)
        if not replica.apply(decisions[-1], NOW):
            return KafkaError.STALE_CONTROLLER_EPOCH
        self._trips.forget(replica)
        self._changes.forget(replica)
        context.answer_completed(replica)
        if params.get("truncate", "now") == "now":
            self._trips.truncate(replica)
        return KafkaError.NONE


# The controller of a manually stepped cluster, as shown in views and conditions: always up, and always the same node.


MANUAL_CONTROLLER: Final = 1_000
"""Node id of the controller."""


class ManualControl:
    """Control plane information of a manually stepped cluster, for views and conditions."""

    __slots__ = ("_context",)

    def __init__(self, context: ManualContext) -> None:
        self._context = context

    def controllers(self) -> tuple[int, ...]:
        """Return the only controller."""
        return (MANUAL_CONTROLLER,)

    def active(self) -> int:
        """Return the active controller."""
        return MANUAL_CONTROLLER

    def controller_epoch(self) -> int:
        """Return the controller epoch, which never changes."""
        return 0

    def is_live(self, broker: int) -> bool:
        """Return whether a broker is not fenced."""
        return broker in self._context.live

    def cached_states(self, broker: int) -> Mapping[str, PartitionState]:
        """Return the last states delivered to a broker for its own replicas; it has no other metadata."""
        return {
            name: PartitionState(
                name, replica.leader, replica.leader_epoch, (), replica.partition_epoch, (), topic_id=replica.topic_id
            )
            for name, replicas in self._context.parts.replicas.items()
            if (replica := replicas.get(broker)) is not None and replica.leader_epoch >= 0
        }


# The state of a partition on each broker, as asserted and printed by manual steps.


def state_of(
    context: ManualContext, query: ConditionQuery, consumer: ManualConsumer, partition: str
) -> dict[str, dict[str, Any]]:
    """Return node → field → value; nodes are broker ids as text, ``controller``, and ``consumer`` once it was used."""
    state = {
        str(broker): {"up": context.up[broker], **_replica(replica), "log": query.log(partition, broker)}
        for broker, replica in context.parts.replicas[partition].items()
    }
    record = context.parts.committed.records[partition]
    state["controller"] = {
        "leader": record.leader,
        "epoch": record.leader_epoch,
        "partition_epoch": record.partition_epoch,
        "isr": sorted(record.isr),
        "elr": sorted(record.state.elr),
        "recovering": record.state.recovering,
        "live": sorted(context.live),
    }
    consumer_state = consumer.state(partition)
    return state if consumer_state is None else {**state, "consumer": consumer_state}


def _replica(replica: Replica) -> dict[str, Any]:
    leadership, log = replica.leadership, replica.log
    pending = None if leadership is None else leadership.pending
    remotes = {} if leadership is None else leadership.remotes
    return {
        "role": "leader" if leadership is not None else "none" if replica.following is None else "follower",
        "leader": replica.leader,
        "epoch": replica.leader_epoch,
        "leo": log.leo,
        "hw": replica.hw,
        "log_start": log.log_start,
        "epochs": [list(entry) for entry in log.epochs.entries],
        "isr": [] if leadership is None else sorted(leadership.isr),
        "pending": [] if pending is None else sorted(pending),
        "followers": {str(broker): remote.leo for broker, remote in remotes.items()},
        "fetcher": _fetcher(replica),
        "segments": [segment.base for segment in log.segments.all],
        "flushed": log.recovery_point,
        "checkpointed": replica.checkpointed_hw,
    }


def _fetcher(replica: Replica) -> str:
    following = replica.following
    if following is None:
        return "none"
    return "failed" if following.failed else "truncating" if following.truncating else "running"


class ManualCluster:
    """A cluster that only changes by manual steps."""

    experience: Callable[[], ClientStatistics] | None = None
    """Return statistics of the session's clients, set by the session; None if there are none."""

    def __init__(self, spec: ClusterSpec, seed: int) -> None:
        self.spec = spec
        self.seed = seed
        self.trace = EventLog()
        self.executed = 0
        """Number of steps taken."""
        ids = tuple(broker.id for broker in spec.brokers)
        live = dict.fromkeys(ids, 0)
        parts = build_parts(spec, RandomStreams(seed), self.emit, live)
        self.profile = parts.profile
        for metadata in parts.metadata.values():
            metadata.live = dict(live)
        for replicas in parts.replicas.values():
            for replica in replicas.values():
                replica.by_hand = True
        self._context = ManualContext(parts, dict.fromkeys(ids, True), live, dict(live), self.emit)
        self._produces = ManualProduces(self._context)
        self._consumer = ManualConsumer(self._context)
        self._handlers = self._verbs()
        control = ManualControl(self._context)
        self.cluster_state = ClusterState(
            self.profile, parts.committed.records, parts.replicas, parts.epoch_branches, self.is_up, ids,
            control.cached_states, self._context.used_registrations.__getitem__,
        )  # fmt: skip
        self.checker = Checker(self.cluster_state, self.emit)
        self.trace.set_observer(self.checker.observe, self.checker.handlers())
        parts.registry.observer.out_of_bounds = self.checker.invariants.out_of_bounds
        self.query = ConditionQuery(self.cluster_state, self.checker, lambda: NOW, dict, control, experience=self._felt)

    def _felt(self) -> ClientStatistics | None:
        return None if self.experience is None else self.experience()

    def _verbs(self) -> dict[str, Handler]:
        context = self._context
        trips = FollowerRequests(context)
        changes = IsrChanges(context)
        return {
            **self._produces.handlers,
            **trips.handlers,
            **changes.handlers,
            **ManualController(context, trips, changes).handlers,
            **BrokerProcesses(context, trips, changes, self._produces).handlers,
            **self._consumer.handlers,
            "show": lambda _params: KafkaError.NONE,
        }

    @property
    def now_us(self) -> int:
        """Virtual time, which does not advance."""
        return NOW

    def is_up(self, broker: int) -> bool:
        """Return whether a broker's process runs; the controller's always does."""
        return self._context.up.get(broker, broker == MANUAL_CONTROLLER)

    def act(self, verb: str, params: dict[str, Any]) -> str:
        """Take one step; return the name of Kafka's error if the protocol rejects it, else the empty string.

        Raises:
            ModelError: an unknown verb, partition or broker, a missing parameter, or a step that is not possible now.
        """
        handler = self._handlers.get(verb)
        if handler is None:
            raise ModelError(f"unknown step {verb!r}; steps: {', '.join(MANUAL_VERBS)}", code="no_step")
        for name, param in MANUAL_VERBS[verb].params.items():
            if param.required and name not in params:
                raise ModelError(f"{verb} needs {name}: {param.doc}", code="missing_parameter")
        self.executed += 1
        error = handler(params)
        self._context.record_decisions()
        return "" if error is KafkaError.NONE else error.name

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of all partitions, in order."""
        return tuple(self.cluster_state.records)

    def state(self, partition: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the state of a partition (the first by default) on each broker and on the controller."""
        name = self.partitions[0] if partition is None else partition
        self.cluster_state.record(name)
        return state_of(self._context, self.query, self._consumer, name)

    def emit(self, event: Event) -> None:
        """Add an event to the trace, and so to the digest."""
        self.trace.emit(event)

    def drain(self) -> list[Event]:
        """Trace events since the last drain."""
        return self.trace.drain()

    def digest(self) -> str:
        """Return the hex digest of all events and steps so far."""
        return self.trace.digest(NOW, self.executed)

    def stop_producers(self) -> None:
        """Do nothing: there are no producers."""

    def close(self) -> None:
        """End the trace: unanswered produce requests have an unknown outcome, and the ledger becomes final."""
        self._produces.close()
        self.checker.invariants.close()
        self.checker.ledger.close(NOW)

    def view(self) -> ClusterView:
        """Return a view of the whole cluster."""
        partitions = partition_views.partition_views(self.cluster_state, self.checker)
        brokers = tuple(
            BrokerView(
                broker.id, broker.rack, "up" if self.is_up(broker.id) else "down", not self.is_up(broker.id),
                sum(partition.leader == broker.id for partition in partitions), (),
                metadata_staleness.stale(self.cluster_state, broker.id), self._context.registered[broker.id],
            )
            for broker in self.spec.brokers
        )  # fmt: skip
        ledger = partition_views.ledger_view(self.checker)
        violations = self.query.violations()
        return ClusterView(
            NOW, self.executed, self.profile.name, "by hand", brokers, partitions, (), (), ledger, (), violations
        )

    def log_view(self, partition: str, start: int, end: int) -> LogView:
        """Return a view of the logs of a partition over ``[start, end)``, side by side."""
        return partition_views.log_view(self.cluster_state, self.checker, partition, start, end)
