"""A hand-stepped cluster: no timers, no deliveries, only the protocol actions that steps name.

The replicas, leaderships and decisions are the very objects of the timed cluster. Time stands still, so what normally
waits for time is a step. Refusals are Kafka's errors by name, and change nothing.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model import viewing
from cluster_model.building import build_parts
from cluster_model.checker.checker import Checker
from cluster_model.controller.single import CONTROLLER_ID
from cluster_model.errors import KafkaError, ModelError
from cluster_model.events import (
    Event,
    NodeDown,
    NodeUp,
    ProduceRefused,
    RecordsAcked,
    RecordsFailed,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.kernel.streams import Streams
from cluster_model.manual_fetch import NOW, RoundTrips
from cluster_model.manual_verbs import MANUAL_VERBS
from cluster_model.messages import ALL, PartitionState, ProduceRequest
from cluster_model.query import Query
from cluster_model.replication.leadership import AppendResult
from cluster_model.replication.replica import Replica
from cluster_model.spec import ClusterSpec
from cluster_model.trace import Trace
from cluster_model.views import BrokerView, ClusterView, LogView, RecordView
from cluster_model.world import World

CLIENT: Final = "step"
"""The producer that ``append`` stands for."""
RECORD_BYTES: Final = 100

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
        self._live = dict.fromkeys(ids, 0)
        parts = build_parts(spec, Streams(seed), self.emit, self._live)
        self.profile = parts.profile
        self._committed = parts.committed
        self._replicas = parts.replicas
        for metadata in parts.metadata.values():
            metadata.live = dict(self._live)
        for replicas in parts.replicas.values():
            for replica in replicas.values():
                replica.by_hand = True
        self._up = dict.fromkeys(ids, True)
        self._decisions: dict[str, list[PartitionState]] = {
            name: [record.state] for name, record in parts.committed.records.items()
        }
        self._trips = RoundTrips(self._replicas, self._up, self._settle, self._stop)
        self._waiting: dict[int, tuple[ProduceRequest, AppendResult, int, int]] = {}
        self._sequences: dict[str, int] = dict.fromkeys(parts.committed.records, 0)
        self._produces = 0
        self.world = World(self.profile, parts.committed.records, parts.replicas, parts.lineages, self.is_up)
        self.checker = Checker(self.world, self.emit)
        self.trace.set_observer(self.checker.observe, self.checker.listeners())
        self.query = Query(self.world, self.checker, lambda: NOW, dict, CONTROLLER_ID)

    @property
    def now_us(self) -> int:
        """Always the same instant."""
        return NOW

    def is_up(self, broker: int) -> bool:
        """Whether a broker's process runs."""
        return self._up.get(broker, False)

    def act(self, verb: str, params: dict[str, Any]) -> str:
        """Take one step; the name of Kafka's error where the protocol refuses it, else the empty string.

        Raises:
            ModelError: an unknown verb, partition or broker, or a missing parameter: the step makes no sense.
        """
        handler = _HANDLERS.get(verb)
        if handler is None:
            raise ModelError(f"no step {verb!r}; there are {', '.join(MANUAL_VERBS)}")
        for name, param in MANUAL_VERBS[verb].params.items():
            if param.required and name not in params:
                raise ModelError(f"{verb} needs {name}: {param.doc}")
        self.executed += 1
        error = handler(self, params)
        for name, record in self._committed.records.items():
            if record.state != self._decisions[name][-1]:
                self._decisions[name].append(record.state)
        return "" if error is KafkaError.NONE else error.name

    def _replica(self, params: dict[str, Any], key: str = "broker") -> Replica:
        return self.world.replica(params["partition"], params[key])

    def _append(self, params: dict[str, Any]) -> KafkaError:
        replica = self._replica(params)
        count = int(params.get("records", 1))
        names = tuple(str(name) for name in params.get("names", ()))
        if names and len(names) != count:
            if "records" in params:
                raise ModelError(f"append of {count} records names {len(names)}: {', '.join(names)}")
            count = len(names)
        acks_text = str(params.get("acks", 1))
        acks = ALL if acks_text in ("all", "-1") else int(acks_text)
        # Each record is a batch of its own, so that a step can cut, fetch or lose them one by one.
        for index in range(count):
            error = self._append_one(replica, acks, names[index : index + 1])
            if error is not KafkaError.NONE:
                return error
        return KafkaError.NONE

    def _append_one(self, replica: Replica, acks: int, names: tuple[str, ...]) -> KafkaError:
        partition = replica.partition
        self._produces += 1
        sequence = self._sequences[partition]
        self._sequences[partition] += 1
        request = ProduceRequest(self._produces, partition, acks, 0, CLIENT, -1, sequence, 1, RECORD_BYTES, names)
        self.emit(RecordsSent(NOW, CLIENT, partition, sequence, 1, acks))
        if acks == 0:
            self.emit(RecordsAcked(NOW, CLIENT, partition, sequence, 1, 0, replica.broker, -1, -1, 0, -1))
        return self._produce(replica, request)

    def _produce(self, replica: Replica, request: ProduceRequest) -> KafkaError:
        if not self.is_up(replica.broker):
            return self._failed(replica, request, KafkaError.NETWORK_EXCEPTION)
        if replica.leadership is None:
            return self._failed(replica, request, KafkaError.NOT_LEADER_OR_FOLLOWER)
        result = replica.leadership.append(NOW, request)
        if result.waits:
            self._waiting[request.correlation] = (request, result, replica.broker, replica.leader_epoch)
            replica.leadership.wait(result.required, request.correlation)
        elif result.error is KafkaError.NONE:
            self._acked(request, result, replica.broker, replica.leader_epoch)
        elif result.error is KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
            self._unknown(request, result.error)
        else:
            return self._failed(replica, request, result.error)
        self._settle(replica)
        return result.error

    def _acked(self, request: ProduceRequest, result: AppendResult, broker: int, epoch: int) -> None:
        if request.acks:
            self.emit(
                RecordsAcked(
                    NOW, CLIENT, request.partition, request.sequence, request.records, request.acks, broker, epoch,
                    result.base, 0, result.lineage,
                )
            )  # fmt: skip

    def _failed(self, replica: Replica, request: ProduceRequest, error: KafkaError) -> KafkaError:
        if request.acks:
            where = (request.partition, request.sequence, request.records)
            self.emit(ProduceRefused(NOW, CLIENT, where[0], replica.broker, request.acks, error.name, *where[1:]))
            self.emit(RecordsFailed(NOW, CLIENT, *where, request.acks, error.name, 0))
        return error

    def _unknown(self, request: ProduceRequest, error: KafkaError) -> None:
        where = (request.partition, request.sequence, request.records)
        self.emit(RecordsUnknown(NOW, CLIENT, *where, request.acks, error.name, 0))

    def _settle(self, replica: Replica) -> None:
        """Answer the produces that a step has settled."""
        while replica.done:
            token, error = replica.done.pop(0)
            request, result, broker, epoch = self._waiting.pop(token)
            if error is KafkaError.NONE:
                self._acked(request, result, broker, epoch)
            else:
                self._unknown(request, error)

    def _elect(self, params: dict[str, Any]) -> KafkaError:
        partition, leader = params["partition"], params["leader"]
        self.world.replica(partition, leader)
        live = {broker: 0 for broker in self._live if self.is_up(broker)}
        unclean = bool(params.get("unclean", False))
        return self._committed.elect_by_hand(partition, leader, NOW, unclean=unclean, live=live)

    def _drop_from_isr(self, params: dict[str, Any]) -> KafkaError:
        replica = self._replica(params)
        live = {broker: 0 for broker in self._live if self.is_up(broker) and broker != replica.broker}
        return self._committed.drop_by_hand(replica.partition, replica.broker, NOW, live=live)

    def _deliver(self, params: dict[str, Any]) -> KafkaError:
        replica = self._replica(params)
        if not self.is_up(replica.broker):
            return KafkaError.NETWORK_EXCEPTION
        decisions = self._decisions[replica.partition]
        wanted = params.get("epoch", "latest")
        if wanted != "latest":
            decisions = [state for state in decisions if state.leader_epoch == wanted]
            if not decisions:
                known = sorted({state.leader_epoch for state in self._decisions[replica.partition]})
                raise ModelError(f"no decision of epoch {wanted} about {replica.partition}; there are {known}")
        if not replica.apply(decisions[-1], NOW):
            return KafkaError.STALE_CONTROLLER_EPOCH
        self._trips.forget(replica)
        self._settle(replica)
        if params.get("truncate", "now") == "now":
            self._trips.truncate(replica)
        return KafkaError.NONE

    def _shrink_isr(self, params: dict[str, Any]) -> KafkaError:
        replica = self._replica(params)
        leadership = replica.leadership
        if not self.is_up(replica.broker):
            return KafkaError.NETWORK_EXCEPTION
        if leadership is None:
            return KafkaError.NOT_LEADER_OR_FOLLOWER
        out = tuple(params["out"])
        if replica.broker in out or not all(broker in leadership.isr for broker in out):
            return KafkaError.INVALID_REQUEST
        leadership.write_off(out)
        return self._change_isr(replica, tuple(broker for broker in leadership.isr if broker not in out))

    def _expand_isr(self, params: dict[str, Any]) -> KafkaError:
        replica = self._replica(params)
        newcomer = self._replica(params, "in").broker
        leadership = replica.leadership
        if not self.is_up(replica.broker):
            return KafkaError.NETWORK_EXCEPTION
        if leadership is None:
            return KafkaError.NOT_LEADER_OR_FOLLOWER
        remote = leadership.remotes.get(newcomer)
        if remote is None or newcomer in leadership.isr or not leadership.may_join(newcomer, remote):
            return KafkaError.INELIGIBLE_REPLICA
        return self._change_isr(replica, (*leadership.isr, newcomer))

    def _change_isr(self, replica: Replica, isr: tuple[int, ...]) -> KafkaError:
        leadership = replica.leadership
        if leadership is None or leadership.pending is not None:
            return KafkaError.INVALID_REQUEST
        leadership.propose(isr)
        proposal = leadership.take_proposal()
        if proposal is None:
            return KafkaError.INVALID_REQUEST
        response = self._committed.alter_partition(proposal, self._live, NOW)
        leadership.confirmed(NOW, response)
        self._settle(replica)
        return KafkaError(response.error)

    def _crash(self, params: dict[str, Any]) -> KafkaError:
        return self._stop(params["broker"], "crash")

    def _power_loss(self, params: dict[str, Any]) -> KafkaError:
        error = self._stop(params["broker"], "power_loss")
        if error is KafkaError.NONE:
            for replica in self._of(params["broker"]):
                replica.power_lost(NOW, int(params.get("keep", -1)))
        return error

    def _of(self, broker: int) -> list[Replica]:
        if broker not in self._up:
            raise ModelError(f"no broker {broker}; there are {', '.join(map(str, self._up))}")
        return [replicas[broker] for replicas in self._replicas.values() if broker in replicas]

    def _stop(self, broker: int, how: str) -> KafkaError:
        replicas = self._of(broker)
        if not self.is_up(broker):
            return KafkaError.BROKER_NOT_AVAILABLE
        self._up[broker] = False
        for replica in replicas:
            replica.stopped()
            self._trips.forget(replica)
        for token, (request, _result, owner, _epoch) in tuple(self._waiting.items()):
            if owner == broker:
                del self._waiting[token]
                self._unknown(request, KafkaError.NETWORK_EXCEPTION)
        self.emit(NodeDown(NOW, f"broker {broker}", broker, how))
        return KafkaError.NONE

    def _restart(self, params: dict[str, Any]) -> KafkaError:
        broker = params["broker"]
        replicas = self._of(broker)
        if self.is_up(broker):
            return KafkaError.DUPLICATE_BROKER_REGISTRATION
        self._up[broker] = True
        for replica in replicas:
            replica.recovered()
        self.emit(NodeUp(NOW, f"broker {broker}", broker))
        return KafkaError.NONE

    def _checkpoint(self, params: dict[str, Any]) -> KafkaError:
        replicas = self._of(params["broker"])
        if not self.is_up(params["broker"]):
            return KafkaError.NETWORK_EXCEPTION
        for replica in replicas:
            replica.checkpoint(NOW)
        return KafkaError.NONE

    def _fetch(self, params: dict[str, Any]) -> KafkaError:
        return self._trips.fetch(self._replica(params, "follower"), params.get("records"))

    def _fetch_send(self, params: dict[str, Any]) -> KafkaError:
        return self._trips.send(self._replica(params, "follower"), params.get("records"))

    def _fetch_serve(self, params: dict[str, Any]) -> KafkaError:
        return self._trips.serve(self._replica(params, "follower"))

    def _fetch_apply(self, params: dict[str, Any]) -> KafkaError:
        return self._trips.apply(self._replica(params, "follower"))

    def _truncate_send(self, params: dict[str, Any]) -> KafkaError:
        return self._trips.ask_epoch(self._replica(params, "follower"))

    def _truncate_apply(self, params: dict[str, Any]) -> KafkaError:
        return self._trips.apply_epoch(self._replica(params, "follower"))

    def _show(self, _params: dict[str, Any]) -> KafkaError:
        return KafkaError.NONE

    def state(self, partition: str | None = None) -> dict[str, dict[str, Any]]:
        """What each broker holds and believes of a partition (the first by default), and the controller's word."""
        name = next(iter(self._replicas)) if partition is None else partition
        record = self.world.record(name)
        found: dict[str, dict[str, Any]] = {}
        for broker, replica in self._replicas[name].items():
            leadership = replica.leadership
            role = "leader" if leadership is not None else "follower" if replica.following is not None else "none"
            found[str(broker)] = {
                "up": self.is_up(broker),
                "role": role,
                "leader": replica.leader,
                "epoch": replica.leader_epoch,
                "leo": replica.log.leo,
                "hw": replica.hw,
                "log_start": replica.log.log_start,
                "epochs": [list(entry) for entry in replica.log.epochs.entries],
                "isr": [] if leadership is None else sorted(leadership.isr),
                "followers": {}
                if leadership is None
                else {str(other): remote.leo for other, remote in leadership.remotes.items()},
                "log": self.query.log(name, broker),
            }
        found["controller"] = {
            "leader": record.leader, "epoch": record.leader_epoch, "isr": sorted(record.isr),
        }  # fmt: skip
        return found

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
        for request, _result, _broker, _epoch in self._waiting.values():
            self._unknown(request, KafkaError.REQUEST_TIMED_OUT)
        self._waiting.clear()
        self.checker.ledger.close(NOW)

    def view(self) -> ClusterView:
        """Everything now."""
        partitions = tuple(viewing.partition_view(self.world, self.checker, name) for name in self.world.records)
        brokers = tuple(
            BrokerView(
                broker.id, broker.rack, "up" if self.is_up(broker.id) else "down", not self.is_up(broker.id),
                sum(partition.leader == broker.id for partition in partitions), (),
            )
            for broker in self.spec.brokers
        )  # fmt: skip
        ledger = viewing.ledger_view(self.checker)
        violations = self.query.violations()
        return ClusterView(
            NOW, self.executed, self.profile.name, "by hand", brokers, partitions, (), (), ledger, (), violations
        )

    def log_view(self, partition: str, start: int, end: int) -> LogView:
        """The logs of a partition side by side over ``[start, end)``."""
        return viewing.log_view(self.world, self.checker, partition, start, end)

    def record_at(self, partition: str, broker: int, offset: int) -> RecordView | None:
        """One record of one replica, None where its log holds nothing."""
        return viewing.record_view(self.world, self.checker, partition, broker, offset)


_HANDLERS: Final[dict[str, Callable[[ManualCluster, dict[str, Any]], KafkaError]]] = {
    "append": ManualCluster._append,
    "fetch": ManualCluster._fetch,
    "fetch_send": ManualCluster._fetch_send,
    "fetch_serve": ManualCluster._fetch_serve,
    "fetch_apply": ManualCluster._fetch_apply,
    "elect": ManualCluster._elect,
    "drop_from_isr": ManualCluster._drop_from_isr,
    "deliver": ManualCluster._deliver,
    "truncate_send": ManualCluster._truncate_send,
    "truncate_apply": ManualCluster._truncate_apply,
    "shrink_isr": ManualCluster._shrink_isr,
    "expand_isr": ManualCluster._expand_isr,
    "crash": ManualCluster._crash,
    "power_loss": ManualCluster._power_loss,
    "restart": ManualCluster._restart,
    "checkpoint": ManualCluster._checkpoint,
    "show": ManualCluster._show,
}
